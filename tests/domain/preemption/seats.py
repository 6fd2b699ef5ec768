"""Scenes of one cluster that reports on which node the pod of each workload is."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from hub.domain.cycle.snapshot import Snapshot
from hub.domain.fleet.clusters import BoundPods, Cluster, pool
from hub.domain.fleet.free_capacity import NodeAsk
from hub.domain.quota.declared import FlavorResource
from hub.domain.quota.holders import AdmittedWorkload
from hub.domain.quota.ledger import Ledger
from hub.domain.quota.queue_policy import QueuePolicy
from shared.resources import Resources
from tests.domain.build import a_cluster, a_demand, a_lane, a_pod_set, a_queue, a_snapshot

CPU = FlavorResource("any", "cpu")
Seat = tuple[int, int, int]  # node, cpu, priority


def a_member(sizes: Sequence[int], seats: Mapping[str, Seat], name: str = "c") -> Cluster:
    """Nodes of so many cpu with one pod of each workload; the report names the nodes."""
    free = [
        1000 * (size - sum(cpu for at, cpu, _ in seats.values() if at == number))
        for number, size in enumerate(sizes)
    ]
    rows = {f"n{at}": ([size * 1000], [free[at]]) for at, size in enumerate(sizes)}
    bound = {(uid, 1): BoundPods(1, 0, ((at, 1),)) for uid, (at, _, _) in seats.items()}
    return a_cluster(pool({}, ("cpu",), rows), name=name, bound=bound)


def a_holder(uid: str, seat: Seat, cluster: str = "c", started_at: int = 1) -> AdmittedWorkload:
    """One that runs where its seat says."""
    _, cpu, priority = seat
    return AdmittedWorkload(
        uid, "ns", uid, "q", {CPU: cpu * 1000}, priority=priority, cluster=cluster, epoch=1,
        completions=1, started_at=started_at, pods=((Resources({"cpu": cpu * 1000}), NodeAsk(), 1),),
    )  # fmt: skip


def a_scene(
    sizes: Sequence[int],
    seats: Mapping[str, Seat],
    waiting: Mapping[str, tuple[int, int]],
    quota: int = 1000,
) -> Snapshot:
    """One queue whose workloads may preempt lower priorities in it. `waiting`: cpu and priority by uid."""
    lanes = []
    for number, (uid, (cpu, priority)) in enumerate(waiting.items()):
        demand = a_demand(a_pod_set(requests={"cpu": cpu}), priority=priority)
        lanes.append(a_lane(replace(demand, key=f"{demand.key}#{uid}"), uid, since=number))
    queue = a_queue(cpu=quota)
    charged = {"q": {CPU: sum(cpu for _, cpu, _ in seats.values()) * 1000}}
    started = {
        uid: a_holder(uid, seat, started_at=n) for n, (uid, seat) in enumerate(seats.items())
    }
    return replace(
        a_snapshot(lanes, [a_member(sizes, seats)], queue),
        ledger=Ledger([queue], charged),
        policies={"q": QueuePolicy(within="LowerPriority")},
        holders={"q": started},
    )
