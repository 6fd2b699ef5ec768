"""A poll that hangs while its cluster is written off and the name joins anew: it is nobody's any more."""

import asyncio
import datetime as dt
from pathlib import Path

import pytest

from hub.services.access.credentials import issue_join
from hub.services.objects.fence import fence_cluster
from tests import waiting
from tests.services.members.hubs import Agent, Running, running_hub

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("spoke", [True, False])
async def test_it_is_given_nothing_of_the_cluster_that_took_the_name(tmp_path: Path, spoke: bool):
    """Works of the new cluster go to its own agent, which is the first to be told of them."""
    async with running_hub(tmp_path) as hub:
        old = await hub.join("north", "uid-old")
        await old.sync()
        await old.sync()
        hanging = asyncio.create_task(old.post(old.request(wait_s=10.0)))
        await waiting.turns(50)
        assert not hanging.done()
        await hub.write(fence_cluster, "north", "north", "ada", 45.0, though_it_answers=True)
        new = await _joined_anew(hub, "north", "uid-new")
        if spoke:
            await new.sync()
        uid = await hub.placed("north")
        reply = await asyncio.wait_for(hanging, 20)
        assert reply.json()["desired"]["works"] == []
        await new.sync()
        assert new.works[uid]["fresh"]


async def _joined_anew(hub: Running, name: str, uid: str) -> Agent:
    token, _ = await hub.write(issue_join, name, dt.timedelta(minutes=5))
    reply = await hub.register(token, uid)
    assert reply.status_code == 200, reply.text
    agent = Agent(hub, name, uid, reply.json()["credential"])
    agent.session = f"session-{uid}"
    return agent
