"""Named instants at which a test may kill the process, to see that every invariant holds all the same.

`failpoint("A04")` does nothing unless the environment variable ROADSTEAD_FP names that point, alone
or in a comma-separated list; then the process dies there as by `kill -9`. `A04:3` dies at the third
passing. Read once, so that an unset variable costs one look-up.
"""

import os
import signal
from collections.abc import Mapping


def _armed(text: str) -> dict[str, int]:
    armed: dict[str, int] = {}
    for item in filter(None, (part.strip() for part in text.split(","))):
        name, _, count = item.partition(":")
        armed[name] = int(count) if count.isdecimal() else 1
    return armed


_ARMED: dict[str, int] = {}


def arm(environ: Mapping[str, str]) -> None:
    """Read the variable; a forked process that got another environment reads its own."""
    _ARMED.clear()
    _ARMED.update(_armed(environ.get("ROADSTEAD_FP", "")))


arm(os.environ)


def failpoint(name: str) -> None:
    """Die here if this point is armed and has been passed as often as asked."""
    if name not in _ARMED:
        return
    _ARMED[name] -= 1
    if _ARMED[name] <= 0:
        os.kill(os.getpid(), signal.SIGKILL)
