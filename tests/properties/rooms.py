"""Scenes in which preemption frees room: full clusters, and one queue with quota for everything."""

from dataclasses import replace

from hypothesis import strategies as st

from hub.domain.admission.nomination import Rules
from hub.domain.cycle.profile import Profile
from hub.domain.cycle.snapshot import Snapshot
from hub.domain.fleet.free_capacity import NodeAsk
from hub.domain.quota.declared import FlavorResource
from hub.domain.quota.holders import AdmittedWorkload
from hub.domain.quota.ledger import Ledger
from hub.domain.quota.queue_policy import QueuePolicy
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
PROFILE = Profile(rules=Rules(for_room=True))
Held = tuple[int, int, int]  # cluster, cpu, priority

fleets = st.lists(st.integers(2, 8), min_size=1, max_size=3)  # cpu of the one node of each cluster
heads = st.lists(st.tuples(st.integers(2, 5), st.integers(1, 5)), min_size=1, max_size=3).map(
    lambda asked: {f"w{n}": each for n, each in enumerate(asked)}
)
Fleet = tuple[list[int], dict[str, Held]]


@st.composite
def crowded(draw: st.DrawFn) -> Fleet:
    """Clusters with at most two cores free on each, and those that run there, by uid."""
    sizes = draw(fleets)
    held: dict[str, Held] = {}
    for cluster, size in enumerate(sizes):
        left = size - draw(st.integers(0, 2))
        while left > 0:
            cpu = draw(st.integers(1, min(4, left)))
            held[f"h{len(held)}"] = (cluster, cpu, draw(st.integers(0, 5)))
            left -= cpu
    return sizes, held


def a_scene(
    sizes: list[int], holders: dict[str, Held], waiting: dict[str, tuple[int, int]]
) -> Snapshot:
    """One queue with quota for everything, whose workloads may preempt lower priorities in it."""
    used = [sum(cpu for at, cpu, _ in holders.values() if at == n) for n in range(len(sizes))]
    clusters = [
        a_cluster(a_pool(cpu=size, used={"cpu": used[n]}), name=f"c{n}")
        for n, size in enumerate(sizes)
    ]
    lanes = []
    for number, (uid, (cpu, priority)) in enumerate(waiting.items()):
        demand = a_demand(a_pod_set(requests={"cpu": cpu}), priority=priority)
        lanes.append(a_lane(replace(demand, key=f"{demand.key}#{uid}"), uid, since=number))
    listed = {
        uid: AdmittedWorkload(
            uid, "ns", uid, "q", {CPU: cpu * 1000}, priority=priority, cluster=f"c{at}",
            started_at=1, pods=((Resources(amounts({"cpu": cpu})), NodeAsk(), 1),),
        )
        for uid, (at, cpu, priority) in holders.items()
    }  # fmt: skip
    queue = a_queue(cpu=1000)
    snapshot = a_snapshot(lanes, clusters, queue)
    charged = {"q": {CPU: sum(cpu for _, cpu, _ in holders.values()) * 1000}}
    return replace(
        snapshot,
        ledger=Ledger([queue], charged),
        policies={"q": QueuePolicy(within="LowerPriority")},
        holders={"q": listed},
    )
