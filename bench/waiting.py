"""What people and probes feel while a great many jobs wait: starting, and cycles that place some of them.

A hub is given `--jobs` waiting jobs of `--kinds` kinds (rows copied in its database, as it would have
written them) and one member with room for `--room` of them. It is started again; from then on
`/healthz`, `/v1/queues` and `/metrics` are asked over and over until the room is used.
"""

import argparse
import contextlib
import http.client
import itertools
import json
import sqlite3
import statistics
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bench.local_fleet import machine, show
from bench.lone_hub import LoneHub, lone_hub, temporary
from roadstead import Client

ASKED = {"/healthz": 0.02, "/v1/queues": 0.25, "/metrics": 0.25}  # seconds between two
_MEMBER, _QUEUE = "north", "line"
_NODES_CPU = 100
_BATCH = 200


@dataclass
class Probe:
    """One path asked again and again in a thread of its own."""

    hub: LoneHub
    path: str
    every_s: float
    took_ms: list[float] = field(default_factory=list)
    failed: int = 0

    def run(self, over: threading.Event) -> None:
        """Ask until `over`."""
        address = urlsplit(self.hub.server).netloc
        headers = {"Authorization": f"Bearer {self.hub.token}"}
        connection = http.client.HTTPConnection(address, timeout=120)
        while not over.wait(self.every_s):
            began = time.monotonic()
            connection.request("GET", self.path, headers=headers)
            reply = connection.getresponse()
            reply.read()
            self.took_ms.append((time.monotonic() - began) * 1000)
            self.failed += reply.status != 200
        connection.close()

    def found(self) -> dict[str, float]:
        """Milliseconds."""
        ordered = sorted(self.took_ms)
        return {
            "asked": len(ordered),
            "failed": self.failed,
            "p50_ms": round(statistics.median(ordered), 1),
            "p99_ms": round(ordered[int(len(ordered) * 0.99)], 1),
            "max_ms": round(ordered[-1], 1),
        }


def rules(cpus: int) -> list[dict[str, Any]]:
    """A queue with that many CPUs of quota."""
    kueue = "kueue.x-k8s.io/v1beta2"
    resources = [{"name": "cpu", "nominalQuota": str(cpus)}]
    groups = [{"coveredResources": ["cpu"], "flavors": [{"name": "any", "resources": resources}]}]
    return [
        {"apiVersion": kueue, "kind": "ResourceFlavor", "metadata": {"name": "any"}},
        {
            "apiVersion": kueue,
            "kind": "ClusterQueue",
            "metadata": {"name": _QUEUE},
            "spec": {"namespaceSelector": {}, "resourceGroups": groups},
        },
        {
            "apiVersion": kueue,
            "kind": "LocalQueue",
            "metadata": {"name": _QUEUE, "namespace": "team"},
            "spec": {"clusterQueue": _QUEUE},
        },
    ]


def a_job(kind: int) -> dict[str, Any]:
    """One of a kind: they differ by what they ask."""
    requests = {"cpu": f"{1000 + kind}m"}
    container = {"name": "c", "image": "x", "resources": {"requests": requests}}
    labels = {"kueue.x-k8s.io/queue-name": _QUEUE}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": f"kind-{kind}", "namespace": "team", "labels": labels},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}},
    }


def fill(path: Path, jobs: int) -> None:
    """Copy the rows of what waits until that many do."""
    connection = sqlite3.connect(path)
    kinds = connection.execute("SELECT count(*) FROM workloads").fetchone()[0]
    connection.execute("CREATE TEMP TABLE copies (number INTEGER PRIMARY KEY)")
    copies = ((number,) for number in range(1, jobs // kinds))
    connection.executemany("INSERT INTO copies VALUES (?)", copies)
    for table in ("manifests", "workloads"):
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        made = {
            "uid": "substr(uid, 1, 24) || printf('%03x', old.rowid) || printf('%09x', number)",
            "name": "name || '-' || number",
        }
        values = ", ".join(made.get(column, f"old.{column}") for column in columns)
        connection.execute(
            f"INSERT INTO {table} ({', '.join(columns)}) "
            f"SELECT {values} FROM (SELECT rowid, * FROM {table}) old, copies"
        )
    connection.commit()
    connection.close()


class Member:
    """An agent as far as the wire goes: it reports its nodes, takes what it is told, says nothing more."""

    def __init__(self, hub: LoneHub, cpus: int) -> None:
        self._address = urlsplit(hub.server).netloc
        with Client(hub.server, hub.token) as client:
            token = client.add_cluster(_MEMBER).join_token
        reply = self._post("register", {"cluster_uid": "uid-north"}, token)
        self.credential = reply["credential"]
        self._numbers = itertools.count(1)
        self._nodes = -(-cpus // _NODES_CPU)

    def sync(self, session: str) -> None:
        """Report."""
        amounts = [_NODES_CPU * 1000, 110]
        nodes = [
            {"name": f"n{i}", "allocatable": amounts, "free": amounts} for i in range(self._nodes)
        ]
        pool = {"labels": {}, "taints": [], "resources": ["cpu", "pods"], "nodes": nodes}
        body = {
            "session": session,
            "seq": next(self._numbers),
            "cluster_uid": "uid-north",
            "marks": [],
            "observed": {"full": True, "entries": []},
            "capacity": {"pools_revision": 1, "pools": [pool], "bound": []},
        }
        self._post("sync", body, self.credential)

    def run(self, over: threading.Event, hub: LoneHub) -> None:
        """Report every two seconds until `over`."""
        self._address = urlsplit(hub.server).netloc
        while not over.wait(2.0):
            with contextlib.suppress(OSError, http.client.HTTPException, RuntimeError):
                self.sync("bench-waiting-1")

    def _post(self, path: str, body: dict[str, Any], token: str) -> Any:
        connection = http.client.HTTPConnection(self._address, timeout=120)
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        connection.request("POST", f"/agent/v1/{path}", json.dumps(body), headers)
        reply = connection.getresponse()
        answer = json.loads(reply.read())
        connection.close()
        if reply.status != 200:
            raise RuntimeError(f"{path}: {answer}")
        return answer


@contextlib.contextmanager
def asking(hub: LoneHub, member: Member) -> Iterator[list[Probe]]:
    """Probes and reports for the length of the block."""
    over = threading.Event()
    probes = [Probe(hub, path, every_s) for path, every_s in ASKED.items()]
    threads = [threading.Thread(target=probe.run, args=(over,)) for probe in probes]
    threads.append(threading.Thread(target=member.run, args=(over, hub)))
    for thread in threads:
        thread.start()
    try:
        yield probes
    finally:
        over.set()
        for thread in threads:
            thread.join()


def held(client: Client) -> int:
    """How many jobs hold quota."""
    (queue,) = (q for q in client.queues() if q.name == _QUEUE)
    return queue.reserving


def run(args: argparse.Namespace) -> dict[str, Any]:
    with temporary() as name:
        folder = Path(name)
        with lone_hub({}, folder=folder) as hub, Client(hub.server, hub.token) as client:
            client.apply(
                json.dumps(
                    {"apiVersion": "v1", "kind": "List", "items": rules(args.room)}
                ).encode()
            )
            for start in range(0, args.kinds, _BATCH):
                kinds = range(start, min(start + _BATCH, args.kinds))
                client.submit_many([a_job(kind) for kind in kinds])
            member = Member(hub, args.room * 2)
        fill(folder / "hub.db", args.jobs)
        began = time.monotonic()
        with lone_hub({}, folder=folder) as hub, Client(hub.server, hub.token) as client:
            ready_s = time.monotonic() - began
            with asking(hub, member) as probes:
                first_s = until(client, 1, args.patience) + ready_s
                all_s = until(client, int(args.room * args.share), args.patience) + first_s
            return {
                "benchmark": "waiting",
                "jobs": args.jobs,
                "kinds": args.kinds,
                "ready_s": round(ready_s, 1),
                "first_placement_s": round(first_s, 1),
                "room_used_s": round(all_s, 1),
                "placed": held(client),
                "paths": {probe.path: probe.found() for probe in probes},
                "peak_rss_mib": hub.peak_rss_mib(),
                "machine": machine(),
            }


def until(client: Client, placed: int, patience_s: float) -> float:
    """Seconds until so many jobs hold quota, at most `patience_s`."""
    began = time.monotonic()
    while held(client) < placed and time.monotonic() - began < patience_s:
        time.sleep(0.2)
    return time.monotonic() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=1_000_000)
    parser.add_argument("--kinds", type=int, default=100)
    parser.add_argument("--room", type=int, default=20_000, help="jobs that find room")
    parser.add_argument("--share", type=float, default=0.9, help="of the room, when to stop")
    parser.add_argument("--patience", type=float, default=300.0, help="seconds for each part")
    parser.add_argument("--json", action="store_true", help="JSON alone")
    args = parser.parse_args()
    found = run(args)
    show(found, only_json=args.json)


if __name__ == "__main__":
    main()
