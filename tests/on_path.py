"""Programs on the PATH of a shell that run as forks of the stem, for tests whose shells type many commands.

    bash ──► sh, then this file without `site`: client ──► stem ──► template ──► fork: `main`
                      └────────────── stdin, stdout, stderr ─────────────────────┘

`tests.stem.put_on_path` writes such a program. A command takes 0.08 CPU seconds so, not 0.21. It ends with
the client, and the client with its exit code. Each command pays for the imports of this file.
"""

import importlib
import json
import os
import socket
import sys
import time

_MOST_BYTES = 128 << 10  # as in `roadstead/cli/template.py`
_STREAMS = (0, 1, 2)


def ask() -> int:
    """The client: hand over the command line, the environment and the streams; returns the exit code."""
    stem, name, module, *arguments = sys.argv[1:]
    handing = f"on-path-{os.getpid()}"
    line, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with _listen(handing) as listening:
        with its, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as asking:
            asking.connect(f"\0{stem}")
            socket.send_fds(asking, [b"template"], [its.fileno(), 2])
            asking.recv(1)  # it is forked
        request = {
            "name": name,
            "module": "tests.on_path",
            "arguments": [handing, module, *arguments],
            "environment": dict(os.environ),
            "folder": os.getcwd(),  # noqa: PTH109 - pathlib would cost each command
            "log": os.devnull,
        }
        line.send(json.dumps(request).encode())
        handed, _ = listening.accept()
        with handed:
            socket.send_fds(handed, [b"streams"], _STREAMS)
    while said := line.recv(_MOST_BYTES):
        told = json.loads(said)
        if "ended" in told:
            code: int = told["code"]
            return code if code >= 0 else 128 - code  # as a shell says that a signal ended it
    return 1


def _listen(name: str) -> socket.socket:
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listening.bind(f"\0{name}")
    listening.listen()
    return listening


def main() -> int | None:
    """The fork: take the client's streams, then run the module's `main`."""
    _, handing, module, *arguments = sys.argv
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as asking:
        asking.connect(f"\0{handing}")
        _, given, _, _ = socket.recv_fds(asking, 64, len(_STREAMS))
    for source, target in zip(given, _STREAMS, strict=True):
        os.dup2(source, target)
        os.close(source)
    sys.stdin = os.fdopen(0, closefd=False)
    time.tzset()
    sys.argv = [module, *arguments]
    answer: int | None = importlib.import_module(module).main()
    return answer


if __name__ == "__main__":
    sys.exit(ask())
