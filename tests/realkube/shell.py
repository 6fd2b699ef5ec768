"""A shell that somebody types the blocks of a page into; it ends with the first command that fails."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from tests.e2e.running import until

_WITHIN_S = 180


class Shell:
    """One bash for the length of a `with` block, in `folder`, with `env` and nothing else."""

    def __init__(self, folder: Path, env: Mapping[str, str], notes: Path | None = None) -> None:
        """`notes`: the folder for what it says; default: its own."""
        kept = notes or folder
        kept.mkdir(parents=True, exist_ok=True)
        self._done = kept / ".done"
        self._said = kept / ".said"
        with self._said.open("wb") as said:
            self._bash = subprocess.Popen(
                ["bash", "-euo", "pipefail"],
                stdin=subprocess.PIPE,
                stdout=said,
                stderr=said,
                cwd=folder,
                env=dict(env),
                text=True,
                start_new_session=True,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._bash.pid, signal.SIGKILL)  # with what it has in the background
        self._bash.wait()
        if self._bash.stdin is not None:
            self._bash.stdin.close()

    def type(self, script: str) -> str:
        """Run it; what it said. Fails with that where a command fails or does not end."""
        assert self._bash.stdin is not None
        before = len(self._said.read_bytes())
        self._done.unlink(missing_ok=True)
        self._bash.stdin.write(f"{{\n{script}\n}} </dev/null\ntouch {self._done}\n")
        self._bash.stdin.flush()
        until(lambda: self._done.exists() or self._bash.poll() is not None, _WITHIN_S, script)
        said = self._said.read_bytes()[before:].decode()
        assert self._bash.poll() is None, f"{script}\nexit code {self._bash.poll()}\n{said}"
        return said
