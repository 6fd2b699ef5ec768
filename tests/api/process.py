"""A hub as a process of its own, and its administrator."""

import contextlib
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import httpx

from tests import stem, waiting
from tests.e2e.running import ready_line


@contextlib.contextmanager
def running(
    folder: Path, *more: str, env: Mapping[str, str] | None = None
) -> Iterator[tuple[stem.Process, str]]:
    """A hub on `folder`, with further arguments; yields it and its address. `log_of` has what it prints.

    `env` in addition to ours.
    """
    log = log_of(folder)
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_bytes(b"")
    options = (f"--data={folder}", "--listen=127.0.0.1:0", *more)
    process = stem.start("hub", *options, log=log, env=env, folder=Path.cwd())
    try:
        waiting.until(
            lambda: ready_line(log) or process.poll() is not None, "it starts", within_s=60
        )
        assert ready_line(log), log.read_text()
        yield process, ready_line(log)
    finally:
        process.kill()
        process.wait()


def ended(folder: Path, *more: str, env: Mapping[str, str] | None = None) -> tuple[int, list[str]]:
    """How a hub on `folder` that does not start ends: its exit code, and the lines that it prints."""
    with tempfile.TemporaryDirectory(prefix="hub-ended-") as place:
        log = Path(place) / "log"
        log.touch()
        options = (f"--data={folder}", "--listen=127.0.0.1:0", *more)
        process = stem.start("hub", *options, log=log, env=env, folder=Path.cwd())
        try:
            return process.wait(60), log.read_text().splitlines()
        finally:
            process.kill()


def log_of(folder: Path) -> Path:
    """The log of a hub on `folder`. It lies outside the folder, which holds only the hub's files."""
    kept = folder.parent.with_name(folder.parent.name + "-logs")
    return kept / f"{folder.name}.log"


def admin(folder: Path, address: str) -> httpx.Client:
    token = (folder / "admin.token").read_text().strip()
    return httpx.Client(base_url=address, headers={"Authorization": f"Bearer {token}"})
