"""A hub without a hub cluster, as a process beside members that are real control planes."""

import contextlib
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from roadstead import Client
from tests import stem
from tests.e2e.running import ready_line, until


@dataclass(frozen=True)
class Beside:
    """A hub without a hub cluster, and where it keeps what it knows."""

    folder: Path
    port: int

    @property
    def server(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def client(self) -> Client:
        return Client(self.server, (self.folder / "hub/admin.token").read_text().strip())

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """The hub, until the end of the block."""
        listen = f"--listen=127.0.0.1:{self.port}"
        (self.folder / "hub.log").write_bytes(b"")  # of an earlier one: it says that it was ready
        with process(self.folder, "hub", f"--data={self.folder / 'hub'}", listen):
            until(lambda: ready_line(self.folder / "hub.log"), 60, "the hub answers")
            yield

    def run(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """The `roadstead` command against it, and against its database."""
        token = self.folder / "hub/admin.token"
        return stem.run(
            *("roadstead.cli", *arguments),
            env={
                "ROADSTEAD_SERVER": self.server,
                "ROADSTEAD_TOKEN": token.read_text().strip() if token.exists() else "none",
                "ROADSTEAD_DATABASE": f"sqlite:///{self.folder / 'hub/hub.db'}",
            },
        )

    def do(self, *arguments: str) -> str:
        """The same, which has to succeed."""
        done = self.run(*arguments)
        assert done.returncode == 0, (arguments, done.stdout, done.stderr)
        return done.stdout

    def states(self) -> dict[str, str]:
        with self.client() as hub:
            return {job.name: job.state for job in hub.jobs(namespace="team-a")}


@contextlib.contextmanager
def process(folder: Path, module: str, *arguments: str) -> Iterator[None]:
    """A part for the length of the block, ended by SIGTERM."""
    started = stem.start(module, *arguments, log=folder / f"{module}.log")
    try:
        yield
    finally:
        started.terminate()
        started.wait(30)
