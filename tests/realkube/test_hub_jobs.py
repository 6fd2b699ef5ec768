"""Jobs on a real hub cluster without a policy that marks them: any version, below 1.36 and its own.

Its nodes would run what its Job controller starts, so that a test of "never runs there" can fail. What
is typed is what people type; the policy is `deploy/hub-cluster/job-guard.yaml` as it stands.
"""

import contextlib
import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from roadstead import Client
from shared.kubesim.server import kind_guard
from tests.e2e.running import until
from tests.realkube import build
from tests.realkube.plane import Fleet, Plane, equal_members, running_plane
from tests.realkube.processes import (
    hub_and_agents,
    kubeconfig_by_script,
    protect,
    token_of_hub,
    with_line,
)

pytestmark = [pytest.mark.realkube, pytest.mark.timeout(300)]
QUEUED = {"kueue.x-k8s.io/queue-name": "main"}
WRITE, STAYS = "write spec.managedBy: roadstead.dev/hub", "stays suspended on the hub cluster"


class HubCluster:
    """A hub cluster with nodes, its policy, and the hub's kubeconfig."""

    def __init__(self, plane: Plane, folder: Path) -> None:
        self.plane, self.folder = plane, folder
        plane.add_pools(equal_members(1)[0]["pools"])
        protect(plane, marking=False)
        until(lambda: token_of_hub(plane), 30, "the hub's token is made")
        until(lambda: WRITE in self.refusal_of_create("early"), 30, "the policy is in force")
        self._own = kubeconfig_by_script(plane, folder / "hub.kubeconfig")

    def hub(self) -> contextlib.AbstractContextManager[Client]:
        """The hub, for the length of a `with` block; again on the same data."""
        return hub_and_agents(Fleet(self.plane, {}), self.folder, hub_kubeconfig=self._own)

    def create(self, name: str, *, line: bool, **metadata: Any) -> dict[str, Any]:
        """A Job with a queue, with the line that keeps it from running here or without."""
        given = a_job(name, labels=QUEUED, **metadata)
        self.plane.create(with_line(given) if line else given)
        return self.job(name)

    def refusal_of_create(self, name: str) -> str:
        """What kubectl prints for one without the line."""
        given = json.dumps(a_job(name, labels=QUEUED))
        return self.plane.refusal("create", "--dry-run=server", "-f", "-", stdin=given)

    def job(self, name: str) -> dict[str, Any]:
        return self.plane.find("jobs.v1.batch", name, "default")

    def is_taken(self, name: str) -> bool:
        return "roadstead.dev/hub" in self.job(name)["metadata"].get("finalizers", [])

    def condition(self, name: str, kind: str) -> str:
        conditions = self.job(name).get("status", {}).get("conditions", [])
        return next((c.get("reason") or c["status"] for c in conditions if c["type"] == kind), "")

    def pods(self, name: str) -> str:
        return self.plane.kubectl("get", "pods", "-l", f"job-name={name}", "--no-headers")


def a_job(name: str, **metadata: Any) -> dict[str, Any]:
    """Ends after a second where something runs it."""
    template = {
        "metadata": {"annotations": {"sim.roadstead.dev/run-seconds": "1"}},
        "spec": {
            "restartPolicy": "Never",
            "containers": [{"name": "main", "image": "example.test/job"}],
        },
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default", **metadata},
        "spec": {"template": template},
    }


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubCluster]:
    """One for all tests of this module."""
    folder = tmp_path_factory.mktemp("hub-jobs")
    with running_plane("hub", folder / "plane") as plane:
        yield HubCluster(plane, folder)


@pytest.mark.parametrize("kind", ["Pod", "CronJob", "Deployment"])
def test_what_the_hub_makes_no_workload_of_names_no_queue(cluster: HubCluster, kind: str) -> None:
    """kubectl is told at once; without the label it is created, and what its controller makes runs here."""
    pod = a_job("any")["spec"]["template"]
    name = f"a-{kind.lower()}"
    labelled = {**pod, "metadata": {"labels": {"app": name, **QUEUED}}}
    specs = {
        "Pod": ("v1", pod["spec"]),
        "CronJob": (
            "batch/v1",
            {"schedule": "@yearly", "jobTemplate": {"spec": {"template": pod}}},
        ),
        "Deployment": (
            "apps/v1",
            {
                "selector": {"matchLabels": {"app": name}},
                "template": {**labelled, "spec": {"containers": pod["spec"]["containers"]}},
            },
        ),
    }
    version, spec = specs[kind]
    bare = {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec}
    queued = {**bare, "metadata": {"name": name, "labels": QUEUED}}
    refusal = cluster.plane.refusal("create", "-f", "-", stdin=json.dumps(queued))
    assert kind_guard.waits(queued) in refusal
    cluster.plane.create(bare)
    refusal = cluster.plane.refusal("label", kind, name, "kueue.x-k8s.io/queue-name=main")
    assert kind_guard.waits(queued) in refusal
    if kind == "Deployment":  # its pods carry the label of their template, and have an owner
        until(lambda: name in cluster.plane.kubectl("get", "pods"), 30, "its pod is there")
    cluster.plane.kubectl("delete", kind, name)


def test_a_job_with_a_queue_never_runs_there(cluster: HubCluster) -> None:
    """Without the line it is refused with it; with it, it is the hub's, and waits where everybody sees it."""
    with cluster.hub() as hub:
        assert until(lambda: hub.hub_cluster().jobs, 30, "it has asked") == "Refused"
        assert WRITE in cluster.refusal_of_create("unmarked")
        job = cluster.create("train", line=True)
        known = build.version() >= (1, 32)
        assert ("managedBy" in job["spec"]) is known
        until(lambda: cluster.is_taken("train"), 30, "the hub has taken it")
        kind = "Suspended" if known else "roadstead.dev/Dispatched"
        until(
            lambda: cluster.condition("train", kind) == "QueueNotFound", 30, "it says why it waits"
        )
        if not known:
            told = "JobSuspended"
            until(lambda: cluster.condition("train", "Suspended") == told, 30, "its own")
        assert cluster.pods("train") == ""
        cluster.plane.kubectl("delete", "job", "train", "--timeout=30s")
        assert list(hub.jobs()) == []


def test_other_jobs_are_left_alone(cluster: HubCluster) -> None:
    """One without a queue, and one with a queue that a controller owns, run there as they always did."""
    with cluster.hub() as hub:
        cluster.plane.create(a_job("plain"))
        owner = json.loads(cluster.plane.kubectl("create", "configmap", "owner", "-o", "json"))[
            "metadata"
        ]["uid"]
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner}
        cluster.create("owned", line=False, ownerReferences=[{**reference, "controller": True}])
        for name in ("plain", "owned"):
            cluster.plane.kubectl(
                "wait", "--for=condition=Complete", f"job/{name}", "--timeout=40s"
            )
        assert list(hub.jobs()) == []


def test_a_suspended_job_is_not_started_by_hand(cluster: HubCluster) -> None:
    """By patch, server-side apply, replace and edit: each is refused with the reason."""
    suspended = a_job("held", labels=QUEUED)
    suspended["spec"]["suspend"] = True
    with cluster.hub():
        cluster.plane.create(suspended)
        until(lambda: cluster.is_taken("held"), 30, "the hub has taken it")
        start = '{"spec":{"suspend":false}}'
        assert STAYS in cluster.plane.refusal("patch", "job", "held", "-p", start)
        suspended["spec"]["suspend"] = False
        applied = ("apply", "--server-side", "--force-conflicts", "-f", "-")
        assert STAYS in cluster.plane.refusal(*applied, stdin=json.dumps(suspended))
        live = cluster.job("held")
        live["spec"]["suspend"] = False
        del live["metadata"]["resourceVersion"]  # its status is written meanwhile
        assert STAYS in cluster.plane.refusal("replace", "-f", "-", stdin=json.dumps(live))
        assert STAYS in _edited(cluster, "s/suspend: true/suspend: false/")
        bare = '{"metadata":{"labels":null,"finalizers":null}}'
        assert "delete" in cluster.plane.refusal(
            "patch", "job", "held", "--type=merge", "-p", bare
        )
        assert cluster.pods("held") == ""
        cluster.plane.kubectl("delete", "job", "held", "--timeout=30s")


def _edited(cluster: HubCluster, script: str) -> str:
    """What `kubectl edit` shows at the head of the file when it opens the editor again."""
    done = subprocess.run(
        [
            cluster.plane.kubectl_path,
            "--kubeconfig",
            cluster.plane.kubeconfig,
            "edit",
            "job",
            "held",
        ],
        env={
            "KUBE_EDITOR": f"sed -i -e '{script}'",
            "PATH": os.environ["PATH"],
            "HOME": str(cluster.folder),
            "TMPDIR": str(cluster.folder),
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    kept = re.search(r'stored to "(.*)"', done.stderr)
    assert kept, done.stderr
    return Path(kept[1]).read_text()


def test_nobody_writes_anothers_name(cluster: HubCluster) -> None:
    """Who submitted a Job is who created it, or not said; it stays as it was written."""
    said = "roadstead.dev/submitted-by"
    forged = with_line(a_job("forged", labels=QUEUED, annotations={said: "olga"}))
    who_creates = cluster.plane.refusal("create", "-f", "-", stdin=json.dumps(forged))
    assert "is who creates the Job" in who_creates
    cluster.create("signed", line=True, annotations={said: "admin"})
    cluster.create("unsigned", line=True)
    for change in (f"{said}=olga", f"{said}-"):
        assert "stays as it was" in cluster.plane.refusal(
            "annotate", "--overwrite", "job/signed", change
        )
    assert "stays as it was" in cluster.plane.refusal("annotate", "job/unsigned", f"{said}=admin")
    with cluster.hub() as hub:
        until(lambda: len(list(hub.jobs())) == 2, 30, "the hub has taken both")
        cluster.plane.kubectl("delete", "job", "signed", "unsigned", "--timeout=30s")


def test_it_holds_while_no_hub_runs(cluster: HubCluster) -> None:
    """What is refused stays refused; what waits suspended is taken when a hub is there again."""
    assert WRITE in cluster.refusal_of_create("unmarked")
    cluster.create("early", line=True)
    assert cluster.pods("early") == ""
    with cluster.hub():
        until(lambda: cluster.is_taken("early"), 30, "the hub has taken it")
        assert cluster.pods("early") == ""
        cluster.plane.kubectl("delete", "job", "early", "--timeout=30s")


@pytest.mark.parametrize("where", ["own", "template"])
@pytest.mark.parametrize(("count", "refused"), [(900, False), (1100, True), (20_000, True)])
def test_labels_of_a_job_are_bounded(
    cluster: HubCluster, where: str, count: int, *, refused: bool
) -> None:
    """Of 16 bytes each, with the queue's name: 16 KiB are taken, more are refused with bound and remedy."""
    flood = {f"k{n:05d}": "v" * 10 for n in range(count)}
    given = with_line(a_job(f"labels-{where}-{count}", labels=QUEUED))
    metadata = given["metadata"] if where == "own" else given["spec"]["template"]["metadata"]
    metadata["labels"] = {**flood, **metadata.get("labels", {})}
    told = cluster.plane.refusal("create", "--dry-run=server", "-f", "-", stdin=json.dumps(given))
    assert ("take at most 16384 bytes" in told) is refused, told
    assert bool(told) is refused, told
