"""How many Jobs per second simulated clusters carry from creation to Complete, in one process.

No HTTP and no disk: what is measured is the behaviours on the object store. Prints one JSON object
as its last line. `python bench/kubesim_jobs.py --jobs 5000 --members 10`.
"""

import argparse
import asyncio
import gc
import json
import resource
import time
from typing import Any

from shared.clock import SystemClock
from shared.kubesim.behaviours import attach
from shared.kubesim.builtin.kinds import built_in_registry
from shared.kubesim.builtin.strategies import built_in_strategies
from shared.kubesim.store.objects import Event, ObjectStore

_POOL = {"name": "cpu", "count": 20, "allocatable": {"cpu": "64", "memory": "256Gi"}}


def a_job(number: int, pods: int, run_seconds: str) -> dict[str, Any]:
    resources = {"requests": {"cpu": "100m", "memory": "128Mi"}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": f"bench-{number}", "namespace": "default"},
        "spec": {
            "parallelism": pods,
            "completions": pods,
            "backoffLimit": 6,
            "template": {
                "metadata": {"annotations": {"sim.roadstead.dev/run-seconds": run_seconds}},
                "spec": {
                    "restartPolicy": "Never",
                    "containers": [
                        {"name": "main", "image": "busybox:1.36", "resources": resources}
                    ],
                },
            },
        },
    }


class Member:
    """One simulated cluster without its API server, and how far its Jobs are."""

    def __init__(self, events: str) -> None:
        self.clock = SystemClock()
        self.store = ObjectStore(built_in_registry(), self.clock, strategies=built_in_strategies())
        self.behaviours = attach(self.store, self.clock, [_POOL], {"events": events})
        self.finished = 0
        self.writes: dict[str, int] = {}
        self.store.subscribe(self._count)

    def _count(self, event: Event) -> None:
        key = event.resource_key
        self.writes[key] = self.writes.get(key, 0) + 1
        if key == "jobs.batch" and "completionTime" in (event.object.get("status") or {}):
            self.finished += 1


async def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    members = [Member(arguments.events) for _ in range(arguments.members)]
    for member in members:
        await member.behaviours.start()
    gc.collect()
    cpu, began = time.process_time(), time.perf_counter()
    for number in range(arguments.jobs):
        member = members[number % len(members)]
        member.store.create("jobs.batch", a_job(number, arguments.pods, arguments.run_seconds))
        if number % 50 == 49:
            await asyncio.sleep(0)
    while sum(member.finished for member in members) < arguments.jobs:  # noqa: ASYNC110 - many sources
        await asyncio.sleep(0.01)
    wall = time.perf_counter() - began
    cpu = time.process_time() - cpu
    for member in members:
        await member.behaviours.stop()
    writes: dict[str, int] = {}
    for member in members:
        for key, count in member.writes.items():
            writes[key] = writes.get(key, 0) + count
    return {
        "jobs": arguments.jobs,
        "members": arguments.members,
        "pods_per_job": arguments.pods,
        "seconds": round(wall, 3),
        "jobs_per_s": round(arguments.jobs / wall, 1),
        "cpu_ms_per_job": round(1000 * cpu / arguments.jobs, 3),
        "writes_per_job": {k: round(n / arguments.jobs, 2) for k, n in sorted(writes.items())},
        "peak_rss_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=5000)
    parser.add_argument("--members", type=int, default=10)
    parser.add_argument("--pods", type=int, default=1, help="pods per Job")
    parser.add_argument("--run-seconds", default="0.2", help="how long each pod runs")
    parser.add_argument("--events", choices=("all", "few", "none"), default="few")
    print(json.dumps(asyncio.run(measure(parser.parse_args()))))


if __name__ == "__main__":
    main()
