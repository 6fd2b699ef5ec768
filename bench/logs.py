"""Logs: a job of many pods is followed, and jobs are dispatched beside it, in one run.

A fleet of two members, whose simulators and agents share one process. `--jobs` jobs on the quiet fleet; then
the same while the log of a job of `--pods` pods, `--rate` lines a second in all, is followed to its end. What
is told of that log: lines, whether every pod's are complete and in order, and the hub's CPU.
"""

import argparse
import threading
import time
from typing import Any

from bench.local_fleet import LocalFleet, equal_members, fleet, machine, show

_LIMIT_S = 900.0
_POLL_S = 0.2
_RAMP_S = 5.0


def a_job(name: str, *, pods: int, run_s: float, lines: int) -> dict[str, Any]:
    """A Job of equal pods of a tenth of a core."""
    notes = {
        "sim.roadstead.dev/run-seconds": f"{run_s}",
        "sim.roadstead.dev/log-lines": f"{lines}",
    }
    container = {
        "name": "main",
        "image": "busybox:1.36",
        "resources": {"requests": {"cpu": "100m"}},
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "bench"},
        "spec": {
            "parallelism": pods,
            "completions": pods,
            "template": {
                "metadata": {"annotations": notes},
                "spec": {"restartPolicy": "Never", "containers": [container]},
            },
        },
    }


def dispatched(running: LocalFleet, round_: str, count: int) -> float:
    """Submit so many jobs and wait until all have succeeded; jobs a second."""
    with running.client() as hub:
        began = time.monotonic()
        hub.submit_many([a_job(f"{round_}-{n}", pods=1, run_s=0.1, lines=1) for n in range(count)])
        before = 0
        while before < count:
            time.sleep(_POLL_S)
            found = hub.jobs(namespace="bench", name=f"{round_}-", state="Succeeded")
            before = sum(1 for _ in found)
            if time.monotonic() - began > _LIMIT_S:
                raise SystemExit(f"{before} of {count} jobs in {_LIMIT_S} s")
        return count / (time.monotonic() - began)


class Reader(threading.Thread):
    """Follows the log of a job, and looks whether each pod's lines come in order."""

    def __init__(self, running: LocalFleet, uid: str) -> None:
        super().__init__(daemon=True)
        self._running, self._uid = running, uid
        self.seen: dict[str, int] = {}
        self.wrong = 0
        self.end = ""
        self.took_s = 0.0

    def run(self) -> None:
        """Until the end of the stream."""
        began = time.monotonic()
        with self._running.client() as hub, hub.logs(self._uid, follow=True) as stream:
            for record in stream:
                if record.end is not None:
                    self.end = record.end.code
                elif record.line:
                    number = int(record.line.split()[2])
                    self.wrong += number != self.seen.get(record.pod, 0) + 1
                    self.seen[record.pod] = number
        self.took_s = time.monotonic() - began


def main() -> None:
    """Run it and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pods", type=int, default=100)
    parser.add_argument("--rate", type=int, default=1000, help="lines a second of all pods")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--jobs", type=int, default=1000)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    lines = max(1, round(args.rate * args.seconds / args.pods))
    with fleet(equal_members(2), packed=True) as running:
        quiet = dispatched(running, "quiet", args.jobs)
        with running.client() as hub:
            job = a_job("talk", pods=args.pods, run_s=args.seconds, lines=lines)
            uid = hub.submit(job).uid
            while hub.job(uid).state != "Running":
                time.sleep(_POLL_S)
        reader = Reader(running, uid)
        reader.start()
        time.sleep(_RAMP_S)
        used = running.cpu_s("hub")
        beside = dispatched(running, "beside", args.jobs)
        reader.join(_LIMIT_S)
        figures: dict[str, object] = {
            "lines": sum(reader.seen.values()),
            "lines_expected": lines * args.pods,
            "out_of_order": reader.wrong,
            "end": reader.end,
            "followed_s": round(reader.took_s, 1),
            "jobs_per_s_quiet": round(quiet, 1),
            "jobs_per_s_beside": round(beside, 1),
            "ratio": round(beside / quiet, 2),
            "hub_cpu_s": round(running.cpu_s("hub") - used, 1),
            "hub_peak_mib": round(running.peak_rss_mib("hub")),
        }
    show({**figures, "machine": machine()}, only_json=args.json)


if __name__ == "__main__":
    main()
