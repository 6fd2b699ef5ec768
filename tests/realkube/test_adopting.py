"""A backup is restored on a hub whose member is a real control plane: what the hub forgot is adopted."""

import contextlib
import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from roadstead import Client
from roadstead.cli import ports
from tests import stem
from tests.e2e.running import a_job, ready_line, until
from tests.realkube import build
from tests.realkube.plane import Plane, equal_members, running_plane
from tests.realkube.processes import prepare_member

pytestmark = [pytest.mark.realkube, pytest.mark.timeout(300)]
RUN_S = 30
NAMES = ("released", "unknown")


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


def in_member(plane: Plane) -> dict[str, tuple[str, list[str]]]:
    """By name, the uid of each Job there and of the pods that were started for it."""
    jobs = json.loads(plane.kubectl("get", "jobs", "-n", "team-a", "-o", "json"))["items"]
    pods = json.loads(plane.kubectl("get", "pods", "-n", "team-a", "-o", "json"))["items"]
    return {
        job["metadata"]["name"]: (
            job["metadata"]["uid"],
            sorted(
                pod["metadata"]["uid"]
                for pod in pods
                if pod["metadata"]["ownerReferences"][0]["uid"] == job["metadata"]["uid"]
            ),
        )
        for job in jobs
    }


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[Plane]:
    """The member: a control plane with two nodes, and the rights of its agent."""
    if reason := build.go_is_missing():
        pytest.skip(reason)
    with running_plane("east", tmp_path / "plane") as running:
        running.add_pools(equal_members(1)[0]["pools"])
        prepare_member(running)
        yield running


def test_what_a_restored_hub_forgot_is_adopted_and_ends_once(plane: Plane, tmp_path: Path) -> None:
    """One Job that it has as held, one that it does not have: each ends as the Job that ran on."""
    beside = Beside(tmp_path, ports.free(1)[0])
    with contextlib.ExitStack() as stack:
        with beside.running(), beside.client() as hub:
            token = tmp_path / "join.token"
            token.write_text(hub.add_cluster("east").join_token)
            kubeconfig = plane.kubeconfig_of("agent", namespace="roadstead")
            credential = f"--credential={tmp_path / 'credential'}"
            told = (f"--hub={beside.server}", f"--kubeconfig={kubeconfig}", credential)
            stack.enter_context(process(tmp_path, "agent", *told, f"--join-token={token}"))
            released = hub.submit(a_job("released", run_s=RUN_S))
            hub.hold(released.uid)
            beside.do("admin", "backup", str(tmp_path / "backup"))
            hub.release(released.uid)
            unknown = hub.submit(a_job("unknown", run_s=RUN_S))
            until(lambda: beside.states() == dict.fromkeys(NAMES, "Running"), 60, "both run")
            before = until(lambda: _with_pods(plane), 30, "each has its pod")
        beside.do("admin", "restore", str(tmp_path / "backup"), "--replace")

        with beside.running(), beside.client() as hub:
            assert beside.run("restored").returncode == 1, "it stands still"
            assert beside.states() == {"released": "Held"}
            until(lambda: len(hub.restored().items) == len(NAMES), 60, "both are listed")
            for each in (released, unknown):
                assert "east holds" in beside.do("admin", "adopt", each.uid)
            beside.do("restored", "--accept")
            ended = dict.fromkeys(NAMES, "Succeeded")
            until(lambda: beside.states() == ended, RUN_S + 60, "both have ended")
            assert {hub.job(each.uid).cluster for each in (released, unknown)} == {"east"}
            assert in_member(plane) == before, "the same Jobs, with the same pods"


def _with_pods(plane: Plane) -> Any:
    """What the member has, once each Job has a pod."""
    found = in_member(plane)
    return (
        found
        if found.keys() == set(NAMES) and all(len(p) == 1 for _, p in found.values())
        else None
    )
