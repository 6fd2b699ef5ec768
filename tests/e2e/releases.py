"""An earlier release beside this one: its tree, and parts of a fleet replaced by another release's."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from hub.store import narrowing
from tests import stem
from tests.e2e import earlier
from tests.e2e.running import REPOSITORY, RunningFleet, until


def lacks(commit: str) -> bool:
    """Whether a commit is not in this clone's history (a shallow one, or none at all)."""
    asked = ["git", "cat-file", "-e", f"{commit}^{{commit}}"]
    with contextlib.suppress(OSError):
        return (
            subprocess.run(asked, cwd=REPOSITORY, check=False, capture_output=True).returncode != 0
        )
    return True


@contextlib.contextmanager
def tree_of(commit: str, folder: Path) -> Iterator[Path]:
    """The files of a commit, for the length of the block."""
    tree = folder / commit
    tree.mkdir()
    packed = subprocess.run(
        ["git", "archive", commit], cwd=REPOSITORY, check=True, capture_output=True
    ).stdout
    subprocess.run(["tar", "-x", "-C", str(tree)], input=packed, check=True)
    # Once: the parts of its fleet start at the same time, and each would compile what it imports.
    compiled = [sys.executable, "-m", "compileall", "-q", "hub", "agent", "shared", "roadstead"]
    subprocess.run(compiled, cwd=tree, check=True)
    yield tree


def without_wide_numbers(tree: Path) -> Path:
    """The tree with its schema as it was a revision before, of which no commit has landed; `tree` itself.

    What was changed with the revision is put back: the columns that it widens, which older hubs run
    beside which, and the revision itself.
    """
    store = tree / "hub" / "store"
    newest = store / "migrations" / "versions" / f"{narrowing.WIDENED_BY}.py"
    schema = store / "schema.py"
    text = schema.read_text()
    line = re.search(r"^BESIDE: .*$", text, re.MULTILINE)
    assert line is not None
    head, *beside = re.findall(r'"(\w+)"', line[0])
    newest.unlink()
    text = text.replace(line[0], f"BESIDE: Final = {tuple(beside)!r}")
    schema.write_text(text.replace(f'"{narrowing.WIDENED_BY}"', f'"{head}"'))
    with (store / "tables.py").open("a") as tables:
        for table, columns in narrowing.COLUMNS.items():
            for column in columns:
                tables.write(f"{table}.c.{column}.type = Integer()\n")
    return tree


class Parts:
    """Hub and agents of a fleet, which nobody but the test looks after for the length of the block."""

    def __init__(self, fleet: RunningFleet) -> None:
        self.fleet = fleet
        self._commands = {name: _command(fleet, name) for name in _names(fleet)}
        self._running: dict[str, earlier.Part | stem.Process] = {}
        self._earlier: dict[Path, earlier.Earlier] = {}

    def __enter__(self) -> Self:
        os.kill(self.fleet.process.pid, signal.SIGSTOP)  # or it would start again what we end
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._running.values():
            process.kill()
            process.wait()
        for tree in self._earlier.values():
            tree.close()
        os.kill(self.fleet.process.pid, signal.SIGCONT)

    def stop(self, name: str) -> None:
        """End a part as an upgrade does: by SIGTERM."""
        ours = self._running.pop(name, None)
        if ours is not None:
            ours.terminate()
            ours.wait(30)
            return
        pid = self.fleet.pid(name)
        os.kill(pid, signal.SIGTERM)
        until(lambda: _has_ended(pid), 30, f"{name} has ended")

    def pid(self, name: str) -> int:
        """The process that a part is now."""
        ours = self._running.get(name)
        return self.fleet.pid(name) if ours is None else ours.pid

    def kill(self, name: str) -> None:
        """kill -9 of a part, which stays away until it is started."""
        pid = self.pid(name)
        os.kill(pid, signal.SIGKILL)
        ours = self._running.pop(name, None)
        until(lambda: _has_ended(pid) if ours is None else ours.poll() is not None, 30, name)

    def start(self, name: str, tree: Path = REPOSITORY, **environ: str) -> None:
        """Start a part with the code of `tree`, as the fleet had started it, and these variables."""
        log = self.fleet.folder / "logs" / f"{name}.log"
        environment = _environment(tree) | environ
        _, _, *told = self._commands[name]  # python -m
        if tree == REPOSITORY:
            self._running[name] = stem.start(*told, log=log, env=environment)
            return
        if tree not in self._earlier:
            self._earlier[tree] = earlier.Earlier(tree)
        self._running[name] = self._earlier[tree].start(told, log, environment)

    def replace(self, name: str, tree: Path = REPOSITORY, **environ: str) -> None:
        """Another release's in the place of the one that runs."""
        self.stop(name)
        self.start(name, tree, **environ)

    def refusal(self, name: str, tree: Path) -> tuple[int, str]:
        """How a part ends that can not run: exit code, and what it says last."""
        done = subprocess.run(
            self._commands[name],
            cwd=tree,
            env=_environment(tree),
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        return done.returncode, done.stderr.strip().splitlines()[-1]

    def says(self, name: str) -> str:
        """The log of a part, of all releases that it was of."""
        return (self.fleet.folder / "logs" / f"{name}.log").read_text(errors="replace")


def _names(fleet: RunningFleet) -> list[str]:
    pids = fleet.folder / "pids"
    return [each.name for kind in ("hub", "hub-[0-9]*", "agent-*") for each in pids.glob(kind)]


def _command(fleet: RunningFleet, name: str) -> list[str]:
    kept = fleet.folder / "commands.json"
    if kept.exists():
        return json.loads(kept.read_text())[name]
    # Earlier releases start each part by its own command.
    told = Path(f"/proc/{fleet.pid(name)}/cmdline").read_bytes().decode().split("\0")[1:-1]
    return [sys.executable, *told]


def _environment(tree: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(tree)}


def _has_ended(pid: int) -> bool:
    """Its supervisor, which is stopped, has not taken note of it: it may be a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except FileNotFoundError:
        return True
