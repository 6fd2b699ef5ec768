"""Evictions: one cluster is taken out of a placement, where its disruption budget lets it.

An eviction is carried out once, in the transaction that takes it in: its conditions and what it does are
committed together, and one transaction follows the other, so that two never spend the last of a budget.
What it takes back lets go first; then the cluster may be picked again like any other.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from hub.domain.rollout.disruption import (
    BoundCluster,
    DisruptionBudget,
    EvictedPlacement,
    EvictionVerdict,
    may_evict,
)
from hub.domain.workloads.placement_policy import Policy, read_policy
from hub.domain.workloads.states import CHARGED, State
from hub.services.placements.abandon import compares
from hub.services.placements.bindings import EVICTED, FOR_A_JOB
from hub.services.placements.place_jobs import without_placed_by_others
from hub.services.works.evict import evict
from hub.store import objects, placed_jobs, placements, works
from hub.store.records.history import EventFacts
from hub.store.records.objects import StoredObject
from hub.store.records.placements import Binding
from hub.store.transaction import Transaction
from shared.conditions import Condition, Status, set_condition
from shared.documents import Json, JsonView
from shared.errors import Rejected
from shared.groups import PLACEMENT
from shared.kinds.eviction_v1 import BUDGETS, EVICTIONS
from shared.labels import SUBMITTED_BY
from shared.reject_codes import RejectCode

REASON: Final = "PlacementEvicted"  # of Jobs that are withdrawn by it
GOING: Final = tuple(sorted(CHARGED - {State.WITHDRAWING}))
_SUFFIX: Final = "Eviction"
_SAID: Final = ("Valid", "Executed")

Budgets = Mapping[
    tuple[str, str, str], DisruptionBudget
]  # by kind of the placement, namespace, name


@dataclass(frozen=True, slots=True)
class Evictable:
    """One placement with its verdict about one cluster, and what carrying it out would touch."""

    verdict: EvictionVerdict
    row: StoredObject | None = None
    binding: Binding | None = None
    jobs: Sequence[str] = ()  # uids of those that it takes back


def is_eviction(row: StoredObject) -> bool:
    """Is it an eviction, of either scope?"""
    return row.api_group == PLACEMENT and row.kind in EVICTIONS


def refuse_change(before: StoredObject | None, after: StoredObject) -> None:
    """Raise Rejected (Immutable) where an eviction is to name another placement or cluster."""
    if before is not None and is_eviction(before) and before.spec != after.spec:
        text = "an eviction runs once and cannot be changed: create another one"
        raise Rejected(RejectCode.IMMUTABLE, text, "spec")


def carry_out(tx: Transaction, row: StoredObject, told: JsonView | None) -> None:
    """Judge an eviction that has just been stored, say so in its status, and do it where that is allowed.

    `told`: its status where the hub cluster has kept one: what has been said already is not done again.
    """
    said = [each for each in (told or {}).get("conditions") or () if each["type"] in _SAID]
    if said:
        objects.set_statuses(tx, {row.uid: {"conditions": said}})
        return
    spec = row.spec or {}
    name, cluster = spec["placementName"], spec["clusterName"]
    kind = row.kind.removesuffix(_SUFFIX)
    found = look(tx, kind, row.namespace, name, cluster)
    status = {"conditions": _conditions(tx, row, found.verdict)}
    objects.set_statuses(tx, {row.uid: status})
    verdict = found.verdict
    tx.say(row, verdict.condition_reason, verdict.message, warning=not verdict.allowed)
    if verdict.allowed:
        by = row.annotations.get(SUBMITTED_BY)
        take_out(tx, found, f"as {row.kind} {row.name} asks" + (f" ({by})" if by else ""))


def look(tx: Transaction, kind: str, namespace: str, name: str, cluster: str) -> Evictable:
    """The present answer to an eviction of that placement from that cluster."""
    row = objects.find(tx, PLACEMENT, kind, namespace, name)
    if row is None:
        absent = EvictedPlacement(kind, found=False)
        return Evictable(may_evict(absent, cluster, None))
    there = [
        job
        for job in placed_jobs.jobs_of(tx, row.uid)
        if job.cluster == cluster and job.state in GOING
    ]
    jobs = [job.uid for job in without_placed_by_others(tx, row.uid, there)]
    down = {at for _, at in works.not_standing(tx, [row.uid])}
    bound = placements.bindings_of(tx, row.uid)
    return look_at(row, cluster, bound, _budget(tx, row), jobs, down=down)


def look_at(
    row: StoredObject,
    cluster: str,
    bound: Sequence[Binding],
    budget: DisruptionBudget | None,
    jobs: Sequence[str] = (),
    *,
    down: Collection[str] = (),
) -> Evictable:
    """The same of a placement whose bindings, budget and Jobs there are at hand.

    `down`: clusters where something is not available by the last report, which a binding may not show yet.
    """
    mine = next((each for each in bound if each.cluster == cluster), None)
    placement = _standing(row, bound, {cluster: len(jobs)}, down)
    return Evictable(may_evict(placement, cluster, budget), row, mine, jobs)


def take_out(tx: Transaction, found: Evictable, why: str, *, jobs: bool = True) -> None:
    """Take back at once what a placement has in a cluster. `jobs`: its Jobs that run there too.

    Jobs leave as every evicted one does: they start elsewhere once the member has said that nothing of them
    runs or can start there.
    """
    row, mine = found.row, found.binding
    assert row is not None
    assert mine is not None
    if jobs and found.jobs:
        evict(tx, found.jobs, REASON, f"evicted from {mine.cluster}, {why}")
    if mine.policy_snapshot in (FOR_A_JOB, EVICTED):
        return
    placements.bind(tx, [mine._replace(selected=False, policy_snapshot=EVICTED)])
    held = [each for each in works.of_placement(tx, row.uid) if each.cluster == mine.cluster]
    tx.touch("observed", *(works.key(each.cluster, each.uid) for each in held))  # look again
    facts = EventFacts(cluster=mine.cluster)
    tx.say(row, "PlacementEvicted", f"off {mine.cluster}, {why}", facts=facts)


def budgets_of(tx: Transaction) -> Budgets:
    """All disruption budgets, by the placements that they are of."""
    found = {}
    for kind in BUDGETS:
        for row in objects.list_kind(tx, PLACEMENT, kind):
            if row.deleted_at is None:
                of = (kind.removesuffix("DisruptionBudget"), row.namespace, row.name)
                found[of] = _read_budget(row)
    return found


def _standing(
    row: StoredObject, bound: Sequence[Binding], jobs: Mapping[str, int], down: Collection[str]
) -> EvictedPlacement:
    """The placement as the rule sees it. What is only compared is nowhere, and nothing of it is lost."""
    spec = row.spec or {}
    policy, nothing_there = read_policy(spec.get("policy")), compares(spec)
    clusters = {
        each.cluster: BoundCluster(
            given=bool(each.resource_snapshot) and each.policy_snapshot != FOR_A_JOB,
            available=each.settled_at is not None
            and each.cluster not in down
            and not nothing_there,
            leaving=each.policy_snapshot == EVICTED,
            jobs=jobs.get(each.cluster, 0),
        )
        for each in bound
        if each.policy_snapshot != FOR_A_JOB or each.cluster in jobs
    }
    return EvictedPlacement(
        row.kind,
        policy.type,
        _wanted(policy, clusters),
        clusters,
        deleting=row.deleted_at is not None,
    )


def _wanted(policy: Policy, clusters: Mapping[str, BoundCluster]) -> int:
    return policy.count or 0 if policy.type == "PickN" else len(clusters)


def _budget(tx: Transaction, row: StoredObject) -> DisruptionBudget | None:
    """Of the placement's own name and scope, as KubeFleet has it; of a namespaced one in its namespace."""
    kind = f"{row.kind}DisruptionBudget"
    found = objects.find(tx, PLACEMENT, kind, row.namespace, row.name)
    return None if found is None or found.deleted_at is not None else _read_budget(found)


def _read_budget(row: StoredObject) -> DisruptionBudget:
    spec: JsonView = row.spec or {}
    return DisruptionBudget(spec.get("maxUnavailable"), spec.get("minAvailable"))


def _conditions(tx: Transaction, row: StoredObject, verdict: EvictionVerdict) -> list[Json]:
    said: list[tuple[str, bool, tuple[str, str]]] = [
        ("Valid", verdict.valid, verdict.valid_condition)
    ]
    if verdict.valid:
        said.append(("Executed", verdict.allowed, (verdict.executed_reason, verdict.message)))
    made: list[Condition] = []
    for kind, is_so, words in said:
        status: Status = "True" if is_so else "False"
        made = set_condition(made, kind, status, *words, tx.now, row.generation)
    return [{**each} for each in made]
