"""What the tests may expect of a real control plane and of the fake kubelets in it."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.realkube import plane

pytestmark = [pytest.mark.realkube, pytest.mark.timeout(300)]


def a_job(name: str, *, exit_code: int = 0, run_seconds: int = 1, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "backoffLimit": 0,
            "template": {
                "metadata": {
                    "annotations": {
                        "sim.roadstead.dev/run-seconds": str(run_seconds),
                        "sim.roadstead.dev/exit-code": str(exit_code),
                    }
                },
                "spec": {
                    "restartPolicy": spec.pop("restartPolicy", "Never"),
                    "containers": [
                        {"name": "main", "image": spec.pop("image", "example.test/job")}
                    ],
                },
            },
            **spec,
        },
    }


def conditions(control_plane: plane.Plane, kind: str, name: str) -> dict[str, str]:
    found = json.loads(control_plane.kubectl("get", kind, name, "-o", "json"))
    return {c["type"]: c.get("reason", "") for c in found["status"].get("conditions", [])}


def test_a_job_runs_to_completion(real_control_plane: plane.Plane) -> None:
    """A Job whose pods end with code 0 reaches condition Complete."""
    real_control_plane.create(a_job("completes", parallelism=2, completions=4))
    real_control_plane.kubectl(
        "wait", "--for=condition=Complete", "job/completes", "--timeout=40s"
    )
    job = json.loads(real_control_plane.kubectl("get", "job", "completes", "-o", "json"))
    assert job["status"]["succeeded"] == 4


def test_an_exit_code_fails_the_job(real_control_plane: plane.Plane) -> None:
    """A pod annotated with exit code 3 fails with it, and the Job fails with its back-off limit."""
    real_control_plane.create(a_job("fails", exit_code=3))
    real_control_plane.kubectl("wait", "--for=condition=Failed", "job/fails", "--timeout=40s")
    assert conditions(real_control_plane, "job", "fails")["Failed"] == "BackoffLimitExceeded"
    pods = json.loads(
        real_control_plane.kubectl("get", "pods", "-l", "job-name=fails", "-o", "json")
    )
    ended = pods["items"][0]["status"]["containerStatuses"][0]["state"]["terminated"]
    assert ended["exitCode"] == 3


def test_on_failure_restarts_in_place(real_control_plane: plane.Plane) -> None:
    """With restartPolicy OnFailure a failing container restarts in its pod until the limit."""
    real_control_plane.create(
        a_job("restarts", exit_code=1, restartPolicy="OnFailure", backoffLimit=2)
    )
    real_control_plane.kubectl("wait", "--for=condition=Failed", "job/restarts", "--timeout=40s")
    assert conditions(real_control_plane, "job", "restarts")["Failed"] == "BackoffLimitExceeded"


def test_an_invalid_host_cannot_be_pulled(real_control_plane: plane.Plane) -> None:
    """A pod whose image's host is under .invalid stays Pending in ImagePullBackOff."""
    real_control_plane.create(a_job("unpullable", image="registry.invalid/team/job:1"))
    real_control_plane.kubectl(
        "wait", "pod", "-l", "job-name=unpullable", "--timeout=40s",
        "--for=jsonpath={.status.containerStatuses[0].state.waiting.reason}=ImagePullBackOff",
    )  # fmt: skip
    real_control_plane.kubectl(
        "delete", "job", "unpullable", "--cascade=foreground", "--timeout=40s"
    )


def test_suspending_removes_running_pods(real_control_plane: plane.Plane) -> None:
    """A running Job that is suspended loses its pods and says so; resumed, it completes."""
    real_control_plane.create(a_job("pauses", run_seconds=600))
    real_control_plane.kubectl(
        "wait", "job/pauses", "--for=jsonpath={.status.ready}=1", "--timeout=40s"
    )
    real_control_plane.kubectl("patch", "job", "pauses", "-p", '{"spec":{"suspend":true}}')
    real_control_plane.kubectl(
        "wait", "pod", "-l", "job-name=pauses", "--for=delete", "--timeout=40s"
    )
    assert conditions(real_control_plane, "job", "pauses")["Suspended"] == "JobSuspended"


def test_rbac_limits_a_minted_credential(real_control_plane: plane.Plane) -> None:
    """A kubeconfig minted for role `view` reads Jobs and may not delete them."""
    limited = real_control_plane.kubeconfig_for("reader", cluster_role="view")

    real_control_plane.kubectl("get", "jobs", kubeconfig=limited)
    with pytest.raises(plane.PlaneError, match="forbidden"):
        real_control_plane.kubectl("delete", "job", "any", kubeconfig=limited)


def test_a_killed_plane_restarts_with_its_data(tmp_path: Path) -> None:
    """After a kill of every process a plane comes back on the same address with all objects."""
    with plane.running_plane("killed", tmp_path) as killed:
        address = killed.url
        killed.kubectl("create", "namespace", "kept")
        killed.kill()
        killed.restart()
        assert killed.url == address
        assert "Active" in killed.kubectl("get", "namespace", "kept", "--no-headers")


def test_a_fleet_has_separate_clusters(real_fleet: Any) -> None:
    """Hub and members know nothing of each other: a token of one is refused by another."""
    fleet = real_fleet(2)
    one, two = fleet.members.values()
    ours, theirs = (
        each.kubeconfig_for("roamer", cluster_role="cluster-admin") for each in (one, two)
    )
    mixed = yaml.safe_load(theirs.read_text())
    mixed["users"] = yaml.safe_load(ours.read_text())["users"]
    theirs.write_text(yaml.safe_dump(mixed))
    with pytest.raises(plane.PlaneError, match=r"logged in|Unauthorized"):
        two.kubectl("get", "nodes", kubeconfig=theirs)
    assert fleet.hub.kubectl("get", "nodes", "--no-headers") == ""
    assert len(two.kubectl("get", "nodes", "--no-headers").splitlines()) == 2
