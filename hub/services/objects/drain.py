"""Draining a member: nothing new goes there, its jobs come back, and placements leave it as budgets allow.

A drain begins nothing. Jobs are taken back like every job that is evicted: they start elsewhere once the
member has said that nothing of them runs or can start there (docs/explain/exactly-once.md). Objects go where
their placement's disruption budget allows it; asking again goes on with those that it did not allow yet.
"""

from collections.abc import Sequence
from typing import Final

from hub.domain.rollout.disruption import (
    Bindings,
    DisruptionBudget,
    EvictionVerdict,
    may_evict,
)
from hub.domain.workloads.placement_policy import Policy, read_policy
from hub.domain.workloads.states import CHARGED, State
from hub.services.context.settings import Settings
from hub.services.objects.clusters import cordon_cluster
from hub.services.placements.bindings import EVICTED, FOR_A_JOB
from hub.services.questions.clusters import find_cluster
from hub.services.works.evict import evict
from hub.store import audit, objects, on_members, placements, workloads, works
from hub.store.records.objects import StoredObject
from hub.store.records.placements import Binding
from hub.store.transaction import Transaction
from shared.documents import Json, JsonView
from shared.groups import PLACEMENT

REASON: Final = "ClusterDrained"
MOST_SHOWN: Final = 200  # jobs, and placements, in one answer
_GOING: Final = tuple(sorted(CHARGED - {State.WITHDRAWING}))


def drain_cluster(
    tx: Transaction, name: str, settings: Settings, principal: str, *, carry_out: bool
) -> Json:
    """What a drain moves, and with `carry_out` it begins. Raises Rejected: NotFound.

    {"name", "carriedOut", "jobs", "jobCount", "placements": [{kind, namespace, name, allowed, message}],
    "blocked": how many placements stay for now}.
    """
    find_cluster(tx, name)
    uids = [each.uid for each in on_members.jobs_on(tx, [name], _GOING)]
    rows = workloads.get_many(tx, uids[:MOST_SHOWN])
    left = _placements(tx, name)
    told = []
    for row, mine, verdict in left:
        told.append(_told(row, verdict))
        if carry_out and verdict.allowed:
            _leave(tx, row, mine, principal)
    if carry_out:
        cordon_cluster(tx, name, settings, principal, on=True)
        evict(tx, uids, REASON, f"{principal} drains cluster {name}")
        audit.add(tx, principal, "drain", f"MemberCluster {name}", f"{len(uids)} jobs")
    return {
        "name": name,
        "carriedOut": carry_out,
        "jobCount": len(uids),
        "jobs": [
            {"namespace": each.namespace, "name": each.name, "state": each.state}
            for each in sorted(rows.values(), key=lambda each: (each.namespace, each.name))
        ],
        "placements": told[:MOST_SHOWN],
        "blocked": sum(not verdict.allowed for _, _, verdict in left),
    }


def _placements(
    tx: Transaction, cluster: str
) -> list[tuple[StoredObject, Binding, EvictionVerdict]]:
    """Placements that have objects there, in the order of their names, and whether they may lose it."""
    bound = [
        each for each in placements.bound_to(tx, cluster) if each.policy_snapshot != FOR_A_JOB
    ]
    rows = objects.get_many(tx, [each.placement for each in bound])
    found = [
        (row, each, _verdict(tx, row, each))
        for each in bound
        if (row := rows.get(each.placement)) is not None and row.deleted_at is None
    ]
    return sorted(found, key=lambda each: (each[0].kind, each[0].namespace, each[0].name))


def _verdict(tx: Transaction, row: StoredObject, mine: Binding) -> EvictionVerdict:
    policy = read_policy((row.spec or {}).get("policy"))
    every = [
        each
        for each in placements.bindings_of(tx, row.uid)
        if each.selected and each.policy_snapshot != FOR_A_JOB
    ]
    available = sum(each.settled_at is not None for each in every)
    bindings = Bindings(policy.type, _wanted(policy, every), len(every), available)
    return may_evict(bindings, _budget(tx, row), available=mine.settled_at is not None)


def _wanted(policy: Policy, every: Sequence[Binding]) -> int:
    return policy.count or 0 if policy.type == "PickN" else len(every)


def _budget(tx: Transaction, row: StoredObject) -> DisruptionBudget | None:
    """Of the placement's own name and scope, as KubeFleet has it; of a namespaced one in its namespace."""
    kind = f"{row.kind}DisruptionBudget"
    found = objects.find(tx, PLACEMENT, kind, row.namespace, row.name)
    if found is None or found.deleted_at is not None:
        return None
    spec: JsonView = found.manifest.get("spec") or {}
    return DisruptionBudget(spec.get("maxUnavailable"), spec.get("minAvailable"))


def _leave(tx: Transaction, row: StoredObject, mine: Binding, principal: str) -> None:
    """The placement looks again, and takes back what it has there at once."""
    placements.bind(tx, [mine._replace(selected=False, policy_snapshot=EVICTED)])
    held = [each for each in works.of_placement(tx, row.uid) if each.cluster == mine.cluster]
    tx.touch("observed", *(works.key(each.cluster, each.uid) for each in held))
    tx.say(row, "PlacementEvicted", f"off {mine.cluster}, which {principal} drains")


def _told(row: StoredObject, verdict: EvictionVerdict) -> Json:
    return {
        "kind": row.kind,
        "namespace": row.namespace if row.kind == "ResourcePlacement" else "",
        "name": row.name,
        "allowed": verdict.allowed,
        "message": verdict.message,
    }
