"""`python -m tests.planted [NAME…]`: plants each defect in a scratch copy and runs what must find it.

One line per defect; the last line is JSON {"planted", "found", "not_found": [names]}. Exit code 1 when
one was not found: a check that never fails proves nothing.
"""

import json
import sys
import tempfile
from pathlib import Path

from tests.planted.planting import Outcome, Planted, Scratch, all_planted


def main() -> int:
    """Look for every defect that was named, or for all."""
    try:
        wanted = all_planted(sys.argv[1:])
    except ValueError as fault:
        print(fault, file=sys.stderr)
        return 2
    missed = []
    with tempfile.TemporaryDirectory(prefix="planted-") as folder:
        scratch = Scratch(Path(folder))
        sound: dict[str, Outcome] = {}  # what each finder says without any defect
        for planted in wanted:
            text = _look_for(scratch, planted, sound)
            if text:
                missed.append(planted.name)
                print(f"NOT FOUND  {planted.name} ({planted.invariant}): {text}", flush=True)
    print(
        json.dumps(
            {"planted": len(wanted), "found": len(wanted) - len(missed), "not_found": missed}
        )
    )
    return 1 if missed else 0


def _look_for(scratch: Scratch, planted: Planted, sound: dict[str, Outcome]) -> str:
    """Why a defect was not found; "" when it was, which is told."""
    if planted.finder not in sound:
        sound[planted.finder] = scratch.ask(planted.finder)
    before = sound[planted.finder]
    if before.failed or before.proof not in {"passed", "no violation"}:
        return f"{planted.finder} does not pass without the defect: {before.proof}"
    fault = scratch.plant(planted)
    if fault:
        return f"the patch does not apply: {fault}"
    try:
        outcome = scratch.ask(planted.finder)
    finally:
        scratch.plant(planted, undo=True)
    if not outcome.failed:
        return f"{planted.finder}: {outcome.proof}"
    print(f"found      {planted.name} in {outcome.seconds:.1f} s by {outcome.proof}", flush=True)
    return ""


if __name__ == "__main__":
    sys.exit(main())
