"""The `roadstead` command as a test runs it: in this process where that is enough, else as a process."""

import contextlib
import io
import os
from dataclasses import dataclass
from pathlib import Path

from roadstead import Client
from roadstead.cli.root import main
from tests import stem

REPOSITORY = Path(__file__).parents[2]
GUIDE = REPOSITORY / "examples" / "guide"
# What the environment of whoever runs the tests must not decide.
OURS = ("ROADSTEAD_SERVER", "ROADSTEAD_TOKEN", "ROADSTEAD_DATA", "ROADSTEAD_DATABASE", "COLUMNS")


@dataclass(frozen=True)
class Ran:
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


@dataclass(frozen=True)
class Reached:
    """A hub: its address, the administrator's token, and the folder that holds both."""

    server: str
    token: str
    folder: Path

    def client(self) -> Client:
        return Client(self.server, self.token)

    def run(self, *arguments: str, columns: int | None = None) -> Ran:
        """Run the command in this process against this hub."""
        return run("--server", self.server, "--token", self.token, *arguments, columns=columns)

    def spawn(self, *arguments: str, stdin: str = "", **environment: str) -> Ran:
        """Run the command as a process that finds this hub by its folder."""
        return spawn(*arguments, stdin=stdin, ROADSTEAD_DATA=str(self.folder), **environment)


def run(*arguments: str, columns: int | None = None, kept: tuple[str, ...] = ()) -> Ran:
    """Run the command in this process; `columns` is the width of a terminal, `kept` variables that stay."""
    out, err = io.StringIO(), io.StringIO()
    left_out = [name for name in OURS if name in os.environ and name not in kept]
    before = {name: os.environ.pop(name) for name in left_out}
    if columns:
        os.environ["COLUMNS"] = str(columns)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main(list(arguments))
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0
    finally:
        os.environ.pop("COLUMNS", None)
        os.environ.update(before)
    return Ran(code, out.getvalue(), err.getvalue())


def spawn(*arguments: str, stdin: str = "", **environment: str) -> Ran:
    """Run the command as a process, a fork that has loaded its modules."""
    done = stem.run(
        *("roadstead.cli", *arguments),
        stdin=stdin,
        env={**environment_without_ours(), **environment},
        alone=True,
        within_s=180,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def environment_without_ours() -> dict[str, str]:
    """The environment, without what names a hub."""
    return {name: value for name, value in os.environ.items() if name not in OURS}
