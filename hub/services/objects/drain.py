"""Draining a member: it gets no new work, its jobs come back, and placements leave it as budgets allow.

A drain begins nothing. Jobs are taken back like every job that is evicted: they start elsewhere once the
member has said that nothing of them runs or can start there (docs/explain/exactly-once.md). Objects go as
their placement's disruption budget allows; a repeated request continues with the rest.
"""

from collections.abc import Sequence
from typing import Final

from hub.domain.rollout.disruption import EvictionVerdict
from hub.domain.rollout.removal import Fate
from hub.services.context import identity
from hub.services.objects import evictions
from hub.services.objects.clusters import set_cordoned
from hub.services.objects.evictions import GOING, Evictable
from hub.services.placements.bindings import FOR_A_JOB
from hub.services.placements.fleet import read_fleet
from hub.services.questions.clusters import find_cluster
from hub.services.removals import before
from hub.services.works.evict import evict
from hub.store import audit, objects, on_members, placements, workloads, works
from hub.store.records.objects import StoredObject
from hub.store.records.works import Work
from hub.store.transaction import Transaction
from shared.consent import CLOSED, accept_command
from shared.documents import Json

REASON: Final = "ClusterDrained"
MOST_SHOWN: Final = 200  # jobs, and placements, in one answer


def drain_cluster(tx: Transaction, name: str, principal: str, *, carry_out: bool) -> Json:
    """The moves of a drain; with `carry_out` it begins. Raises Rejected: NotFound.

    {"name", "carriedOut", "jobs", "jobCount", "placements": [{kind, namespace, name, allowed, message,
    objectsDeleted, objectsReleased, objectsUnknown}], "blocked": how many placements stay for now,
    "members": what that does there, as `before.told` has it, read before anything moves, "waiting":
    [{namespace, jobCount, message}] whose jobs no other cluster accepts}.
    """
    find_cluster(tx, name)
    uids = [each.uid for each in on_members.jobs_on(tx, [name], GOING)]
    rows = workloads.get_many(tx, uids[:MOST_SHOWN])
    left = _placements(tx, name)
    held: dict[str, list[Work]] = {}
    there = works.placed_in(tx, name) if left else []
    waiting = _accepted_nowhere_else(tx, name)
    for work in there:
        held.setdefault(work.placed_by, []).append(work)
    leaving = [each.row for each in left if each.verdict.allowed and each.row is not None]
    outcomes = before.told(before.of_drain(tx, name, there, uids, leaving))
    told: list[Json] = []
    for each in left:
        assert each.row is not None
        told.append(_told(each.row, each.verdict, held.get(each.row.uid, ())))
        if carry_out and each.verdict.allowed:
            evictions.take_out(tx, each, f"which {principal} drains", jobs=False)
    if carry_out:
        set_cordoned(tx, name, principal, on=True)
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
        "blocked": sum(not each.verdict.allowed for each in left),
        "members": outcomes,
        "waiting": waiting[:MOST_SHOWN],
    }


def _accepted_nowhere_else(tx: Transaction, name: str) -> list[Json]:
    """Namespaces whose jobs leave, and that every other member reports as not accepted.

    A member whose agent has yet to report, or reports no consent, may take them.
    """
    others = [each for each in read_fleet(tx).values() if each.joined and each.name != name]
    counts = on_members.namespaces_on(tx, name, GOING) if others else {}
    hub_id = identity.hub_id_of(tx) if counts else ""
    return [
        {"namespace": namespace, "jobCount": number, "message": _waits(namespace, number, hub_id)}
        for namespace, number in sorted(counts.items())
        if all((each.consent or {}).get(namespace) in CLOSED for each in others)
    ]


def _waits(namespace: str, number: int, hub_id: str) -> str:
    jobs = "1 job waits" if number == 1 else f"{number} jobs wait"
    command = accept_command(f"namespace {namespace}", hub_id)
    return (
        f"{jobs} until another cluster accepts namespace {namespace}; none does now. To accept it there: "
        f"{command}"
    )


def _placements(tx: Transaction, cluster: str) -> list[Evictable]:
    """Placements that have objects there, in the order of their names, and whether they may lose it."""
    uids = [
        each.placement
        for each in placements.bound_to(tx, cluster)
        if each.policy_snapshot != FOR_A_JOB
    ]
    rows = [each for each in objects.get_many(tx, uids).values() if each.deleted_at is None]
    bound = placements.bindings_by_placement(tx, [each.uid for each in rows])
    budgets = evictions.budgets_of(tx) if rows else {}
    down: dict[str, set[str]] = {}
    for uid, at in works.not_standing(tx, [each.uid for each in rows]):
        down.setdefault(uid, set()).add(at)
    return [
        evictions.look_at(
            row,
            cluster,
            bound[row.uid],
            budgets.get((row.kind, row.namespace, row.name)),
            down=down.get(row.uid, ()),
        )
        for row in sorted(rows, key=lambda each: (each.kind, each.namespace, each.name))
    ]


def _told(row: StoredObject, verdict: EvictionVerdict, held: Sequence[Work]) -> Json:
    fate = before.counts_of_placement(held, row.spec or {})
    return {
        "kind": row.kind,
        "namespace": row.namespace if row.kind == "ResourcePlacement" else "",
        "name": row.name,
        "allowed": verdict.allowed,
        "message": verdict.message,
        "objectsDeleted": fate[Fate.DELETED] + fate[Fate.DELETED_IF_EMPTY],
        "objectsReleased": fate[Fate.RELEASED],
        "objectsUnknown": fate[Fate.NOT_REPORTED],
    }
