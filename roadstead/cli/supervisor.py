"""Starts the processes of a local fleet, restarts them, and ends them with itself.

Each child has its pid in `pids/<name>`, its output in `logs/<name>.log`, and the command that starts the
same by hand in `commands.json`: `ps` shows the command of the template that it is a fork of. A dead child
is restarted after a second. Children die with their parent, even after kill -9; a supervisor that starts on
the same folder waits for children of an earlier one that are still ending.
"""

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from roadstead.cli.forks import Fork, Forks
from shared.clock import Clock, SystemClock

RESTART_AFTER_S = 1.0
STOP_WITHIN_S = 10.0
_HOPELESS_AFTER = 3  # ends in a row while a fleet starts
_LOG_LIMIT = 16 * 1024 * 1024
_LOOK_EVERY_S = 0.05
_log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Child:
    """One process: its name, module and arguments. `rests`: seconds until the next start, by exit code.

    `defaults`: variables of its environment, unless the supervisor's own environment sets them.
    """

    name: str
    module: str
    arguments: Sequence[str]
    rests: Mapping[int, float] = field(default_factory=dict)
    defaults: Mapping[str, str] = field(default_factory=dict)


class Supervisor:
    """Runs children from `open` to `stop`."""

    def __init__(self, folder: Path, *, clock: Clock | None = None) -> None:
        self._folder = folder
        self._pids = folder / "pids"
        self._logs = folder / "logs"
        self._clock = clock or SystemClock()
        self._watchers: dict[str, asyncio.Task[None]] = {}
        self._processes: dict[str, Fork] = {}
        self._commands: dict[str, Sequence[str]] = {}
        self._forks: Forks | None = None
        self._ends: dict[str, int] = {}
        self._stopping = False
        self.hopeless = ""  # the child that ends again and again, its exit code and last words

    async def open(self) -> None:
        """Create the folders; wait for children of an earlier supervisor, and remove their pid files."""
        for path in (self._pids, self._logs):
            path.mkdir(parents=True, exist_ok=True)
        deadline = self._clock.monotonic() + STOP_WITHIN_S
        for stale in self._pids.iterdir():
            pid = self._living(stale)
            while pid is not None and self._clock.monotonic() < deadline:
                await self._clock.sleep(_LOOK_EVERY_S)
                pid = self._living(stale)
            if pid is not None:
                _log.warning("child of an earlier run does not end; killed", child=stale.name)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            stale.unlink()

    async def start(self, child: Child) -> None:
        """Start a child and restart it whenever it ends."""
        self._commands[child.name] = [sys.executable, "-m", child.module, *child.arguments]
        (self._folder / "commands.json").write_text(json.dumps(self._commands, indent=1))
        try:
            await self._spawn(child)
        except ChildProcessError as failure:
            self.hopeless = (
                f"{child.name} cannot be started: {failure}\n{self._last_words('template')}"
            )
            return
        self._watchers[child.name] = asyncio.create_task(self._watch(child))

    async def end(self, name: str) -> None:
        """Stop one child permanently; a no-op for an unknown name."""
        watcher = self._watchers.pop(name, None)
        process = self._processes.pop(name, None)
        if watcher is not None:
            watcher.cancel()
            await asyncio.gather(watcher, return_exceptions=True)
        if process is not None:
            await self._end(name, process, STOP_WITHIN_S)

    def log_path(self, name: str) -> Path:
        """The log file of a child."""
        return self._logs / f"{name}.log"

    async def stop(self) -> None:
        """Stop all children: SIGTERM, and SIGKILL after ten seconds."""
        self._stopping = True
        for watcher in self._watchers.values():
            watcher.cancel()
        await asyncio.gather(*self._watchers.values(), return_exceptions=True)
        for process in self._processes.values():
            process.send_signal(signal.SIGTERM)
        deadline = self._clock.monotonic() + STOP_WITHIN_S
        for name, process in self._processes.items():
            await self._end(name, process, max(0.1, deadline - self._clock.monotonic()))
        if self._forks is not None:
            await asyncio.to_thread(self._forks.close)

    async def _end(self, name: str, process: Fork, within_s: float) -> None:
        """SIGTERM, and SIGKILL after that time."""
        process.send_signal(signal.SIGTERM)
        try:
            await asyncio.wait_for(_ended(process), within_s)
        except TimeoutError:
            _log.warning("child does not end; killed", child=name)
            process.send_signal(signal.SIGKILL)
            await _ended(process)
        (self._pids / name).unlink(missing_ok=True)

    async def _spawn(self, child: Child) -> None:
        path = self.log_path(child.name)
        if path.exists() and path.stat().st_size > _LOG_LIMIT:
            path.replace(path.with_suffix(".log.1"))
        if self._forks is None or self._forks.is_lost:
            self._forks = Forks(self._folder, self.log_path("template"))
        environment = {**child.defaults, **os.environ}
        process = await asyncio.wrap_future(
            self._forks.start(child.name, child.module, child.arguments, path, environment)
        )
        self._processes[child.name] = process
        pid_file = self._pids / child.name
        fresh = pid_file.with_name(f".{child.name}")
        fresh.write_text(f"{process.pid}\n")
        fresh.replace(pid_file)

    async def _watch(self, child: Child) -> None:
        while not self._stopping:
            code = await _ended(self._processes[child.name])
            if self._stopping:
                return
            self._count(child.name, code)
            _log.warning("child ended; restarting it", child=child.name, code=code)
            await self._clock.sleep(child.rests.get(code, RESTART_AFTER_S))
            while True:
                try:
                    await self._spawn(child)
                    break
                except OSError as failure:  # out of processes or disk: later there may be some
                    _log.error("child cannot be started", child=child.name, error=str(failure))
                    await self._clock.sleep(RESTART_AFTER_S)

    def _count(self, name: str, code: int) -> None:
        self._ends[name] = self._ends.get(name, 0) + 1
        if self._ends[name] < _HOPELESS_AFTER:
            return
        words = self._last_words(name)
        self.hopeless = f"{name} ended {self._ends[name]} times, with exit code {code}\n{words}"

    def _last_words(self, name: str) -> str:
        path = self.log_path(name)
        words = path.read_text(errors="replace").rstrip().rpartition("\n")[2][-300:]
        return f"  {words}\n  The whole log: {path}"

    def _living(self, pid_file: Path) -> int | None:
        """The pid in a file if that process is one of this folder's children, not a later one with the same
        pid.
        """
        try:
            pid = int(pid_file.read_text())
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
        except (OSError, ValueError):
            return None
        return pid if os.fsencode(self._folder) in command else None


async def _ended(process: Fork) -> int:
    """The exit code. A wait that is given up leaves the process alone."""
    return await asyncio.shield(asyncio.wrap_future(process.ended))
