"""The baseline of Kueue's scheduler suite in real time, against a running hub through its API.

    python -m bench.queueing_live [--scale 1.0] [--minimum-runtime S] [--json]

15,000 Workloads in 30 queues of 5 cohorts, 39,600 core-seconds on 600 cores: at least 66 s. The hub is the
real process on SQLite (synchronous=FULL), without members. 90 streams hand Workloads in, one request
each, waiting for the answer; an executor outside follows the hub's stream, runs what is admitted for
its time and says `Finished` by a status patch, at most 5 at a time; an evicted Workload starts its run
again after readmission. A client that gets 429 waits as long as the answer says. Quotas, streams and
executor are those of the suite.
"""

import argparse
import asyncio
import itertools
import os
import resource
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import uvloop

from bench.local_fleet import machine, show
from bench.lone_hub import LoneHub, cpu_s, lone_hub
from bench.queueing import STREAMS
from bench.raw_http import Connection, checked
from shared.clock import SystemClock

KUEUE = "kueue.x-k8s.io/v1beta2"
COHORTS, QUEUES, NOMINAL, BORROWING = 5, 6, 20, 100
CALLS = 5  # finish calls at a time, as the suite has them
MERGE = "application/merge-patch+json"
AIM_S = 100
_sleep = SystemClock().sleep


@dataclass(slots=True)
class Life:
    """One Workload as its client saw it; seconds on the client's clock."""

    kind: str
    cpu: int
    runs_s: float
    seen: float = 0.0
    admitted: float = 0.0  # first
    finished: float = 0.0
    epoch: int = 0  # of the run that goes on; 0: none does
    held: float = 0.0  # since when
    held_s: float = 0.0  # how long it has held quota, as seen from here
    evictions: int = 0


@dataclass
class Play:
    """The load as it goes on."""

    hub: LoneHub
    lives: dict[str, Life] = field(default_factory=dict)
    done: asyncio.Event = field(default_factory=asyncio.Event)
    ends: asyncio.Queue[tuple[str, int]] = field(default_factory=asyncio.Queue)
    left: int = 0
    handed_in: float = 0.0
    late: int = 0  # reports that crossed an eviction
    connections: list[Connection] = field(default_factory=list)

    def connect(self) -> Connection:
        self.connections.append(Connection(self.hub.server, self.hub.token))
        return self.connections[-1]


def rules() -> list[dict[str, Any]]:
    """Flavor, queues and doors; each queue has a namespace of its own."""
    found: list[dict[str, Any]] = [
        {"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": {"name": "any"}}
    ]
    quota = {"name": "cpu", "nominalQuota": str(NOMINAL), "borrowingLimit": str(BORROWING)}
    for cohort, queue in itertools.product(range(COHORTS), range(QUEUES)):
        name = f"cq-{cohort}-{queue}"
        spec = {
            "cohortName": f"cohort-{cohort}",
            "namespaceSelector": {},
            "preemption": {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"},
            "resourceGroups": [
                {
                    "coveredResources": ["cpu"],
                    "flavors": [{"name": "any", "resources": [quota]}],
                }
            ],
        }
        found += [
            {
                "apiVersion": KUEUE,
                "kind": "ClusterQueue",
                "metadata": {"name": name},
                "spec": spec,
            },
            {
                "apiVersion": KUEUE,
                "kind": "LocalQueue",
                "metadata": {"name": "lq", "namespace": name},
                "spec": {"clusterQueue": name},
            },
        ]
    return found


def a_workload(namespace: str, name: str, priority: int, cpu: int) -> dict[str, Any]:
    container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": str(cpu)}}}
    template = {"spec": {"containers": [container], "restartPolicy": "Never"}}
    return {
        "apiVersion": KUEUE,
        "kind": "Workload",
        "metadata": {"namespace": namespace, "name": name},
        "spec": {
            "queueName": "lq",
            "priority": priority,
            "podSets": [{"name": "main", "count": 1, "template": template}],
        },
    }


def namespaces() -> Iterator[str]:
    pairs = itertools.product(range(COHORTS), range(QUEUES))
    return (f"cq-{cohort}-{queue}" for cohort, queue in pairs)


async def generate(
    play: Play, namespace: str, stream: tuple[str, int, int, int, int, int]
) -> None:
    """One closed loop: wait, hand one in, wait for the answer."""
    kind, priority, cpu, count, every_ms, runs_ms = stream
    connection = play.connect()
    for number in range(count):
        await _sleep(every_ms / 1000)
        name = f"{kind}-{number}"
        key = f"{namespace}/{name}"
        play.lives[key] = Life(kind, cpu, runs_ms / 1000, seen=time.monotonic())
        manifest = a_workload(namespace, name, priority, cpu)
        checked(await connection.ask("POST", "/v1/workloads", manifest), 201)
    play.handed_in = time.monotonic()
    connection.close()


async def follow(play: Play, revision: int) -> None:
    """See what is admitted and what is taken back; start the timers of runs."""
    loop = asyncio.get_running_loop()
    path = f"/v1/workloads:watch?revision={revision}&kind=Workload&state=Placed,Pending"
    async for told in play.connect().events(path):
        now = time.monotonic()
        for item in told["items"]:
            key = f"{item['namespace']}/{item['name']}"
            life, epoch = play.lives[key], item["epoch"]
            if life.epoch and (item["state"] != "Placed" or epoch != life.epoch):
                life.evictions += 1
                life.held_s += now - life.held
                life.epoch = 0
            if item["state"] == "Placed" and not life.epoch and not life.finished:
                life.epoch, life.held = epoch, now
                life.admitted = life.admitted or now
                loop.call_later(life.runs_s, play.ends.put_nowait, (key, epoch))


async def execute(play: Play) -> None:
    """One of the callers that report ends."""
    connection = play.connect()
    while True:
        key, epoch = await play.ends.get()
        life = play.lives[key]
        if life.epoch != epoch:
            continue  # it was taken back meanwhile
        path = f"/v1/workloads/{key}/status?epoch={epoch}"
        said = {"type": "Finished", "status": "True", "reason": "ByTest", "message": "By test"}
        answer = await connection.ask("PATCH", path, {"status": {"conditions": [said]}}, MERGE)
        if answer[0] == 409:
            play.late += 1
            continue
        state = checked(answer, 200)["state"]
        assert state == "Succeeded", answer
        life.finished = time.monotonic()
        life.held_s += life.finished - life.held
        life.epoch = 0
        play.left -= 1
        if not play.left:
            play.done.set()


async def run(hub: LoneHub, scale: float) -> dict[str, Any]:
    """Play it and measure."""
    play = Play(hub)
    connection = play.connect()
    checked(await connection.ask("POST", "/v1/apply", rules()), 200)
    _, overview = await connection.ask("GET", "/v1/overview")
    streams = [(k, p, c, max(1, round(n * scale)), e, r) for k, p, c, n, e, r in STREAMS]
    play.left = COHORTS * QUEUES * sum(stream[3] for stream in streams)
    before, own = hub.cpu_s(), cpu_s(os.getpid())
    tasks: list[asyncio.Future[Any]] = [asyncio.ensure_future(follow(play, overview["revision"]))]
    tasks += [asyncio.ensure_future(execute(play)) for _ in range(CALLS)]
    started = time.monotonic()
    tasks += [
        asyncio.ensure_future(generate(play, namespace, stream))
        for namespace in namespaces()
        for stream in streams
    ]
    ended = asyncio.ensure_future(play.done.wait())
    while not ended.done():
        finished, _ = await asyncio.wait({ended, *tasks}, return_when=asyncio.FIRST_COMPLETED)
        for task in finished - {ended}:
            task.result()  # raises what went wrong
            tasks.remove(task)
    for task in tasks:
        task.cancel()
    wall = max(life.finished for life in play.lives.values()) - started
    used = {"hub": hub.cpu_s() - before, "client": cpu_s(os.getpid()) - own}
    return {
        **figures(play, wall, play.handed_in - started),
        "cpu_s": {part: round(seconds, 1) for part, seconds in used.items()},
        "cpu_ms_per_workload": {
            part: round(1000 * seconds / len(play.lives), 2) for part, seconds in used.items()
        },
        "peak_rss_mib": {
            "hub": hub.peak_rss_mib(),
            "client": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
        },
    }


def figures(play: Play, wall: float, generated: float) -> dict[str, Any]:
    """What the suite records."""
    lives = list(play.lives.values())
    capacity = COHORTS * QUEUES * NOMINAL * wall
    return {
        "workloads": len(lives),
        "makespan_s": round(wall, 2),
        "workloads_per_s": round(len(lives) / wall, 1),
        "generation_s": round(generated, 2),
        "needs_at_least_s": round(sum(w.cpu * w.runs_s for w in lives) / (capacity / wall), 2),
        "to_admission_s": {kind: _waits(lives, kind) for kind, *_ in STREAMS},
        "true_use": round(sum(w.cpu * w.runs_s for w in lives) / capacity, 4),
        "held_use": round(sum(w.cpu * w.held_s for w in lives) / capacity, 4),
        "evictions": sum(w.evictions for w in lives),
        "late_reports": play.late,
        "throttled": sum(each.throttled for each in play.connections),
    }


def _waits(lives: list[Life], kind: str) -> dict[str, float]:
    waits = sorted(w.admitted - w.seen for w in lives if w.kind == kind)
    return {
        "average": round(statistics.mean(waits), 2),
        "p95": round(waits[int(0.95 * (len(waits) - 1))], 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=1.0, help="length of the streams")
    parser.add_argument("--minimum-runtime", type=float, default=0.0, metavar="S")
    parser.add_argument("--profile", default="", help="write a profile of the hub to this file")
    parser.add_argument("--json", action="store_true", help="only the JSON line")
    args = parser.parse_args()
    settings = {"ROADSTEAD_QUEUEING_MINIMUM_RUNTIME_S": str(args.minimum_runtime)}
    with lone_hub(settings, args.profile) as hub:
        found = uvloop.run(run(hub, args.scale))
    found |= {"scale": args.scale, "settings": settings, "machine": machine()}
    if args.scale == 1:
        found["aim_met"] = found["makespan_s"] <= AIM_S
    show(found, only_json=args.json)


if __name__ == "__main__":
    main()
