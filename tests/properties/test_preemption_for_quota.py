"""Preemption for quota where clusters matter: it evicts on one cluster, and leads to the placement there."""

from dataclasses import replace

from hypothesis import example, given, settings, strategies as st

from hub.domain.cycle.snapshot import Nomination, Snapshot
from hub.domain.fleet.free_capacity import NodeAsk
from hub.domain.plan import Plan
from hub.domain.quota.declared import FlavorResource, Quota
from hub.domain.quota.holders import AdmittedWorkload, Pods
from hub.domain.quota.ledger import Ledger
from hub.domain.quota.queue_policy import QueuePolicy
from hub.domain.quota.tree import Cohort
from shared.resources import Resources
from tests.domain.build import (
    a_cluster,
    a_demand,
    a_lane,
    a_pod_set,
    a_pool,
    a_queue,
    a_snapshot,
    amounts,
    decide,
    where,
)

CPU = FlavorResource("any", "cpu")
Gang = tuple[str, int, int, int]  # queue, pods, cpu of each, priority
Held = tuple[int, Gang]  # cluster

queues = st.sampled_from(["q", "r"])
gangs = st.tuples(queues, st.integers(1, 3), st.integers(1, 3), st.integers(0, 3))
fleets = st.lists(st.integers(3, 9), min_size=2, max_size=3)  # cpu of the one node of each cluster
held = st.lists(st.tuples(st.integers(0, 2), gangs), min_size=2, max_size=8)
waiting = st.lists(gangs, min_size=1, max_size=4)
quotas = st.tuples(st.integers(2, 9), st.integers(0, 9))


def total(gang: Gang) -> int:
    return gang[1] * gang[2]


def standing(sizes: list[int], quota: tuple[int, int], holders: list[Held]) -> dict[str, Held]:
    """Those for whom there is room where they are said to run, and quota in the cohort, by uid."""
    left, free = list(sizes), sum(quota)
    found = {}
    for number, (cluster, gang) in enumerate(holders):
        if cluster < len(sizes) and total(gang) <= min(left[cluster], free):
            left[cluster] -= total(gang)
            free -= total(gang)
            found[f"h{number}"] = (cluster, gang)
    return found


def pods_of(gang: Gang) -> Pods:
    return ((Resources(amounts({"cpu": gang[2]})), NodeAsk(), gang[1]),)


def a_scene(
    sizes: list[int], quota: tuple[int, int], holders: dict[str, Held], ask: dict[str, Gang]
) -> Snapshot:
    """Two queues in one cohort, each of which may preempt in itself and reclaim what it lent."""
    used = [
        sum(total(gang) for at, gang in holders.values() if at == n) for n in range(len(sizes))
    ]
    clusters = [
        a_cluster(a_pool(cpu=size, used={"cpu": used[n]}), name=f"c{n}")
        for n, size in enumerate(sizes)
    ]
    lanes = []
    for number, (uid, (queue, count, cpu, priority)) in enumerate(sorted(ask.items())):
        pod_set = a_pod_set(count=count, requests={"cpu": cpu})
        demand = a_demand(pod_set, queue=queue, priority=priority)
        lanes.append(a_lane(replace(demand, key=f"{demand.key}#{uid}"), uid, since=number))
    declared = [
        replace(a_queue(name=name, cpu=1), cohort="all", quotas={CPU: Quota(nominal * 1000)})
        for name, nominal in zip("qr", quota, strict=True)
    ]
    listed: dict[str, dict[str, AdmittedWorkload]] = {"q": {}, "r": {}}
    charged = {name: {CPU: 0} for name in listed}
    for uid, (at, gang) in holders.items():
        charged[gang[0]][CPU] += total(gang) * 1000
        listed[gang[0]][uid] = AdmittedWorkload(
            uid, "ns", uid, gang[0], {CPU: total(gang) * 1000}, priority=gang[3],
            cluster=f"c{at}", started_at=1, pods=pods_of(gang),
        )  # fmt: skip
    policy = QueuePolicy(within="LowerPriority", reclaim="Any")
    return replace(
        a_snapshot(lanes, clusters, *declared),
        ledger=Ledger(declared, charged, [Cohort("all")]),
        policies=dict.fromkeys(listed, policy),
        holders=listed,
    )


def once_they_are_gone(
    sizes: list[int],
    quota: tuple[int, int],
    there: dict[str, Held],
    ask: dict[str, Gang],
    plan: Plan,
) -> Plan:
    """The next cycle: victims are gone, what was placed stands, nominees keep their claims."""
    gone = {e.uid for e in plan.evictions}
    after = {uid: each for uid, each in there.items() if uid not in gone}
    for placement in plan.placements:  # a later round may have evicted what an earlier one placed
        if placement.uid not in gone:
            after[placement.uid] = (int(placement.cluster[1:]), ask[placement.uid])
    left = {uid: gang for uid, gang in ask.items() if uid not in where(plan)}
    claims = {n.uid: Nomination(n.cluster, pods_of(ask[n.uid])) for n in plan.nominated}
    return decide(replace(a_scene(sizes, quota, after, left), nominations=claims))


@settings(deadline=None, max_examples=250)
@given(fleets, quotas, held, waiting)
# Who goes before it takes the room that its victims would have left it: then nobody is evicted for it.
@example([6, 3], (6, 2), [(0, ("q", 1, 1, 0))] * 4, [("q", 2, 3, 1), ("r", 2, 1, 0)])
def test_a_plan_leads_to_the_placement_it_was_made_for(
    sizes: list[int], quota: tuple[int, int], holders: list[Held], gangs: list[Gang]
) -> None:
    """Victims gone and nothing else changed: every nominee is placed on its cluster, at once."""
    there = standing(sizes, quota, holders)
    ask = {f"w{n}": gang for n, gang in enumerate(gangs)}
    plan = decide(a_scene(sizes, quota, there, ask))
    if plan.evictions:
        then = once_they_are_gone(sizes, quota, there, ask, plan)
        nominated = {n.uid: n.cluster for n in plan.nominated}
        assert nominated.items() <= where(then).items()


@settings(deadline=None, max_examples=250)
@given(fleets, quotas, held, waiting)
def test_nobody_is_evicted_for_a_gang_that_fits_nowhere(
    sizes: list[int], quota: tuple[int, int], holders: list[Held], gangs: list[Gang]
) -> None:
    """Whoever preempts is nominated for one cluster that is large enough for all of its pods."""
    there = standing(sizes, quota, holders)
    ask = {f"w{n}": gang for n, gang in enumerate(gangs)}
    plan = decide(a_scene(sizes, quota, there, ask))
    assert {e.by for e in plan.evictions} <= {n.uid for n in plan.nominated}
    for nominated in plan.nominated:
        assert total(ask[nominated.uid]) <= sizes[int(nominated.cluster[1:])]
