"""`python -m tests.simulation`: see `tests/simulation/command.py`."""

import os
import sys


def _order_sets() -> None:
    """Sets of strings in the same order in every process: the product goes through some of them.

    Before anything is imported, which costs CPU seconds and would be done twice. An order that the caller
    names stays: a test compares two.
    """
    if os.environ.get("PYTHONHASHSEED", "random") == "random":
        again = [sys.executable, "-m", "tests.simulation", *sys.argv[1:]]
        os.execve(sys.executable, again, {**os.environ, "PYTHONHASHSEED": "0"})


if __name__ == "__main__":
    _order_sets()
    from tests.simulation.command import main

    sys.exit(main())
