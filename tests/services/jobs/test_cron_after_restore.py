"""After a restore the hub runs a CronJob only where no member may have one of its name."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from hub.services.objects.fence import fence_cluster
from hub.services.works.restored import accept, begin_recovery
from tests import waiting
from tests.services.hubs import a_queue
from tests.services.jobs.test_cron_beside_members import (
    CRON_JOBS_UNREAD,
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
