"""Authorization: roles bound to people and groups, evaluated without a clock, a store or a request.

A binding gives a role to users and groups, in some namespaces or in all, for jobs of some LocalQueues or
of all. A right that nobody granted is refused. An object that a user may not see is absent for that user;
a change of a visible object without the right is refused.

    Viewer                 looks at jobs, queues, objects, placements, drift and events
    Submitter              also hands in jobs, and changes and ends those of their own
    Batch administrator    also reads the audit, changes and ends anybody's jobs, and declares LocalQueues;
                           bound everywhere, also ClusterQueues, cohorts, flavors and priority classes
    Cluster administrator  everything; bound everywhere or not at all

`clusters` and whatever else has no namespace is for those whose role is bound everywhere.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

UNKNOWN: Final = "unknown"  # the owner of work without a known submitter


class Role(StrEnum):
    """The role of a binding; each role includes the rights of those before it."""

    VIEWER = "viewer"
    SUBMITTER = "submitter"
    BATCH_ADMINISTRATOR = "batch-administrator"
    CLUSTER_ADMINISTRATOR = "cluster-administrator"


class Verb(StrEnum):
    """The verb of a request; to end an object is to change it."""

    GET = "get"
    CREATE = "create"
    CHANGE = "change"


class Noun(StrEnum):
    """The kind that a request acts on."""

    JOBS = "jobs"
    QUEUES = "queues"
    QUOTAS = "quotas"  # ClusterQueues, cohorts, flavors, priority classes: of no namespace
    OBJECTS = "objects"
    PLACEMENTS = "placements"
    DRIFT = "drift"
    EVENTS = "events"
    CLUSTERS = "clusters"
    HUB = "hub"
    AUDIT = "audit"
    ACCESS = "access"


# Words that people and kubectl have for the same.
VERBS: Final[Mapping[str, Verb]] = {
    **dict.fromkeys(("get", "list", "watch", "view", "show", "explain"), Verb.GET),
    **dict.fromkeys(("create", "submit", "apply", "run", "add", "issue"), Verb.CREATE),
    **dict.fromkeys(
        ("change", "update", "patch", "set", "delete", "rm", "cancel", "hold", "release"),
        Verb.CHANGE,
    ),
    **dict.fromkeys(
        ("stop", "resume", "suspend", "cordon", "uncordon", "drain", "fence", "bind", "revoke"),
        Verb.CHANGE,
    ),
}
KINDS: Final[Mapping[str, Noun]] = {
    **{kind.value: kind for kind in Noun},
    **{kind.value.removesuffix("s"): kind for kind in Noun},
    "workloads": Noun.JOBS,
    "workload": Noun.JOBS,
    "cronjobs": Noun.JOBS,  # with a queue: the others are objects that an administrator places
    "cronjob": Noun.JOBS,
    "logs": Noun.JOBS,
    "pods": Noun.JOBS,
    "localqueues": Noun.QUEUES,
    "localqueue": Noun.QUEUES,
    "clusterqueues": Noun.QUOTAS,
    "clusterqueue": Noun.QUOTAS,
    "members": Noun.CLUSTERS,
    "member": Noun.CLUSTERS,
    "tokens": Noun.ACCESS,
    "token": Noun.ACCESS,
}
_NAMESPACED: Final = frozenset(
    {
        *(Noun.JOBS, Noun.QUEUES, Noun.OBJECTS, Noun.PLACEMENTS, Noun.DRIFT, Noun.EVENTS),
        Noun.AUDIT,
    }
)
_OF_ALL: Final = frozenset({Noun.CLUSTERS, Noun.QUOTAS, Noun.HUB})
_LOOKING: Final = frozenset((Verb.GET, kind) for kind in _NAMESPACED - {Noun.AUDIT} | _OF_ALL)
_OWN: Final = (Verb.CHANGE, Noun.JOBS)
_SUBMITTING: Final = _LOOKING | {(Verb.CREATE, Noun.JOBS)}
_MAY: Final[Mapping[Role, frozenset[tuple[Verb, Noun]]]] = {
    Role.VIEWER: _LOOKING,
    Role.SUBMITTER: _SUBMITTING,
    Role.BATCH_ADMINISTRATOR: _SUBMITTING
    | {_OWN, (Verb.GET, Noun.AUDIT)}
    | {(verb, kind) for verb in (Verb.CREATE, Verb.CHANGE) for kind in (Noun.QUEUES, Noun.QUOTAS)},
    Role.CLUSTER_ADMINISTRATOR: frozenset((verb, kind) for verb in Verb for kind in Noun),
}


@dataclass(frozen=True, slots=True)
class VerifiedIdentity:
    """A verified identity: a name, and its groups."""

    name: str
    groups: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class RoleBinding:
    """A role for users and groups. `namespaces`, `queues` (names of LocalQueues) and `priority_classes`
    (WorkloadPriorityClasses that jobs may name) None: all of them.
    """

    name: str
    role: Role
    users: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    namespaces: frozenset[str] | None = None
    queues: frozenset[str] | None = None
    priority_classes: frozenset[str] | None = None

    def is_for(self, who: VerifiedIdentity) -> bool:
        """True if the binding gives `who` its role. Names are compared exactly."""
        return who.name in self.users or not self.groups.isdisjoint(who.groups)


@dataclass(frozen=True, slots=True)
class Area:
    """A part of the store. None: all namespaces, queues. `owner`: only one user's; "": all."""

    namespaces: frozenset[str] | None = None
    queues: frozenset[str] | None = None
    owner: str = ""

    def holds(self, namespace: str, queue: str = "", owner: str = "") -> bool:
        """True if an object of that namespace, LocalQueue and owner is in it."""
        return (
            (self.namespaces is None or namespace in self.namespaces)
            and (self.queues is None or queue in self.queues)
            and (not self.owner or owner == self.owner)
        )


@dataclass(frozen=True, slots=True)
class Scope:
    """The objects that one request may see, and those of them that it may act on."""

    sees: tuple[Area, ...] = (Area(),)
    may: tuple[Area, ...] = (Area(),)

    @property
    def is_everything(self) -> bool:
        """True if it excludes nothing."""
        return EVERYWHERE in self.sees and EVERYWHERE in self.may

    def shows(self, namespace: str, queue: str = "", owner: str = "") -> bool:
        """True if the object exists for the caller."""
        return any(area.holds(namespace, queue, owner) for area in self.sees)

    def shows_all(self, namespace: str) -> bool:
        """True if the caller sees every object of a namespace, whatever its queue and owner."""
        return any(
            area.queues is None and not area.owner and area.holds(namespace) for area in self.sees
        )

    def allows(self, namespace: str, queue: str = "", owner: str = "") -> bool:
        """True if the requested verb is allowed on it."""
        return any(area.holds(namespace, queue, owner) for area in self.may)


EVERYWHERE: Final = Area()
EVERYTHING: Final = Scope()


@dataclass(frozen=True, slots=True)
class Grant:
    """A role of one person: where, and for jobs of which priority classes (None: all)."""

    role: Role
    area: Area = EVERYWHERE
    priority_classes: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Rights:
    """All grants of a principal; a request is allowed if one of them allows it."""

    name: str = ""
    grants: tuple[Grant, ...] = field(default=())

    def areas(self, verb: Verb, kind: Noun) -> tuple[Area, ...]:
        """The namespaces in which `verb` is allowed on `kind`; () is nowhere."""
        found: list[Area] = []
        for grant in self.grants:
            area = grant.area
            if kind != Noun.JOBS and area.queues is not None:
                continue  # only jobs are in queues
            if kind not in _NAMESPACED and area != EVERYWHERE:
                continue
            if (verb, kind) in _MAY[grant.role]:
                found.append(area)
            elif (verb, kind) == _OWN and grant.role == Role.SUBMITTER and self.name:
                found.append(Area(area.namespaces, area.queues, self.name))
        return tuple(dict.fromkeys(found))

    def scope(self, verb: Verb, kind: Noun) -> Scope:
        """The scope of a request that does `verb` to `kind`."""
        may = self.areas(verb, kind)
        return Scope(tuple(dict.fromkeys((*self.areas(Verb.GET, kind), *may))), may)

    def allows(
        self, verb: Verb, kind: Noun, namespace: str = "", queue: str = "", owner: str = ""
    ) -> bool:
        """True if `verb` is allowed on `kind` there. Without a namespace: anywhere at all."""
        areas = self.areas(verb, kind)
        if not namespace:
            return bool(areas)
        return any(area.holds(namespace, queue, owner) for area in areas)

    def priority_classes(
        self, verb: Verb, namespace: str, queue: str, owner: str
    ) -> frozenset[str] | None:
        """The priority classes that `verb` may give a job there, by all grants that allow it; None: all."""
        found: frozenset[str] = frozenset()
        for grant in self.grants:
            if Rights(self.name, (grant,)).allows(verb, Noun.JOBS, namespace, queue, owner):
                if grant.priority_classes is None:
                    return None
                found |= grant.priority_classes
        return found

    @property
    def values(self) -> tuple[Area, ...]:
        """Of which jobs values of environment variables are theirs to read: those that they may change."""
        return self.areas(Verb.CHANGE, Noun.JOBS)

    @property
    def everywhere(self) -> Role | None:
        """The most that is theirs everywhere."""
        found = [grant.role for grant in self.grants if grant.area == EVERYWHERE]
        return max(found, key=_ORDER.index, default=None)


_ORDER: Final = tuple(Role)


def least(verb: Verb, kind: Noun) -> Role:
    """The smallest role that allows `verb` on `kind`, at least on own objects; see `is_of_namespaces`."""
    own = Role.SUBMITTER if (verb, kind) == _OWN else Role.CLUSTER_ADMINISTRATOR
    return min((own, *(r for r in Role if (verb, kind) in _MAY[r])), key=_ORDER.index)


def is_of_namespaces(kind: Noun) -> bool:
    """True if a role in some namespaces is enough for it."""
    return kind in _NAMESPACED


def rights_of(who: VerifiedIdentity, bindings: Iterable[RoleBinding]) -> Rights:
    """The rights of a user: a verified identity becomes a principal with rights here, and nowhere else."""
    return Rights(
        who.name,
        tuple(
            Grant(binding.role, Area(binding.namespaces, binding.queues), binding.priority_classes)
            for binding in bindings
            if binding.is_for(who)
        ),
    )


def unenforceable(
    role: Role,
    namespaces: Collection[str] | None,
    queues: Collection[str] | None,
    priority_classes: Collection[str] | None = None,
) -> str:
    """The reason why a binding is invalid; "" if it is valid."""
    if priority_classes is not None and role not in (Role.SUBMITTER, Role.BATCH_ADMINISTRATOR):
        return "only submitters and batch administrators are bound to priority classes: leave them out"
    if role == Role.CLUSTER_ADMINISTRATOR and (namespaces is not None or queues is not None):
        return "a cluster administrator is one everywhere: leave out namespaces and queues"
    return ""
