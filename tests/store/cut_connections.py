"""A way to a PostgreSQL server that can be cut at a commit, before or after the server has heard of it."""

import contextlib
import enum
import socket
import tempfile
import threading
from pathlib import Path

from tests.databases import Server

_SOCKET = ".s.PGSQL.5432"
_COMMIT = b"COMMIT\0"  # a statement of its own; BEGIN names a level of that name


class Cut(enum.Enum):
    """Where the next commit's connection ends."""

    NOWHERE = enum.auto()
    BEFORE = enum.auto()  # the server does not hear of it
    AFTER = enum.auto()  # it is done, and the hub does not hear of that


class Way:
    """Passes connections on to a server, from a socket in a folder of its own."""

    def __init__(self, server: Server) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="way-"))
        self._to = str(server.folder / _SOCKET)
        self.cut = Cut.NOWHERE
        self.is_open = True  # to new connections
        self.is_closed_by_cut = False  # nobody comes through any more once a commit was cut
        self.cuts = 0
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(self.folder / _SOCKET))
        self._listening.listen(64)
        self._held: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def address(self, database: str) -> str:
        """The address of a database, this way."""
        return f"postgresql://hub@/{database}?host={self.folder}"

    def end(self) -> None:
        """Cut everything."""
        self.is_open = False
        for each in (self._listening, *self._held):
            _end(each)
        (self.folder / _SOCKET).unlink()
        self.folder.rmdir()

    def cut_all(self) -> None:
        """End the connections there are."""
        held, self._held = self._held, []
        for each in held:
            _end(each)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listening.accept()
                if not self.is_open:
                    _end(near)
                    continue
                far = socket.socket(socket.AF_UNIX)
                try:
                    far.connect(self._to)
                except OSError:
                    _end(near)
                    continue
                self._held += [near, far]
                threading.Thread(target=self._ask, args=(near, far), daemon=True).start()
                threading.Thread(target=_answer, args=(near, far), daemon=True).start()

    def _ask(self, near: socket.socket, far: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while said := near.recv(65536):
                if self.cut is not Cut.NOWHERE and _COMMIT in said:
                    self._cut(near, far, said)
                    return
                far.sendall(said)
        _end(near)
        _end(far)

    def _cut(self, near: socket.socket, far: socket.socket, said: bytes) -> None:
        where, self.cut = self.cut, Cut.NOWHERE
        if self.is_closed_by_cut:
            self.is_open = False
        _end(near)
        if where is Cut.AFTER:
            far.sendall(said)
            far.shutdown(socket.SHUT_WR)
        else:
            _end(far)
        self.cuts += 1


def _answer(near: socket.socket, far: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while told := far.recv(65536):
            near.sendall(told)
    _end(near)


def _end(each: socket.socket) -> None:
    with contextlib.suppress(OSError):
        each.shutdown(socket.SHUT_RDWR)
    each.close()
