"""How epochs end: a result stands whatever was wished for, and nothing is given back before its end."""

from pathlib import Path
from typing import Any

import pytest

from hub.services.jobs.cancel import cancel_job
from hub.services.works.withdraw import withdraw_jobs
from hub.store import workloads
from tests.services.members.hubs import ran, running_hub, seen

pytestmark = pytest.mark.anyio

DONE = {"result": "Succeeded", "succeeded": 1}
FAILED: dict[str, Any] = {"result": "Failed", "failed": 1, "reason": "BackoffLimitExceeded"}


@pytest.mark.parametrize("phase", ["Applied", "Gone", "Missing"])
@pytest.mark.parametrize("wish", ["Pending", "Held", "Cancelled", "Deactivated", "Failed"])
async def test_completed_wins_over_every_wish(tmp_path: Path, wish: str, phase: str):
    """A job that completed while it was being taken back has succeeded, and says so."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north")
        await agent.sync()
        await hub.write(withdraw_jobs, [uid], wish, "Wished", "by somebody")
        await agent.sync(seen(uid, phase, job=DONE))
        job = await hub.job(uid)
        assert (job.state, job.cluster) == ("Succeeded", "north")
        assert "completed in north before" in job.message


async def test_a_deleted_job_that_completed_gives_its_name_back(tmp_path: Path):
    """Deleting a job that ends meanwhile leaves neither its name nor its place taken."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north")
        await agent.sync()
        await hub.write(withdraw_jobs, [uid], "Deleted", "DeletedByUser", "")
        await agent.sync(seen(uid, "Gone", job=DONE))
        job = await hub.job(uid)
        assert (job.state, job.live) == ("Succeeded", None)
        await hub.submit("one")


async def test_a_failure_ends_a_job_that_is_being_taken_back(tmp_path: Path):
    """What has failed for good is not run again because it was preempted at the same moment."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north")
        await agent.sync()
        await hub.write(withdraw_jobs, [uid], "Pending", "Preempted", "")
        await agent.sync(seen(uid, "Gone", job=FAILED))
        job = await hub.job(uid)
        assert (job.state, job.reason) == ("Failed", "BackoffLimitExceeded")


async def test_a_retry_begins_when_nothing_of_the_failed_epoch_is_left(tmp_path: Path):
    """A failed Job's last pods may still be ending: its quota stays charged until they are gone."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north", metadata={"annotations": {"roadstead.dev/retry": "2"}})
        await agent.sync()
        await agent.sync(ran(uid, **FAILED, terminating=1))
        assert (await hub.job(uid)).state == "Withdrawing"
        await agent.sync(ran(uid, **FAILED, terminating=0))
        assert (await hub.job(uid)).state == "Withdrawing"
        await agent.sync(seen(uid, "Gone", job=FAILED))
        job = await hub.job(uid)
        assert (job.state, job.reason, job.failed) == ("Pending", "Retrying", 1)


async def test_a_retry_is_not_lost_after_an_outage(tmp_path: Path):
    """A failure that is told after its cluster was unreachable is retried all the same."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north", metadata={"annotations": {"roadstead.dev/retry": "2"}})
        await agent.sync()
        await agent.sync(ran(uid))
        lost = [{"uid": uid, "epoch": 1}]
        assert await hub.write(workloads.transition, "lose", lost) == [uid]
        await agent.sync(ran(uid, **FAILED))
        await agent.sync(seen(uid, "Gone", job=FAILED))
        assert (await hub.job(uid)).state == "Pending"


async def test_cancelling_a_failed_job_ends_its_retries(tmp_path: Path):
    """A wish for the end is stronger than a retry that is still possible."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north", metadata={"annotations": {"roadstead.dev/retry": "2"}})
        await agent.sync()
        await hub.write(cancel_job, uid, "ada")
        await agent.sync(seen(uid, "Gone", job=FAILED))
        assert (await hub.job(uid)).state == "Failed"


async def test_an_entry_that_contradicts_another_of_the_same_request_counts_as_there(
    tmp_path: Path,
):
    """Said to be gone and to run at once: nothing is released."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north")
        await agent.sync()
        await hub.write(withdraw_jobs, [uid], "Pending", "Preempted", "")
        body = agent.request(seen(uid, "Gone"))
        running = ran(uid, active=1, running_since="2026-05-01T00:00:01Z")
        body["observed"]["entries"].insert(0, running.model_dump())
        reply = (await agent.post(body)).json()
        assert [each["code"] for each in reply["refused"]] == ["Contradiction"]
        assert (await hub.job(uid)).state == "Withdrawing"


async def test_a_refused_change_is_a_reason_not_a_verdict(tmp_path: Path):
    """A running job whose change its member refuses runs on and says why it is as it was."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north")
        await agent.sync()
        runs = {"active": 1, "running_since": "2026-05-01T00:00:01Z"}
        await agent.sync(
            seen(uid, "Applied", job=runs, reason="ChangeRefused", message="webhook: no")
        )
        job = await hub.job(uid)
        assert (job.state, job.reason) == ("Running", "ChangeRefused")
        assert "webhook: no" in job.message


async def test_a_manifest_that_is_refused_for_good_ends_its_job(tmp_path: Path):
    """Nothing of it was made and no other member would take it: it fails with the server's words."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north")
        await agent.sync()
        text = "json: cannot unmarshal bool"
        await agent.sync(seen(uid, "Failed", reason="Invalid", message=text))
        assert (await hub.job(uid)).state == "Withdrawing"
        await agent.sync(seen(uid, "Gone"))
        job = await hub.job(uid)
        assert (job.state, job.reason) == ("Failed", "Invalid")
        assert text in job.message


async def test_only_the_session_that_was_offered_an_epoch_first_is_told_so(tmp_path: Path):
    """`fresh`: no other agent can have started it. A later session must look before it concludes."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north")
        await agent.sync()
        assert agent.works[uid]["fresh"] is True
        agent.restart("session-north-2")
        await agent.sync()
        assert agent.works[uid]["fresh"] is False
