"""How fast the pure scheduling cycle places: a burst of equal jobs, and jobs of many shapes.

    python bench/placement.py [--clusters 1000] [--nodes 1] [--jobs 20000] [--shapes 200]
                              [--growing 0] [--json]

`--growing N`: every cluster has a pool that may add N nodes, which nobody needs while there is room.
No store, no network: `hub.domain.cycle.cycle.schedule` on one snapshot. The last line is one JSON object.
"""

import argparse
import datetime as dt
import json
import resource
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from hub.domain.admission.flavors import FlavorCatalog
from hub.domain.cycle.cycle import schedule
from hub.domain.cycle.profile import Profile
from hub.domain.cycle.snapshot import Snapshot
from hub.domain.fleet.clusters import Cluster, GrowingPool, pool
from hub.domain.fleet.free_capacity import Layout, Room
from hub.domain.queueing.lanes import Entry, Lane
from hub.domain.quota.declared import ClusterQueue, Flavor, FlavorResource, Quota, ResourceGroup
from hub.domain.quota.ledger import Ledger
from hub.domain.workloads.demand import Demand
from shared.resources import PodSet, Resources

NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
GI = 1 << 30


def a_fleet(clusters: int, nodes: int, growing: int = 0) -> dict[str, Cluster]:
    """Clusters of unlike size: 64 to 320 cores and four times as many GiB over their nodes."""
    fleet = {}
    for number in range(clusters):
        cores = 64_000 * (1 + number % 5)
        memory = (256 + number % 97) * GI * (1 + number % 5)
        amounts = [cores // nodes, memory // nodes, 250]
        reported = pool(
            {},
            ("cpu", "memory", "pods"),
            {f"n{i}": (amounts, amounts) for i in range(nodes)},
        )
        name = f"cluster-{number:05}"
        shape = dict(zip(reported.resources, amounts, strict=True))
        free = {"cpu": cores, "memory": memory, "pods": 250 * nodes}
        fleet[name] = Cluster(
            name, heartbeat_at=NOW, pools=(reported,), free=free, allocatable=free,
            growing=(GrowingPool("burst", {}, (), shape, growing),) if growing else (),
        )  # fmt: skip
    return fleet


def a_snapshot(fleet: dict[str, Cluster], jobs: int, shapes: int) -> Snapshot:
    """One queue with all the quota there is, and `jobs` spread over `shapes` demands."""
    queue = ClusterQueue(
        "bench",
        {},
        (ResourceGroup(("cpu", "memory"), ("any",)),),
        {FlavorResource("any", r): Quota(1 << 60) for r in ("cpu", "memory")},
    )
    lanes = []
    for shape in range(shapes):
        requests = Resources({"cpu": 1000 + 10 * shape, "memory": 2 * GI + shape})
        pod_sets = (PodSet("main", 1, requests),)
        demand = Demand(
            f"demand-{shape}", "bench", 0, f"shape-{shape}", pod_sets,
        )  # fmt: skip
        entries = [Entry(n, f"job-{n}", 0) for n in range(shape, jobs, shapes)]
        lanes.append(Lane(demand, entries))
    room = Room.of(Layout(list(fleet.values())), fleet)
    catalog = FlavorCatalog({"any": Flavor("any")}, {})
    return Snapshot([(queue, lanes)], Ledger([queue]), catalog, fleet, room)


def rate(fleet: dict[str, Cluster], jobs: int, shapes: int) -> float:
    """Placements per second of CPU time, all jobs placed."""
    snapshot = a_snapshot(fleet, jobs, shapes)
    started = time.process_time()
    plan = schedule(snapshot, NOW, Profile())
    spent = time.process_time() - started
    assert len(plan.placements) == jobs, plan.refusals
    return jobs / spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clusters", type=int, default=1000)
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=20_000)
    parser.add_argument("--shapes", type=int, default=200)
    parser.add_argument("--growing", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="only the last line")
    options = parser.parse_args()
    fleet = a_fleet(options.clusters, options.nodes, options.growing)
    equal = rate(fleet, options.jobs, 1)
    shapes = rate(fleet, options.jobs, options.shapes)
    if not options.json:
        print(f"{options.clusters} clusters of {options.nodes} node(s), {options.jobs} jobs")
        print(f"equal jobs:  {equal:>10,.0f} placements/s")
        print(f"{options.shapes} shapes:  {shapes:>10,.0f} placements/s")
    print(
        json.dumps(
            {
                "clusters": options.clusters,
                "nodes": options.nodes,
                "jobs": options.jobs,
                "shapes": options.shapes,
                "growing": options.growing,
                "equal_placements_per_s": round(equal),
                "shapes_placements_per_s": round(shapes),
                "peak_rss_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
            }
        )
    )


if __name__ == "__main__":
    main()
