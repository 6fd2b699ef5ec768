"""Starts the parts of a fleet as forks of one process that has loaded their modules (`template.py`)."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, Protocol, TypeVar

from roadstead.cli import template
from shared.parent import PARENT

T = TypeVar("T")
_LOST: Final = (
    -signal.SIGKILL
)  # the exit code of a child whose template has ended: it ends with it


@dataclass(frozen=True, slots=True)
class Fork:
    """One child. `ended` gets its exit code, negative for a signal."""

    pid: int
    ended: "Future[int]"

    def poll(self) -> int | None:
        """The exit code; None while it runs."""
        return self.ended.result() if self.ended.done() else None

    def wait(self, timeout: float | None = None) -> int:
        """The exit code, once it has ended. Raises TimeoutError."""
        return self.ended.result(timeout)

    def send_signal(self, number: int) -> None:
        """Signal it; no-op once it has ended."""
        if not self.ended.done():
            with contextlib.suppress(ProcessLookupError):  # its end is not reported yet
                os.kill(self.pid, number)


class Running(Protocol):
    """A template that `launch` has started."""

    def wait(self) -> object:
        """Return once it has ended."""


def launch(folder: Path, line: socket.socket, log: BinaryIO) -> Running:
    """Start a template that answers on `line`. A process that has loaded every module may rebind this."""
    return subprocess.Popen(  # noqa: S603 - this very Python
        [sys.executable, "-m", template.__name__, str(folder), str(line.fileno())],
        pass_fds=[line.fileno()],
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        env={**os.environ, PARENT: str(os.getpid())},
        process_group=0,
    )


Launch = Callable[[Path, socket.socket, BinaryIO], Running]


class Forks:
    """A template and its children, which end with this process.

    Open it in the main thread: the kernel ends a template when the thread that started it ends.
    """

    def __init__(self, folder: Path, log: Path, begin: Launch | None = None) -> None:
        ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with its, log.open("ab") as output:
            self._template = (begin or launch)(folder, its, output)
        self._line = ours
        self._lock = threading.Lock()
        self._starting: list[Future[Fork]] = []  # requests without an answer, in order
        self._running: dict[int, Fork] = {}
        self.is_lost = False  # the template has ended, and its children with it
        self._listener = threading.Thread(target=self._listen, daemon=True, name="forks")
        self._listener.start()

    def start(
        self,
        name: str,
        module: str,
        arguments: Sequence[str],
        log: Path,
        environment: Mapping[str, str],
        folder: Path | None = None,
    ) -> "Future[Fork]":
        """Fork a part and call its module's `main`; returns its process.

        Raises ChildProcessError if the template has ended.
        """
        request: template.ForkRequest = {
            "name": name,
            "module": module,
            "arguments": list(arguments),
            "environment": dict(environment),
            "folder": str(folder or Path.cwd()),
            "log": str(log),
        }
        begun = _uncancellable(Future[Fork]())
        with self._lock:
            self._starting.append(begun)
            try:
                self._line.send(json.dumps(request).encode())
            except OSError as lost:
                self._starting.remove(begun)
                begun.set_exception(ChildProcessError(f"the template has ended: {lost}"))
        return begun

    def close(self) -> None:
        """Stop the template and its remaining children."""
        with self._lock:
            self._line.shutdown(socket.SHUT_RDWR)
        self._template.wait()
        self._listener.join()
        self._line.close()

    def _listen(self) -> None:
        while said := self._hear():
            if "pid" in said:
                fork = Fork(said["pid"], _uncancellable(Future[int]()))
                self._running[fork.pid] = fork
                with self._lock:
                    begun = self._starting.pop(0)
                begun.set_result(fork)
            else:
                self._running.pop(said["ended"]).ended.set_result(said["code"])
        self.is_lost = True
        with self._lock:
            waiting, self._starting = self._starting, []
        for begun in waiting:
            begun.set_exception(ChildProcessError("the template has ended"))
        for fork in self._running.values():
            fork.ended.set_result(_LOST)

    def _hear(self) -> dict[str, int]:
        try:
            said = self._line.recv(template.MOST_BYTES)
        except OSError:
            return {}
        found: dict[str, int] = json.loads(said) if said else {}
        return found


def _uncancellable(future: "Future[T]") -> "Future[T]":
    """Send a request; a task that awaits it may be cancelled, and the listener still sets the result."""
    future.set_running_or_notify_cancel()
    return future
