"""Jobs of another incarnation: left alone in their member, and shown at the hub while they are there."""

from pathlib import Path

import pytest

from hub.services import clusters, leftovers
from hub.services.overview import overview
from hub.store import events
from tests.sync.hubs import Agent, Running, running_hub, seen

pytestmark = pytest.mark.anyio


def left(uid: str = "r2"):
    """What an agent says of a Job that the hub had given it before it went back."""
    words = f"after/{uid}: the hub does not ask for it"
    return seen(uid, "Applied", object_uid="m-1", incarnation="inc-0", job={}, message=words)


async def shown(hub: Running) -> list[str]:
    view = await hub.hub.read(clusters.get_cluster, "north", hub.hub.limits)
    assert view["leftovers"] == len(view["leftoverJobs"])
    return [each["uid"] for each in view["leftoverJobs"]]


async def told(hub: Running) -> list[str]:
    rows = await hub.hub.read(events.list_events, limit=50)
    return [row["message"] for row in rows if row["reason"] == leftovers.FOUND]


async def whole(agent: Agent, *entries):
    """The agent sends all that it sees."""
    request = agent.request(*entries)
    request["observed"]["full"] = True
    return await agent.post(request)


async def test_they_are_named_with_their_cluster_in_an_event_and_in_the_overview(tmp_path: Path):
    """Once each, however often their agent tells of them."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        await agent.sync(left())
        await agent.sync(left())
        assert await shown(hub) == ["r2"]
        (message,) = await told(hub)
        assert "north holds 1 Job of another incarnation" in message
        assert "after/r2" in message
        view = await hub.hub.read(overview, hub.hub.limits)
        assert [each["type"] for each in view["conditions"]] == ["LeftoversFound"]


async def test_those_that_are_gone_are_shown_no_more(tmp_path: Path):
    """The agent's whole set says what is still there."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        await agent.sync(left("r1"), left("r2"))
        assert await shown(hub) == ["r1", "r2"]
        await whole(agent, left("r2"))
        assert await shown(hub) == ["r2"]
        await whole(agent)
        assert await shown(hub) == []
        assert (await hub.hub.read(overview, hub.hub.limits))["conditions"] == []


async def test_a_stray_of_this_incarnation_is_none(tmp_path: Path):
    """It is ordered away, not shown."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        await agent.sync(
            seen("x", "Applied", object_uid="m-1", incarnation=hub.sync.incarnation, job={})
        )
        assert await shown(hub) == []
