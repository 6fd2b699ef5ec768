"""What `python -m hub` and `python -m agent` can be told, by their own word."""

import functools
import subprocess
import sys

from tests.house.sources import REPOSITORY


@functools.cache
def known_flags(module: str) -> frozenset[str]:
    """The flags that `python -m MODULE --help` names."""
    done = subprocess.run(
        [sys.executable, "-m", module, "--help"],
        capture_output=True, text=True, check=True, cwd=REPOSITORY, timeout=60,
    )  # fmt: skip
    return frozenset(word.strip("[],") for word in done.stdout.split())
