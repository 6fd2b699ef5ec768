"""Where a test keeps its data: a file of SQLite's, or a database of a PostgreSQL server that the run starts.

`url_of(folder)` is one address for one folder, so that a hub which is opened again finds its data. Which of
the two it is says `--store`, or the test by the fixture `store`.
"""

import contextlib
import functools
import hashlib
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg

from shared.parent import die_with_parent
from tests.waiting import until

SQLITE, POSTGRES = "sqlite", "postgres"
_FOLDERS = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
_PREFIX = "roadstead-pg-"
_chosen = [SQLITE]


def choose(store: str) -> None:
    """Which database addresses are made for from now on."""
    _chosen[:] = [store]


def chosen() -> str:
    return _chosen[0]


def url_of(folder: Path | str) -> str:
    """The database of `folder`."""
    if chosen() == SQLITE:
        return f"sqlite:///{folder}/hub.db"
    return server().database_of(folder)


def drop(folder: Path) -> None:
    """What was kept in `folder` and below it is not wanted any more."""
    if chosen() == POSTGRES:
        server().drop_below(folder)


def end() -> None:
    """The run is over."""
    if server.cache_info().currsize:
        server().end()


def copied(folder: Path, to: Path) -> Path:
    """A copy of what a hub keeps in `folder`, while none has it open; `to`."""
    shutil.copytree(folder, to)
    if chosen() == POSTGRES:
        server().database_of(to, _name_of(folder))
    return to


def _remove_left_over() -> None:
    """Folders of servers whose runs were killed: their servers ended with them."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*-*"):
        pid = folder.name.removeprefix(_PREFIX).partition("-")[0]
        if pid.isdigit() and not Path(f"/proc/{pid}").exists():
            shutil.rmtree(folder, ignore_errors=True)


def _copied(conn: psycopg.Connection[Any]) -> str:
    """By whole files: half the CPU of going through the log, which releases before 15 do not."""
    return " STRATEGY FILE_COPY" if conn.info.server_version >= 150_000 else ""


def _name_of(folder: Path | str) -> str:
    return "t" + hashlib.blake2b(str(folder).encode(), digest_size=12).hexdigest()


def program(name: str) -> str | None:
    """A program of PostgreSQL's server, wherever the distribution keeps it."""
    for folder in _FOLDERS:
        if (folder / name).exists():
            return str(folder / name)
    return shutil.which(name)


def postgres_is_missing() -> str | None:
    """Why there can be no server; None where there can."""
    return (
        None if program("initdb") and program("postgres") else "no PostgreSQL server on this host"
    )


class Server:
    """A server of one's own, on a socket in a folder that ends with it.

    `durable`: it waits for the disk at each commit, as one does that is to keep something.
    `port`: it listens on this port of loopback too.
    """

    def __init__(self, *, durable: bool = False, port: int = 0) -> None:
        self.port = port
        self._fsync = "on" if durable else "off"
        _remove_left_over()
        self.folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
        self._made: dict[str, Path] = {}
        self._as: dict[str, Any] = {}
        if os.geteuid() == 0:  # it refuses to run as root
            nobody = 65534
            self._as = {"user": nobody, "group": nobody, "extra_groups": []}
            os.chown(self.folder, nobody, nobody)
        initdb = program("initdb")
        assert initdb is not None
        subprocess.run(
            [
                *(
                    initdb,
                    "-D",
                    str(self.folder / "data"),
                    "-U",
                    "hub",
                    "-A",
                    "trust",
                    "--no-sync",
                ),
                *("-E", "UTF8", "--locale=C.UTF-8"),
            ],
            check=True,
            stdout=subprocess.DEVNULL,
            cwd=self.folder,
            **self._as,
        )
        self._process: subprocess.Popen[bytes] | None = None
        self._conn: psycopg.Connection[Any] | None = None
        self.start()

    def start(self) -> None:
        """Start it, or start it again, unless it runs; returns once it answers."""
        if self._process is not None:
            return
        postgres = program("postgres")
        assert postgres is not None
        options = {
            "listen_addresses": "127.0.0.1" if self.port else "",
            **({"port": str(self.port)} if self.port else {}),
            "unix_socket_directories": str(self.folder),
            "fsync": self._fsync,
            "max_connections": "200",
            "shared_buffers": "32MB",
            "autovacuum_naptime": "5s",
        }
        given = [each for name, value in options.items() for each in ("-c", f"{name}={value}")]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [postgres, "-D", str(self.folder / "data"), *given],
                stdout=log,
                stderr=log,
                cwd=self.folder,
                preexec_fn=die_with_parent,  # noqa: PLW1509 - what a test starts ends with it
                **self._as,
            )
        until(self._answers, "PostgreSQL answers", within_s=60)

    def _answers(self) -> bool:
        with contextlib.suppress(psycopg.Error), psycopg.connect(self.address("postgres")):
            return True
        return False

    def stop(self, number: int) -> None:
        """End it by a signal: SIGINT fast, SIGQUIT at once as in a crash; returns once it has ended."""
        if self._conn is not None:
            self._conn.close()
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(60)
            self._process = None

    def end_connections(self, database: str) -> None:
        """End every connection to a database, as its administrator may."""
        asked = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s"
        with psycopg.connect(self.address("postgres"), autocommit=True) as conn:
            conn.execute(asked, (database,))

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """SIGSTOP of the server and all its processes, for the length of the block."""
        pids = [self.pid, *_children(self.pid)]
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)

    @contextlib.contextmanager
    def without_standby(self) -> Iterator[None]:
        """Every commit waits for a synchronous standby that is not there, for the length of the block."""
        given = {"synchronous_commit": "on", "synchronous_standby_names": "gone"}
        try:
            self._alter(*(f"SET {name} = '{value}'" for name, value in given.items()))
            yield
        finally:
            self._alter(*(f"RESET {name}" for name in given))

    def _alter(self, *settings: str) -> None:
        with psycopg.connect(self.address("postgres"), autocommit=True) as conn:
            for each in settings:
                conn.execute(f"ALTER SYSTEM {each}")
            conn.execute("SELECT pg_reload_conf()")

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def address(self, database: str) -> str:
        """The address of a database, whether it is there or not."""
        port = f"&port={self.port}" if self.port else ""
        return f"postgresql://hub@/{database}?host={self.folder}{port}"

    def database(self, name: str, template: str = "template0") -> str:
        """The address of a database, which is made where there is none: a copy of `template`."""
        conn = self._administrator()
        found = conn.execute("SELECT 1 FROM pg_database WHERE datname = %s", (name,)).fetchone()
        if found is None:
            conn.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"{_copied(conn)}')
        return self.address(name)

    def database_of(self, folder: Path | str, template: str = "template0") -> str:
        """The address of the database of a folder."""
        name = _name_of(folder)
        if name in self._made:
            return self.address(name)
        self._made[name] = Path(folder)
        return self.database(name, template)

    def drop_below(self, folder: Path) -> None:
        """Drop the databases of a folder and those in it, but for those that somebody has open."""
        names = [name for name, of in self._made.items() if of.is_relative_to(folder)]
        if not names:
            return
        conn = self._administrator()
        for name in names:
            with contextlib.suppress(psycopg.Error):
                conn.execute(f'DROP DATABASE "{name}"')
                del self._made[name]

    def _administrator(self) -> psycopg.Connection[Any]:
        """A connection that stays open: each costs the server a process, and every test needs two."""
        if self._conn is None or self._conn.closed:
            self._conn = psycopg.connect(self.address("postgres"), autocommit=True)
        return self._conn

    def end(self) -> None:
        """End it, with all that it keeps."""
        self.stop(2)
        shutil.rmtree(self.folder, ignore_errors=True)


def _children(pid: int) -> list[int]:
    """The processes that a process has started."""
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@functools.cache
def server() -> Server:
    """The run's own server; started when it is first wanted, and gone with the process."""
    return Server()


@contextlib.contextmanager
def own_server(*, durable: bool = False, port: int = 0) -> Iterator[Server]:
    """A server that a test may stop."""
    started = Server(durable=durable, port=port)
    try:
        yield started
    finally:
        started.end()
