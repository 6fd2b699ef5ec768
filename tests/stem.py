"""Roadstead's processes for tests, as forks of one process per run that has loaded their modules.

Loading modules costs 3 CPU seconds per start. A stem loads them once, and forks a template
(`roadstead/cli/template.py`) for each worker, and for each `roadstead up` that runs as a fork.
Tests of how a process starts run the command instead. A run of tests has one stem, which its workers share
(`share`).

    test ──Forks──► template ──► roadstead up ──Forks──► template ──► hub, agents, simulators
                       ▲                                    ▲
                       └──────────── stem: fork ────────────┘
"""

import atexit
import contextlib
import functools
import importlib
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

from roadstead.cli import forks, root, template
from roadstead.cli.forks import Fork, Forks
from shared.parent import PARENT, die_with_parent

REPOSITORY = Path(__file__).parents[1]
# Beside the parts of a fleet: what else is run as a fork, and what the parts load when they first need it.
_MODULES = {"roadstead.cli": "roadstead.cli.root", "agent.earlier": "agent.earlier.__main__"}
_NEEDED_LATER = (
    *("anyio._backends._asyncio", "cel", "hub.bridge.bridge", "httpcore", "roadstead.cli.fleet"),
    *("uvicorn.loops.auto", "uvicorn.protocols.http.auto", "uvicorn.protocols.websockets.auto"),
)
_START_WITHIN_S = 120
# The process id of whoever shares a stem with its children; who inherits it from them has another parent.
_SHARED_BY = "TESTS_STEM_OF"


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
    alone: bool = False,
) -> Process:
    """`python -m module arguments`, all that it prints in `log`; `env` in addition to ours, or `alone`."""
    name = module.rpartition(".")[2]
    environment = {**({} if alone else os.environ), **(env or {})}
    begun = _forks().start(name, module, arguments, log, environment, folder)
    return Process(begun.result(_START_WITHIN_S))


def run(
    module: str,
    *arguments: str,
    stdin: str = "",
    env: Mapping[str, str] | None = None,
    alone: bool = False,
    within_s: float = 120,
) -> "subprocess.CompletedProcess[str]":
    """A command to its end, as `subprocess.run` would show it; `env` in addition to ours, or `alone`.

    A test of the command's start, of its imports or of a terminal starts a process instead.
    """
    with tempfile.TemporaryDirectory(prefix="run-") as given:
        folder = Path(given)
        (folder / "in").write_text(stdin)
        out = folder / "out"
        process = start(
            *("tests.typed", str(folder), module, *arguments), log=out, env=env, alone=alone
        )
        try:
            code = process.wait(within_s)
        except BaseException:
            process.kill()
            raise
        told = out.read_text(), (folder / "err").read_text()
    return subprocess.CompletedProcess([module, *arguments], code, *told)


def put_on_path(folder: Path, name: str, module: str) -> None:
    """Write the program `name`, which runs the `main` of `module` as a fork, for shells that type a lot."""
    client = f"{sys.executable} -IS {REPOSITORY / 'tests/on_path.py'}"
    told = f"{launcher().address[1:]} {name} {module}"
    program = folder / name
    program.write_text(f'#!/bin/sh\nexec {client} {told} "$@"\n')
    program.chmod(0o755)


def share() -> None:
    """From now on this process and its children use one stem, which starts when one of them first asks.

    Once is enough: mutmut runs pytest several times in one process.
    """
    if os.environ.get(_SHARED_BY) == str(os.getpid()):
        return
    listening = _listen(os.getpid())
    os.environ[_SHARED_BY] = str(os.getpid())
    threading.Thread(target=_begin_when_asked, args=(listening,), daemon=True, name="stem").start()


@functools.cache
def launcher() -> "_Launcher":
    """Starts templates in this process: of the shared stem, or of one that the first call starts."""
    for pid in (os.getpid(), os.getppid()):
        if os.environ.get(_SHARED_BY) == str(pid):
            return _Launcher(_address(pid))
    with _listen(os.getpid()) as listening:
        _begin(listening)
    return _Launcher(_address(os.getpid()))


@functools.cache
def _forks() -> Forks:
    log = Path(tempfile.mkdtemp(prefix="stem-")) / "template.log"
    return Forks(REPOSITORY, log, launcher())


def _address(pid: int) -> str:
    return f"\0roadstead-stem-{pid}"


def _listen(pid: int) -> socket.socket:
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listening.bind(_address(pid))
    listening.listen()
    return listening


def _begin_when_asked(listening: socket.socket) -> None:
    """The stem ends with the thread that started it: this one lasts as long as the stem."""
    select.select([listening], [], [])
    with listening:
        stem = _begin(listening)
    stem.wait()


def _begin(listening: socket.socket) -> "subprocess.Popen[bytes]":
    """Start a stem; it ends with this process, and with it everything that it started."""
    stem = subprocess.Popen(
        [sys.executable, "-m", "tests.stem", str(listening.fileno())],
        pass_fds=[listening.fileno()],
        stdin=subprocess.DEVNULL,
        cwd=REPOSITORY,
        env={**os.environ, PARENT: str(os.getpid())},
        process_group=0,
    )
    atexit.register(_end, stem)
    return stem


def _end(stem: "subprocess.Popen[bytes]") -> None:
    stem.kill()
    stem.wait()


class _Launcher:
    """Asks a stem for templates."""

    def __init__(self, address: str) -> None:
        self.address = address

    def __call__(self, folder: Path, line: socket.socket, log: BinaryIO) -> forks.Running:
        return _ask(self.address, line, log)


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
    _load_later_needed()
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


def _load_later_needed() -> None:
    """Import what parts and verbs import when they are first asked; a fork would do so each time."""
    verbs = {f"roadstead.cli.{module}" for module, _, _ in root.VERBS.values()}
    for module in (*_NEEDED_LATER, *sorted(verbs), "tests.typed", "tests.on_path"):
        importlib.import_module(module)


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
