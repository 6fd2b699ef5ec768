"""What an agent that lies may do: to its own cluster's jobs, and no lasting harm."""

from pathlib import Path

import pytest

from hub.services.members.observe import ObservedReport, take_reports
from tests.services.members.hubs import ran, running_hub, seen

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("lie", ["gone", "succeeded", "failed", "missing", "unwanted"])
async def test_what_was_not_offered_can_not_be_spoken_of(tmp_path: Path, lie):
    """A word about an epoch that the agent was not told of changes nothing: it is offered as ever."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        await agent.sync()
        uid = await hub.submit()
        await hub.place(uid, "north")
        said = {
            "gone": seen(uid, "Gone"),
            "succeeded": ran(uid, result="Succeeded"),
            "failed": ran(uid, result="Failed"),
            "missing": seen(uid, "Missing"),
            "unwanted": seen(uid, "Failed", reason="NameConflict"),
        }[lie]
        await hub.write(take_reports, [ObservedReport("north", [said])])
        await hub.settled()
        agent.restart("session-2")
        await agent.sync()
        assert (await hub.job(uid)).state == "Offered"
        assert agent.works[uid]["action"] == "Apply"


async def test_a_liar_can_not_end_jobs_of_another_cluster(tmp_path: Path):
    """What an agent says of a job that another cluster holds moves nothing."""
    async with running_hub(tmp_path) as hub:
        north, south = await hub.join("north"), await hub.join("south")
        uid = await hub.placed("south")
        await south.sync()
        await north.sync()
        await north.sync(seen(uid, "Gone", object_uid="m-1", job={"result": "Succeeded"}))
        assert (await hub.job(uid)).state == "Offered"
