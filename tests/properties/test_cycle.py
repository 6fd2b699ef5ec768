"""What holds of every plan, whatever waits and whatever the fleet is."""

from collections import defaultdict
from dataclasses import replace

from hypothesis import given, strategies as st

from hub.domain.cycle.snapshot import Snapshot
from hub.domain.plan import Plan, Reason
from hub.domain.quota.declared import FlavorResource
from tests.domain.build import (
    decide,
    where,
)
from tests.properties.strategies import snapshots


def _demands(snapshot: Snapshot) -> dict[str, object]:
    return {lane.demand.key: lane.demand for _, lanes in snapshot.queues for lane in lanes}


@given(snapshots())
def test_no_queue_exceeds_its_quota(snapshot: Snapshot) -> None:
    """What a plan charges a queue with is within its nominal quota, by flavor and resource."""
    charged: dict[tuple[str, FlavorResource], int] = defaultdict(int)
    for placement in decide(snapshot).placements:
        for of, amount in placement.assignment.charge.items():
            charged[placement.queue, of] += amount
    limits = {q.name: q.quotas for q, _ in snapshot.queues}
    assert all(amount <= limits[q][of].nominal for (q, of), amount in charged.items())


@given(snapshots())
def test_no_cluster_is_given_more_than_it_has(snapshot: Snapshot) -> None:
    """All pods sent to a cluster together ask for no more than is free there."""
    demands = _demands(snapshot)
    asked: dict[tuple[str, str], int] = defaultdict(int)
    for placement in decide(snapshot).placements:
        for pod_set in demands[placement.demand].pod_sets:  # type: ignore[attr-defined]
            for resource, amount in pod_set.requests.items():
                asked[placement.cluster, resource] += amount * pod_set.count
    free = {name: cluster.free for name, cluster in snapshot.clusters.items()}
    assert all(amount <= free[c].get(r, 0) for (c, r), amount in asked.items())


@given(snapshots())
def test_every_workload_is_placed_or_its_class_refused(snapshot: Snapshot) -> None:
    """Nothing is forgotten: what is not placed has a reason."""
    plan = decide(snapshot)
    placed, refused = set(where(plan)), {r.demand for r in plan.refusals}
    for _, lanes in snapshot.queues:
        for lane in lanes:
            assert lane.demand.key in refused or {e.uid for e in lane.entries} <= placed


@given(snapshots())
def test_strict_never_passes_its_head(snapshot: Snapshot) -> None:
    """In a StrictFIFO queue those placed come first in its order, without a gap."""
    placed = set(where(decide(snapshot)))
    for queue, lanes in snapshot.queues:
        if queue.strict:
            order = sorted(
                (-lane.demand.priority, entry.queued_at, entry.uid)
                for lane in lanes
                for entry in lane.entries
            )
            flags = [uid in placed for _, _, uid in order]
            assert flags == sorted(flags, reverse=True)


@given(snapshots(), st.randoms(use_true_random=False))
def test_the_order_of_the_input_does_not_matter(snapshot: Snapshot, dice: object) -> None:
    """Queues, lanes and clusters in any order give the same plan."""
    queues = [(queue, dice.sample(lanes, len(lanes))) for queue, lanes in snapshot.queues]  # type: ignore[attr-defined]
    dice.shuffle(queues)  # type: ignore[attr-defined]
    clusters = list(snapshot.clusters.items())
    dice.shuffle(clusters)  # type: ignore[attr-defined]
    other = replace(snapshot, queues=queues, clusters=dict(clusters))
    assert _told(decide(other)) == _told(decide(snapshot))


def _told(plan: Plan) -> object:
    refused = sorted((r.demand, r.reason, r.message, r.head) for r in plan.refusals)
    return where(plan), refused


@given(snapshots())
def test_a_refused_class_would_not_fit_an_instant_later(snapshot: Snapshot) -> None:
    """A cycle leaves nothing behind that it could have placed: the next one places no more of it."""
    plan = decide(snapshot)
    blocked = {r.demand for r in plan.refusals if r.reason is not Reason.BEHIND_HEAD}
    room, ledger = snapshot.room.copy(), snapshot.ledger.copy()
    demands = _demands(snapshot)
    for placement in plan.placements:
        ledger.charge(placement.queue, placement.assignment.charge)
        at = room.layout.position[placement.cluster]
        sets = demands[placement.demand].pod_sets  # type: ignore[attr-defined]
        for pod_set, ask in zip(sets, placement.assignment.asks, strict=True):
            room.promise(room.layout.need(pod_set.requests, ask), pod_set.count, at)
    if any(len(demands[key].pod_sets) > 1 for key in demands):  # type: ignore[attr-defined]
        return  # pods of several sets may lie otherwise on the nodes
    lanes = [
        (queue, [lane for lane in lanes if lane.demand.key in blocked])
        for queue, lanes in snapshot.queues
    ]
    placed = set(where(plan))
    rest = [
        (q, [replace(ln, entries=[e for e in ln.entries if e.uid not in placed]) for ln in lns])
        for q, lns in lanes
    ]
    again = decide(replace(snapshot, queues=rest, room=room, ledger=ledger))
    assert where(again) == {}
