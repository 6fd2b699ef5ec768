"""By kubectl: no update takes a Job out of its queue's quota, or leaves it without an owner."""

from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from hub.services.context.settings import Intake, Settings
from hub.store import workloads
from hub.store.records.workloads import Workload
from shared import labels
from shared.kube import errors
from shared.kubesim.apimachinery.errors import ApiError
from shared.kubesim.apimachinery.writer import acting_as
from shared.kubesim.cluster import ADMIN
from shared.kubesim.server import queue_guard
from tests.bridge.guide import apply_guide
from tests.bridge.hub_cluster import FIELDS, World, until, warnings, world
from tests.bridge.policies import GUARD, a_job, submit, without_policy

pytestmark = pytest.mark.anyio
QUEUE = labels.QUEUE_NAME
GONE = [{"labels": {QUEUE: None}}, {"labels": {QUEUE: ""}}, {"labels": None}]


async def taken(it: World) -> Workload:
    """The job as the hub has it."""

    async def there() -> Any:
        found = await it.hub.hub.read(workloads.live_by_name, [("compute-jobs", "flood")])
        return found.get(("compute-jobs", "flood"))

    row = await until(there)
    assert isinstance(row, Workload)
    return row


async def patch(it: World, metadata: dict[str, Any]) -> None:
    await it.kube.merge_patch(
        "batch/v1", "Job", "compute-jobs", "flood", {"metadata": metadata}, field_manager=FIELDS
    )


@pytest.mark.parametrize("gone", GONE)
async def test_the_policy_keeps_the_queue_of_a_job(tmp_path, gone):
    """Neither removed nor emptied."""
    async with world(tmp_path) as it:
        await apply_guide(it)
        await submit(it, a_job())
        with pytest.raises(errors.KubeError, match=queue_guard.KEEPS):
            await patch(it, gone)
        assert (await taken(it)).queue == "local-queue"


async def test_without_the_policy_the_hub_keeps_the_queue(tmp_path):
    """The change is refused by a Warning that names the label; the row stays in its queue."""
    cluster = await without_policy(tmp_path)
    try:
        async with world(tmp_path, cluster) as it:
            await apply_guide(it)
            marked = a_job()
            marked["spec"]["managedBy"] = labels.JOB_CONTROLLER
            await submit(it, marked)
            await taken(it)
            await patch(it, {"labels": {QUEUE: None}})

            async def told() -> Any:
                return (await warnings(it)).get("flood")

            reason, message = await until(told)
            assert reason == "Immutable"
            assert "names no queue, and was local-queue" in message
            assert (await taken(it)).queue == "local-queue"
    finally:
        await cluster.stop()


async def test_a_job_that_is_labelled_later_belongs_to_who_labels_it(tmp_path):
    """It was created suspended, without a queue, and was not Roadstead's."""
    async with world(tmp_path) as it:
        await apply_guide(it)
        plain = a_job()
        plain["metadata"]["labels"] = {}
        plain["metadata"]["annotations"] = {}
        plain["spec"]["suspend"] = True
        await submit(it, plain)
        await patch(it, {"labels": {QUEUE: "local-queue"}})
        assert (await taken(it)).owner == ADMIN.name


async def test_a_job_without_a_queue_is_refused_once_somebody_made_one(tmp_path):
    """With `unqueuedJobs` Auto: by a Warning; labelled with a queue it is taken."""
    limits = Settings(intake=Intake(unqueued_jobs="Auto"))
    async with world(tmp_path, limits=limits) as it:
        await apply_guide(it)
        plain = a_job()
        plain["metadata"]["labels"] = {}
        plain["spec"]["managedBy"] = labels.JOB_CONTROLLER
        await submit(it, plain)

        async def told() -> Any:
            return (await warnings(it)).get("flood")

        reason, message = await until(told)
        assert reason == "QueueRequired"
        assert "LocalQueue of namespace compute-jobs (local-queue)" in message
        await patch(it, {"labels": {QUEUE: "local-queue"}})
        assert (await taken(it)).queue == "local-queue"


def test_the_policy_is_the_same_as_a_real_one():
    """The simulated cluster refuses with the words of deploy/hub-cluster/job-guard.yaml."""
    (policy,) = [
        each
        for each in yaml.safe_load_all(GUARD.read_text())
        if each["kind"] == "ValidatingAdmissionPolicy"
        and each["metadata"]["name"] == queue_guard.POLICY
    ]
    assert [each["message"] for each in policy["spec"]["validations"]] == [queue_guard.KEEPS]


def test_the_simulated_policy_reads_the_deletion_of_the_stored_job():
    """A request that brings `deletionTimestamp` frees no Job of its queue."""
    jobs: Any = SimpleNamespace(key="jobs.batch")
    ending = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    stored = a_job()
    stored["spec"]["managedBy"] = labels.JOB_CONTROLLER
    claimed = {**stored, "metadata": {"name": "flood", **ending}}
    with acting_as("ana"):
        with pytest.raises(ApiError, match=queue_guard.KEEPS):
            queue_guard.admit("UPDATE", jobs, claimed, stored)
        deleted = {**stored, "metadata": {**stored["metadata"], **ending}}
        assert queue_guard.admit("UPDATE", jobs, claimed, deleted) == claimed
