"""The command on a terminal: a pseudo-terminal for its output, its errors, or both."""

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from tests.cli.commands import REPOSITORY, environment_without_ours


def plain(seen: str) -> str:
    """What stood on a terminal, without colours and movements."""
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", seen)


@dataclass(frozen=True)
class Shown:
    """How a command ended, what stood on the terminal, and what went into pipes beside it."""

    code: int
    terminal: str
    out: str
    err: str


def on_terminal(
    *arguments: str,
    out: bool = True,
    err: bool = False,
    until: Callable[[str], bool] | None = None,
    within_s: float = 20,
    **environment: str,
) -> Shown:
    """Run the command with `out` or `err` on a terminal of 80 columns; Ctrl-C once `until` holds."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "roadstead.cli", *arguments],
        stdout=theirs if out else subprocess.PIPE,
        stderr=theirs if err else subprocess.PIPE,
        cwd=REPOSITORY,
        env={**environment_without_ours(), "TERM": "xterm", **environment},
    )
    os.close(theirs)
    seen, deadline = b"", time.monotonic() + within_s
    try:
        while time.monotonic() < deadline:
            if select.select([ours], [], [], 0.05)[0]:
                try:
                    seen += os.read(ours, 65536)
                except OSError:
                    break  # the last of its processes has closed the terminal
            if until is not None and until(seen.decode(errors="replace")):
                process.send_signal(signal.SIGINT)
                until = None
    finally:
        if process.poll() is None and time.monotonic() >= deadline:
            process.kill()
        told_out, told_err = process.communicate(timeout=30)
        os.close(ours)
    return Shown(
        process.returncode,
        seen.decode(errors="replace"),
        (told_out or b"").decode(),
        (told_err or b"").decode(),
    )
