"""Roadstead's processes for tests, as forks of one process per worker that has loaded their modules.

Loading modules costs 3 CPU seconds per start. A stem loads them once, and forks a template
(`roadstead/cli/template.py`) for each test, and for each `roadstead up` that runs as a fork.
Tests of how a process starts run the command instead.

    test ──Forks──► template ──► roadstead up ──Forks──► template ──► hub, agents, simulators
                       ▲                                    ▲
                       └──────────── stem: fork ────────────┘
"""

import atexit
import contextlib
import functools
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

from roadstead.cli import forks, template
from roadstead.cli.forks import Fork, Forks
from shared.parent import PARENT, die_with_parent

REPOSITORY = Path(__file__).parents[1]
_MODULES = {"roadstead.cli": "roadstead.cli.root"}  # beside the parts of a fleet
_START_WITHIN_S = 120


class Process:
    """A fork, as `subprocess.Popen` would show it."""

    def __init__(self, fork: Fork) -> None:
        self._fork = fork
        self.pid = fork.pid

    @property
    def returncode(self) -> int | None:
        return self._fork.poll()

    def poll(self) -> int | None:
        return self._fork.poll()

    def wait(self, timeout: float | None = None) -> int:
        """The exit code. Raises TimeoutError."""
        return self._fork.wait(timeout)

    def send_signal(self, number: int) -> None:
        self._fork.send_signal(number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def start(
    module: str,
    *arguments: str,
    log: Path,
    env: Mapping[str, str] | None = None,
    folder: Path = REPOSITORY,
) -> Process:
    """`python -m module arguments`, all that it prints in `log`; `env` in addition to ours."""
    name = module.rpartition(".")[2]
    begun = _forks().start(name, module, arguments, log, {**os.environ, **(env or {})}, folder)
    return Process(begun.result(_START_WITHIN_S))


@functools.cache
def launcher() -> "_Launcher":
    """What starts templates in this worker; the stem starts with the first call."""
    return _Launcher(f"\0roadstead-stem-{os.getpid()}")


@functools.cache
def _forks() -> Forks:
    log = Path(tempfile.mkdtemp(prefix="stem-")) / "template.log"
    return Forks(REPOSITORY, log, launcher())


class _Launcher:
    """Asks the stem for templates."""

    def __init__(self, address: str) -> None:
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listening.bind(address)
        listening.listen()
        with listening:
            self._stem = subprocess.Popen(
                [sys.executable, "-m", "tests.stem", str(listening.fileno())],
                pass_fds=[listening.fileno()],
                stdin=subprocess.DEVNULL,
                cwd=REPOSITORY,
                env={**os.environ, PARENT: str(os.getpid())},
                process_group=0,
            )
        self._at = address
        atexit.register(self.close)

    def __call__(self, folder: Path, line: socket.socket, log: BinaryIO) -> forks.Running:
        return _ask(self._at, line, log)

    def close(self) -> None:
        """End the stem, and with it everything that it started."""
        self._stem.kill()
        self._stem.wait()


class _Template:
    """Ends when the other end of its line closes, which is waited for where that is read."""

    def wait(self) -> None:
        """No-op: the reader of the line has seen its end."""


def _ask(address: str, line: socket.socket, log: BinaryIO) -> _Template:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as asking:
        asking.settimeout(_START_WITHIN_S)
        asking.connect(address)
        socket.send_fds(asking, [b"template"], [line.fileno(), log.fileno()])
        asking.recv(1)  # it is forked
    return _Template()


def main() -> None:
    """Fork a template for each connection."""
    die_with_parent()
    signal.signal(signal.SIGCHLD, _reap)
    listening = socket.socket(fileno=int(sys.argv[1]))
    os.set_inheritable(listening.fileno(), False)
    template.PARTS.update(_MODULES)
    template.load()
    address = listening.getsockname().decode()
    forks.launch = lambda folder, line, log: _ask(address, line, log)
    while True:
        asking, _ = listening.accept()
        with asking:
            _, given, _, _ = socket.recv_fds(asking, 64, 2)
            if os.fork() == 0:
                listening.close()
                asking.close()
                _become_template(*given)
                return
        for number in given:
            os.close(number)


def _reap(*_: object) -> None:
    """Wait for templates that have ended: their CPU seconds count as ours."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            pass


def _become_template(line: int, log: int) -> None:
    os.setpgid(0, 0)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.environ[PARENT] = str(os.getppid())
    die_with_parent()
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)
    template.serve(socket.socket(fileno=line))


if __name__ == "__main__":
    main()
