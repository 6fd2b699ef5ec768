"""Before the hub is uninstalled: its finalizer comes off the objects of the hub cluster, and no other's."""

import json
import subprocess
from pathlib import Path

import pytest

from hub.admin import finalizers
from hub.admin.finalizers import ClusterRefused
from shared import labels
from tests.realkube.agreement import Cluster, simulated

pytestmark = [pytest.mark.kubectl, pytest.mark.store("sqlite")]
OTHERS = "example.com/mine"


def kubectl(cluster: Cluster, *arguments: str, stdin: str = "") -> str:
    command = [str(cluster.kubectl), "--kubeconfig", str(cluster.kubeconfig), *arguments]
    done = subprocess.run(
        command, input=stdin, capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout


def a_job(name: str, *held_by: str) -> str:
    spec = {
        "suspend": True,
        "template": {
            "spec": {
                "restartPolicy": "Never",
                "containers": [{"name": "main", "image": "example.com/task:1"}],
            }
        },
    }
    metadata = {"name": name, "namespace": "default", "finalizers": list(held_by)}
    return json.dumps(
        {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}
    )


def test_only_ours_come_off_and_only_when_that_is_said(tmp_path: Path):
    """Without the word objects are listed; what others hold stays held by them."""
    with simulated(tmp_path, []) as cluster:
        for job in (
            a_job("ours", labels.FINALIZER),
            a_job("both", labels.FINALIZER, OTHERS),
            a_job("theirs", OTHERS),
        ):
            kubectl(cluster, "apply", "-f", "-", stdin=job)

        def held() -> dict[str, list[str]]:
            listed = json.loads(kubectl(cluster, "get", "jobs", "-o", "json"))["items"]
            return {
                each["metadata"]["name"]: each["metadata"].get("finalizers", []) for each in listed
            }

        before = held()
        said: list[finalizers.HeldObject] = []
        found = finalizers.release(cluster.kubeconfig, do=False, say=said.append)
        assert sorted(each.name for each in found) == ["both", "ours"]
        assert (said, held()) == (found, before)
        finalizers.release(cluster.kubeconfig, do=True, say=said.append)
        assert held() == {"ours": [], "both": [OTHERS], "theirs": [OTHERS]}
        assert finalizers.release(cluster.kubeconfig, do=True, say=said.append) == []


def test_a_cluster_that_does_not_answer_is_told_in_a_sentence(tmp_path: Path):
    """Nothing is known of it, and nothing has been done."""
    config = tmp_path / "kubeconfig"
    config.write_text("apiVersion: v1\nkind: Config\n")
    with pytest.raises(ClusterRefused):
        finalizers.release(config, do=True, say=lambda _: None)
