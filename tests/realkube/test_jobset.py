"""A JobSet on a real member: held, started by its uid, finished, and one that is withdrawn and proven gone.

Its operator is played by the test: it makes a pod of each template and writes the status. The definition
of the kind is a minimal one that takes anything.
"""

import contextlib
import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from roadstead import Client
from roadstead.cli import ports
from shared.kubesim.operators.definitions import operator_crds
from tests.e2e.running import until
from tests.realkube.beside import Beside, process
from tests.realkube.gate import MANAGER, said_to
from tests.realkube.plane import Plane, PlaneError, equal_members, running_plane
from tests.realkube.processes import prepare_member
from tests.services.hubs import a_queue
from tests.services.kinds.fleet import a_jobset

pytestmark = [pytest.mark.realkube, pytest.mark.timeout(200)]
SPACE: Final = "team-a"
JOBSETS: Final = "jobsets.jobset.x-k8s.io"
Json = dict[str, Any]


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plane]:
    """The member: a control plane with two nodes that serves JobSets, and the rights of its agent."""
    with running_plane("east", tmp_path_factory.mktemp("plane")) as running:
        running.add_pools(equal_members(1)[0]["pools"])
        running.create(next(e for e in operator_crds() if e["metadata"]["name"] == JOBSETS))
        prepare_member(running)
        yield running


@contextlib.contextmanager
def one_member(plane: Plane, folder: Path) -> Iterator[Client]:
    """A hub whose only member is this plane, with a queue `q`, and its agent."""
    beside = Beside(folder, ports.free(1)[0])
    with contextlib.ExitStack() as stack:
        stack.enter_context(beside.running())
        hub = stack.enter_context(beside.client())
        token = folder / "join.token"
        token.write_text(hub.add_cluster("east").join_token)
        kubeconfig = plane.kubeconfig_of("agent", namespace="roadstead")
        credential = f"--credential={folder / 'credential'}"
        told = (f"--hub={beside.server}", f"--kubeconfig={kubeconfig}", credential)
        stack.enter_context(process(folder, "agent", *told, f"--join-token={token}"))
        queues = folder / "queues.yaml"
        queues.write_text(yaml.safe_dump_all(a_queue("q", quota={"cpu": "9"})))
        beside.do("apply", "-f", str(queues))
        yield hub


def jobset(name: str, seconds: int) -> Json:
    """A driver and two workers, whose pods run `seconds`."""
    made = a_jobset(name)
    for each in made["spec"]["replicatedJobs"]:
        metadata = {"annotations": {"sim.roadstead.dev/run-seconds": str(seconds)}}
        each["template"]["spec"]["template"]["metadata"] = metadata
    return made


def live(plane: Plane, name: str) -> Json:
    """The JobSet in the member; empty without one."""
    return plane.find("jobsets.v1alpha2.jobset.x-k8s.io", name, SPACE)


def started(plane: Plane, name: str) -> Json:
    """The JobSet once its operator may run it."""
    found = live(plane, name)
    return found if found.get("spec", {}).get("suspend") is False else {}


def pods(plane: Plane, uid: str) -> list[Json]:
    """Pods that carry the uid of the job."""
    found = plane.find("pods.v1", namespace=SPACE)["items"]
    return [
        e for e in found if e["metadata"].get("labels", {}).get("roadstead.dev/job-uid") == uid
    ]


def operate(plane: Plane, made: Json) -> None:
    """Make a pod of each template, as an operator does: owned, with what the template says."""
    owner = {key: made[key] for key in ("apiVersion", "kind")}
    owner |= {key: made["metadata"][key] for key in ("name", "uid")}
    owner |= {"controller": True, "blockOwnerDeletion": True}
    for each in made["spec"]["replicatedJobs"]:
        template = each["template"]["spec"]["template"]
        name = f"{made['metadata']['name']}-{each['name']}"
        metadata = {"name": name, "namespace": SPACE, "ownerReferences": [owner]}
        pod = {**template, "metadata": {**template.get("metadata", {}), **metadata}}
        plane.create({"apiVersion": "v1", "kind": "Pod", **pod}, manager="jobset")


def state(hub: Client, uid: str, *wanted: str) -> bool:
    return hub.job(uid).state in wanted


def test_a_jobset_is_held_started_finished_and_proven_gone(plane: Plane, tmp_path: Path) -> None:
    """The API server counts one change of its spec, the start; a cancelled one leaves no pod."""
    with one_member(plane, tmp_path) as hub:
        uid = hub.submit(jobset("sweep", 1)).uid
        made: Json = until(partial(started, plane, "sweep"), 60, "it is started")
        assert made["metadata"]["generation"] == 2, "it was created held, and started by one patch"
        assert "roadstead.dev/not-started" not in made["metadata"]["annotations"]
        operate(plane, made)
        until(partial(state, hub, uid, "Running"), 30, "its pods run")
        done = {"type": "Completed", "status": "True", "reason": "AllJobsCompleted"}
        done["lastTransitionTime"] = "2026-01-01T00:00:00Z"
        status = json.dumps({"status": {"conditions": [done]}})
        patch = ("--subresource=status", "--type=merge", "-p", status)
        plane.kubectl("patch", JOBSETS, "sweep", "-n", SPACE, *patch)
        until(partial(state, hub, uid, "Succeeded"), 30, "the agent reports its end")
        assert live(plane, "sweep")["metadata"]["uid"] == made["metadata"]["uid"]

        uid = hub.submit(jobset("long", 600)).uid
        operate(plane, until(partial(started, plane, "long"), 30, "the second is started"))
        until(partial(state, hub, uid, "Running"), 30, "its pods run")
        hub.cancel(uid)
        until(partial(state, hub, uid, "Cancelled"), 60, "it is gone")
        assert (live(plane, "long"), pods(plane, uid)) == ({}, [])


def test_the_second_gate_judges_a_jobset_of_the_agent_alone(plane: Plane) -> None:
    """Without consent the agent's account makes and starts none; what it made, it deletes. People may."""
    space = "team-gated"
    plane.kubectl("create", "namespace", space)
    agent = Path(plane.kubeconfig_of("agent", namespace="roadstead"))
    made = jobset("gated", 1)
    marks = {"roadstead.dev/managed-by": "h", "roadstead.dev/epoch": "1"}
    made["metadata"] |= {"namespace": space, "labels": marks}
    made["spec"]["suspend"] = True
    for each in made["spec"]["replicatedJobs"]:  # as the hub writes it: no token is asked for
        each["template"]["spec"]["template"]["spec"]["automountServiceAccountToken"] = False
    until(lambda: "NotAccepted" in said_to(plane, made, "create", agent), 30, "it is denied")
    assert "created" in said_to(plane, made, "create")
    plane.kubectl("label", "namespace", space, "roadstead.dev/accept=h")
    until(lambda: "created" in said_to(plane, made, "create", agent), 30, "it is accepted")
    plane.kubectl("create", MANAGER, "-f", "-", stdin=json.dumps(made), kubeconfig=agent)
    plane.kubectl("label", "namespace", space, "roadstead.dev/accept-")
    until(lambda: "NotAccepted" in _said_of_start(plane, space, agent), 30, "no start is taken")
    assert "patched" in _said_of_start(plane, space, None)
    plane.kubectl("delete", JOBSETS, "gated", "-n", space, kubeconfig=agent)


def _said_of_start(plane: Plane, space: str, account: Path | None) -> str:
    start = json.dumps({"spec": {"suspend": False}})
    asked = ("patch", JOBSETS, "gated", "-n", space, MANAGER, "--dry-run=server", "--type=merge")
    try:
        return plane.kubectl(*asked, "-p", start, kubeconfig=account)
    except PlaneError as refusal:
        return str(refusal)
