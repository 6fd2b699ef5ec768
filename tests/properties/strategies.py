"""Strategies of small fleets and of what waits for them."""

from dataclasses import replace

from hypothesis import strategies as st

from hub.domain.cycle.snapshot import Snapshot
from tests.domain.build import a_cluster, a_demand, a_lane, a_pod_set, a_pool, a_queue, a_snapshot

cpus = st.integers(1, 6)


pod_sets = st.builds(
    lambda count, cpu, gpu: a_pod_set(
        count=count, requests={"cpu": cpu} | ({"gpu": gpu} if gpu else {})
    ),
    st.integers(1, 4),
    cpus,
    st.integers(0, 2),
)


pools = st.builds(
    lambda nodes, cpu, gpu: a_pool(nodes=nodes, cpu=cpu, **({"gpu": gpu} if gpu else {})),
    st.integers(0, 3),
    st.integers(0, 12),
    st.integers(0, 4),
)


fleets = st.lists(st.lists(pools, max_size=2), max_size=4).map(
    lambda every: [a_cluster(*pools, name=f"c{n}") for n, pools in enumerate(every)]
)


@st.composite
def snapshots(draw: st.DrawFn) -> Snapshot:
    """One or two queues, lanes of several shapes and priorities, a small fleet."""
    queues = [
        a_queue(name=name, strict=draw(st.booleans()), cpu=draw(st.integers(0, 30)), gpu=9)
        for name in draw(st.sampled_from([["q"], ["q", "r"]]))
    ]
    lanes, started = [], 0
    for number in range(draw(st.integers(0, 5))):
        demand = a_demand(
            *draw(st.lists(pod_sets, min_size=1, max_size=2)),
            queue=draw(st.sampled_from(queues)).name,
            priority=draw(st.integers(0, 2)),
        )
        names = [f"{number}-{n}" for n in range(draw(st.integers(1, 6)))]
        started += draw(st.integers(0, 5))
        lanes.append(a_lane(replace(demand, key=f"{demand.key}#{number}"), *names, since=started))
    return a_snapshot(lanes, draw(fleets), *queues)
