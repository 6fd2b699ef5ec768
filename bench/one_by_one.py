"""Jobs one after the other: the hub's CPU per job and the time from submit to running at a low rate.

    python -m bench.one_by_one [--way rest|hub-cluster] [--rate 10] [--jobs 300] [--idle 20] [--json]

Each job is a request of its own at its fixed time: by `POST /v1/jobs`, or created on the hub cluster's API
server as kubectl does. `idle_share`: CPU of the hub in shares of a core before the first job, members and
bridge attached. CPU per job contains what the hub does anyway. The last line is one JSON object.
"""

import argparse
import asyncio
import itertools
import time
from typing import Any

from bench.dispatch import manifests, report, until_ended
from bench.local_fleet import LocalFleet, equal_members, fleet, machine, show
from roadstead import AsyncClient
from shared.kube.client import KubeClient

_WARM_UP = 20
_SETTLE_S = 8.0
_NAMESPACES = 16


async def one_by_one(
    local: LocalFleet, args: argparse.Namespace, jobs: list[dict[str, Any]]
) -> None:
    """Send each job at its time, whether or not earlier requests are answered."""
    token = (local.folder / "admin.token").read_text().strip()
    async with (
        AsyncClient(local.server, token) as hub,
        await KubeClient.connect(local.folder / "hub.kubeconfig") as kube,
    ):
        began = time.monotonic()

        async def send(number: int, job: dict[str, Any]) -> None:
            await asyncio.sleep(max(0.0, began + number / args.rate - time.monotonic()))
            if args.way == "rest":
                await hub.submit(job)
            else:
                await kube.create(job, field_manager="kubectl-create")

        await asyncio.gather(*map(send, itertools.count(), jobs))


async def namespaces(local: LocalFleet) -> None:
    async with await KubeClient.connect(local.folder / "hub.kubeconfig") as kube:
        for number in range(_NAMESPACES):
            name = {"name": f"team-{number}"}
            namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": name}
            await kube.create(namespace, field_manager="kubectl-create")


def run(args: argparse.Namespace) -> dict[str, Any]:
    jobs = list(manifests(_WARM_UP + args.jobs, args.run_seconds))
    with fleet(equal_members(args.members)) as local, local.client() as hub:
        if args.way != "rest":
            asyncio.run(namespaces(local))
        asyncio.run(one_by_one(local, args, jobs[:_WARM_UP]))
        until_ended(hub, _WARM_UP)
        time.sleep(_SETTLE_S)
        before = local.cpu_s("hub")
        time.sleep(args.idle)
        idle_s = local.cpu_s("hub") - before
        parts = local.cpu_by_part()
        began = time.monotonic()
        asyncio.run(one_by_one(local, args, jobs[_WARM_UP:]))
        submitted_s = time.monotonic() - began
        ended = until_ended(hub, len(jobs))
        names = {job["metadata"]["name"] for job in jobs[_WARM_UP:]}
        figures = report(
            local, [job for job in ended if job.name in names], parts, submitted_s, args.rate
        )
    return figures | {"way": args.way, "idle_share": round(idle_s / args.idle, 4)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--way", choices=("rest", "hub-cluster"), default="rest")
    parser.add_argument("--rate", type=float, default=10.0, help="jobs/s")
    parser.add_argument("--jobs", type=int, default=300)
    parser.add_argument("--members", type=int, default=2)
    parser.add_argument("--run-seconds", type=float, default=1.0)
    parser.add_argument("--idle", type=float, default=20.0, help="seconds")
    parser.add_argument("--json", action="store_true", help="only the JSON line")
    args = parser.parse_args()
    figures = run(args)
    figures["machine"] = machine()
    show(figures, only_json=args.json)


if __name__ == "__main__":
    main()
