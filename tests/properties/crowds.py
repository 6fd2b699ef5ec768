"""Scenes in which preemption frees quota: full clusters, and two queues in one cohort."""

from dataclasses import replace
from typing import NamedTuple

from hypothesis import strategies as st

from hub.domain.cycle.snapshot import Snapshot
from hub.domain.fleet.free_capacity import NodeAsk
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
)

CPU = FlavorResource("any", "cpu")
Gang = tuple[str, int, int, int]  # queue, pods, cpu of each, priority
Held = tuple[int, Gang]  # cluster

queues = st.sampled_from(["q", "r"])
gangs = st.tuples(queues, st.integers(1, 3), st.integers(1, 3), st.integers(0, 3))
fleets = st.lists(st.integers(3, 9), min_size=2, max_size=3)  # cpu of the one node of each cluster
waiting = st.lists(gangs, min_size=1, max_size=4).map(
    lambda asked: {f"w{n}": gang for n, gang in enumerate(asked)}
)


class Crowd(NamedTuple):
    """Cores of each cluster, quota of `q` and of `r`, and those that hold some of both, by uid."""

    sizes: list[int]
    quota: tuple[int, int]
    held: dict[str, Held]


@st.composite
def crowded(draw: st.DrawFn) -> Crowd:
    """Full clusters, and a cohort with at most three cores to spare, however they are divided."""
    sizes = draw(fleets)
    held: dict[str, Held] = {}
    for cluster, size in enumerate(sizes):
        left = size - draw(st.integers(0, 2))
        while left >= total(gang := draw(gangs)):
            held[f"h{len(held)}"] = (cluster, gang)
            left -= total(gang)
    quota = sum(total(gang) for _, gang in held.values()) + draw(st.integers(0, 3))
    own = draw(st.integers(0, quota))
    return Crowd(sizes, (own, quota - own), held)


def total(gang: Gang) -> int:
    return gang[1] * gang[2]


def pods_of(gang: Gang) -> Pods:
    return ((Resources(amounts({"cpu": gang[2]})), NodeAsk(), gang[1]),)


def a_scene(crowd: Crowd, ask: dict[str, Gang]) -> Snapshot:
    """Two queues in one cohort, each of which may preempt in itself and reclaim what it lent."""
    sizes, quota, holders = crowd
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
