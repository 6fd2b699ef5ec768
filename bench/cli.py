"""How long the `roadstead` command takes, as a person feels it: help, and one request to a hub.

Each figure is the median over whole processes, of which the first is not counted. The hub is the real
one, with as many waiting jobs as `--jobs` says. Aims: help 200 ms, a request 400 ms.
"""

import argparse
import os
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.dispatch import manifests
from bench.local_fleet import machine, show
from roadstead import Client

AIMS_MS = {"help": 200, "request": 400}


def timed(command: list[str], env: dict[str, str], runs: int) -> dict[str, Any]:
    """Median and worst wall time, and median CPU time, of a command in ms."""
    walls, cpus = [], []
    for _ in range(runs + 1):
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run(command, env=env, check=True, stdout=subprocess.DEVNULL)
        walls.append(1000 * (time.perf_counter() - began))
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        cpus.append(1000 * spent)
    return {
        "p50_ms": round(statistics.median(walls[1:]), 1),
        "max_ms": round(max(walls[1:]), 1),
        "cpu_p50_ms": round(statistics.median(cpus[1:]), 1),
    }


def run(args: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="roadstead-bench-") as name:
        folder = Path(name)
        command = [sys.executable, "-m", "hub", "--data", name, "--listen", "127.0.0.1:0"]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            if not line.startswith("ready "):
                raise SystemExit(f"the hub did not start: {line!r}")
            (folder / "server").write_text(line.split()[1])
            with Client(line.split()[1], (folder / "admin.token").read_text().strip()) as hub:
                uids = [job.uid for job in hub.submit_many(manifests(args.jobs, 1)).jobs]
            return measured(folder, args, uids[-1])
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)


def measured(folder: Path, args: argparse.Namespace, uid: str) -> dict[str, Any]:
    env = {**os.environ, "ROADSTEAD_DATA": str(folder)}
    roadstead = [str(Path(sys.executable).with_name("roadstead"))]
    return {
        "jobs": args.jobs,
        "runs": args.runs,
        "help": timed([*roadstead, "--help"], env, args.runs),
        "verb_help": timed([*roadstead, "up", "--help"], env, args.runs),
        "request": timed([*roadstead, "jobs", "ls"], env, args.runs),
        "explain": timed([*roadstead, "explain", uid], env, args.runs),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--jobs", type=int, default=1000, help="that wait in the hub")
    parser.add_argument("--json", action="store_true", help="only the JSON line")
    args = parser.parse_args()
    figures = run(args)
    figures["aims_ms"] = AIMS_MS
    figures["aims_met"] = all(figures[what]["p50_ms"] <= aim for what, aim in AIMS_MS.items())
    figures["machine"] = machine()
    show(figures, only_json=args.json)


if __name__ == "__main__":
    main()
