"""The selection of a placement: objects and jobs by kind, name or labels, and the contents of Namespaces.

`read_selectors` is pure and hashable-free: it turns `spec.resourceSelectors` (normalised v1) into
rules that are asked about one resource at a time; `select` asks them of the store.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from hub.domain.placement.status import Resource
from hub.services.reading.envelopes import NotPlaced, is_envelope, open_all
from hub.store import objects, placed_jobs, workloads
from hub.store.records.objects import StoredObject
from hub.store.records.workloads import Workload
from hub.store.transaction import Transaction
from shared.documents import JsonView
from shared.kinds.dispatched import GROUPED
from shared.kinds.metadata import controllers_of
from shared.kinds.placement_rules import is_reserved_namespace
from shared.kinds.scopes import is_made_everywhere, is_never_placed
from shared.selectors import LabelSelector, read_selector

JOB: Final = ("batch", "Job")
OF_JOBS: Final = frozenset({JOB}) | GROUPED  # groups and kinds of what queues admit
NAMESPACE: Final = ("", "Namespace")
CLUSTER_SCOPED: Final = "ClusterResourcePlacement"
REFUSED_BY_HUB: Final = "RefusedByHub"
_NS_ONLY, _NS_CHOSEN = "NamespaceOnly", "NamespaceWithResourceSelectors"


@dataclass(frozen=True, slots=True)
class Rule:
    """One entry of `resourceSelectors`."""

    group: str
    kind: str
    version: str
    name: str
    labels: LabelSelector | None
    scope: str  # of a Namespace

    def matches(self, group: str, kind: str, name: str, labels: Mapping[str, str]) -> bool:
        if (group, kind) != (self.group, self.kind):
            return False
        if self.name:
            return name == self.name
        return self.labels is None or self.labels.matches(labels)


@dataclass(frozen=True, slots=True)
class SelectionRules:
    """All selectors of one placement. `namespace` is a ResourcePlacement's own, else ""."""

    namespace: str
    rules: tuple[Rule, ...]

    def may_select(
        self, group: str, kind: str, namespace: str, name: str, labels: Mapping[str, str]
    ) -> bool:
        """Could this resource be selected? Never False where it is; used to tell who must look."""
        if is_never_placed(group, kind) or is_made_everywhere(kind, name):
            return False
        if self.namespace:
            return namespace == self.namespace and any(
                rule.matches(group, kind, name, labels) for rule in self.rules
            )
        for rule in self.rules:
            if rule.matches(group, kind, name, labels):
                return True
            whole = (rule.group, rule.kind) == NAMESPACE and rule.scope != _NS_ONLY
            if whole and namespace and rule.name in ("", namespace):
                return True
        return False

    @property
    def selects_jobs(self) -> bool:
        """May jobs, of whatever kind, be among what is selected?"""
        return any(
            (rule.group, rule.kind) in OF_JOBS
            or ((rule.group, rule.kind) == NAMESPACE and rule.scope != _NS_ONLY)
            for rule in self.rules
        )


@dataclass(frozen=True, slots=True)
class NotTakenObject:
    """An object of the hub cluster that the hub refused, and why. `of`: the placement whose status said so
    before this process began, else "": its labels are not known then.
    """

    resource: Resource
    labels: tuple[tuple[str, str], ...]
    message: str
    of: str = ""


@dataclass(slots=True)
class Selection:
    """The selected objects. `jobs`: Jobs, and what else queues admit; `jobs_by_name`: those of them that a
    selector names.

    Of `envelopes` the objects in them are among `objects`, `inside` says in which; `left_out` is not placed.
    """

    objects: dict[str, StoredObject] = field(default_factory=dict)
    jobs: dict[str, Workload] = field(default_factory=dict)
    jobs_by_name: set[str] = field(default_factory=set)
    refused: list[str] = field(default_factory=list)  # namespaces that no placement may select
    envelopes: dict[str, StoredObject] = field(default_factory=dict)
    inside: dict[str, str] = field(default_factory=dict)  # by uid of an object
    left_out: list[NotPlaced] = field(default_factory=list)
    not_taken: set[Resource] = field(default_factory=set)  # of `left_out`, what the hub refused

    def open(self, tx: Transaction) -> None:
        """Put what envelopes hold in their place."""
        self.envelopes = {u: row for u, row in self.objects.items() if is_envelope(row)}
        if not self.envelopes:
            return
        plain = {u: row for u, row in self.objects.items() if u not in self.envelopes}
        found = open_all(tx, self.envelopes.values(), plain.values())
        self.objects = plain | found.rows
        self.inside, self.left_out = found.inside, found.left_out

    def leave_out(
        self, uid: str, rules: SelectionRules, refused: Iterable[NotTakenObject]
    ) -> None:
        """Add what placement `uid` selects and the hub did not take from the hub cluster.

        Of an object whose change was refused members keep what they have.
        """
        for each in refused:
            if each.of == uid or (not each.of and _would_select(self, rules, each)):
                self.not_taken.add(each.resource)
                self.left_out.append(NotPlaced(each.resource, REFUSED_BY_HUB, each.message))

    def resources(self) -> list[Resource]:
        """Identifiers in a stable order; of envelopes their own."""
        found = [resource_of(row) for uid, row in self.objects.items() if uid not in self.inside]
        found += [resource_of(row) for row in self.envelopes.values()]
        found += [resource_of_job(row) for row in self.jobs.values()]
        return sorted(
            {*found, *self.not_taken}, key=lambda r: (r.group, r.kind, r.namespace, r.name)
        )


def read_rules(kind: str, namespace: str, spec: JsonView) -> SelectionRules:
    """The selectors of a placement of `kind`."""
    rules = tuple(
        Rule(
            group=each.get("group") or "",
            kind=each.get("kind") or "",
            version=each.get("version") or "",
            name=each.get("name") or "",
            labels=read_selector(each.get("labelSelector")),
            scope=each.get("selectionScope") or "",
        )
        for each in spec.get("resourceSelectors") or ()
    )
    return SelectionRules("" if kind == CLUSTER_SCOPED else namespace, rules)


def needed_kinds(spec: JsonView) -> tuple[set[tuple[str, str, str]], bool]:
    """(group, version, kind) that a placement names, and whether it takes whole namespaces."""
    named = {
        (each.get("group") or "", each.get("version") or "v1", each.get("kind") or "")
        for each in spec.get("resourceSelectors") or ()
    }
    whole = any(
        (each.get("group") or "", each.get("kind")) == NAMESPACE
        and each.get("selectionScope") not in (_NS_ONLY, _NS_CHOSEN)
        for each in spec.get("resourceSelectors") or ()
    )
    return named, whole


def select(tx: Transaction, rules: SelectionRules) -> Selection:
    """The placement's present selection."""
    found = choose(tx, rules)
    found.open(tx)
    return found


def choose(tx: Transaction, rules: SelectionRules) -> Selection:
    """The same, envelopes not yet opened."""
    found = Selection()
    chosen = [
        rule
        for rule in rules.rules
        if not rules.namespace and (rule.group, rule.kind) == NAMESPACE
    ]
    inside = ""
    for rule in chosen:
        for row in _objects(tx, rule, ""):
            if is_reserved_namespace(row.name):
                found.refused.append(row.name)
                continue
            found.objects[row.uid] = row
            if rule.scope == _NS_CHOSEN:
                inside = row.name
            elif rule.scope != _NS_ONLY:
                _whole_namespace(tx, row.name, found)
    for rule in rules.rules:
        if rule not in chosen:
            _of_rule(tx, rule, rules.namespace or inside, found)
    return found


def resource_of_job(row: Workload) -> Resource:
    """The identifier of a job's object, from its workload."""
    group, _, version = row.api_version.rpartition("/")
    return Resource(group, version, row.kind, row.namespace, row.name)


def resource_of(row: StoredObject) -> Resource:
    """The identifier of an object, from its row."""
    version = str(row.api_version).rpartition("/")[2]
    return Resource(row.api_group, version, row.kind, row.namespace, row.name)


def _would_select(found: Selection, rules: SelectionRules, refused: NotTakenObject) -> bool:
    """Would it be among what was `found`, had the hub taken it?"""
    it, labels = refused.resource, dict(refused.labels)
    if not rules.may_select(it.group, it.kind, it.namespace, it.name, labels):
        return False
    if rules.namespace or not it.namespace:
        return True
    spaces = [row for row in found.objects.values() if (row.api_group, row.kind) == NAMESPACE]
    for row in spaces:
        if row.name != it.namespace:
            continue
        for rule in rules.rules:
            if not rule.matches(*NAMESPACE, row.name, row.labels or {}):
                continue
            if rule.scope == _NS_CHOSEN:
                return any(e.matches(it.group, it.kind, it.name, labels) for e in rules.rules)
            if rule.scope != _NS_ONLY:
                return True
    return False


def _objects(tx: Transaction, rule: Rule, namespace: str) -> Iterable[StoredObject]:
    if is_never_placed(rule.group, rule.kind):
        return []
    names = [rule.name] if rule.name else None
    rows = objects.list_kind(tx, rule.group, rule.kind, names=names)
    return [
        row
        for row in rows
        if row.namespace in ("", namespace)
        and row.deleted_at is None
        and rule.matches(row.api_group, row.kind, row.name, row.labels or {})
        and _may_be_placed(row)
    ]


def _whole_namespace(tx: Transaction, namespace: str, found: Selection) -> None:
    for row in objects.list_namespace(tx, namespace, limit=100_000):
        if not is_never_placed(row.api_group, row.kind) and _may_be_placed(row):
            found.objects[row.uid] = row
    for job in placed_jobs.live_jobs(tx, namespace):
        found.jobs[job.uid] = job


def _of_rule(tx: Transaction, rule: Rule, namespace: str, found: Selection) -> None:
    if (rule.group, rule.kind) in OF_JOBS:
        _jobs(tx, rule, namespace, found)
    if (rule.group, rule.kind) != JOB:  # of the other kinds, those that name no queue
        for row in _objects(tx, rule, namespace):
            found.objects[row.uid] = row


def _jobs(tx: Transaction, rule: Rule, namespace: str, found: Selection) -> None:
    if rule.name:
        row = workloads.live_by_name(tx, [(namespace, rule.name)]).get((namespace, rule.name))
        if row is not None and _is_of(row, rule):
            found.jobs[row.uid] = row
            found.jobs_by_name.add(row.uid)
        return
    for row in placed_jobs.live_jobs(tx, namespace):
        if _is_of(row, rule) and (rule.labels is None or rule.labels.matches(row.labels or {})):
            found.jobs[row.uid] = row


def _is_of(row: Workload, rule: Rule) -> bool:
    return (row.api_version.rpartition("/")[0], row.kind) == (rule.group, rule.kind)


def _may_be_placed(row: StoredObject) -> bool:
    """Not an object of every namespace, not what a controller of the hub cluster owns, and no CronJob
    whose schedule the hub keeps.
    """
    if is_made_everywhere(row.kind, row.name) or row.is_scheduled:
        return False
    manifest = row.manifest or {}
    if row.kind == "Secret" and manifest.get("type") == "kubernetes.io/service-account-token":
        return False
    return not controllers_of(manifest.get("metadata") or {})
