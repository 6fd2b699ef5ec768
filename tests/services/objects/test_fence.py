"""A member that is destroyed is written off by typing its name; nothing else gives its jobs back."""

from pathlib import Path

import pytest

from hub.services.jobs.cancel import cancel_job
from hub.services.members.liveness import note_heartbeats
from hub.services.objects.fence import fence_cluster
from hub.services.works.withdraw import withdraw_jobs
from hub.store import clusters
from shared.errors import Rejected
from tests.services.members.hubs import ran, running_hub, seen

pytestmark = pytest.mark.anyio
SILENT_S = 46.0


async def test_every_job_there_waits_again_or_ends_as_was_wished(tmp_path: Path):
    """Running ones are requeued, cancelled ones are cancelled, deleted ones give their names back."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        runs, held, gone = [await hub.placed("north", name) for name in ("runs", "held", "gone")]
        await agent.sync()
        await agent.sync(ran(runs, active=1, running_since="2026-05-01T00:00:01Z"))
        await hub.write(withdraw_jobs, [held], "Held", "Held", "")
        await hub.write(withdraw_jobs, [gone], "Deleted", "DeletedByUser", "")
        placed = await hub.placed("north", "placed")
        hub.clock.advance(SILENT_S)
        answer = await hub.write(fence_cluster, "north", "north", "ada", 45.0)
        assert answer == {"name": "north", "released": 4}
        states = [(await hub.job(uid)).state for uid in (runs, held, gone, placed)]
        assert states == ["Pending", "Held", "Cancelled", "Pending"]
        assert (await hub.job(gone)).live is None
        assert await hub.work(runs) is None


@pytest.mark.parametrize(
    ("wish", "state"),
    [
        ("Pending", "Pending"),
        ("Held", "Held"),
        ("Deactivated", "Deactivated"),
        ("Failed", "Failed"),
        ("Cancelled", "Cancelled"),
        ("Deleted", "Cancelled"),
    ],
)
async def test_what_was_wished_of_a_job_is_done(tmp_path: Path, wish: str, state: str):
    """A job that was being taken back becomes what it was to become, as if its agent had said Gone."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north")
        await agent.sync()
        await hub.write(withdraw_jobs, [uid], wish, "AsWished", "")
        await hub.write(fence_cluster, "north", "north", "ada", 45.0, though_it_answers=True)
        assert (await hub.job(uid)).state == state


async def test_its_agent_is_nobody_any_more(tmp_path: Path):
    """Should the cluster live after all, its agent can neither start nor report anything."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north")
        await agent.sync()
        await hub.write(fence_cluster, "north", "north", "ada", 45.0, though_it_answers=True)
        refused = await agent.post(agent.request(seen(uid, "Applied", job={"result": "Failed"})))
        assert refused.status_code == 401
        assert (await hub.job(uid)).state == "Pending"


async def test_a_heartbeat_that_is_written_late_revives_nobody(tmp_path: Path):
    """What was heard before the cluster was written off says nothing of the one that has joined since."""
    async with running_hub(tmp_path) as hub:
        await hub.join("north")
        await hub.write(fence_cluster, "north", "north", "ada", 45.0, though_it_answers=True)
        await hub.write(note_heartbeats, {"north": hub.clock.now()})
        row = await hub.hub.read(clusters.get, "north")
        assert row is not None
        assert row.heartbeat_at is None


@pytest.mark.parametrize(
    ("silent", "confirm", "code"),
    [
        (0.0, "", "ClusterAlive"),
        (6.0, "north", "ClusterAlive"),
        (SILENT_S, "", "ConfirmationMismatch"),
        (SILENT_S, "North", "ConfirmationMismatch"),
    ],
)
async def test_the_name_has_to_be_typed(tmp_path: Path, silent: float, confirm: str, code: str):
    """Exactly; a cluster that still answers says so."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north")
        await agent.sync()
        hub.clock.advance(silent)
        with pytest.raises(Rejected) as refused:
            await hub.write(fence_cluster, "north", confirm, "ada", 45.0)
        assert refused.value.code == code
        assert (await hub.job(uid)).state == "Offered"


async def test_one_that_answers_needs_a_second_word(tmp_path: Path):
    """Its name alone is refused with the seconds since it was heard; with both words it is written off."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        await hub.placed("north")
        await agent.sync()
        hub.clock.advance(6.0)
        with pytest.raises(Rejected, match="its agent reported 6 s ago"):
            await hub.write(fence_cluster, "north", "north", "ada", 45.0)
        with pytest.raises(Rejected) as refused:
            await hub.write(fence_cluster, "north", "nort", "ada", 45.0, though_it_answers=True)
        assert refused.value.code == "ConfirmationMismatch"
        both = hub.write(fence_cluster, "north", "north", "ada", 45.0, though_it_answers=True)
        assert await both == {"name": "north", "released": 1}


async def test_a_finished_job_stays_finished(tmp_path: Path):
    """Only what may still run is given back."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north")
        await agent.sync()
        await agent.sync(ran(uid, result="Succeeded", succeeded=1))
        hub.clock.advance(SILENT_S)
        await hub.write(fence_cluster, "north", "north", "ada", 45.0)
        assert (await hub.job(uid)).state == "Succeeded"
        await hub.write(cancel_job, uid, "ada")
