"""What explain says would change it, is so: the cycle places the workload on the other picture, and not
on one that differs by less.
"""

from collections.abc import Iterator
from dataclasses import replace

from hypothesis import example, given, strategies as st

from hub.domain.cycle.profile import Profile
from hub.domain.cycle.snapshot import Snapshot
from hub.domain.queueing.lanes import Entry, Lane
from hub.domain.quota.declared import FlavorResource
from hub.domain.quota.holders import AdmittedWorkload, PendingWorkload
from hub.domain.whatif.forecast import Runtimes, forecast
from hub.domain.whatif.remedies import remedies
from hub.domain.whatif.remedy import Remedy, RemedyKind
from hub.domain.whatif.trial import Trial
from tests.domain.build import (
    NOW,
    a_cluster,
    a_demand,
    a_lane,
    a_pod_set,
    a_pool,
    a_queue,
    a_snapshot,
    decide,
    where,
)
from tests.properties.strategies import snapshots

SECOND = 1_000_000


def after(snapshot: Snapshot) -> Snapshot:
    """The same once its plan was carried out: who was placed holds quota and room."""
    demands = {lane.demand.key: lane.demand for _, lanes in snapshot.queues for lane in lanes}
    ledger, room = snapshot.ledger.copy(), snapshot.room.copy()
    holders: dict[str, dict[str, AdmittedWorkload]] = {}
    plan = decide(snapshot)
    for placement in plan.placements:
        demand = demands[placement.demand]
        parts = zip(demand.pod_sets, placement.assignment.asks, strict=True)
        pods = tuple((p.requests, ask, p.count) for p, ask in parts)
        holder = AdmittedWorkload(
            placement.uid, "", placement.uid, placement.queue, placement.assignment.charge,
            priority=demand.priority, cluster=placement.cluster, started_at=0, pods=pods,
        )  # fmt: skip
        ledger.charge(holder.queue, holder.usage)
        holders.setdefault(holder.queue, {})[holder.uid] = holder
        for requests, ask, count in pods:
            at = room.layout.position[holder.cluster]
            room.promise(room.layout.need(requests, ask), count, at)
    placed = set(where(plan))
    queues = [
        (
            queue,
            [
                Lane(lane.demand, [e for e in lane.entries if e.uid not in placed])
                for lane in lanes
                if any(e.uid not in placed for e in lane.entries)
            ],
        )
        for queue, lanes in snapshot.queues
    ]
    return replace(snapshot, queues=queues, ledger=ledger, room=room, holders=holders)


def waiting(snapshot: Snapshot) -> Iterator[PendingWorkload]:
    """The first of each class."""
    for _, lanes in snapshot.queues:
        for lane in lanes:
            entry, demand = lane.entries[0], lane.demand
            yield PendingWorkload(
                entry.uid, "", "", demand.queue, demand.pod_sets, demand.priority,
                entry.queued_at, demand=demand,
            )  # fmt: skip


def found(snapshot: Snapshot) -> Iterator[tuple[PendingWorkload, Remedy]]:
    """Whatever would change the lot of whoever waits, one difference at a time."""
    for who in waiting(snapshot):
        for remedy in remedies(Trial(snapshot, who, NOW, Profile()), {}):
            if not remedy.rest:
                yield who, remedy


def placed(snapshot: Snapshot, who: PendingWorkload) -> bool:
    """Does the cycle place it, where nobody else waits?"""
    assert who.demand is not None
    lane = Lane(replace(who.demand, pod_sets=who.pod_sets), [Entry(0, who.uid, 0)])
    queues = [(q, [lane] if q.name == who.queue else []) for q, _ in snapshot.queues]
    return who.uid in where(decide(replace(snapshot, queues=queues)))


def without(snapshot: Snapshot, gone: list[AdmittedWorkload]) -> Snapshot:
    ledger, room = snapshot.ledger.copy(), snapshot.room.copy()
    for holder in gone:
        ledger.release(holder.queue, holder.usage)
        for requests, ask, count in holder.pods:
            at = room.layout.position[holder.cluster]
            room.give_back(room.layout.need(requests, ask), count, at)
    return replace(snapshot, ledger=ledger, room=room)


def with_quota(
    snapshot: Snapshot, name: str, more: tuple[tuple[FlavorResource, int], ...]
) -> Snapshot:
    """A ClusterQueue with so much more nominal quota."""
    (queue,) = (q for q, _ in snapshot.queues if q.name == name)
    quotas = dict(queue.quotas)
    for of, amount in more:
        quotas[of] = replace(quotas[of], nominal=quotas[of].nominal + amount)
    other = replace(queue, quotas=quotas)
    ledger = snapshot.ledger.copy()
    ledger.put(other)
    queues = [(other if q.name == name else q, lanes) for q, lanes in snapshot.queues]
    return replace(snapshot, ledger=ledger, queues=queues)


def pods_of_two_sizes() -> Snapshot:
    """Pods that fill nodes of two sizes one after another: with less gone more may fit."""
    small = [
        a_lane(replace(a_demand(a_pod_set(requests={"cpu": cpu})), key=str(number)), f"{number}-0")
        for number, cpu in enumerate((1, 3, 1, 1))
    ]
    sets = a_pod_set(requests={"cpu": 2}), a_pod_set(requests={"cpu": 6})
    pairs = a_lane(a_demand(*sets, queue="r"), "p-0", "p-1")
    nodes = a_cluster(a_pool(nodes=2, cpu=3), a_pool(nodes=1, cpu=7))
    return a_snapshot([*small, pairs], [nodes], a_queue(cpu=5), a_queue(name="r", cpu=16))


@example(pods_of_two_sizes())
@given(snapshots())
def test_who_is_named_suffices_and_is_needed(snapshot: Snapshot) -> None:
    """Once all that are named have ended it is placed; with one of them still there it is not."""
    picture = after(snapshot)
    for who, remedy in found(picture):
        if remedy.kind is RemedyKind.RELEASE:
            gone = list(remedy.holders)
            assert placed(without(picture, gone), who)
            for stays in gone:
                rest = [holder for holder in gone if holder is not stays]
                assert not placed(without(picture, rest), who)


@given(snapshots())
def test_the_quota_that_is_named_suffices_and_is_needed(snapshot: Snapshot) -> None:
    """With that much more it is placed; with one unit less of anything it is not."""
    picture = after(snapshot)
    for who, remedy in found(picture):
        if remedy.kind is RemedyKind.QUOTA:
            assert placed(with_quota(picture, who.queue, remedy.amounts), who)
            for number, (of, amount) in enumerate(remedy.amounts):
                less = list(remedy.amounts)
                less[number] = (of, amount - 1)
                assert not placed(with_quota(picture, who.queue, tuple(less)), who)


@given(snapshots())
def test_fewer_pods_are_as_many_as_fit(snapshot: Snapshot) -> None:
    """With so many it is placed; with one more it is not."""
    picture = after(snapshot)
    for who, remedy in found(picture):
        if remedy.kind is RemedyKind.FEWER_PODS:
            (whole,) = who.pod_sets
            for number, expected in ((remedy.number, True), (remedy.number + 1, False)):
                fewer = replace(who, pod_sets=(replace(whole, count=number),))
                assert placed(picture, fewer) is expected


@given(snapshots(), st.lists(st.integers(1, 100), min_size=40, max_size=40))
def test_a_forecast_rests_on_known_ends_in_order(snapshot: Snapshot, lasts: list[int]) -> None:
    """Its instant is the last end that it names; without any it is now; unknown ends never count."""
    picture = after(snapshot)
    now = int(NOW.timestamp()) * SECOND
    held = sorted(uid for those in picture.holders.values() for uid in those)
    ends = {uid: now + s * SECOND for uid, s in zip(held, lasts, strict=False) if s % 3}
    for who in waiting(picture):
        told = forecast(picture, who.uid, Runtimes(ends), NOW, Profile())
        named = [ends[uid] for uid in told.ends]
        assert named == sorted(named)
        if told.at is not None:
            assert int(told.at.timestamp() * SECOND) == (named[-1] if named else now)
        else:
            assert told.why
