"""The rights of `deploy/hub-cluster` in force on a simulated hub cluster, as RBAC would have them.

A simulated API server lets everybody do everything: here each request is looked up in the ClusterRoles
that the user has, and refused where none allows it. What was refused is kept for the test.
"""

from collections.abc import Iterable
from typing import Any

from shared.kubesim.apimachinery import errors
from shared.kubesim.cluster import ADMIN, SimCluster
from shared.kubesim.requests.call import Call, Reply, User
from shared.kubesim.server import mirror_guard
from tests import manifests
from tests.e2e.running import REPOSITORY

Json = dict[str, Any]
MANIFEST = REPOSITORY / "deploy" / "hub-cluster" / "access.yaml"
HUB = mirror_guard.HUB.name
OPERATOR, ANN, BEN, VIEWER = "operator", "ann", "ben", "viewer"
# Who has which role where; "" is everywhere.
BOUND = {
    HUB: ("roadstead-hub", ""),
    OPERATOR: ("roadstead-operator", ""),
    ANN: ("roadstead-user", "compute-jobs"),
    BEN: ("roadstead-user", "elsewhere"),
    VIEWER: ("roadstead-viewer", ""),
}


def documents() -> list[Json]:
    """The manifests of deploy/hub-cluster/access.yaml: leave them as they are."""
    return manifests.kept(MANIFEST)


def rules_of(role: str, without: str = "") -> list[Json]:
    """The rules of a ClusterRole, those that it aggregates among them; `without` one of those."""
    roles = {
        each["metadata"]["name"]: each
        for each in documents()
        if each["kind"] == "ClusterRole" and each["metadata"]["name"] != without
    }
    found = roles[role]
    rules = list(found["rules"])
    for selector in (found.get("aggregationRule") or {}).get("clusterRoleSelectors", ()):
        wanted = selector["matchLabels"].items()
        for other in roles.values():
            if wanted <= (other["metadata"].get("labels") or {}).items():
                rules += other["rules"]
    return rules


def own_rules() -> list[Json]:
    """The rules that the hub has in one namespace alone."""
    return [rule for each in documents() if each["kind"] == "Role" for rule in each["rules"]]


class Rights:
    """Stands before every request. `denied`: (user, verb, resource, namespace).

    `asks_in`: where the hub may create Jobs by dry run; `without`: a role that was not applied.
    """

    def __init__(self, cluster: SimCluster, without: str = "") -> None:
        self.asks_in = "roadstead"
        self.denied: list[tuple[str, str, str, str]] = []
        self._then = cluster.server.intercept
        self._rules = {
            user: (rules_of(role, without), where) for user, (role, where) in BOUND.items()
        }
        cluster.server.intercept = self

    async def before(self, call: Call, verb: str) -> Reply | None:
        if call.resource is not None and call.user.name != ADMIN.name:
            self._check(call, verb)
        return await self._then.before(call, verb) if self._then else None

    async def after(self, call: Call, verb: str, reply: Reply) -> Reply:
        return await self._then.after(call, verb, reply) if self._then else reply

    def _check(self, call: Call, verb: str) -> None:
        assert call.resource is not None
        plural = "/".join(part for part in (call.resource.plural, call.subresource) if part)
        rules, where = self._rules[call.user.name]
        if call.user.name == HUB and call.namespace == self.asks_in:
            rules = [*rules, *own_rules()]
        if where in ("", call.namespace) and _allowed(rules, call.resource.group, plural, verb):
            return
        self.denied.append((call.user.name, verb, plural, call.namespace))
        why = f"{call.user.name} cannot {verb} {plural} in namespace {call.namespace!r}"
        raise errors.forbidden(call.resource.plural, call.resource.group, call.name, why)


def _allowed(rules: Iterable[Json], group: str, plural: str, verb: str) -> bool:
    return any(
        group in rule["apiGroups"]
        and (plural in rule["resources"] or "*" in rule["resources"])
        and verb in rule["verbs"]
        for rule in rules
    )


def guarded(without: str = "") -> tuple[SimCluster, Rights]:
    """A hub cluster with these rights in force, and a token for each user; not started."""
    users = {f"token-of-{name}": User(name, ("system:authenticated",)) for name in BOUND}
    cluster = SimCluster("hub", hub=True, tokens={"token-of-admin": ADMIN, **users})
    return cluster, Rights(cluster, without)
