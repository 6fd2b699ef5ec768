"""What is going on when a part is killed: each story comes to some of the points.

A story begins when the part is armed, and returns when what it is about has ended.
"""

import contextlib
import json
import signal
import urllib.error
from collections.abc import Callable

from roadstead.errors import NotFound, Rejected
from shared import labels
from tests.chaos import manifests
from tests.chaos.history import Json
from tests.failpoints.killing import Killing

Story = Callable[[Killing], None]
KUEUE = "kueue.x-k8s.io/v1beta2"
JOBS = f"/apis/batch/v1/namespaces/{manifests.NAMESPACE}/jobs"
CLUSTER_QUEUES = "/apis/kueue.x-k8s.io/v1beta1/clusterqueues"


def nothing(_: Killing) -> None:
    """The part only starts."""


def jobs_run(fleet: Killing) -> None:
    """Three jobs are submitted, and run."""
    uids = [fleet.submit() for _ in range(3)]
    for uid in uids:
        fleet.until_state(uid, "Succeeded")


def one_is_cancelled(fleet: Killing) -> None:
    """A job runs, and is cancelled."""
    uid = fleet.submit(run_s=600)
    fleet.until_state(uid, "Running")
    fleet.ask("POST", f"/v1/jobs/{uid}/cancel")
    fleet.until_state(uid, "Cancelled")


def one_is_preempted(fleet: Killing) -> None:
    """A job runs, one of higher priority takes its quota, and it runs again afterwards."""
    low = fleet.submit(run_s=8, tight=True, priority="low")
    fleet.until_state(low, "Running")
    high = fleet.submit(tight=True, priority="high")
    fleet.until_state(high, "Succeeded")
    fleet.until_state(low, "Succeeded")


def a_member_falls_silent(fleet: Killing) -> None:
    """An agent stops while a job runs in its cluster, until the hub has given it up for unreachable."""
    fleet.only("m1")
    uid = fleet.submit(run_s=2)
    fleet.until_state(uid, "Running")
    fleet.fleet.signal("agent-m1", signal.SIGSTOP)
    try:
        fleet.until_killed("hub")
        fleet.until_state(uid, "Unknown")
    finally:
        fleet.fleet.signal("agent-m1", signal.SIGCONT)
    fleet.until_state(uid, "Succeeded")


def one_waits_for_its_check(fleet: Killing) -> None:
    """A job holds quota until somebody says that its check is ready."""
    fleet.apply(
        {
            "apiVersion": KUEUE,
            "kind": "AdmissionCheck",
            "metadata": {"name": "approval"},
            "spec": {"controllerName": "example.com/approval"},
        },
        _cluster_queue("gold", 8, admissionChecks=["approval"]),
        {
            "apiVersion": KUEUE,
            "kind": "LocalQueue",
            "metadata": {"name": "gold", "namespace": manifests.NAMESPACE},
            "spec": {"clusterQueue": "gold"},
        },
    )
    active = {"type": "Active", "status": "True", "reason": "Serving", "message": "here"}
    path = "/v1/objects/kueue.x-k8s.io/AdmissionCheck/approval/status"
    fleet.ask("PUT", path, body=json.dumps({"conditions": [active]}).encode())
    uid = fleet.submit(more={"labels": {labels.QUEUE_NAME: "gold"}})
    fleet.until(lambda: _has_succeeded(fleet, uid), "its check is answered, and it succeeds")


def _has_succeeded(fleet: Killing, uid: str) -> bool:
    """Answer the check whenever quota is held: a member that falls silent costs quota and answer again."""
    state = fleet.job(uid)["state"]
    if state == "Reserved":
        answer = json.dumps({"state": "Ready", "message": "fine"}).encode()
        with contextlib.suppress(Rejected):
            fleet.ask("PUT", f"/v1/jobs/{uid}/checks/approval", body=answer)
    return bool(state == "Succeeded")


def one_outlives_its_time(fleet: Killing) -> None:
    """A job has ended, and gives its name back after its ttlSecondsAfterFinished."""
    uid = fleet.submit(more={"spec": {"ttlSecondsAfterFinished": 0}})
    fleet.until_state(uid, "Succeeded")
    fleet.until_killed("hub")


def an_answer_is_lost(fleet: Killing) -> None:
    """A Job is made in the member, and the connection ends instead of the answer."""
    fleet.member("m1").add_fault(action="drop-after", verb="create", resource="jobs", count=1)
    jobs_run(fleet)


def it_joins_anew(fleet: Killing) -> None:
    """The agent has lost its folder, and joins with a new token."""
    armed = fleet.fleet.parts["agent-m1"].armed
    fleet.fleet.forget_agent("m1")
    fleet.fleet.join("m1")
    fleet.arm("agent-m1", armed)
    fleet.until_killed("agent-m1")
    jobs_run(fleet)


def its_credential_is_replaced(fleet: Killing) -> None:
    """A job runs while the agent gets another secret."""
    uid = fleet.submit(run_s=4)
    fleet.until_killed("agent-m1")
    fleet.until_state(uid, "Succeeded")
    jobs_run(fleet)


# --- with a hub cluster ---------------------------------------------------------------------------


def kubectl_makes_one(fleet: Killing) -> None:
    """A Job is made on the hub cluster, and runs in a member."""
    uid = _made_by_kubectl(fleet, "made-by-kubectl", run_s=0.5)
    fleet.until_state(uid, "Succeeded")
    _delete_by_kubectl(fleet, "made-by-kubectl")


def kubectl_deletes_one(fleet: Killing) -> None:
    """A Job of the hub cluster that runs is deleted there: it goes once nothing of it is left."""
    uid = _made_by_kubectl(fleet, "deleted-by-kubectl", run_s=600)
    fleet.until_state(uid, "Running")
    _delete_by_kubectl(fleet, "deleted-by-kubectl")
    assert fleet.job(uid)["state"] == "Cancelled"


def what_came_by_rest_is_shown(fleet: Killing) -> None:
    """A ClusterQueue of REST gets a mirror, which follows it, and goes with it; jobs run meanwhile."""
    path = "/v1/objects/kueue.x-k8s.io/ClusterQueue/shown"
    with contextlib.suppress(NotFound):  # of a story before
        fleet.ask("DELETE", path)
    fleet.until(lambda: _shown(fleet, "shown") is None, "no mirror is left")
    fleet.apply(_cluster_queue("shown", 3))
    jobs_run(fleet)
    fleet.until(lambda: _quota(fleet, "shown") == "3", "it is shown")
    fleet.apply(_cluster_queue("shown", 5))
    fleet.until(lambda: _quota(fleet, "shown") == "5", "the mirror follows")
    fleet.ask("DELETE", path)
    fleet.until(lambda: _shown(fleet, "shown") is None, "the mirror goes")


def it_changes_hands(fleet: Killing) -> None:
    """A ClusterQueue of REST becomes the hub cluster's own, without an end of what it says."""
    fleet.apply(_cluster_queue("handed", 3))
    fleet.until(lambda: _quota(fleet, "handed") == "3", "it is shown")
    to = {"group": "kueue.x-k8s.io", "kind": "ClusterQueue", "name": "handed", "to": "hub-cluster"}
    fleet.ask("POST", "/v1/hand-over", body=json.dumps(to).encode())
    fleet.until(lambda: _is_its_own(fleet, "handed"), "it is the hub cluster's own")
    jobs_run(fleet)
    assert _quota(fleet, "handed") == "3"


def _cluster_queue(name: str, cores: int, **more: object) -> Json:
    resource = {"name": "cpu", "nominalQuota": cores}
    group = {"coveredResources": ["cpu"], "flavors": [{"name": "any", "resources": [resource]}]}
    strategy = {}
    if checks := more.get("admissionChecks"):
        named = [{"name": each} for each in checks]  # type: ignore[attr-defined]
        strategy = {"admissionChecksStrategy": {"admissionChecks": named}}
    return {
        "apiVersion": KUEUE,
        "kind": "ClusterQueue",
        "metadata": {"name": name},
        "spec": {"namespaceSelector": {}, "resourceGroups": [group], **strategy},
    }


def _made_by_kubectl(fleet: Killing, name: str, run_s: float) -> str:
    """Make a Job on the hub cluster; its uid once the hub has taken it."""
    kube = fleet.member("hub")
    body = manifests.job({"name": name, "indexes": 1, "run_s": run_s})
    body["spec"] |= {"suspend": True, "managedBy": labels.JOB_CONTROLLER}
    uid = kube.plant(manifests.NAMESPACE, body)
    fleet.until(lambda: fleet.fleet.request("GET", f"/v1/jobs/{uid}"), f"{name} is taken")
    fleet.acknowledged[uid] = name
    return uid


def _delete_by_kubectl(fleet: Killing, name: str) -> None:
    kube = fleet.member("hub")
    job = kube.request("GET", f"{JOBS}/{name}")
    kube.delete_job(manifests.NAMESPACE, name, job["metadata"]["uid"])
    fleet.until(lambda: not _has(fleet, f"{JOBS}/{name}"), f"{name} has gone")
    fleet.deleted.add(job["metadata"]["uid"])


def _has(fleet: Killing, path: str) -> bool:
    try:
        fleet.member("hub").request("GET", path)
    except urllib.error.HTTPError as refusal:
        refusal.close()
        if refusal.code == 404:
            return False
        raise
    return True


def _shown(fleet: Killing, name: str) -> Json | None:
    path = f"{CLUSTER_QUEUES}/{name}"
    return fleet.member("hub").request("GET", path) if _has(fleet, path) else None


def _quota(fleet: Killing, name: str) -> str:
    found = _shown(fleet, name) or {"spec": {"resourceGroups": []}}
    return "".join(
        str(resource["nominalQuota"])
        for group in found["spec"]["resourceGroups"]
        for flavor in group["flavors"]
        for resource in flavor["resources"]
    )


def _is_its_own(fleet: Killing, name: str) -> bool:
    found = _shown(fleet, name)
    return found is not None and labels.ORIGIN not in (found["metadata"].get("labels") or {})
