"""Starts the processes of a local fleet, keeps them alive, and ends them with itself.

Each child has its pid in `pids/<name>` and its output in `logs/<name>.log`. One that dies is started
again after a second. A child is told to die with its parent, so that even kill -9 leaves none behind.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import structlog

from shared.clock import Clock, SystemClock

RESTART_AFTER_S = 1.0
STOP_WITHIN_S = 10.0
_LOG_LIMIT = 16 * 1024 * 1024
_log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Child:
    """One process: its name and its command."""

    name: str
    command: Sequence[str]


class Supervisor:
    """Runs children until `stop`; they are stopped in the reverse order of their start."""

    def __init__(self, folder: Path, *, clock: Clock | None = None) -> None:
        self._pids = folder / "pids"
        self._logs = folder / "logs"
        self._clock = clock or SystemClock()
        self._watchers: dict[str, asyncio.Task[None]] = {}
        self._processes: dict[str, asyncio.subprocess.Process] = {}
        self._stopping = False
        for path in (self._pids, self._logs):
            path.mkdir(parents=True, exist_ok=True)
        for stale in self._pids.iterdir():
            stale.unlink()

    async def start(self, child: Child) -> None:
        """Start a child and keep it alive from now on."""
        await self._spawn(child)
        self._watchers[child.name] = asyncio.create_task(self._watch(child))

    def log_path(self, name: str) -> Path:
        """Where a child's output goes."""
        return self._logs / f"{name}.log"

    async def stop(self) -> None:
        """End all children: SIGTERM, and SIGKILL for what is still there after ten seconds."""
        self._stopping = True
        for watcher in self._watchers.values():
            watcher.cancel()
        for name in reversed(list(self._processes)):
            process = self._processes[name]
            if process.returncode is not None:
                continue
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
        deadline = self._clock.monotonic() + STOP_WITHIN_S
        for name, process in reversed(self._processes.items()):
            left = max(0.1, deadline - self._clock.monotonic())
            try:
                await asyncio.wait_for(process.wait(), left)
            except TimeoutError:
                _log.warning("child does not end; killed", child=name)
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
            (self._pids / name).unlink(missing_ok=True)

    async def _spawn(self, child: Child) -> None:
        path = self.log_path(child.name)
        if path.exists() and path.stat().st_size > _LOG_LIMIT:
            path.replace(path.with_suffix(".log.1"))
        with path.open("ab") as output:
            process = await asyncio.create_subprocess_exec(
                *child.command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
            )
        self._processes[child.name] = process
        pid_file = self._pids / child.name
        fresh = pid_file.with_name(f".{child.name}")
        fresh.write_text(f"{process.pid}\n")
        fresh.replace(pid_file)

    async def _watch(self, child: Child) -> None:
        while not self._stopping:
            code = await self._processes[child.name].wait()
            if self._stopping:
                return
            _log.warning("child ended; starting it again", child=child.name, code=code)
            await self._clock.sleep(RESTART_AFTER_S)
            await self._spawn(child)
