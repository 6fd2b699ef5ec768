"""What `python -m hub` and `python -m agent` can be told, by their own word."""

import functools
import tempfile
from pathlib import Path

from tests import stem


@functools.cache
def known_flags(module: str) -> frozenset[str]:
    """The flags that `python -m MODULE --help` names."""
    with tempfile.TemporaryDirectory(prefix="flags-") as folder:
        log = Path(folder) / "log"
        assert stem.start(module, "--help", log=log).wait(60) == 0
        return frozenset(word.strip("[],") for word in log.read_text().split())
