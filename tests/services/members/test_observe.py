"""What observations mean: the lattice, confirmations, refusals. Invariants R-06 and R-07."""

from pathlib import Path

import pytest

from hub.services.explain import avoided
from hub.services.works import restored
from hub.services.works.withdraw import withdraw_jobs
from hub.store import settings
from tests.services.members.hubs import ran, running_hub, seen

pytestmark = pytest.mark.anyio


async def test_an_older_epoch_moves_nothing(tmp_path: Path):
    """A report about an epoch that has ended is refused by itself; the others are stored."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north")
        await agent.sync()
        reply = await agent.sync(ran(uid, epoch=0, result="Succeeded"))
        assert [each["code"] for each in reply["refused"]] == ["StaleEpoch"]
        assert (await hub.job(uid)).state == "Offered"


async def test_a_result_is_final(tmp_path: Path):
    """A second verdict on a finished epoch, or its denial, is refused."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north")
        await agent.sync()
        await agent.sync(ran(uid, result="Succeeded", succeeded=1))
        reply = await agent.sync(ran(uid, active=1, running_since="2026-05-01T00:00:00Z"))
        assert [each["code"] for each in reply["refused"]] == ["IllegalTransition"]
        reply = await agent.sync(ran(uid, result="Failed"))
        assert [each["code"] for each in reply["refused"]] == ["IllegalTransition"]
        assert (await hub.job(uid)).state == "Succeeded"


async def test_a_cluster_speaks_for_its_own_jobs_only(tmp_path: Path):
    """What is placed elsewhere is NotYours, what nobody knows is Unknown."""
    async with running_hub(tmp_path) as hub:
        await hub.join("north")
        south = await hub.join("south")
        uid = await hub.placed("north")
        reply = await south.sync(ran(uid, result="Succeeded"), ran("nobody"))
        codes = {each["uid"]: each["code"] for each in reply["refused"]}
        assert codes == {uid: "NotYours", "nobody": "Unknown"}
        assert (await hub.job(uid)).state == "Placed"


async def test_one_malformed_entry_harms_no_other(tmp_path: Path):
    """It is refused by itself; the request is a 200."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north")
        await agent.sync()
        body = agent.request(ran(uid))
        body["observed"]["entries"].append({"uid": "x", "phase": "Dancing"})
        reply = await agent.post(body)
        assert (reply.status_code, reply.json()["refused"][0]["code"]) == (200, "InvalidEntry")
        assert (await hub.job(uid)).state == "Applied"


async def test_a_capacity_that_can_not_be_is_refused_and_the_last_good_one_kept(tmp_path: Path):
    """More free than there is, negative amounts, rows of the wrong width."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        node = {"name": "n1", "allocatable": [4000], "free": [5000]}
        pool = {"labels": {}, "resources": ["cpu"], "nodes": [node]}
        capacity = {"pools_revision": 0, "pools": [pool], "bound": []}
        reply = await agent.sync(capacity=capacity)
        assert reply["refused"][0]["code"] == "CapacityInvalid"
        node["free"] = ["NaN"]
        reply = await agent.sync(capacity=capacity)
        assert reply["refused"][0]["code"] == "CapacityInvalid"


async def test_a_deleted_job_fails_and_is_not_run_again(tmp_path: Path):
    """Missing means that somebody in the member deleted it: DeletedInMember, final."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north")
        await agent.sync()
        await agent.sync(ran(uid))
        await agent.sync(seen(uid, "Missing"))
        job = await hub.job(uid)
        assert (job.state, job.reason) == ("Failed", "DeletedInMember")


@pytest.mark.parametrize("phase", ["Missing", "Gone"])
async def test_a_job_that_is_missing_before_a_restore_is_accepted_is_held(
    tmp_path: Path, phase: str
):
    """The hub may have taken it back itself in the lost time: nobody deleted it, so it has not failed."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north")
        await agent.sync()
        await agent.sync(ran(uid))
        stopped = {"message": "an older copy", "incarnation": "earlier"}
        await hub.write(settings.put, "rolled_back", stopped)
        await agent.sync(seen(uid, phase))
        job = await hub.job(uid)
        assert (job.state, job.withdraw_to, job.reason) == ("Withdrawing", "Held", "Restored")
        await hub.write(restored.accept, "ada")
        agent.restart(f"{agent.session}-next")
        await agent.sync(seen(uid, "Gone"))
        job = await hub.job(uid)
        assert (job.state, job.reason, job.held_for) == ("Held", "Restored", "Restore")


async def test_a_name_conflict_sends_the_job_elsewhere_only_when_confirmed(tmp_path: Path):
    """First it is taken back, so that it can not be created there later; then it waits again."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north")
        await agent.sync()
        await agent.sync(seen(uid, "Failed", reason="NameConflict", message="not ours"))
        assert (await hub.job(uid)).state == "Withdrawing"
        await hub.settled()
        await agent.sync()
        await agent.sync(seen(uid, "Gone"))
        job = await hub.job(uid)
        assert (job.state, job.reason, job.cluster) == ("Pending", "NameConflict", "")
        assert avoided.until(job).keys() == {"north"}
        assert await hub.work(uid) is None


async def test_a_failed_job_is_retried_as_its_annotation_says(tmp_path: Path):
    """`roadstead.dev/retry: "2"`: two epochs in all; failures add up over them, successes do not."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        annotations = {"roadstead.dev/retry": "2"}
        uid = await hub.placed("north", metadata={"annotations": annotations})
        await agent.sync()
        await agent.sync(ran(uid, running_since="2026-05-01T00:00:00Z", succeeded=1))
        await agent.sync(ran(uid, failed=1, result="Failed", reason="BackoffLimitExceeded"))
        job = await hub.job(uid)
        assert (job.state, job.reason, job.failed) == ("Withdrawing", "Retrying", 1)
        await hub.settled()
        await agent.sync()
        await agent.sync(seen(uid, "Gone"))
        job = await hub.job(uid)
        assert (job.state, job.reason, job.failed) == ("Pending", "Retrying", 1)
        assert job.succeeded == 0  # what had succeeded runs again
        await hub.place(uid, "north")
        await hub.settled()
        await agent.sync()
        assert agent.works[uid]["epoch"] == 2
        await agent.sync(
            ran(uid, epoch=2, failed=1, result="Failed", reason="BackoffLimitExceeded")
        )
        job = await hub.job(uid)
        assert (job.state, job.reason) == ("Failed", "BackoffLimitExceeded")
        assert job.failed == 2


async def test_a_cancelled_job_ends_when_its_member_confirms(tmp_path: Path):
    """Quota stays charged until nothing of it is left (invariant R-10)."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north")
        await agent.sync()
        await agent.sync(ran(uid, running_since="2026-05-01T00:00:01Z"))
        await hub.write(withdraw_jobs, [uid], "Cancelled", "CancelledByUser", "by admin")
        assert (await hub.job(uid)).state == "Withdrawing"
        await hub.settled()
        await agent.sync()
        await agent.sync(seen(uid, "Gone"))
        job = await hub.job(uid)
        assert (job.state, job.reason) == ("Cancelled", "CancelledByUser")


async def test_a_job_that_no_agent_was_told_of_is_taken_back_at_once(tmp_path: Path):
    """Placed and not offered is safe without any word of the member."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north")
        await hub.write(withdraw_jobs, [uid], "Pending")
        assert (await hub.job(uid)).state == "Pending"
        await hub.settled()
        assert (await agent.sync())["desired"]["works"] == []


async def test_a_deleted_job_gives_its_name_back_when_gone(tmp_path: Path):
    """Until then the name is taken; the record stays for the retention."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north")
        await agent.sync()
        await hub.write(withdraw_jobs, [uid], "Deleted", "DeletedByUser", "by admin")
        assert (await hub.job(uid)).live is True
        await hub.settled()
        await agent.sync()
        await agent.sync(seen(uid, "Gone"))
        job = await hub.job(uid)
        assert (job.state, job.live) == ("Cancelled", None)


async def test_messages_of_members_are_cut_and_cleaned(tmp_path: Path):
    """At most 1 KiB, no control characters."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north")
        await agent.sync()
        await agent.sync(ran(uid, reason="Bad\x1b[31m", message="x" * 5000))
        job = await hub.job(uid)
        assert job.reason == "Bad [31m"
        assert len(job.message) == 1024


async def test_what_an_agent_says_of_drift_is_bounded(tmp_path):
    """A hundred fields of an object, a kilobyte of each text: a member can not fill the store."""
    long = "x" * 5000
    drift = [
        {"path": f"/{n}/{long}", "hub": long, "member": long, "first_seen": long}
        for n in range(300)
    ]
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north")
        await agent.sync()
        await agent.sync(seen(uid, "Applied", drift=drift))
        work = await hub.work(uid)
        assert work is not None
        kept = list(work.drift or ())
        assert len(kept) == 100
        assert {len(each[name]) for each in kept for name in ("path", "hub", "member")} == {1024}
        assert {len(each["first_seen"]) for each in kept} == {40}
