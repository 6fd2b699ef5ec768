"""`python -m tests.simulation`: play seeds and say what was found; the last line is JSON.

Exit code 1 where an invariant was violated. `--trace SEED` plays one seed, made as small as it gets
if it fails, and prints what happened. `--also LEVEL=FIRST,COUNT` plays another level too, in the same
processes: to load all modules costs CPU seconds. Each level ends with its own line of JSON.
"""

import argparse
import os
import time
from typing import Any

import orjson

from tests.simulation import runner
from tests.simulation.hub_faults import ReplicatedRun
from tests.simulation.owners.run import OwnersRun
from tests.simulation.restores import RestoredRun
from tests.simulation.scenario import Run
from tests.simulation.services import WholeRun

_LEVELS: dict[str, Any] = {
    "model": Run, "services": WholeRun, "restores": RestoredRun, "replicas": ReplicatedRun,
    "owners": OwnersRun,
}  # fmt: skip
_SHOWN = 2  # violations that are made smaller and printed


def main() -> int:
    """Play what the arguments say; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", default="1,20000", metavar="FIRST,COUNT")
    parser.add_argument("--level", choices=tuple(_LEVELS), default="model")
    parser.add_argument("--also", action="append", default=[], metavar="LEVEL=FIRST,COUNT")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--first-only", action="store_true", help="end at the first violation")
    parser.add_argument("--most-s", type=float, default=0.0, help="begin no more after so long")
    parser.add_argument("--trace", type=int, metavar="SEED", help="play one seed and print it")
    parser.add_argument(
        "--whole", action="store_true", help="with --trace: do not make it smaller"
    )
    given = parser.parse_args()
    runner.quiet()
    if given.trace is not None:
        return _trace(given.trace, _LEVELS[given.level], whole=given.whole)
    wanted = [(given.level, given.seeds), *(each.split("=", 1) for each in given.also)]
    return max(_play(level, seeds, given) for level, seeds in wanted)


def _play(level: str, seeds: str, given: argparse.Namespace) -> int:
    """Play the seeds of one level and print what was found; the exit code."""
    kind = _LEVELS[level]
    first, _, count = seeds.partition(",")
    began = time.monotonic()
    tally = runner.campaign(
        int(first), int(count or 1), given.workers, given.most_s, kind, first_only=given.first_only
    )
    failed = tally.failed or []
    for result in failed[: 0 if given.first_only else _SHOWN]:
        _trace(result.seed, kind, whole=False)
    print(
        orjson.dumps(
            {
                "seeds": tally.seeds,
                "steps": tally.steps,
                "violations": [{"seed": r.seed, "invariant": r.invariant} for r in failed],
                "level": level,
                "hash": f"{tally.crc:08x}",
                "seconds": round(time.monotonic() - began, 1),
                "cpu_seconds": round(tally.cpu_s, 1),
            }
        ).decode(),
        flush=True,
    )
    return 1 if failed else 0


def _trace(seed: int, kind: Any, *, whole: bool) -> int:
    scenario = kind.draw(seed)
    result = runner.play(scenario, kind=kind)
    if result.invariant and not whole:
        scenario = runner.shrink(scenario, kind)
    result = runner.play(scenario, tell=True, kind=kind)
    print(f"--- seed {seed}, hash {result.crc:08x}")
    for line in result.lines:
        print(line)
    return 1 if result.invariant else 0
