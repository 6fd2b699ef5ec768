"""Floods of one caller, and how others are served meanwhile: labels, lists of old rows, endless bodies.

    python -m bench.flood [--json] [--rows 360]

A fleet of two simulated members and its hub cluster, on SQLite. Each flood follows a quiet span and runs in a
separate process; in both, `/healthz` is asked every 10 ms and another principal's list every 250 ms. `rows`
Jobs get 60,000 labels each directly in the store, like rows from before the bound. Shown are percentiles in
ms of both spans and their difference, the hub's resident memory in MiB, and whether any member was Suspect.
"""

import argparse
import asyncio
import contextlib
import functools
import http.client
import json
import multiprocessing
import socket
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from bench.local_fleet import LocalFleet, equal_members, fleet, machine, show
from shared.kube import errors
from shared.kube.client import KubeClient

LABELS = {f"k{n:05d}": "v" for n in range(60_000)}
QUEUE = {"kueue.x-k8s.io/queue-name": "flood"}
LISTS = (
    "/v1/jobs?limit=500",
    "/v1/workloads?limit=500",
    "/v1/jobs?limit=500&labelSelector=team%3Da",
)
AT_ONCE = 12  # lists
POSTS = 360  # Jobs with 60,000 labels
KUBECTL = 30  # Jobs with 20,000 labels
QUIET_S = 10.0
ENDLESS_S = 5.0


def a_job(name: str, labels: dict[str, str]) -> dict[str, object]:
    """A Job; by REST it waits, for there is no queue."""
    container = {"name": "main", "image": "busybox:1.36"}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default", "labels": labels},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}},
    }


@dataclass
class Asker:
    """Asks one thing again and again in a thread; how long each answer took, in ms."""

    server: str
    path: str
    token: str = ""
    every_s: float = 0.01
    took_ms: list[float] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Until it is stopped."""
        parts = urlsplit(self.server)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=120)
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        while not self._stop.is_set():
            began = time.perf_counter()
            connection.request("GET", self.path, headers=headers)
            connection.getresponse().read()
            self.took_ms.append(1000 * (time.perf_counter() - began))
            self._stop.wait(self.every_s)
        connection.close()

    def stop(self) -> None:
        """Stop asking."""
        self._stop.set()

    def percentile(self, share: float) -> float:
        """Of the answers so far."""
        ordered = sorted(self.took_ms) or [0.0]
        return round(ordered[min(len(ordered) - 1, int(share * len(ordered)))], 1)


@dataclass
class Watched:
    """The answers of the hub during a span."""

    health: Asker
    other: Asker
    suspect: bool = False

    def told(self) -> dict[str, object]:
        """As figures."""
        return {
            "health_p50": self.health.percentile(0.5),
            "health_p99": self.health.percentile(0.99),
            "health_max": self.health.percentile(1.0),
            "other_max": self.other.percentile(1.0),
        }


def ask(server: str, token: str, path: str, body: bytes | None = None) -> int:
    """Send one request on a new connection; its status."""
    return answer_of(server, token, path, body)[0]


def answer_of(server: str, token: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
    """Send one request on a new connection; its status and body."""
    parts = urlsplit(server)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=600)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    with contextlib.closing(connection):
        connection.request("GET" if body is None else "POST", path, body, headers)
        reply = connection.getresponse()
        return reply.status, reply.read()


def at_once(number: int, calls: Sequence[Callable[[], int]]) -> Counter[int]:
    """Run the calls, `number` at a time: how often each status came."""
    statuses: Counter[int] = Counter()
    pending = iter(calls)
    lock = threading.Lock()

    def work() -> None:
        while True:
            with lock:
                call = next(pending, None)
            if call is None:
                return
            status = call()
            with lock:
                statuses[status] += 1

    threads = [threading.Thread(target=work) for _ in range(number)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return statuses


def post_labels(server: str, token: str, _kubeconfig: str) -> object:
    """Jobs of 60,000 labels by REST, four at a time."""
    body = json.dumps(a_job("flood", LABELS)).encode()
    return dict(at_once(4, [lambda: ask(server, token, "/v1/jobs", body)] * POSTS))


def read_lists(server: str, token: str, _kubeconfig: str) -> object:
    """Each list twelve times at once, by the same person."""
    calls = [functools.partial(ask, server, token, path) for path in LISTS for _ in range(AT_ONCE)]
    return dict(at_once(AT_ONCE, calls))


def create_by_kubectl(_server: str, _token: str, kubeconfig: str) -> object:
    """Jobs of 20,000 labels on the hub cluster; and as many that have a controller."""
    some = dict(list(LABELS.items())[:20_000])

    async def create() -> dict[str, int]:
        said: Counter[str] = Counter()
        async with await KubeClient.connect(Path(kubeconfig)) as kube:
            for at in range(KUBECTL):
                for kind in ("ours", "others"):
                    job = a_job(f"{kind}-{at}", {**some, **QUEUE})
                    metadata = job["metadata"]
                    assert isinstance(metadata, dict)
                    if kind == "others":
                        owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}
                        metadata["ownerReferences"] = [{**owner, "controller": True}]
                        metadata["labels"] = some
                    try:
                        await kube.create(job, field_manager="kubectl")
                    except errors.KubeError as refusal:
                        said[refusal.reason] += 1
                    else:
                        said["created"] += 1
        return dict(said)

    return asyncio.run(create())


def send_without_end(server: str, _token: str, _kubeconfig: str) -> object:
    """Bodies without end and without a credential, on a new connection whenever the hub closes one."""
    parts = urlsplit(server)
    piece = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    head = b"POST /v1/jobs HTTP/1.1\r\nHost: hub\r\nTransfer-Encoding: chunked\r\n\r\n"
    sent = connections = 0
    until = time.monotonic() + ENDLESS_S
    while time.monotonic() < until:
        connections += 1
        with socket.create_connection((parts.hostname or "", parts.port or 80)) as line:
            line.settimeout(3)
            with contextlib.suppress(OSError):
                line.sendall(head)
                while time.monotonic() < until:
                    line.sendall(piece)
                    sent += len(piece)
    return {"mib_sent": round(sent / 2**20), "connections": connections}


FLOODS: dict[str, Callable[[str, str, str], object]] = {
    "labels by REST": post_labels,
    "lists of old rows": read_lists,
    "labels by kubectl": create_by_kubectl,
    "bodies without end": send_without_end,
}


def plant(it: LocalFleet, token: str, rows: int) -> None:
    """Jobs that wait, and then their labels past the door."""
    calls = [
        functools.partial(
            ask, it.server, token, "/v1/jobs", json.dumps(a_job(f"old-{at}", {})).encode()
        )
        for at in range(rows)
    ]
    statuses = at_once(8, calls)
    if statuses != {201: rows}:
        raise SystemExit(f"the jobs to plant were answered {dict(statuses)}")
    large = json.dumps(LABELS).encode()
    with (
        contextlib.closing(sqlite3.connect(it.folder / "hub" / "hub.db", timeout=60)) as store,
        store,
    ):
        store.execute("UPDATE workloads SET labels = ? WHERE name LIKE 'old-%'", (large,))


def watched(
    it: LocalFleet, admin: str, viewer: str, run: Callable[[], object]
) -> tuple[Watched, object]:
    """Call `run`: what the hub answered meanwhile, and the result."""
    seen = Watched(
        Asker(it.server, "/healthz"), Asker(it.server, "/v1/jobs?limit=10", viewer, 0.25)
    )
    members = Asker(it.server, "/v1/clusters", viewer, 1.0)
    threads = [threading.Thread(target=each.run) for each in (seen.health, seen.other, members)]
    for each in threads:
        each.start()
    try:
        answer = run()
    finally:
        for asker in (seen.health, seen.other, members):
            asker.stop()
        for each in threads:
            each.join()
    told = json.loads(answer_of(it.server, admin, "/v1/clusters")[1])
    seen.suspect = any(each["state"] != "Ready" for each in told["items"])
    return seen, answer


def _flooded(queue: "multiprocessing.Queue[object]", name: str, *about: str) -> None:
    queue.put(FLOODS[name](*about))


def in_a_process(name: str, *about: str) -> object:
    """The flood, beside the one that measures."""
    queue: multiprocessing.Queue[object] = multiprocessing.Queue()
    process = multiprocessing.Process(target=_flooded, args=(queue, name, *about))
    process.start()
    answer = queue.get(timeout=600)
    process.join()
    return answer


def rss_mib(pid: int) -> float:
    """Resident memory now."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return round(int(line.split()[1]) / 1024, 1)
    return 0.0


def measure(it: LocalFleet, name: str, admin: str, viewer: str) -> dict[str, object]:
    """One pair: a quiet span, then the flood."""
    kubeconfig = str(it.folder / "hub.kubeconfig")
    quiet, _ = watched(it, admin, viewer, lambda: time.sleep(QUIET_S))
    before, began = rss_mib(it.pid("hub")), time.perf_counter()
    flood, answer = watched(
        it, admin, viewer, lambda: in_a_process(name, it.server, admin, kubeconfig)
    )
    moved = flood.health.percentile(0.99) - quiet.health.percentile(0.99)
    return {
        "flood": name,
        "answers": answer,
        "seconds": round(time.perf_counter() - began, 1),
        "quiet": quiet.told(),
        "flooded": flood.told(),
        "p99_moved_ms": round(moved, 1),
        "rss_mib": [before, rss_mib(it.pid("hub"))],
        "peak_rss_mib": round(it.peak_rss_mib("hub"), 1),
        "suspect": flood.suspect,
    }


def main() -> None:
    """Run all floods and print one line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rows", type=int, default=360)
    args = parser.parse_args()
    with fleet(equal_members(2)) as it:
        admin = (it.folder / "admin.token").read_text().strip()
        wanted = json.dumps({"name": "bench", "role": "viewer"}).encode()
        viewer = json.loads(answer_of(it.server, admin, "/v1/tokens", wanted)[1])["token"]
        plant(it, admin, args.rows)
        results = []
        for name in FLOODS:
            results.append(measure(it, name, admin, viewer))
            if not args.json:
                print(json.dumps(results[-1]), flush=True)
    if args.json:
        show({"machine": machine(), "floods": results}, only_json=True)


if __name__ == "__main__":
    main()
