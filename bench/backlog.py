"""What a backlog costs: cycles and a restart with 10,000, 100,000 and 1,000,000 jobs waiting.

    python -m bench.backlog [--sizes 10000,100000,1000000] [--store postgres] [--json]

For each size, in one run: a hub is given so many waiting jobs in a queue whose quota is used up (rows
copied in its database) and is started again; `restart_s` is from then until it is ready, `first_s` until
its first decision: another queue has room, and a job waits in it; `first_cpu_s` is the hub's CPU until then.
Then jobs are submitted to that queue, one at a time, in rounds: `cycle_ms` is what a turn of the scheduling
loop takes meanwhile, in the round where that is least (the others say what else the machine did), `placed_ms`
what passes from a submission until its job is placed.
"""

import argparse
import json
import sqlite3
import statistics
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import psycopg

from bench.local_fleet import hubs, machine, show
from bench.lone_hub import LoneHub, lone_hub, temporary
from bench.waiting import Member, a_job, fill, rules
from roadstead import Client
from roadstead.models.jobs import Job

_QUICK = "quick"
_KINDS = 100
_CPUS = 10_000
_LOOP = 'roadstead_loop_turn_seconds_{}{{loop="scheduling"}}'


def queues() -> bytes:
    """`line` with room for next to nothing, and `quick` with room for everything."""
    line = rules(1)
    quick = json.loads(json.dumps(rules(_CPUS)[1:]).replace('"line"', f'"{_QUICK}"'))
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": [*line, *quick]}).encode()


def a_quick_job(name: str) -> dict[str, Any]:
    job = a_job(0)
    job["metadata"] |= {"name": name, "labels": {"kueue.x-k8s.io/queue-name": _QUICK}}
    return job


def turns(hub: LoneHub) -> tuple[float, float]:
    """How many turns the scheduling loop has taken, and the seconds they took."""
    headers = {"Authorization": f"Bearer {hub.token}"}
    found = {}
    for line in httpx.get(f"{hub.server}/metrics", headers=headers, timeout=60).text.splitlines():
        name, _, value = line.rpartition(" ")
        found[name] = value
    return float(found[_LOOP.format("count")]), float(found[_LOOP.format("sum")])


def until_placed(client: Client, job: Job, within_s: float) -> float:
    """Seconds until a job is placed."""
    began = time.monotonic()
    while client.job(job.uid).state == "Pending":
        if time.monotonic() - began > within_s:
            raise SystemExit(f"{job.name} was not placed within {within_s:g} s")
        time.sleep(0.005)
    return time.monotonic() - began


def measure(size: int, args: argparse.Namespace) -> dict[str, Any]:
    """With that many waiting."""
    with hubs(args.store) as store, temporary() as name:
        folder = Path(name)
        settings = {"ROADSTEAD_DATABASE": store.database} if store.database else {}
        with lone_hub(settings, folder=folder) as hub, Client(hub.server, hub.token) as client:
            client.apply(queues())
            client.submit_many([a_job(kind) for kind in range(_KINDS)])
            member = Member(hub, _CPUS)
            first = client.submit(a_quick_job("first"))
        if store.database:
            fill_postgres(store.database, size)
        else:
            fill(folder / "hub.db", size)
            _without_copies_of_first(folder / "hub.db")
        began = time.monotonic()
        with lone_hub(settings, folder=folder) as hub, Client(hub.server, hub.token) as client:
            restart_s = time.monotonic() - began
            over = threading.Event()
            reports = threading.Thread(target=member.run, args=(over, hub))
            reports.start()
            try:
                first_s = restart_s + until_placed(client, first, 120)
                first_cpu_s = hub.cpu_s()
                settle(hub)
                rounds = [a_round(hub, client, number, args.jobs) for number in range(args.rounds)]
            finally:
                over.set()
                reports.join()
            ordered = sorted(placed for each in rounds for placed in each.placed_s)
            return {
                "waiting": size,
                "restart_s": round(restart_s, 2),
                "first_s": round(first_s, 2),
                "first_cpu_s": round(first_cpu_s, 2),
                "cycle_ms": min(each.cycle_ms for each in rounds),
                "cycles_ms": [each.cycle_ms for each in rounds],
                "placed_p50_ms": round(1000 * statistics.median(ordered), 1),
                "placed_p99_ms": round(1000 * ordered[int(len(ordered) * 0.99) - 1], 1),
                "peak_rss_mib": hub.peak_rss_mib(),
            }


class Round(NamedTuple):
    """What cycles took while jobs were submitted one by one, on average, and what each job took."""

    cycle_ms: float
    placed_s: list[float]


def a_round(hub: LoneHub, client: Client, number: int, jobs: int) -> Round:
    """So many jobs."""
    count, seconds = turns(hub)
    names = [f"q{number}-{n}" for n in range(jobs)]
    placed = [until_placed(client, client.submit(a_quick_job(name)), 60) for name in names]
    more, longer = turns(hub)
    return Round(round(1000 * (longer - seconds) / max(1.0, more - count), 2), placed)


def fill_postgres(url: str, jobs: int) -> None:
    """Copy the rows of what waits until that many do, as `fill` does; what finds room is no part of them."""
    with psycopg.connect(url) as connection:
        (kinds,) = connection.execute("SELECT count(*) FROM workloads").fetchone() or (1,)
        kept = connection.execute("SELECT uid FROM workloads WHERE name = 'first'").fetchone()
        for table in ("manifests", "workloads"):
            found = connection.execute(f"SELECT * FROM {table} LIMIT 0").description or ()
            columns = [each.name for each in found]
            made = {
                "uid": "substr(old.uid, 1, 24) || lpad(to_hex(number_of), 3, '0') "
                "|| lpad(to_hex(copy), 9, '0')",
                "name": "old.name || '-' || copy",
            }
            values = ", ".join(made.get(column, f"old.{column}") for column in columns)
            connection.execute(
                f"INSERT INTO {table} ({', '.join(columns)}) SELECT {values} "
                f"FROM (SELECT *, row_number() OVER (ORDER BY uid) AS number_of FROM {table}) old, "
                f"generate_series(1, {jobs // kinds - 1}) copy WHERE old.uid <> %s",
                kept,
            )
        connection.commit()
        connection.autocommit = True
        connection.execute("VACUUM ANALYZE")


def _without_copies_of_first(path: Path) -> None:
    """What finds room is not to be a part of the backlog."""
    connection = sqlite3.connect(path)
    connection.execute("DELETE FROM workloads WHERE name LIKE 'first-%'")
    connection.commit()
    connection.close()


def settle(hub: LoneHub) -> None:
    """Until the loop has taken in what was there at the start: turns are short again."""
    for _ in range(120):
        count, seconds = turns(hub)
        time.sleep(1.5)
        more, longer = turns(hub)
        if more > count and (longer - seconds) / (more - count) < 0.2:
            return


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="10000,100000,1000000")
    parser.add_argument("--store", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--jobs", type=int, default=100, help="submitted one by one in each round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="only the JSON line")
    args = parser.parse_args()
    found = [measure(int(size), args) for size in args.sizes.split(",")]
    ratio = round(found[-1]["cycle_ms"] / found[0]["cycle_ms"], 2)
    figures = {"backlogs": found, "cycle_ratio": ratio, "machine": machine()}
    show(figures, only_json=args.json)


if __name__ == "__main__":
    main()
