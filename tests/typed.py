"""A command line in a fork of the stem, for `tests.stem.run`.

    FOLDER MODULE ARGUMENTS...

Its stdin is FOLDER/in, its stderr FOLDER/err; its stdout is the fork's log.
"""

import importlib
import os
import sys
import time
from pathlib import Path

from roadstead.cli import template


def main() -> int | None:
    """Run the module's `main` as `python -m MODULE ARGUMENTS` would."""
    _, folder, module, *arguments = sys.argv
    given = os.open(Path(folder) / "in", os.O_RDONLY)
    errors = os.open(Path(folder) / "err", os.O_WRONLY | os.O_CREAT, 0o600)
    os.dup2(given, 0)
    os.dup2(errors, 2)
    os.close(given)
    os.close(errors)
    sys.stdin = os.fdopen(0, closefd=False)
    time.tzset()
    sys.argv = [module, *arguments]
    found = importlib.import_module(template.PARTS.get(module, module))
    answer: int | None = found.main()
    return answer
