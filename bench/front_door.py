"""Bodies and requests that are made to be slow, and how long the hub's own health takes meanwhile.

    python -m bench.front_door [--json]

The hub is the real process on SQLite without members. Each bad input is sent by itself while another
connection asks `/healthz` without a pause; shown are the answer's status, its time, and the slowest
health answer, in ms. The machine's own noise is shown by the line `idle`.
"""

import argparse
import http.client
import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from urllib.parse import quote, urlsplit

from bench.local_fleet import machine, show
from bench.lone_hub import LoneHub, lone_hub

JSON, YAML, NDJSON = "application/json", "application/yaml", "application/x-ndjson"
IDLE_S = 2.0


@dataclass(frozen=True)
class Input:
    """One request: a body is made when it is sent."""

    name: str
    path: str
    body: Callable[[], bytes] | None = None
    content_type: str = JSON


@dataclass
class Watch:
    """Asks `/healthz` in a thread until told to stop."""

    server: str
    slowest_ms: float = 0.0
    asked: int = 0
    _stop: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Ask again and again."""
        parts = urlsplit(self.server)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=600)
        while not self._stop.is_set():
            began = time.perf_counter()
            connection.request("GET", "/healthz")
            reply = connection.getresponse()
            reply.read()
            self.slowest_ms = max(self.slowest_ms, 1000 * (time.perf_counter() - began))
            self.asked += 1
            self._stop.wait(0.005)
        connection.close()

    def stop(self) -> None:
        """No more questions."""
        self._stop.set()


def _config_maps(count: int) -> bytes:
    items = [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c{i}", "namespace": "x"}}
        for i in range(count)
    ]
    return json.dumps(items).encode()


def _jobs(count: int) -> bytes:
    container = {"name": "main", "image": "busybox:1.36"}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    return b"\n".join(
        json.dumps(
            {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "metadata": {"name": f"j{i}", "namespace": "x"},
                "spec": {"template": template},
            }
        ).encode()
        for i in range(count)
    )


INPUTS = (
    Input("15 MB of empty objects", "/v1/apply", lambda: b"[" + b"{}," * 5_000_000 + b"{}]"),
    Input("100,000 empty objects", "/v1/apply", lambda: b"[" + b"{}," * 99_999 + b"{}]"),
    Input("20,000 empty objects", "/v1/apply", lambda: b"[" + b"{}," * 19_999 + b"{}]"),
    Input("1 MB list as one Job", "/v1/jobs", lambda: b"[" + b"{}," * 340_000 + b"{}]"),
    Input("8 MB of brackets", "/v1/apply", lambda: b"[" * 4_000_000 + b"]" * 4_000_000),
    Input("15 MB in one text", "/v1/apply", lambda: b'["' + b"x" * 15_000_000 + b'"]'),
    Input("12 MB of YAML", "/v1/apply", lambda: b"---\na: 1\n" * 1_300_000, YAML),
    Input("1 MB of YAML items", "/v1/jobs", lambda: b"- {}\n" * 200_000, YAML),
    Input("90,000 values of YAML", "/v1/apply", lambda: b"- a\n" * 90_000, YAML),
    Input("100,000 unknown fields", "/v1/jobs", lambda: _unknown(90_000)),
    Input("10,000 commas", "/v1/jobs?labelSelector=" + "," * 10_000),
    Input("5,000 requirements", "/v1/jobs?labelSelector=" + quote("a," * 5_000)),
    Input("20,000 objects", "/v1/apply", lambda: _config_maps(20_000)),
    Input("20,000 Jobs", "/v1/jobs:batch", lambda: _jobs(20_000), NDJSON),
    Input("20,000 Jobs again", "/v1/apply", lambda: _jobs(20_000), NDJSON),
)


def _unknown(count: int) -> bytes:
    fields = {f"f{i}": 1 for i in range(count)}
    manifest = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}}
    return json.dumps({**manifest, "spec": fields}, separators=(",", ":")).encode()


def _send(hub: LoneHub, given: Input) -> int:
    parts = urlsplit(hub.server)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=600)
    headers = {"Authorization": f"Bearer {hub.token}", "Content-Type": given.content_type}
    body = None if given.body is None else given.body()
    connection.request("GET" if body is None else "POST", given.path, body, headers)
    reply = connection.getresponse()
    reply.read()
    connection.close()
    return reply.status


def _measured(hub: LoneHub) -> Iterator[dict[str, object]]:
    for given in (None, *INPUTS):
        watch = Watch(hub.server)
        thread = threading.Thread(target=watch.run)
        thread.start()
        began = time.perf_counter()
        if given is None:
            time.sleep(IDLE_S)
        status = 200 if given is None else _send(hub, given)
        took = time.perf_counter() - began
        watch.stop()
        thread.join()
        yield {
            "input": "idle" if given is None else given.name,
            "status": status,
            "seconds": round(took, 2),
            "slowest_health_ms": round(watch.slowest_ms, 1),
            "asked": watch.asked,
        }


def main() -> None:
    """Run all inputs and print one line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    with lone_hub({}) as hub:
        results = []
        for line in _measured(hub):
            results.append(line)
            if not args.json:
                print(*(f"{name} {value}" for name, value in line.items()), sep=", ", flush=True)
    if args.json:
        show({"machine": machine(), "inputs": results}, only_json=True)


if __name__ == "__main__":
    main()
