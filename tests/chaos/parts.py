"""What a fleet of processes is made of: its parts, and how its hubs are."""

import subprocess
from dataclasses import dataclass, field
from typing import Any

from roadstead.cli.forks import Fork
from tests import databases


@dataclass
class Part:
    """One process: how it is started, and until when the schedule keeps it down."""

    name: str
    command: list[str]
    process: subprocess.Popen[Any] | Fork | None = None
    down_until: float = 0.0  # monotonic
    wanted: bool = True
    ends: list[int] = field(default_factory=list)
    armed: str = ""  # the failpoint at which this process dies

    def has_ended(self) -> bool:
        return self.process is not None and self.process.poll() is not None


@dataclass(frozen=True)
class Hubs:
    """How the hubs of a fleet are: how many, on which database (None: SQLite), with a hub cluster?

    `server` listens on a port, and keeps the database `hub`.
    """

    count: int = 1
    server: databases.Server | None = None
    cluster: bool = False
    members: str = "shared.kubesim"  # the module that plays a member

    @property
    def names(self) -> list[str]:
        return ["hub", *(f"hub-{number}" for number in range(2, self.count + 1))]
