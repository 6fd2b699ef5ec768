"""A hub as a process of its own, and its administrator."""

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx


@contextlib.contextmanager
def running(folder: Path, *more: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A hub on `folder`, with further arguments; yields it and its address."""
    given = ["--data", str(folder), "--listen", "127.0.0.1:0", *more]
    command = [sys.executable, "-m", "hub", *given]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        line = process.stdout.readline()
        assert line.startswith("ready "), process.stderr.read()
        yield process, line.split()[1]
    finally:
        process.kill()
        process.communicate()


def admin(folder: Path, address: str) -> httpx.Client:
    token = (folder / "admin.token").read_text().strip()
    return httpx.Client(base_url=address, headers={"Authorization": f"Bearer {token}"})
