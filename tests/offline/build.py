"""Queues, cohorts and workloads as manifests, and what the engine answers when it plays them.

A quota is written `nominal`, or `Q(nominal, borrowing limit, lending limit)`; amounts of cpu unless a
resource is named. Every queue gets a LocalQueue of its name in namespace `ns`.
"""

import datetime as dt
from typing import Any, NamedTuple

from hub.domain.cycle.attempt import Attempt
from hub.offline.inputs import documents, scene
from hub.offline.inputs.settings import settings_of
from hub.offline.play.engine import Engine, engine_of
from hub.offline.reports import decisions

NOW = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)
GROUP = "kueue.x-k8s.io/v1beta2"
Json = dict[str, Any]
FAIR: Json = {"fairSharing": {"enable": True}}


INSTANT = documents.read_instant(NOW.isoformat())

GPU = "nvidia.com/gpu"


class Q(NamedTuple):
    """Nominal quota and limits; None: no limit."""

    nominal: Any
    borrowing: Any = None
    lending: Any = None


def stamp(seconds: float = 0) -> str:
    """An instant so many seconds after `NOW`."""
    return (NOW + dt.timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


def a_flavor(name: str = "default", **spec: Any) -> Json:
    return {
        "apiVersion": GROUP,
        "kind": "ResourceFlavor",
        "metadata": {"name": name},
        "spec": spec,
    }


def _groups(quota: Any, resource: str) -> list[Json]:
    """`10`, `Q(…)`, `{flavor: …}` or `{flavor: {resource: …}}` as resource groups."""
    by_flavor = quota if isinstance(quota, dict) else {"default": quota}
    flavors = []
    covered: list[str] = []
    for name, amounts in by_flavor.items():
        each = amounts if isinstance(amounts, dict) else {resource: amounts}
        covered = list(each)
        flavors.append({"name": name, "resources": [_quota(r, q) for r, q in each.items()]})
    return [{"coveredResources": covered, "flavors": flavors}]


def _quota(resource: str, given: Any) -> Json:
    quota = given if isinstance(given, Q) else Q(given)
    limits = {"borrowingLimit": quota.borrowing, "lendingLimit": quota.lending}
    return {"name": resource, "nominalQuota": str(quota.nominal)} | {
        k: str(v) for k, v in limits.items() if v is not None
    }


def a_queue(
    name: str,
    quota: Any = 0,
    cohort: str = "",
    *,
    resource: str = "cpu",
    within: str = "Never",
    reclaim: str = "Never",
    borrow: Json | None = None,
    groups: list[Json] | None = None,
    weight: Any = None,
    **spec: Any,
) -> list[Json]:
    """A ClusterQueue and its LocalQueue."""
    preemption: Json = {"withinClusterQueue": within, "reclaimWithinCohort": reclaim}
    if borrow:
        preemption["borrowWithinCohort"] = borrow
    body = {
        "resourceGroups": groups or _groups(quota, resource),
        "namespaceSelector": {},
        "preemption": preemption,
        **({"cohortName": cohort} if cohort else {}),
        **({"fairSharing": {"weight": weight}} if weight is not None else {}),
        **spec,
    }
    queue = {"apiVersion": GROUP, "kind": "ClusterQueue", "metadata": {"name": name}, "spec": body}
    return [queue, a_local_queue(name, name)]


def a_local_queue(name: str, queue: str, namespace: str = "ns", **more: Any) -> Json:
    return {
        "apiVersion": GROUP, "kind": "LocalQueue", "metadata": {"name": name, "namespace": namespace},
        "spec": {"clusterQueue": queue, **more.get("spec", {})},
        **({"status": more["status"]} if "status" in more else {}),
    }  # fmt: skip


def a_cohort(
    name: str, quota: Any = None, parent: str = "", *, resource: str = "cpu", weight: Any = None
) -> Json:
    spec: Json = {}
    if quota is not None:
        spec["resourceGroups"] = _groups(quota, resource)
    if parent:
        spec["parentName"] = parent
    if weight is not None:
        spec["fairSharing"] = {"weight": weight}
    return {"apiVersion": GROUP, "kind": "Cohort", "metadata": {"name": name}, "spec": spec}


def pods(
    amount: Any = 1,
    count: int = 1,
    least: int | None = None,
    *,
    resource: str = "cpu",
    name: str = "main",
    **spec: Any,
) -> Json:
    """A pod set: `count` pods that request `amount` each (or a mapping of requests)."""
    requests = amount if isinstance(amount, dict) else {resource: str(amount)}
    container = {"name": "c", "image": "i", "resources": {"requests": requests}}
    pod_set = {
        "name": name,
        "count": count,
        "template": {"spec": {"containers": [container], **spec}},
    }
    return pod_set | ({"minCount": least} if least is not None else {})


def a_workload(
    name: str,
    queue: str,
    amount: Any = 1,
    *,
    prio: int = 0,
    age: float = 0,
    pod_sets: list[Json] | None = None,
    resource: str = "cpu",
    namespace: str = "ns",
    conditions: list[Json] | None = None,
    status: Json | None = None,
    **spec: Any,
) -> Json:
    """A waiting workload, created `age` seconds before `NOW`."""
    return {
        "apiVersion": GROUP,
        "kind": "Workload",
        "metadata": {
            "name": name, "namespace": namespace, "uid": name, "creationTimestamp": stamp(-age)
        },
        "spec": {
            "queueName": queue,
            "priority": prio,
            "podSets": pod_sets or [pods(amount, resource=resource)],
            **spec,
        },
        "status": {"conditions": conditions or [], **(status or {})},
    }  # fmt: skip


def a_condition(kind: str, reason: str = "", *, since: float = 0, status: str = "True") -> Json:
    return {
        "type": kind, "status": status, "reason": reason or kind, "message": "",
        "lastTransitionTime": stamp(since),
    }  # fmt: skip


def a_holder(
    name: str,
    queue: str,
    amount: Any = 1,
    *,
    flavor: Any = "default",
    resource: str = "cpu",
    since: float = -60,
    evicted: bool = False,
    cluster: str = "",
    **more: Any,
) -> Json:
    """A workload that holds quota of the ClusterQueue `queue` since so many seconds."""
    requests = amount if isinstance(amount, dict) else {resource: str(amount)}
    flavors = flavor if isinstance(flavor, dict) else dict.fromkeys(requests, flavor)
    held = a_workload(
        name, more.pop("local_queue", queue), requests, age=more.pop("age", 60), **more
    )
    held["status"] |= {
        "admission": {
            "clusterQueue": queue,
            "podSetAssignments": [
                {"name": "main", "count": 1, "flavors": flavors, "resourceUsage": requests}
            ],
        }
    }
    held["status"]["conditions"] += [a_condition("QuotaReserved", since=since)]
    held["status"]["conditions"] += [a_condition("Evicted", "Preempted")] if evicted else []
    if cluster:
        held["status"]["clusterName"] = cluster
    return held


class Played:
    """The answers of a played scene."""

    def __init__(self, answer: Json) -> None:
        self.answer = answer
        self._decisions = {d["name"]: d for d in answer["decisions"]}
        self._queues = {q["clusterQueue"]: q for q in answer["queues"]}
        self._cohorts = {c["name"]: c for c in answer["cohorts"]}

    def of(self, name: str) -> Json:
        return self._decisions[name]

    def verdict(self, name: str) -> tuple[str, str | None]:
        """Decision and where it waits next."""
        return self.of(name)["decision"], self.of(name)["requeue"]

    def victims(self, name: str) -> dict[str, str]:
        return {v["name"]: v["reason"] for v in self.of(name)["victims"]}

    def flavor(self, name: str, resource: str = "cpu") -> str:
        return self.of(name)["podSets"][0]["flavors"][resource]

    def counts(self, name: str) -> list[int]:
        return [p["count"] for p in self.of(name)["podSets"]]

    def admitted(self) -> set[str]:
        return {n for n, d in self._decisions.items() if d["decision"] == "admitted"}

    def available(self, *queues: str) -> list[str | None]:
        return self._figures("available", queues)

    def potential(self, *queues: str) -> list[str | None]:
        return self._figures("potential", queues)

    def _figures(self, kind: str, queues: tuple[str, ...]) -> list[str | None]:
        return [next(iter(next(iter(self._queues[q][kind].values())).values())) for q in queues]

    def share(self, name: str) -> int:
        """Of a queue, else of a cohort."""
        return (self._queues.get(name) or self._cohorts[name])["weightedShare"]


def _flat(objects: Any) -> list[Json]:
    return [o for item in objects for o in ([item] if isinstance(item, dict) else _flat(item))]


def a_scene(*objects: Any, settings: Json | None = None) -> scene.Scene:
    """A scene of manifests (lists of them are flattened); flavor `default` is always there."""
    listed = [a_flavor(), *_flat(objects)]
    read = [documents.read_document("scene", n, m) for n, m in enumerate(listed, start=1)]
    return scene.build(read, settings_of(settings or {}), INSTANT)


def engine_on(*objects: Any, settings: Json | None = None) -> Engine:
    """The engine on a scene, before its first round."""
    return engine_of(a_scene(*objects, settings=settings))


def play(*objects: Any, settings: Json | None = None, rounds: int = 1) -> Played:
    """Play a scene of manifests and report."""
    return Played(decisions.cycle_report(a_scene(*objects, settings=settings), rounds))


def a_member(
    name: str, *pools: dict[str, Any], labels: dict[str, str] | None = None
) -> dict[str, Any]:
    return {
        "apiVersion": "cluster.kubernetes-fleet.io/v1", "kind": "MemberCluster",
        "metadata": {"name": name, "labels": labels or {}}, "spec": {},
        "status": {"pools": list(pools)},
    }  # fmt: skip


def a_pool(
    count: int = 1, labels: dict[str, str] | None = None, **allocatable: Any
) -> dict[str, Any]:
    listed = {GPU if k == "gpu" else k: str(v) for k, v in allocatable.items()}
    return {"name": "p", "count": count, "labels": labels or {}, "allocatable": listed}


def nominated(heads: dict[str, tuple[Any, int, float, Any]], timestamp: str) -> list[Attempt]:
    """Heads as one round nominates them, before they are ordered.

    They stand in queues of ten, in two cohorts of five and four below one root of 200 more.
    """
    listed = [a_cohort("root", 200), a_cohort("left", parent="root")]
    listed.append(a_cohort("right", parent="root"))
    for number, (name, (amount, prio, age, conditions)) in enumerate(heads.items()):
        listed += a_queue(name, 10, "left" if number % 2 else "right")
        listed.append(a_workload(name, name, amount, prio=prio, age=age, conditions=conditions))
    settings = {"waitForPodsReady": {"requeuingStrategy": {"timestamp": timestamp}}}
    engine = engine_on(*listed, settings=settings)
    waiting = [turns.pop() for _, turns in sorted(engine.waiting.turns.items())]
    attempts, _ = engine.rounds.nominate([who for who in waiting if who])
    return attempts
