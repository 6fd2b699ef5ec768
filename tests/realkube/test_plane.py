"""What the tests may expect of a real control plane and of the fake kubelets in it.

tests/kubesim/jobs specifies Jobs, on real planes too.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.realkube import plane

pytestmark = [pytest.mark.realkube, pytest.mark.timeout(300)]


def a_job(name: str, *, exit_code: int, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "backoffLimit": 0,
            "template": {
                "metadata": {
                    "annotations": {
                        "sim.roadstead.dev/run-seconds": "1",
                        "sim.roadstead.dev/exit-code": str(exit_code),
                    }
                },
                "spec": {
                    "restartPolicy": spec.pop("restartPolicy", "Never"),
                    "containers": [{"name": "main", "image": "example.test/job"}],
                },
            },
            **spec,
        },
    }


def conditions(control_plane: plane.Plane, kind: str, name: str) -> dict[str, str]:
    found = json.loads(control_plane.kubectl("get", kind, name, "-o", "json"))
    return {c["type"]: c.get("reason", "") for c in found["status"].get("conditions", [])}


def test_on_failure_restarts_in_place(real_control_plane: plane.Plane) -> None:
    """With restartPolicy OnFailure a failing container restarts in its pod until the limit."""
    real_control_plane.create(
        a_job("restarts", exit_code=1, restartPolicy="OnFailure", backoffLimit=2)
    )
    real_control_plane.kubectl("wait", "--for=condition=Failed", "job/restarts", "--timeout=40s")
    assert conditions(real_control_plane, "job", "restarts")["Failed"] == "BackoffLimitExceeded"


def test_rbac_limits_a_minted_credential(real_control_plane: plane.Plane) -> None:
    """A kubeconfig minted for role `view` reads Jobs and may not delete them."""
    limited = real_control_plane.kubeconfig_for("reader", cluster_role="view")

    real_control_plane.kubectl("get", "jobs", kubeconfig=limited)
    with pytest.raises(plane.PlaneError, match="forbidden"):
        real_control_plane.kubectl("delete", "job", "any", kubeconfig=limited)


@pytest.fixture(scope="module")
def another(tmp_path_factory: pytest.TempPathFactory) -> Iterator[plane.Plane]:
    """A second control plane, without nodes."""
    with plane.running_plane("another", tmp_path_factory.mktemp("another")) as running:
        yield running


def test_planes_are_separate(real_control_plane: plane.Plane, another: plane.Plane) -> None:
    """They know nothing of each other: a token of one is refused by another."""
    ours, theirs = (
        each.kubeconfig_for("roamer", cluster_role="cluster-admin")
        for each in (real_control_plane, another)
    )
    mixed = yaml.safe_load(theirs.read_text())
    mixed["users"] = yaml.safe_load(ours.read_text())["users"]
    theirs.write_text(yaml.safe_dump(mixed))
    with pytest.raises(plane.PlaneError, match=r"logged in|Unauthorized"):
        another.kubectl("get", "nodes", kubeconfig=theirs)
    assert another.kubectl("get", "nodes", "--no-headers") == ""
    assert "general-0 " in real_control_plane.kubectl("get", "nodes", "--no-headers")


def test_a_killed_plane_restarts_with_its_data(another: plane.Plane) -> None:
    """After a kill of every process a plane comes back on the same address with all objects."""
    address = another.url
    another.kubectl("create", "namespace", "kept")
    another.kill()
    another.restart()
    assert another.url == address
    assert "Active" in another.kubectl("get", "namespace", "kept", "--no-headers")
