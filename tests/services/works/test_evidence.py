"""What the hub keeps as evidence of a work, and which of two wishes for a job prevails."""

from pathlib import Path

import pytest

from hub.services.works.withdraw import withdraw_jobs
from hub.store import works
from tests.services.members.hubs import ran, running_hub, seen

pytestmark = pytest.mark.anyio
COLUMNS = (
    *("cluster", "uid", "epoch", "generation", "api_version", "kind", "namespace", "name"),
    *("options", "placed_by"),
)


async def test_what_was_seen_once_stays_seen(tmp_path: Path):
    """A later report without the object does not unsay it: a new session must not create it again."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north")
        await agent.sync()
        await agent.sync(ran(uid))
        await agent.sync(seen(uid, "Waiting", reason="Vanished"))
        assert (await hub.work(uid)).seen


async def test_a_new_epoch_was_not_seen_yet(tmp_path: Path):
    """Evidence is of one epoch: the next one in the same cluster begins without any."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north")
        await agent.sync()
        await agent.sync(ran(uid))
        row = await hub.work(uid)
        again = {name: getattr(row, name) for name in COLUMNS} | {"epoch": row.epoch + 1}
        await hub.write(works.upsert, [again])
        assert not (await hub.work(uid)).seen


async def test_the_stronger_of_two_wishes_prevails(tmp_path: Path):
    """A job that is cancelled and then preempted ends Cancelled once it is gone."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north")
        await agent.sync()
        await agent.sync(ran(uid))
        await hub.write(withdraw_jobs, [uid], "Cancelled")
        await hub.write(withdraw_jobs, [uid], "Pending")
        await agent.sync(seen(uid, "Gone"))
        assert (await hub.job(uid)).state == "Cancelled"
