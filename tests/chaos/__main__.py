"""`python -m tests.chaos --seeds=first,count [--replicas=2]`: random fault schedules, judged.

One JSON line per schedule; the last line sums up: {"seeds", "violations": [{"seed", "invariant",
"detail"}], …}. Exit code 1 when a promise was broken. The traces of such a schedule are kept.
"""

import argparse
import json
import shutil
import signal
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests import databases
from tests.chaos import owners
from tests.chaos.judge import judge
from tests.chaos.run import play
from tests.chaos.schedule import Schedule, schedule
from tests.chaos.sighted import Violation
from tests.e2e.running import REPOSITORY

Json = dict[str, Any]


def main() -> int:
    """Play the schedules that were asked for."""
    arguments = _arguments()
    if arguments.replicas > 1 and (reason := databases.postgres_is_missing()):
        raise SystemExit(reason)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that every process is ended
    first, _, count = arguments.seeds.partition(",")
    seeds = range(int(first), int(first) + int(count or 1))
    traces = arguments.traces or Path(tempfile.mkdtemp(prefix="chaos-"))
    began = time.monotonic()
    found: list[Json] = []
    unplayed: list[Json] = []
    played = 0
    for seed in seeds:
        if arguments.within_s and time.monotonic() - began > arguments.within_s:
            break
        played += 1
        if arguments.owners:
            told = _of_owners(seed, traces, keep=arguments.keep)
            found += [{"seed": seed, **each} for each in told["violations"]]
            unplayed += [{"seed": seed, "error": told["error"]}] if told.get("error") else []
            print(json.dumps(told), flush=True)
            continue
        planned = schedule(seed, arguments.replicas)
        told = _one(planned, traces, keep=arguments.keep, source=arguments.source)
        found += [{"seed": seed, **each} for each in told["violations"]]
        unplayed += [{"seed": seed, "error": told["error"]}] if told.get("error") else []
        print(json.dumps(told), flush=True)
        if found and arguments.first_only:
            break
    summary = {
        "seeds": played,
        "violations": found,
        "failing": sorted({each["seed"] for each in found}),
        "unplayed": unplayed,
        "seconds": round(time.monotonic() - began, 1),
        "traces": str(traces) if found or unplayed else "",
    }
    print(json.dumps(summary), flush=True)
    return 1 if found or unplayed else 0


def _one(planned: Schedule, traces: Path, *, keep: bool, source: Path) -> Json:
    """Play and judge one schedule; its traces stay when it found something."""
    seed = planned.seed
    folder = traces / f"seed-{seed}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "schedule.json").write_text(json.dumps(asdict(planned), indent=1))
    began = time.monotonic()
    told: Json = {"seed": seed, "schedule": planned.hash, "violations": []}
    try:
        history = play(planned, folder, source=source)
    except Exception as failure:  # noqa: BLE001 - one that cannot be played must not end the campaign
        told["error"] = f"{type(failure).__name__}: {failure}"
    else:
        history.save(folder)
        violations = judge(history)
        told["violations"] = [_told(each) for each in violations]
        told["jobs"] = len(history.ending.jobs)
        told["settled_s"] = history.ending.waited_s
        told["restores"] = len(history.ledger.restores)
        told["windows"] = len(history.ledger.windows)
        if history.ledger.notes:
            told["notes"] = history.ledger.notes
    told["seconds"] = round(time.monotonic() - began, 1)
    if told["violations"] or told.get("error") or keep:
        told["trace"] = str(folder)
    else:
        shutil.rmtree(folder, ignore_errors=True)
    return told


def _of_owners(seed: int, traces: Path, *, keep: bool) -> Json:
    """Play the acts of three owners."""
    folder = traces / f"seed-{seed}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    began, told = time.monotonic(), {"seed": seed, "violations": []}
    try:
        told["violations"] = [_told(each) for each in owners.play(seed, folder)]
    except Exception as failure:  # noqa: BLE001 - as above
        told["error"] = f"{type(failure).__name__}: {failure}"
    told["seconds"] = round(time.monotonic() - began, 1)
    if not (told["violations"] or told.get("error") or keep):
        shutil.rmtree(folder, ignore_errors=True)
    return told


def _told(violation: Violation) -> Json:
    detail = f"{violation.subject}: {violation.detail}"
    return {"invariant": violation.invariant, "detail": detail}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--seeds", default="1,2", help="first,count")
    parser.add_argument(
        "--replicas", type=int, default=1, help="so many hubs; several share a PostgreSQL database"
    )
    parser.add_argument(
        "--owners",
        action="store_true",
        help="hub, people and tools on the same objects of members",
    )
    parser.add_argument("--traces", type=Path, help="folder of the traces (default: a new one)")
    parser.add_argument("--keep", action="store_true", help="keep every trace")
    parser.add_argument("--first-only", action="store_true", help="end at the first violation")
    parser.add_argument("--within-s", type=float, default=0, help="begin no schedule after this")
    parser.add_argument("--source", type=Path, default=REPOSITORY, help="the tree whose code runs")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
