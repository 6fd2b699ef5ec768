"""Placement beside edits of labels and quotas: jobs placed a second with 100 edits a second, and without.

    python -m bench.edits [--pairs 3] [--jobs 4000] [--members 20] [--queues 8] [--edits 100] [--json]

Pairs in one run. Each run has a hub of its own on SQLite in this process (every commit flushed) with its
scheduler and a backlog, without agents. The edits go straight into the services that REST calls: each
applies a ClusterQueue with another label, or with another quota that still suffices. `checked_again_of_cpu`:
share of the process's CPU in which commits look at decisions again. The last line is one JSON object.
"""

import argparse
import asyncio
import contextlib
import itertools
import statistics
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson

from bench.local_fleet import machine, show
from hub.controllers.scheduling import SchedulingController
from hub.domain.workloads.states import State
from hub.services.context import leadership
from hub.services.context.hub import Hub
from hub.services.context.settings import Intake
from hub.services.objects.apply import apply_documents
from hub.services.reading.draft import draft
from hub.services.scheduling import lapses
from hub.store import clusters, tallies
from hub.store.engine import Database
from hub.store.records.members import Member
from hub.store.transaction import Transaction
from shared import quantity
from shared.clock import SystemClock
from shared.kinds.registry import parse

_KUEUE = "kueue.x-k8s.io/v1beta2"
_CHUNK = 500
_LONGEST_S = 600.0  # a run


def main() -> None:
    """Run the pairs and print their figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("pairs", 3), ("jobs", 4000), ("members", 20), ("queues", 8)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--edits", type=float, default=100.0, help="edits a second")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    pairs = []
    for _ in range(args.pairs):
        quiet = asyncio.run(_run(args, 0.0))
        edited = asyncio.run(_run(args, args.edits))
        pairs.append((quiet, edited))
    ratios = [edited["placed_per_s"] / quiet["placed_per_s"] for quiet, edited in pairs]
    cpu = [edited["cpu_s"] / quiet["cpu_s"] for quiet, edited in pairs]
    show(
        {
            "jobs": args.jobs,
            "members": args.members,
            "quiet_placed_per_s": [quiet["placed_per_s"] for quiet, _ in pairs],
            "edited_placed_per_s": [edited["placed_per_s"] for _, edited in pairs],
            "edits_per_s": [edited["edits_per_s"] for _, edited in pairs],
            "share_of_rate": [round(ratio, 2) for ratio in ratios],
            "median_share_of_rate": round(statistics.median(ratios), 2),
            "share_of_cpu": [round(each, 2) for each in cpu],
            "quiet_checked_again_of_cpu": [quiet["checked_again"] for quiet, _ in pairs],
            "edited_checked_again_of_cpu": [edited["checked_again"] for _, edited in pairs],
            **machine(),
        },
        only_json=args.json,
    )


async def _run(args: argparse.Namespace, edits: float) -> dict[str, float]:
    """Place the backlog; jobs placed and edits made a second of that time."""
    async with _hub(args) as (hub, controller):
        edited, checked = [0], [0.0]
        check = _measured(checked)
        editing = asyncio.create_task(_edit(hub, args, edits, edited))
        began, cpu = time.monotonic(), time.process_time()
        scheduling = asyncio.create_task(controller.run())
        async with asyncio.timeout(_LONGEST_S):
            await _all_placed(hub, args.jobs)
        took = time.monotonic() - began
        cpu = time.process_time() - cpu
        made = edited[0]
        for task in (editing, scheduling):
            task.cancel()
        await asyncio.gather(editing, scheduling, return_exceptions=True)
        lapses.of_plan = check
        return {
            "placed_per_s": round(args.jobs / took, 1),
            "edits_per_s": round(made / took, 1),
            "cpu_s": cpu,
            "checked_again": round(checked[0] / cpu, 4),
        }


def _measured(spent: list[float]) -> Any:
    """Add up the CPU seconds of each check of a plan; how it was before."""
    check = lapses.of_plan

    def measured(*args: Any) -> Any:
        began = time.thread_time()
        try:
            return check(*args)
        finally:
            spent[0] += time.thread_time() - began

    lapses.of_plan = measured  # type: ignore[assignment]  # until the run ends
    return check


async def _all_placed(hub: Hub, jobs: int) -> None:
    news = hub.subscribe("workloads", keyed=False)
    try:
        while await hub.read(_placed) < jobs:
            await anext(aiter(news))
    finally:
        news.close()


def _placed(tx: Transaction) -> int:
    return tallies.by_state(tx).get(State.PLACED.value, 0)


async def _edit(hub: Hub, args: argparse.Namespace, rate: float, made: list[int]) -> None:
    """Apply queues at this rate, labels and quotas by turns, as many callers do: none waits for another."""
    began = time.monotonic()
    async with asyncio.TaskGroup() as callers:
        for number in itertools.count() if rate else ():
            await asyncio.sleep(max(0.0, began + number / rate - time.monotonic()))
            callers.create_task(_edit_one(hub, number, args.queues, made))


async def _edit_one(hub: Hub, number: int, queues: int, made: list[int]) -> None:
    label, quota = ("", number) if number % 2 else (str(number), 0)
    await hub.write(_apply, [_cluster_queue(number % queues, label, quota)])
    made[0] += 1


@contextlib.asynccontextmanager
async def _hub(args: argparse.Namespace) -> AsyncIterator[tuple[Hub, SchedulingController]]:
    """A hub with members, queues and a backlog, whose scheduler does not run yet."""
    clock = SystemClock()
    with tempfile.TemporaryDirectory(prefix="roadstead-bench-") as folder:
        db = Database.open(f"sqlite:///{Path(folder) / 'hub.db'}", clock)
        hub = Hub(db, clock)
        try:
            term = await hub.write(leadership.seize, "bench")
            for number in range(args.members):
                await hub.write(_join, f"member-{number:03}")
            await hub.write(_apply, [_flavor(), *map(_cluster_queue, range(args.queues))])
            await hub.write(_apply, list(map(_local_queue, range(args.queues))))
            for first in range(0, args.jobs, _CHUNK):
                some = range(first, min(first + _CHUNK, args.jobs))
                await hub.write(_apply, [_job(number, args.queues) for number in some])
            yield hub, SchedulingController(hub, lambda: term)
        finally:
            await db.close()


def _apply(tx: Transaction, manifests: list[dict[str, Any]]) -> None:
    drafts = [draft(parse(manifest), tx.now) for manifest in manifests]
    applied = apply_documents(tx, drafts, Intake())
    assert all(each.error is None for each in applied), applied


def _join(tx: Transaction, name: str) -> None:
    """A member of ten nodes that has just reported."""
    row = Member(
        name=name, object=f"object-{name}", labels={}, taints=[], created_at=tx.now,
        cluster_uid=f"uid-{name}", joined_at=tx.now, heartbeat_at=tx.now,
    )  # fmt: skip
    clusters.add(tx, row)
    amounts: dict[str, str | int] = {"cpu": "64", "memory": "256Gi", "pods": 250}
    exact = [quantity.parse(resource, text) for resource, text in amounts.items()]
    pool = {
        "labels": {},
        "taints": [],
        "resources": list(amounts),
        "nodes": [{"name": f"n{n}", "allocatable": exact, "free": exact} for n in range(10)],
    }
    report = {"pools_revision": 0, "pools": [pool], "bound": []}
    clusters.set_capacity(tx, name, orjson.dumps(report))


def _flavor() -> dict[str, Any]:
    return {"apiVersion": _KUEUE, "kind": "ResourceFlavor", "metadata": {"name": "any"}}


def _cluster_queue(number: int, label: str = "", more: int = 0) -> dict[str, Any]:
    """A queue of a cohort with room for all jobs; `more`: cores beyond that."""
    quota = {"name": "cpu", "nominalQuota": str(100_000 + more)}
    flavors = [{"name": "any", "resources": [quota]}]
    return {
        "apiVersion": _KUEUE,
        "kind": "ClusterQueue",
        "metadata": {"name": f"queue-{number}", "labels": {"edited": label} if label else {}},
        "spec": {
            "cohortName": f"cohort-{number % 2}",
            "namespaceSelector": {},
            "resourceGroups": [{"coveredResources": ["cpu"], "flavors": flavors}],
        },
    }


def _local_queue(number: int) -> dict[str, Any]:
    return {
        "apiVersion": _KUEUE,
        "kind": "LocalQueue",
        "metadata": {"name": f"queue-{number}", "namespace": "team"},
        "spec": {"clusterQueue": f"queue-{number}"},
    }


def _job(number: int, queues: int) -> dict[str, Any]:
    container = {
        "name": "main",
        "image": "example.com/task:1",
        "resources": {"requests": {"cpu": str(1 + number % 2)}},
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": f"job-{number:06}",
            "namespace": "team",
            "labels": {"kueue.x-k8s.io/queue-name": f"queue-{number % queues}"},
        },
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}},
    }


if __name__ == "__main__":
    main()
