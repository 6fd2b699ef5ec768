"""End to end: submit jobs to the hub until all have ended on the members.

A burst (all jobs at once) gives `jobs_per_s`: first submit to last terminal state on the hub. With
`--rate` the jobs arrive evenly at that rate instead; `--open-load 0.7` runs the burst first and then
an open load at that share of its rate, on a fresh fleet. Simulated members run full Job controllers
and pods; the hub's SQLite commits with synchronous=FULL,
a PostgreSQL of its own (`--store postgres`) with its defaults.
"""

import argparse
import concurrent.futures
import itertools
import statistics
import threading
import time
from collections.abc import Iterator
from typing import Any

from bench.local_fleet import LocalFleet, equal_members, fleet, hubs, machine, show
from roadstead import Client
from roadstead.models.jobs import Job

_CHUNK = 1000


def manifests(count: int, run_s: float) -> Iterator[dict[str, Any]]:
    for i in range(count):
        yield {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": f"job-{i:06d}", "namespace": f"team-{i % 16}"},
            "spec": {
                "template": {
                    "metadata": {"annotations": {"sim.roadstead.dev/run-seconds": str(run_s)}},
                    "spec": {
                        "restartPolicy": "Never",
                        "containers": [
                            {
                                "name": "main",
                                "image": "example.com/task:1",
                                "resources": {"requests": {"cpu": "1", "memory": "1Gi"}},
                            }
                        ],
                    },
                }
            },
        }


def run(args: argparse.Namespace, rate: float | None) -> dict[str, Any]:
    members = equal_members(args.members)
    with (
        hubs(args.store, args.replicas) as kept,
        fleet(members, packed=args.pack, hubs=kept) as local,
    ):
        began = time.monotonic()
        before = local.cpu_by_part()
        with local.client() as hub:
            if rate is None:
                for chunk in chunks(args, _CHUNK):
                    submit(hub, chunk)
            else:
                submit_evenly(local, args, rate, began)
            submitted_s = time.monotonic() - began
            jobs = until_ended(hub, args.jobs)
        return report(local, jobs, before, submitted_s, rate)


def chunks(args: argparse.Namespace, size: int) -> Iterator[list[dict[str, Any]]]:
    left = manifests(args.jobs, args.run_seconds)
    while chunk := list(itertools.islice(left, size)):
        yield chunk


def submit(hub: Client, chunk: list[dict[str, Any]]) -> None:
    hub.submit_many(chunk)


def submit_evenly(local: LocalFleet, args: argparse.Namespace, rate: float, began: float) -> None:
    """An open load: ten chunks a second at their times, whether or not earlier ones are answered."""
    size = max(1, round(rate / 10))
    clients = threading.local()

    def send(number: int, chunk: list[dict[str, Any]]) -> None:
        if not hasattr(clients, "hub"):
            clients.hub = local.client()
        time.sleep(max(0.0, began + number * size / rate - time.monotonic()))
        submit(clients.hub, chunk)

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        list(pool.map(send, itertools.count(), chunks(args, size)))


def until_ended(hub: Client, count: int) -> list[Job]:
    deadline = time.monotonic() + 1200
    while True:
        states = hub.overview().jobs
        ended = sum(states.get(s, 0) for s in ("Succeeded", "Failed", "Cancelled"))
        if ended >= count:
            return list(hub.jobs())
        if time.monotonic() > deadline:
            raise SystemExit(f"only {ended} of {count} jobs ended: {states}")
        time.sleep(0.25)


def report(
    local: LocalFleet,
    jobs: list[Job],
    before: dict[str, Any],
    submitted_s: float,
    rate: float | None,
) -> dict[str, Any]:
    first = min(j.created_at for j in jobs)
    last = max(j.finished_at for j in jobs if j.finished_at)
    makespan_s = (last - first).total_seconds()
    waits = sorted((j.started_at - j.created_at).total_seconds() for j in jobs if j.started_at)
    after = local.cpu_by_part()
    cpu = {part: round(after[part] - before.get(part, 0.0), 2) for part in after}
    return {
        "jobs": len(jobs),
        "succeeded": sum(j.has_succeeded for j in jobs),
        "rate_asked": rate,
        "jobs_per_s": round(len(jobs) / makespan_s, 1),
        "submit_s": round(submitted_s, 2),
        "makespan_s": round(makespan_s, 2),
        "submit_to_running_p50_s": round(statistics.median(waits), 3),
        "p99_s": round(waits[int(len(waits) * 0.99) - 1], 3),
        "hub_cpu_s": cpu.get("hub", 0.0),
        "hub_peak_rss_mib": round(local.peak_rss_mib("hub"), 1),
        "cpu_ms_per_job": {p: round(1000 * s / len(jobs), 3) for p, s in cpu.items()},
        "clusters_used": len({j.cluster for j in jobs}),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=5000)
    parser.add_argument("--members", type=int, default=10)
    parser.add_argument("--run-seconds", type=float, default=1.0)
    parser.add_argument("--rate", type=float, help="jobs/s of an open load instead of a burst")
    parser.add_argument("--open-load", type=float, help="then an open load at this share")
    parser.add_argument("--pack", action="store_true")
    parser.add_argument("--store", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--replicas", type=int, default=1, help="hubs on one PostgreSQL")
    parser.add_argument("--json", action="store_true", help="only the JSON line")
    args = parser.parse_args()
    figures = run(args, args.rate)
    if args.open_load and args.rate is None:
        figures["open_load"] = run(args, figures["jobs_per_s"] * args.open_load)
    figures["machine"] = machine()
    show(figures, only_json=args.json)


if __name__ == "__main__":
    main()
