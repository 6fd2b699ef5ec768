"""Jobs in a member that it should not hold: removed by the hub's order, or left to an operator."""

from pathlib import Path

import pytest

from hub.services.jobs.hold import release_job
from hub.services.members import forgotten
from hub.services.members.observe import ObservedReport, ReportOutcome, take_reports
from hub.services.works.restored import begin_recovery
from hub.services.works.withdraw import withdraw_jobs
from tests.services.members.after_restore import accounts
from tests.services.members.hubs import a_stray, running_hub, seen, warnings_of

pytestmark = pytest.mark.anyio


async def test_a_stray_of_this_incarnation_is_ordered_away(tmp_path: Path):
    """Nobody needs it, and its name is to come free; the order names exactly this object."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        reply = await agent.sync(a_stray(hub, "nobody"))
        assert reply["orders"] == [{"uid": "nobody", "object_uid": "m-1", "action": "Remove"}]


async def test_a_stray_of_another_incarnation_is_left_to_an_operator(tmp_path: Path):
    """The present store may have forgotten it."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        reply = await agent.sync(a_stray(hub, "nobody", "inc-0"))
        assert [each["action"] for each in reply["orders"]] == ["Quarantine"]


async def test_what_was_released_and_lands_late_is_ordered_away(tmp_path: Path):
    """A copy that appears after its epoch was closed is no work of this cluster any more."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north")
        await agent.sync()
        await hub.write(withdraw_jobs, [uid], "Pending", "Preempted", "")
        await hub.settled()
        await agent.sync()
        await agent.sync(seen(uid, "Gone"))
        assert (await hub.job(uid)).state == "Pending"
        reply = await agent.sync(a_stray(hub, uid))
        assert [each["action"] for each in reply["orders"]] == ["Remove"]


async def test_what_a_cluster_should_hold_is_no_stray(tmp_path: Path):
    """An entry about one of its works brings no order, whatever its epoch."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north")
        await agent.sync()
        reply = await agent.sync(a_stray(hub, uid), a_stray(hub, "nobody", epoch=7))
        assert [each["uid"] for each in reply["orders"]] == ["nobody"]


async def test_a_job_of_before_holds_what_is_only_placed_where_it_is(tmp_path: Path):
    """Its cluster was not told of the new one: it is a stray of before there as anywhere."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.submit()
        await hub.write(begin_recovery, "yesterday", "somebody", ())
        await accounts(hub, agent)
        await hub.write(release_job, uid, "ann")
        await hub.place(uid, "north")
        reply = await agent.sync(a_stray(hub, uid, "inc-0", epoch=1))
        assert (await hub.job(uid)).state == "Held"
        assert [each["action"] for each in reply["orders"]] == ["Quarantine"]
        assert (await hub.hub.read(forgotten.list_forgotten))[0]["uid"] == uid


async def test_a_job_of_before_holds_while_nothing_may_be_ordered(tmp_path: Path):
    """What hears a member before all have spoken gives it no orders, and believes what it has."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.submit()
        await hub.write(begin_recovery, "yesterday", "somebody", ())
        await accounts(hub, agent)
        await hub.write(release_job, uid, "ann")
        said = a_stray(hub, uid, "inc-0")
        report = ObservedReport("north", [said], incarnation="inc-1", may_order=False)
        (told,) = await hub.write(take_reports, [report])
        assert isinstance(told, ReportOutcome)
        assert told.orders == []
        assert (await hub.job(uid)).state == "Held"


async def test_nobody_holds_a_job_that_is_newer_than_the_restored_store(tmp_path: Path):
    """An agent that means no good says that it has it from before: that can not be, whatever it says."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        early = await hub.submit("early")
        await agent.sync(a_stray(hub, early, "inc-0"))
        assert (await hub.job(early)).state == "Pending"  # this store was never restored
        await hub.write(begin_recovery, "yesterday", "somebody", ())
        hub.clock.advance(1)
        late = await hub.submit("late")
        await hub.settled()
        await agent.sync(a_stray(hub, late, "inc-0"))
        assert (await hub.job(late)).state == "Pending"


async def test_a_job_of_before_the_restore_is_no_job_of_another_cluster(tmp_path: Path):
    """Its member may still run what the store has placed elsewhere since: that is no fault of its agent."""
    async with running_hub(tmp_path) as hub:
        agent, uid = await hub.join("north"), await hub.submit()
        await hub.write(begin_recovery, "yesterday", "somebody", ())
        await accounts(hub, agent)
        reply = await agent.sync(a_stray(hub, uid, "inc-0"))
        assert [each["action"] for each in reply["orders"]] == ["Quarantine"]
        assert reply["refused"] == []
        assert "NotYours" not in await warnings_of(hub, "north")
