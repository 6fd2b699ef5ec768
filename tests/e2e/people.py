"""People at work: each with a token of their own, at a terminal of their own, against a fleet that runs.

    iris.sees("explain train", "is Running")

What they type is what the documentation tells them to; what a simulated pod does is said by annotations.
"""

import json
import os
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from tests import stem
from tests.cli.commands import Ran, run, spawn
from tests.e2e.running import RunningFleet, a_pool, until

_NOT_THEIRS = ("ROADSTEAD_NAMESPACE", "ROADSTEAD_CONTEXT", "ROADSTEAD_IMAGE", "XDG_CONFIG_HOME")


@dataclass(frozen=True)
class Person:
    """Somebody who has logged in to the fleet, with nothing but what `login` has kept for them."""

    name: str
    home: Path

    def types(self, line: str, code: int = 0) -> str:
        """Run `roadstead LINE` as they do; all that it printed. Fails unless it ends with `code`."""
        ran = self._run(line)
        told = ran.out + ran.err
        assert ran.code == code, f"{self.name}: roadstead {line}\nended with {ran.code}:\n{told}"
        return told

    def sees(self, line: str, *words: str, code: int = 0) -> str:
        """What `line` printed, which has all these words."""
        told = self.types(line, code)
        missing = [each for each in words if each not in told]
        assert not missing, f"{self.name}: roadstead {line}\ndoes not say {missing}:\n{told}"
        return told

    def comes_to_see(self, line: str, *words: str, within_s: float = 60) -> str:
        """Type `line` again and again until it prints all these words, however it ends."""

        def look() -> str:
            ran = self._run(line)
            told = ran.out + ran.err
            return told if all(each in told for each in words) else ""

        try:
            return until(look, within_s, f"{self.name}: roadstead {line} says {words}")
        except AssertionError as late:
            raise AssertionError(f"{late}; at last it said:\n{self._run(line)}") from late

    def _run(self, line: str) -> Ran:
        before = {name: os.environ.pop(name) for name in _NOT_THEIRS if name in os.environ}
        os.environ["XDG_CONFIG_HOME"] = str(self.home)
        try:
            return run(*shlex.split(line))
        finally:
            del os.environ["XDG_CONFIG_HOME"]
            os.environ.update(before)


def logged_in(fleet: RunningFleet, name: str, token: str, namespace: str) -> Person:
    """Somebody new: their token goes through a pipe into a login, and nowhere else."""
    home = fleet.folder.parent / "people" / name
    home.mkdir(parents=True, exist_ok=True)
    login = (
        "login",
        "--server",
        fleet.server,
        "--token-stdin",
        "--name",
        "fleet",
        "-n",
        namespace,
    )
    done = spawn(*login, stdin=token, XDG_CONFIG_HOME=str(home), HOME=str(home))
    assert done.code == 0, done.err
    return Person(name, home)


def lasting(seconds: float, *, code: int = 0, log: str = "") -> str:
    """Options of `run`: how long the simulated pod runs, what it ends with and what it writes."""
    said = {"run-seconds": str(seconds), "exit-code": str(code), "log-lines": log}
    return " ".join(
        shlex.quote(f"--annotation=sim.roadstead.dev/{key}={value}")
        for key, value in said.items()
        if value
    )


class NewMember:
    """A cluster that an engineer brings in: it serves at once, and its agent is started with a token."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name, self.folder = name, folder
        folder.mkdir(parents=True, exist_ok=True)
        self._agent: stem.Process | None = None
        (folder / "pools").write_text(json.dumps([a_pool(2)]))
        self._cluster = self._start(
            "shared.kubesim", f"--name={name}", f"--data={folder / 'cluster'}",
            f"--kubeconfig={folder / 'kubeconfig'}", f"--pools={folder / 'pools'}",
        )  # fmt: skip
        until((folder / "kubeconfig").exists, 60, "the cluster serves")

    def join(self, server: str, printed: str) -> None:
        """Start the agent with the token that `clusters add` printed, as it says below it."""
        token = re.search(r"^[\w-]+\.[\w-]+$", printed, re.MULTILINE)
        assert token, printed
        (self.folder / "token").write_text(token[0])
        self._agent = self._start(
            "agent", f"--hub={server}", f"--join-token={self.folder / 'token'}",
            f"--kubeconfig={self.folder / 'kubeconfig'}",
            f"--credential={self.folder / 'credential'}", "--logs=on",
            "--accepted-namespaces=default",
        )  # fmt: skip

    def agents_end(self) -> int:
        """Wait for it; its exit code."""
        assert self._agent is not None
        return self._agent.wait(60)

    def close(self) -> None:
        for each in (self._agent, self._cluster):
            if each is not None and each.poll() is None:
                each.terminate()
                each.wait(30)

    def _start(self, module: str, *arguments: str) -> stem.Process:
        return stem.start(module, *arguments, log=self.folder / f"{module}.log")
