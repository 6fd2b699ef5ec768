"""What a second hub on one PostgreSQL brings: reads and agents' requests, answered by all of them.

    python -m bench.replicas [--hubs 1,2] [--seconds 8] [--json]

For each number of hubs, in one run: `--jobs` jobs wait, and `--connections` connections, dealt out evenly,
ask without a pause for pages of jobs (`reads`); then `--agents` agents, each of a member of its own, ask four
times a second what that is to hold (`agents`). `per_s` is of all hubs together. The generator and PostgreSQL
share the machine's cores with the hubs: where those are few, `hub_cpu_ms`, the CPU of all hubs for one
request, says more, for what does not grow with their number can be spread over machines. At last the hub
that leads takes in `--burst` jobs and decides upon them while each hub is asked for a page every 20 ms:
`p99_ms` of the leader and of the others.
"""

import argparse
import asyncio
import contextlib
import json
import secrets
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.local_fleet import Hubs, hubs, machine, show
from bench.lone_hub import LoneHub, lone_hub, temporary
from bench.raw_http import Connection, checked
from bench.waiting import a_job, rules
from roadstead import Client

_READ = "/v1/jobs?limit=50"
_CHUNK = 1000
_EVERY_S = 0.02
_AGENT_EVERY_S = 0.25  # the hub takes five a second from each
Ask = Callable[[Connection, int], Awaitable[Any]]


@contextlib.contextmanager
def started(kept: Hubs) -> Iterator[list[LoneHub]]:
    """Hubs, each on an address of its own; the first one leads."""
    assert kept.database is not None
    settings = {"ROADSTEAD_DATABASE": kept.database}
    with contextlib.ExitStack() as stack:
        token = f"{secrets.token_hex(8)}.{secrets.token_urlsafe(32)}"
        running = []
        for _ in range(kept.replicas):
            folder = Path(stack.enter_context(temporary()))
            (folder / "admin.token").write_text(token)  # the same for all, as behind a balancer
            running.append(stack.enter_context(lone_hub(settings, folder=folder)))
        yield running


def fill(hub: LoneHub, jobs: int, members: int) -> list[str]:
    """A queue without room, jobs that wait in it, and members; what their agents join with."""
    with Client(hub.server, hub.token) as client:
        items = {"apiVersion": "v1", "kind": "List", "items": rules(1)}
        client.apply(json.dumps(items).encode())
        submit(client, "waits", jobs)
        return [client.add_cluster(f"m{number}").join_token for number in range(members)]


def submit(client: Client, name: str, jobs: int) -> None:
    """So many jobs, a thousand at a time."""
    for start in range(0, jobs, _CHUNK):
        made = [a_job(number % 100) for number in range(start, min(start + _CHUNK, jobs))]
        for number, job in enumerate(made, start):
            job["metadata"]["name"] = f"{name}-{number}"
        client.submit_many(made)


async def read(connection: Connection, _number: int) -> None:
    """A page of jobs."""
    checked(await connection.ask("GET", _READ), 200)


async def join(hub: LoneHub, token: str, number: int) -> str:
    """The credential of a member's agent."""
    connection = Connection(hub.server, token)
    body = {"cluster_uid": f"uid-{number}"}
    credential = checked(await connection.ask("POST", "/agent/v1/register", body), 200)
    connection.close()
    return str(credential["credential"])


def as_agent(member: int) -> Ask:
    """A request of an agent without news, which is not held."""

    async def ask(connection: Connection, number: int) -> None:
        body = {
            "session": f"bench-replicas-{member}",
            "seq": number,
            "cluster_uid": f"uid-{member}",
            "observed": {"full": number == 1, "entries": []},
        }
        checked(await connection.ask("POST", "/agent/v1/sync", body), 200)

    return ask


async def load(
    running: Sequence[LoneHub],
    tokens: Sequence[str],
    asks: Sequence[Ask],
    seconds: float,
    every_s: float = 0.0,
) -> dict[str, Any]:
    """Every connection, one for each of `tokens` and `asks`, asks for so long, not more often than that."""
    took_ms: list[float] = []
    before = sum(hub.cpu_s() for hub in running)
    ends_at = time.monotonic() + seconds

    async def keep_asking(at: int) -> None:
        connection = Connection(running[at % len(running)].server, tokens[at])
        number = 0
        while time.monotonic() < ends_at:
            began, number = time.monotonic(), number + 1
            await asks[at](connection, number)
            took_s = time.monotonic() - began
            took_ms.append(1000 * took_s)
            if every_s:
                await asyncio.sleep(max(0.0, every_s - took_s))
        connection.close()

    await asyncio.gather(*(keep_asking(at) for at in range(len(asks))))
    spent = sum(hub.cpu_s() for hub in running) - before
    return {
        "per_s": round(len(took_ms) / seconds),
        **percentiles(took_ms),
        "hub_cpu_ms": round(1000 * spent / len(took_ms), 2),
    }


def percentiles(took_ms: Sequence[float]) -> dict[str, float]:
    ordered = sorted(took_ms)
    return {
        "p50_ms": round(statistics.median(ordered), 1),
        "p99_ms": round(ordered[int(len(ordered) * 0.99)], 1),
    }


async def beside_a_burst(running: Sequence[LoneHub], jobs: int) -> dict[str, Any]:
    """What a page takes at the first hub, which leads, and at the others, while it takes jobs in."""
    took_ms: list[list[float]] = [[] for _ in running]
    over = asyncio.Event()

    async def keep_asking(at: int) -> None:
        connection = Connection(running[at].server, running[at].token)
        while not over.is_set():
            began = time.monotonic()
            await read(connection, 0)
            took_ms[at].append(1000 * (time.monotonic() - began))
            await asyncio.sleep(_EVERY_S)
        connection.close()

    def take_in() -> None:
        with Client(running[0].server, running[0].token) as client:
            submit(client, "burst", jobs)

    asking = [asyncio.create_task(keep_asking(at)) for at in range(len(running))]
    await asyncio.to_thread(take_in)
    over.set()
    await asyncio.gather(*asking)
    others = [each for one in took_ms[1:] for each in one]
    found = {"leader": percentiles(took_ms[0])}
    return found | ({"others": percentiles(others)} if others else {})


async def measure(count: int, args: argparse.Namespace) -> dict[str, Any]:
    """With so many hubs."""
    with hubs("postgres", count) as kept, started(kept) as running:
        joining = fill(running[0], args.jobs, args.agents)
        given = [await join(running[0], token, at) for at, token in enumerate(joining)]
        agents = [as_agent(at) for at in range(args.agents)]
        people = [running[at % count].token for at in range(args.connections)]
        return {
            "hubs": count,
            "reads": await load(running, people, [read] * args.connections, args.seconds),
            "agents": await load(running, given, agents, args.seconds, _AGENT_EVERY_S),
            "burst": await beside_a_burst(running, args.burst),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hubs", default="1,2", help="how many, one number after the other")
    parser.add_argument("--jobs", type=int, default=10_000, help="that wait")
    parser.add_argument("--connections", type=int, default=16, help="that read")
    parser.add_argument("--agents", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=8.0, help="of each load")
    parser.add_argument(
        "--burst", type=int, default=10_000, help="jobs that are submitted at last"
    )
    parser.add_argument("--json", action="store_true", help="only the JSON line")
    args = parser.parse_args()
    found = [asyncio.run(measure(int(count), args)) for count in args.hubs.split(",")]
    show({"replicas": found, "machine": machine()}, only_json=args.json)


if __name__ == "__main__":
    main()
