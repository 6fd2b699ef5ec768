"""Parts of an earlier release as forks of one process that has loaded its modules.

`roadstead` of that release may fork nothing, and each start would load them again: a CPU second. This file is
is also that process: it runs in the tree of the release, so it needs the standard library alone.

    Earlier.start ──line of JSON──► server in the tree ──fork──► `python -m hub …`
"""

import contextlib
import gc
import importlib
import json
import os
import runpy
import select
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypedDict

LOADED = ("hub.main", "agent.__main__")


class Asked(TypedDict):
    """A part to start: module and arguments, log file, the whole environment."""

    told: Sequence[str]
    log: str
    environment: Mapping[str, str]


class Part:
    """A fork, as `subprocess.Popen` would show it; its exit code is not known."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._ends = os.pidfd_open(pid)

    def wait(self, timeout: float | None = None) -> None:
        """Return once it has ended. Raises TimeoutError."""
        if not select.select([self._ends], [], [], timeout)[0]:
            raise TimeoutError(f"process {self.pid} runs after {timeout} s")

    def poll(self) -> int | None:
        """None while it runs."""
        return 0 if select.select([self._ends], [], [], 0)[0] else None

    def send_signal(self, number: int) -> None:
        """Signal it; no-op once it has ended."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._ends, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class Earlier:
    """The process that has loaded the modules of `tree`; its parts end on their own or by the test."""

    def __init__(self, tree: Path) -> None:
        self._tree = tree
        self._server = subprocess.Popen(
            [sys.executable, __file__],
            cwd=tree,
            env={**os.environ, "PYTHONPATH": str(tree)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )

    def start(self, told: Sequence[str], log: Path, environment: Mapping[str, str]) -> Part:
        """Run `python -m` with `told`, module and arguments; its output goes to `log`."""
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        asked: Asked = {"told": list(told), "log": str(log), "environment": dict(environment)}
        self._server.stdin.write(json.dumps(asked) + "\n")
        return Part(int(self._server.stdout.readline()))

    def close(self) -> None:
        """End the server."""
        assert self._server.stdin is not None
        self._server.stdin.close()
        self._server.wait(30)
        assert self._server.stdout is not None
        self._server.stdout.close()


def main() -> None:
    """Fork a part for each line, until the input ends."""
    sys.path[0] = str(Path.cwd())  # instead of this file's folder
    gc.disable()
    for module in LOADED:
        importlib.import_module(module)
    gc.freeze()
    gc.enable()
    signal.signal(signal.SIGCHLD, _reap)
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            _become(json.loads(line))
        print(pid, flush=True)


def _reap(*_: object) -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            pass


def _become(asked: Asked) -> None:
    """Run the module as `python -m` does, and end."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setpgid(0, 0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    log = os.open(asked["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for target, source in ((0, nothing), (1, log), (2, log)):
        os.dup2(source, target)
    os.environ.clear()
    os.environ.update(asked["environment"])
    module, *arguments = asked["told"]
    sys.argv = [module, *arguments]
    sys.stdout = os.fdopen(1, "w", buffering=1, closefd=False)
    runpy.run_module(module, run_name="__main__", alter_sys=True)
    sys.exit(0)


if __name__ == "__main__":
    main()
