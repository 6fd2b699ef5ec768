"""While the hub is stopped because its store went back, whoever asks about a job is told so first."""

from pathlib import Path

import pytest

from hub.services.context import timeline
from hub.services.explain import study
from hub.store import settings
from hub.store.transaction import Transaction
from tests.services.hubs import Running, a_job, a_pool, running

pytestmark = pytest.mark.anyio


async def stop(hub: Running) -> None:
    """An agent shows a mark that the store can not have given out."""

    def run(tx: Transaction) -> None:
        settings.put(tx, "incarnation", "one")
        lost = timeline.StoreTimeline("one", b"", [("lost", 0)]).mark(900)
        timeline.stop(tx, "north", lost, "one", b"")

    await hub.hub.write(run)


async def test_explain_says_that_nothing_is_dispatched(tmp_path: Path) -> None:
    """No outlook and no forecast: nothing of what the engine would say comes true meanwhile."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(cpu="16"))
        await stop(hub)
        (uid,) = await hub.apply(a_job("waits"))
        await hub.follow()
        told = await study.explain(hub.hub, uid, lambda: hub.scheduler.index)
        assert (told["state"], told["reason"]) == ("Pending", "HubRolledBack")
        assert "roadstead restored" in told["message"]
        assert (told["forecast"], told["fleet"], told["position"]) == (None, [], None)
        assert [each["kind"] for each in told["remedies"]] == ["Rule"]


async def test_a_placed_job_keeps_its_own_words(tmp_path: Path) -> None:
    """What the hub knows of it, and besides that nothing goes on."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(cpu="16"))
        (uid,) = await hub.apply(a_job("placed"))
        await hub.settle()
        await stop(hub)
        told = await hub.explain(uid)
        assert told["message"].startswith("placed; not offered to its agent yet; HubRolledBack")
