"""Jobs applied on the hub cluster: taken by uid, never run there, their state written back."""

from pathlib import Path
from typing import Any

import pytest

from hub.domain.workloads.origin import Origin
from hub.services.context.settings import Intake
from hub.services.jobs.cancel import delete_job
from hub.services.objects.apply import apply_documents
from hub.services.reading.draft import draft
from hub.store import workloads
from hub.store.records.workloads import ReasonToWait
from shared.errors import Rejected
from shared.kinds import parse
from tests.bridge.guide import CRDS, absent, apply_guide, condition, status, suspended, workload
from tests.bridge.hub_cluster import World, until, world
from tests.services.members.hubs import ran, seen

pytestmark = pytest.mark.anyio


async def test_a_job_is_taken_by_its_uid_and_held(tmp_path: Path):
    """It carries our finalizer, is managed by the hub, and says why it waits."""
    async with world(tmp_path) as it:
        await apply_guide(it)
        row = await until(lambda: workload(it, "mock-workload"))
        job = await until(lambda: suspended(it))
        assert row.uid == job["metadata"]["uid"]
        assert row.origin == "hub-cluster"
        assert "roadstead.dev/hub" in job["metadata"]["finalizers"]
        assert job["spec"]["managedBy"] == "roadstead.dev/hub"


async def test_a_finished_job_is_complete_on_the_hub_cluster(tmp_path: Path):
    """One terminal write with times, counts and both conditions, as the API server demands."""
    async with world(tmp_path) as it:
        await apply_guide(it)
        row = await until(lambda: workload(it, "mock-workload"))
        agent = await it.hub.join("north")
        await it.hub.place(row.uid, "north")
        await agent.sync()
        await agent.sync(ran(row.uid, active=3, ready=3, running_since="2026-05-01T00:00:01Z"))
        await until(lambda: status(it, "active", 3))
        await agent.sync(ran(row.uid, succeeded=3, result="Succeeded"))
        job = await until(lambda: condition(it, "Complete"))
        assert job["status"]["succeeded"] == 3
        assert job["status"]["startTime"] <= job["status"]["completionTime"]
        assert "active" not in job["status"] or job["status"]["active"] == 0


async def test_a_job_that_its_member_keeps_suspended_is_shown_suspended(tmp_path: Path):
    """With the reason, from when no pod of it is active until it may run again."""
    async with world(tmp_path) as it:
        await apply_guide(it)
        row = await until(lambda: workload(it, "mock-workload"))
        agent = await it.hub.join("north")
        await it.hub.place(row.uid, "north")
        await agent.sync()
        runs: dict[str, Any] = {"active": 3, "running_since": "2026-05-01T00:00:01Z"}
        await agent.sync(ran(row.uid, **runs))
        await until(lambda: suspension(it, "False", "JobResumed"))
        held: dict[str, Any] = {"suspended": True, "held_by": "kubectl-edit"}
        await agent.sync(ran(row.uid, **held, active=1))
        await until(lambda: status(it, "active", 1))
        assert await suspension(it, "False", "JobResumed"), "a pod is still there"
        await agent.sync(ran(row.uid, **held))
        told = await until(lambda: suspension(it, "True", "HeldByMember"))
        assert "kubectl-edit" in told["message"]
        await agent.sync(ran(row.uid, **runs))
        await until(lambda: suspension(it, "False", "JobResumed"))
        await agent.sync(ran(row.uid, succeeded=3, result="Succeeded"))
        assert await until(lambda: condition(it, "Complete"))


async def test_a_failed_job_carries_its_reason(tmp_path: Path):
    """FailureTarget and Failed, with the member's reason."""
    async with world(tmp_path) as it:
        await apply_guide(it)
        row = await until(lambda: workload(it, "mock-workload"))
        agent = await it.hub.join("north")
        await it.hub.place(row.uid, "north")
        await agent.sync()
        await agent.sync(ran(row.uid, failed=4, result="Failed", reason="BackoffLimitExceeded"))
        job = await until(lambda: condition(it, "Failed"))
        (failed,) = [c for c in job["status"]["conditions"] if c["type"] == "Failed"]
        assert failed["reason"] == "BackoffLimitExceeded"
        assert job["status"]["failed"] == 4


async def test_a_job_that_kubectl_made_is_deleted_by_kubectl(tmp_path: Path):
    """Through REST it is refused with what to type: its Job would stay, and nobody could apply it anew."""
    async with world(tmp_path) as it:
        await apply_guide(it)
        row = await until(lambda: workload(it, "mock-workload"))
        with pytest.raises(
            Rejected, match="kubectl delete job mock-workload -n compute-jobs"
        ) as no:
            await it.hub.write(delete_job, row.uid, "admin")
        assert no.value.code == "OwnedElsewhere"
        assert (await workload(it, "mock-workload")).withdraw_to == ""


async def test_a_deleted_job_goes_when_its_member_confirms(tmp_path: Path):
    """The finalizer stays until nothing of it is left."""
    async with world(tmp_path) as it:
        await apply_guide(it)
        row = await until(lambda: workload(it, "mock-workload"))
        agent = await it.hub.join("north")
        await it.hub.place(row.uid, "north")
        await agent.sync()
        await agent.sync(ran(row.uid))
        await it.delete("Job", "mock-workload", "compute-jobs")
        await until(lambda: withdrawing(it, row.uid))
        assert await it.get("Job", "mock-workload", "compute-jobs") is not None
        await it.hub.settled()
        await agent.sync()
        await agent.sync(seen(row.uid, "Gone"))
        await until(lambda: absent(it, "Job", "mock-workload", "compute-jobs"))
        assert await workload(it, "mock-workload") is None


async def test_a_job_made_anew_is_a_new_job(tmp_path: Path):
    """Another uid, another workload."""
    async with world(tmp_path) as it:
        await apply_guide(it)
        first = await until(lambda: workload(it, "mock-workload"))
        await it.delete("Job", "mock-workload", "compute-jobs")
        await until(lambda: absent(it, "Job", "mock-workload", "compute-jobs"))
        await apply_guide(it)
        second = await until(lambda: workload(it, "mock-workload"))
        assert first.uid != second.uid


async def test_a_job_that_waits_says_why_in_an_event(tmp_path: Path):
    """`kubectl describe job` shows it; once for each reason."""
    async with world(tmp_path) as it:
        await apply_guide(it)
        row = await until(lambda: workload(it, "mock-workload"))
        why = ReasonToWait(uid=row.uid, reason="QuotaExhausted", message="needs 3 more cpu")
        await it.hub.write(lambda unit: workloads.refuse(unit, [why]))
        event = await until(lambda: waiting_for(it, "QuotaExhausted"), 30)
        assert (event["type"], event["message"]) == ("Normal", "needs 3 more cpu")


async def test_a_write_that_rest_owns_is_told_by_an_event_too(tmp_path: Path):
    """A condition alone is not seen by who wrote it: a Warning, and a column of `kubectl get`."""
    async with world(tmp_path) as it:
        await apply_guide(it, last=5)
        given = draft(parse(COHORT), it.hub.clock.now(), origin=Origin.REST)
        await it.hub.write(apply_documents, [given], Intake())
        await it.kube.create(COHORT, field_manager="kubectl")
        event = await until(lambda: warning(it, "shared", "default"))
        assert event["reason"] == "OwnedElsewhere"
        crd = await it.get("CustomResourceDefinition", "cohorts.kueue.x-k8s.io", version=CRDS)
        columns = crd["spec"]["versions"][0]["additionalPrinterColumns"]
        assert "Accepted" in [each["name"] for each in columns]


COHORT = {
    "apiVersion": "kueue.x-k8s.io/v1beta1",
    "kind": "Cohort",
    "metadata": {"name": "shared"},
    "spec": {},
}


async def test_a_job_that_can_not_be_taken_is_told_by_an_event(tmp_path: Path):
    """Its kind has no conditions for it: a Warning with the code that REST would answer."""
    async with world(tmp_path) as it:
        await apply_guide(it, last=5)
        await it.hub.submit("one", metadata={"namespace": "compute-jobs"})
        await it.apply(
            """
apiVersion: batch/v1
kind: Job
metadata:
  name: one
  namespace: compute-jobs
  labels: {kueue.x-k8s.io/queue-name: local-queue}
spec:
  template:
    spec: {restartPolicy: Never, containers: [{name: main, image: busybox}]}
"""
        )
        event = await until(lambda: warning(it, "one"))
        assert event["reason"] == "OwnedElsewhere"


async def test_a_job_of_nobodys_queue_is_left_alone(tmp_path: Path):
    """Without managedBy and queue it belongs to the hub cluster's own controller."""
    async with world(tmp_path) as it:
        await apply_guide(it)
        await it.apply(
            """
apiVersion: batch/v1
kind: Job
metadata: {name: plain, namespace: compute-jobs}
spec:
  template:
    spec: {restartPolicy: Never, containers: [{name: main, image: busybox}]}
"""
        )
        await until(lambda: workload(it, "mock-workload"))
        assert await workload(it, "plain") is None


async def suspension(it: World, value: str, reason: str):
    job = await it.get("Job", "mock-workload", "compute-jobs")
    for found in (job.get("status") or {}).get("conditions") or ():
        if (found["type"], found["status"], found["reason"]) == ("Suspended", value, reason):
            return found
    return None


async def withdrawing(it: World, uid: str):
    return (await it.hub.job(uid)).state == "Withdrawing"


async def waiting_for(it: World, reason: str):
    listing = await it.kube.list("v1", "Event", "compute-jobs")
    return next((each for each in listing.items if each["reason"] == reason), None)


async def warning(it: World, name: str, namespace: str = "compute-jobs"):
    listing = await it.kube.list("v1", "Event", namespace)
    found = [
        each
        for each in listing.items
        if each["type"] == "Warning" and each["involvedObject"]["name"] == name
    ]
    return found[0] if found else None
