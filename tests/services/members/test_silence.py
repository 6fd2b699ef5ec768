"""What is said of jobs on a cluster that has fallen silent: what was known, and since when."""

from pathlib import Path

import pytest

from hub.services.context import leadership
from hub.services.explain.job import explain_job
from hub.services.jobs.cancel import cancel_job
from hub.services.members.liveness import lose_jobs
from tests.services.members.hubs import Running, ran, running_hub

pytestmark = pytest.mark.anyio
SILENT_S = 46.0


async def message(hub: Running, uid: str) -> str:
    return (await hub.hub.read(explain_job, uid))["message"]


async def test_between_suspect_and_unknown_a_state_is_not_taken_for_the_present(tmp_path: Path):
    """A running job ran when its cluster was last heard."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        runs = await hub.placed("north", "runs")
        await agent.sync()
        await agent.sync(ran(runs, active=1, running_since="2026-05-01T00:00:01Z"))
        assert await message(hub, runs) == "runs"
        hub.clock.advance(SILENT_S)
        assert (await message(hub, runs)).startswith("runs; north has been silent since 20")
        assert (await message(hub, runs)).endswith("Z: this is its last known state")


async def test_an_offered_job_may_have_been_told(tmp_path: Path):
    """That a manifest was sent does not say that it came."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north")
        await agent.sync()
        assert "offered to its agent" in await message(hub, uid)


async def test_a_cancel_on_a_silent_cluster_says_that_nobody_can_confirm_it(tmp_path: Path):
    """Whoever cancelled it knows why it stays Withdrawing, and what ends that."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north")
        await agent.sync()
        hub.clock.advance(SILENT_S)
        await hub.write(cancel_job, uid, "ada")
        said = await message(hub, uid)
        assert said.startswith("cancelled by ada; north has been silent since")
        assert "roadstead clusters fence" in said


async def test_times_in_words_end_in_z(tmp_path: Path):
    """As everywhere else."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north")
        await agent.sync()
        heard = hub.clock.now().replace(microsecond=0)
        term = await hub.write(leadership.seize, "test")
        await hub.write(lose_jobs, {"north": heard}, term)
        said = (await hub.job(uid)).message
        assert f"since {heard.isoformat().replace('+00:00', 'Z')}:" in said
