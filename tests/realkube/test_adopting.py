"""A backup is restored on a hub whose member is a real control plane: what the hub forgot is adopted."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from roadstead.cli import ports
from tests.e2e.running import a_job, until
from tests.realkube.beside import Beside, process
from tests.realkube.plane import Plane, equal_members, running_plane
from tests.realkube.processes import prepare_member

pytestmark = [pytest.mark.realkube, pytest.mark.timeout(300)]
RUN_S = 30
NAMES = ("released", "unknown")


def in_member(plane: Plane) -> dict[str, tuple[str, list[str]]]:
    """By name, the uid of each Job there and of the pods that were started for it."""
    jobs = plane.find("jobs.v1.batch", namespace="team-a")["items"]
    pods = plane.find("pods.v1", namespace="team-a")["items"]
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
            assert "is now the Job in east" in beside.do("admin", "adopt", released.uid)
            adopted = until(lambda: _adopted(beside, unknown.uid), 60, "its manifest is reported")
            assert "is now the Job in east" in adopted
            beside.do("restored", "--accept")
            ended = dict.fromkeys(NAMES, "Succeeded")
            until(lambda: beside.states() == ended, RUN_S + 60, "both have ended")
            assert {hub.job(each.uid).cluster for each in (released, unknown)} == {"east"}
            assert in_member(plane) == before, "the same Jobs, with the same pods"


def _adopted(beside: Beside, uid: str) -> str | None:
    """What `admin adopt` prints; None while the member has yet to report the manifest."""
    done = beside.run("admin", "adopt", uid)
    if done.returncode and "ManifestAwaited" in done.stderr:
        return None
    assert done.returncode == 0, (done.stdout, done.stderr)
    return done.stdout


def _with_pods(plane: Plane) -> Any:
    """What the member has, once each Job has a pod."""
    found = in_member(plane)
    return (
        found
        if found.keys() == set(NAMES) and all(len(p) == 1 for _, p in found.values())
        else None
    )
