"""Starts the processes of a local fleet, keeps them alive, and ends them with itself.

Each child has its pid in `pids/<name>` and its output in `logs/<name>.log`. One that dies is started
again after a second. A child is told to die with its parent, so that even kill -9 leaves none behind;
those that are still on their way out when a supervisor starts on the same folder are waited for.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from shared.clock import Clock, SystemClock
from shared.parent import PARENT

RESTART_AFTER_S = 1.0
STOP_WITHIN_S = 10.0
_HOPELESS_AFTER = 3  # ends in a row while a fleet starts
_LOG_LIMIT = 16 * 1024 * 1024
_LOOK_EVERY_S = 0.05
_log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Child:
    """One process: its name and its command. `rests`: seconds until the next start, by exit code."""

    name: str
    command: Sequence[str]
    rests: Mapping[int, float] = field(default_factory=dict)


class Supervisor:
    """Runs children from `open` to `stop`."""

    def __init__(self, folder: Path, *, clock: Clock | None = None) -> None:
        self._folder = folder
        self._pids = folder / "pids"
        self._logs = folder / "logs"
        self._clock = clock or SystemClock()
        self._watchers: dict[str, asyncio.Task[None]] = {}
        self._processes: dict[str, asyncio.subprocess.Process] = {}
        self._ends: dict[str, int] = {}
        self._stopping = False
        self.hopeless = ""  # the child that ends again and again, its exit code and last words

    async def open(self) -> None:
        """Make the folders; wait for children of an earlier supervisor, and forget them."""
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
        """Start a child and keep it alive from now on."""
        await self._spawn(child)
        self._watchers[child.name] = asyncio.create_task(self._watch(child))

    async def end(self, name: str) -> None:
        """End one child for good; nothing where there is none of that name."""
        watcher = self._watchers.pop(name, None)
        process = self._processes.pop(name, None)
        if watcher is not None:
            watcher.cancel()
            await asyncio.gather(watcher, return_exceptions=True)
        if process is not None:
            await self._end(name, process, STOP_WITHIN_S)

    def log_path(self, name: str) -> Path:
        """Where a child's output goes."""
        return self._logs / f"{name}.log"

    async def stop(self) -> None:
        """End all children: SIGTERM, and SIGKILL for what is still there after ten seconds."""
        self._stopping = True
        for watcher in self._watchers.values():
            watcher.cancel()
        await asyncio.gather(*self._watchers.values(), return_exceptions=True)
        for process in self._processes.values():
            _signal(process, signal.SIGTERM)
        deadline = self._clock.monotonic() + STOP_WITHIN_S
        for name, process in self._processes.items():
            await self._end(name, process, max(0.1, deadline - self._clock.monotonic()))

    async def _end(self, name: str, process: asyncio.subprocess.Process, within_s: float) -> None:
        """SIGTERM, and SIGKILL for what is still there after that time."""
        _signal(process, signal.SIGTERM)
        try:
            await asyncio.wait_for(process.wait(), within_s)
        except TimeoutError:
            _log.warning("child does not end; killed", child=name)
            _signal(process, signal.SIGKILL)
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
                env={**os.environ, "PYTHONUNBUFFERED": "1", PARENT: str(os.getpid())},
                # Ctrl-C on a terminal goes to its whole process group; the children are ended by us.
                process_group=0,
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
            self._count(child.name, code)
            _log.warning("child ended; starting it again", child=child.name, code=code)
            await self._clock.sleep(child.rests.get(code, RESTART_AFTER_S))
            while True:
                try:
                    await self._spawn(child)
                    break
                except OSError as failure:  # out of processes or disk: later there may be some
                    _log.error("child can not be started", child=child.name, error=str(failure))
                    await self._clock.sleep(RESTART_AFTER_S)

    def _count(self, name: str, code: int) -> None:
        self._ends[name] = self._ends.get(name, 0) + 1
        if self._ends[name] < _HOPELESS_AFTER:
            return
        path = self.log_path(name)
        words = path.read_text(errors="replace").rstrip().rpartition("\n")[2][-300:]
        self.hopeless = (
            f"{name} ended {self._ends[name]} times, with exit code {code}\n"
            f"  {words}\n  The whole log: {path}"
        )

    def _living(self, pid_file: Path) -> int | None:
        """The pid in a file if that process is one of this folder's, not another's since."""
        try:
            pid = int(pid_file.read_text())
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
        except (OSError, ValueError):
            return None
        return pid if os.fsencode(self._folder) in command else None


def _signal(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    """Send a signal to a child that has not ended.

    Not by the process object: it looks first whether the child has ended, and takes the exit code away
    from asyncio, which is waiting for it and then says that it knows of no such child.
    """
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, number)
