"""After a restore the hub runs a CronJob only where no member may have one of its name."""

import datetime as dt
from pathlib import Path
from typing import Any

import orjson
import pytest

from hub.services.objects.fence import fence_cluster
from hub.services.works.restored import accept, begin_recovery
from hub.store import events
from tests import waiting
from tests.services.hubs import a_queue
from tests.services.jobs.cron_jobs import Crons
from tests.services.jobs.left_cron_jobs import (
    CRON_JOBS_UNREAD,
    a_left_cron_job,
    given_queue,
    refusal,
)
from tests.services.members.hubs import Running, running_hub
from tests.services.placements.fleet import Fleet

pytestmark = pytest.mark.anyio
UNREAD = "have not read their CronJobs since the hub's store was restored"


async def a_fleet(hub: Running) -> Fleet:
    """A fleet with the LocalQueue of the CronJob."""
    fleet = await Fleet.start(hub)
    await fleet.apply("\n---\n".join(orjson.dumps(each).decode() for each in a_queue("q")))
    return fleet


async def restored(hub: Running) -> None:
    await hub.write(begin_recovery, "yesterday", "ada", ())
    await hub.write(accept, "ada")
    while hub.hub.stopped:
        await waiting.span(0.02, why="for the process to follow the store")


async def reads(hub: Running, agent: Any, *said: Any, session: str, unread: Any = ()) -> None:
    """A new session reports all that it sees, and has not read the kinds of `unread`."""
    hub.clock.advance(1)
    agent.restart(session)
    named = {"jobs_read": True, "kinds_unread": None if unread is None else list(unread)}
    await agent.sync(*said, **named)
    for _ in range(15):
        hub.clock.advance(1)
        await agent.sync(**named)
        await waiting.span(0.02, why="for the process to follow the store")


async def test_a_member_that_has_not_read_its_cron_jobs_may_have_one_of_any_name(tmp_path: Path):
    """The CronJob is refused, with the member's name, until a session of the present incarnation has."""
    async with running_hub(tmp_path) as hub:
        await a_fleet(hub)
        agent = await hub.join("m1")
        await agent.sync(kinds_unread=[])
        await restored(hub)
        told = refusal(await given_queue(hub))
        assert f"{UNREAD}, and may run one of this name (m1)" in told
        assert "roadstead clusters fence m1 --destroyed" in told
        await reads(hub, agent, session="session-m1-2", unread=CRON_JOBS_UNREAD)
        assert UNREAD in refusal(await given_queue(hub))
        await reads(hub, agent, session="session-m1-3", unread=None)
        assert UNREAD in refusal(await given_queue(hub))
        await reads(hub, agent, session="session-m1-4")
        assert (await given_queue(hub)).error is None


async def test_a_fenced_member_holds_up_no_cron_job(tmp_path: Path):
    """An administrator says that it is destroyed: the others have read theirs."""
    async with running_hub(tmp_path) as hub:
        await a_fleet(hub)
        agent, _ = await hub.join("m1"), await hub.join("m2")
        await restored(hub)
        await reads(hub, agent, session="session-m1-2")
        assert "(m2)" in refusal(await given_queue(hub))
        await hub.write(fence_cluster, "m2", "m2", "ada", 45.0, though_it_answers=True)
        assert (await given_queue(hub)).error is None


async def test_a_second_restore_asks_every_member_again(tmp_path: Path):
    """What a session has read before proves nothing of the time that the second backup lacks."""
    async with running_hub(tmp_path) as hub:
        await a_fleet(hub)
        agent = await hub.join("m1")
        await restored(hub)
        await reads(hub, agent, session="session-m1-2")
        assert (await given_queue(hub)).error is None
        hub.clock.advance(60)
        await restored(hub)
        assert UNREAD in refusal(await given_queue(hub, "other"))


async def test_a_store_that_never_went_back_asks_no_member(tmp_path: Path):
    """A member that reads no CronJobs holds up none."""
    async with running_hub(tmp_path) as hub:
        await a_fleet(hub)
        agent = await hub.join("m1")
        await agent.sync(kinds_unread=CRON_JOBS_UNREAD)
        assert (await given_queue(hub)).error is None


async def a_scheduled_one(hub: Running) -> tuple[Crons, Any]:
    """CronJob nightly with a queue, which the backup has too; and the agent of the one member."""
    await a_fleet(hub)
    agent = await hub.join("m1")
    await agent.sync(kinds_unread=[])
    assert (await given_queue(hub)).error is None
    await restored(hub)
    return Crons(hub, 2), agent


async def held_by(crons: Crons) -> str:
    """The message of its condition Held; "" without one."""
    status = (await crons.row()).status or {}
    found = [each for each in status.get("conditions", ()) if each["type"] == "Held"]
    assert all(each["reason"] == "MayRunInMember" for each in found)
    return found[0]["message"] if found else ""


async def later(hub: Running, crons: Crons, minutes: int = 10) -> None:
    await crons.at(hub.clock.now() + dt.timedelta(minutes=minutes))


async def test_one_of_the_backup_creates_no_run_until_every_member_has_read(tmp_path: Path):
    """Its time waits, and the newest one that has passed runs then; condition and Event say why."""
    async with running_hub(tmp_path) as hub:
        crons, agent = await a_scheduled_one(hub)
        for _ in range(2):
            await later(hub, crons)
        assert await crons.children() == []
        assert f"{UNREAD}, and may run one of this name (m1)" in await held_by(crons)
        row = await crons.row()
        assert len(await hub.hub.read(events.about, row.uid, "MayRunInMember", 9)) == 1
        await reads(hub, agent, session="session-m1-2")
        await later(hub, crons, 1)
        assert len(await crons.children()) == 1
        assert await held_by(crons) == ""


async def test_one_of_the_backup_creates_no_run_beside_a_left_one_of_its_name(tmp_path: Path):
    """The member has one from the lost time, as its agent reports, until it reports that it is gone."""
    async with running_hub(tmp_path) as hub:
        crons, agent = await a_scheduled_one(hub)
        await reads(hub, agent, a_left_cron_job(), session="session-m1-2")
        await later(hub, crons)
        assert await crons.children() == []
        assert "left there" in await held_by(crons)
        assert "`roadstead admin remove m-o-1`" in await held_by(crons)
        await reads(hub, agent, session="session-m1-3")
        await later(hub, crons, 1)
        assert len(await crons.children()) == 1


async def test_a_left_one_that_is_reported_later_ends_the_runs(tmp_path: Path):
    """Without a restore too: a create took effect late, and each turn asks."""
    async with running_hub(tmp_path) as hub:
        await a_fleet(hub)
        agent = await hub.join("m1")
        assert (await given_queue(hub)).error is None
        crons = Crons(hub, 1)
        await later(hub, crons)
        assert len(await crons.children()) == 1
        await agent.sync(a_left_cron_job(), kinds_unread=[])
        await later(hub, crons)
        assert len(await crons.children()) == 1
        assert "which they run (m1), left there" in await held_by(crons)


async def test_others_run_beside_a_left_one(tmp_path: Path):
    """A left CronJob concerns its own name."""
    async with running_hub(tmp_path) as hub:
        crons, agent = await a_scheduled_one(hub)
        await reads(hub, agent, a_left_cron_job("other"), session="session-m1-2")
        await later(hub, crons)
        assert len(await crons.children()) == 1
