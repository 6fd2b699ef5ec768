"""Deleting a job that runs: whatever becomes of it meanwhile, its name comes free and its end stays known."""

import pytest

from hub.domain.workloads.states import WithdrawTo
from hub.services.explain.job import explain_job
from hub.services.jobs.cancel import cancel_job, delete_job
from hub.services.jobs.hold import hold_job
from hub.services.questions.jobs import job_events
from hub.store import workloads
from shared.errors import Rejected
from tests.services.members.hubs import ran, running_hub, seen

pytestmark = pytest.mark.anyio


async def running(hub, name="one"):
    """A job that runs in `north`, and the agent that says so."""
    agent = await hub.join("north")
    uid = await hub.placed("north", name)
    await agent.sync()
    await agent.sync(ran(uid, active=1, running_since="2026-05-01T00:00:01Z"))
    return agent, uid


@pytest.mark.parametrize("result", ["Succeeded", "Failed"])
async def test_a_job_that_ends_while_it_is_deleted_gives_its_name_back(tmp_path, result):
    """It was asked to go and ends by itself: the record says how, the name is free at once."""
    async with running_hub(tmp_path) as hub:
        agent, uid = await running(hub)
        await hub.write(delete_job, uid, "admin")
        await agent.sync(ran(uid, **{result.lower(): 1}, result=result))
        row = await hub.job(uid)
        assert (row.state, row.live) == (result, None)
        await hub.submit("one")


async def test_a_job_cancelled_then_deleted_gives_its_name_back_when_it_ends(tmp_path):
    """The stronger wish counts, whichever came first."""
    async with running_hub(tmp_path) as hub:
        agent, uid = await running(hub)
        await hub.write(cancel_job, uid, "admin")
        await hub.write(delete_job, uid, "admin")
        await agent.sync(ran(uid, succeeded=1, result="Succeeded"))
        row = await hub.job(uid)
        assert (row.state, row.live) == ("Succeeded", None)
        assert row.deleted_at is not None


async def test_a_deleted_job_gives_its_name_back_when_its_member_confirms(tmp_path):
    """Without a result it ends as Cancelled, and its name is free as well."""
    async with running_hub(tmp_path) as hub:
        agent, uid = await running(hub)
        await hub.write(delete_job, uid, "admin")
        await hub.settled()
        await agent.sync()
        await agent.sync(seen(uid, "Gone"))
        row = await hub.job(uid)
        assert (row.state, row.live) == ("Cancelled", None)


async def test_what_happens_is_said_once(tmp_path):
    """Why it is taken back when that begins; when it has gone, that it has ended."""
    async with running_hub(tmp_path) as hub:
        agent, uid = await running(hub)
        await hub.write(cancel_job, uid, "admin")
        await agent.sync()
        await agent.sync(seen(uid, "Gone"))
        placed = await hub.placed("north", "two")
        await hub.write(cancel_job, placed, "admin")
        for each, began in ((uid, "Started"), (placed, "Placed")):
            told = [
                (event["reason"], event["message"])
                for event in (await hub.hub.read(job_events, each, 100))["items"]
            ]
            since = told[[reason for reason, _ in told].index(began) + 1 :]
            assert since == [
                ("CancelledByUser", "cancelled by admin"),
                ("Cancelled", "cancelled (CancelledByUser)"),
            ]


async def test_a_job_that_ended_keeps_its_name_until_it_is_deleted(tmp_path):
    """Only deletion gives a name back: a cancelled job that ended by itself keeps it."""
    async with running_hub(tmp_path) as hub:
        agent, uid = await running(hub)
        await hub.write(cancel_job, uid, "admin")
        await agent.sync(ran(uid, succeeded=1, result="Succeeded"))
        assert (await hub.job(uid)).live is True


async def test_deleting_again_frees_a_name_that_an_earlier_deletion_left_taken(tmp_path):
    """Records of earlier versions: ended, asked to go, and still holding their name."""
    async with running_hub(tmp_path) as hub:
        agent, uid = await running(hub)
        await agent.sync(ran(uid, succeeded=1, result="Succeeded"))
        await hub.write(
            lambda unit: workloads.change(unit, [{"uid": uid, "withdraw_to": WithdrawTo.DELETED}])
        )
        await hub.write(delete_job, uid, "admin")
        assert (await hub.job(uid)).live is None


async def test_a_job_that_is_being_deleted_is_explained_until_it_is_gone(tmp_path):
    """What the list shows can be asked about; afterwards there is nothing of that uid."""
    async with running_hub(tmp_path) as hub:
        agent, uid = await running(hub)
        await hub.write(delete_job, uid, "admin")
        told = await hub.hub.read(explain_job, uid)
        assert told["state"] == "Withdrawing"
        await hub.settled()
        await agent.sync()
        await agent.sync(seen(uid, "Gone"))
        with pytest.raises(Rejected):
            await hub.hub.read(explain_job, uid)


async def test_while_it_is_being_deleted_everybody_is_told_so(tmp_path):
    """Submitting its name again and holding it are refused alike; cancelling it asks for no more."""
    async with running_hub(tmp_path) as hub:
        _, uid = await running(hub)
        await hub.write(delete_job, uid, "admin")
        with pytest.raises(AssertionError, match="BeingDeleted: job team-a/one is being deleted"):
            await hub.submit("one")
        with pytest.raises(Rejected, match="job team-a/one is being deleted") as told:
            await hub.write(hold_job, uid, "admin")
        assert told.value.code == "BeingDeleted"
        assert (await hub.write(cancel_job, uid, "admin"))["state"] == "Withdrawing"


async def test_one_that_is_deleted_is_named_as_people_know_it(tmp_path):
    """By namespace and name, not by a uid that nobody typed."""
    async with running_hub(tmp_path) as hub:
        uid = await hub.submit("one")
        await hub.write(delete_job, uid, "admin")
        with pytest.raises(Rejected, match="there is no job team-a/one: it was deleted"):
            await hub.hub.read(explain_job, uid)
        with pytest.raises(Rejected, match="there is no job team-a/one: it was deleted"):
            await hub.write(hold_job, uid, "admin")
