"""A process that has loaded the modules of every part of a fleet, and forks the parts.

    python -m roadstead.cli.template FOLDER FD

Loading modules is most of what a start costs: here it is paid once, for hub, agents and simulators together.
FD is one end of a socket pair; `Forks` has the other. A request is the JSON of `ForkRequest`. The answer, in
order, is `{"pid": PID}`. When a child has ended, `{"ended": PID, "code": CODE}` follows; a signal is a
negative CODE. FOLDER stands in the command line, so that children of an earlier run are recognised.
"""

import atexit
import contextlib
import ctypes
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypedDict

from shared import failpoints
from shared.extras import leave_without
from shared.parent import PARENT, die_with_parent

# What is loaded, as `python -m` knows it, and where each has its `main`. A child loads other modules itself.
PARTS: Final[dict[str, str]] = {
    "hub": "hub.main",
    "agent": "agent.__main__",
    "shared.kubesim": "shared.kubesim.__main__",
    "roadstead.cli.pack": "roadstead.cli.pack",
}
MOST_BYTES: Final = 128 << 10  # of one message
_PR_SET_NAME: Final = 15
_left_with: list[
    int
] = []  # the exit code of a child whose `main` has ended, and of a template at its end


class ForkRequest(TypedDict):
    """One child: a name for `ps`, module and arguments, the whole environment, folder and log file."""

    name: str
    module: str
    arguments: Sequence[str]
    environment: Mapping[str, str]
    folder: str
    log: str


def main() -> None:
    """Fork children until the other end of the socket closes; a child leaves by its own `main`."""
    die_with_parent()
    control = socket.socket(fileno=int(sys.argv[2]))
    os.set_inheritable(control.fileno(), False)
    load()
    serve(control)


def serve(control: socket.socket) -> None:
    """Answer requests until the other end closes. Each child exits here, by `sys.exit`."""
    with control:
        child = _serve(control)
    if child is None:
        _left_with.append(0)
        return
    try:
        code = _begin(child) or 0
    except SystemExit as end:
        if not isinstance(end.code, int | None):
            raise  # Python prints it
        code = end.code or 0
    _left_with.append(code)
    sys.exit(code)


def load() -> None:
    """Import every part, and keep what that made out of the garbage collector's sight."""
    atexit.register(_leave)  # before every other: it runs last
    gc.disable()
    try:
        for module in PARTS.values():
            importlib.import_module(module)
        importlib.import_module("shared.kinds.crds").all_crds()  # half a second per simulator
        importlib.import_module("hub.store.form").statements()  # a tenth of a second per hub
    except ModuleNotFoundError as missing:
        leave_without(missing, "roadstead up", "sim")
    gc.freeze()  # what is shared with the children is not written to
    gc.enable()


def _serve(control: socket.socket) -> ForkRequest | None:
    """Answer requests; returns None at the end, and in each child what it is to be."""
    woken, wakes = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    while True:
        ready, _, _ = select.select([control.fileno(), woken], [], [])
        if woken in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(woken, 4096)
            _report_ended(control)
        if control.fileno() in ready:
            said = control.recv(MOST_BYTES)
            if not said:
                return None
            pid = os.fork()
            if pid == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                os.close(woken)
                os.close(wakes)
                request: ForkRequest = json.loads(said)
                return request
            control.send(json.dumps({"pid": pid}).encode())


def _report_ended(control: socket.socket) -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not pid:
            return
        code = os.waitstatus_to_exitcode(status)
        control.send(json.dumps({"ended": pid, "code": code}).encode())


def _leave() -> None:
    """End without taking the modules apart, for a seventh of a CPU second: the pages are shared."""
    if _left_with:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(_left_with[0])


def _begin(request: ForkRequest) -> int | None:
    os.setpgid(
        0, 0
    )  # Ctrl-C on a terminal goes to its whole process group; the supervisor ends children
    nothing = os.open(os.devnull, os.O_RDONLY)
    log = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    for target, source in ((0, nothing), (1, log), (2, log)):
        os.dup2(source, target)
    os.close(nothing)
    os.close(log)
    sys.stdout = os.fdopen(1, "w", buffering=1, closefd=False)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.environ[PARENT] = str(os.getppid())
    die_with_parent()
    os.chdir(request["folder"])
    failpoints.arm(os.environ)
    ctypes.CDLL(None).prctl(_PR_SET_NAME, request["name"][:15].encode(), 0, 0, 0)
    sys.argv = [request["module"], *request["arguments"]]
    module = request["module"]
    run: Callable[[], int | None] = importlib.import_module(PARTS.get(module, module)).main
    return run()


if __name__ == "__main__":
    main()
