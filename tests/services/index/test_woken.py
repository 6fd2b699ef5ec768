"""Who waits is looked at again by what changed alone: nothing else has to happen."""

from pathlib import Path
from typing import Any

import pytest

from hub.services.context.settings import Intake, Settings
from hub.store import clusters
from tests.services.hubs import a_job, a_pool, a_queue, running

pytestmark = pytest.mark.anyio
TAINT = {"key": "k", "value": "v", "effect": "NoSchedule"}
ZONE = {"roadstead.dev/cluster-selector": "zone=a"}


@pytest.mark.parametrize(
    ("before", "after", "annotations"),
    [
        ({"cordoned": True}, {"cordoned": False}, {}),
        ({"taints": [TAINT]}, {"taints": []}, {}),
        ({"labels": {"zone": "b"}}, {"labels": {"zone": "a"}}, ZONE),
        ({"joined_at": None}, {"joined_at": True}, {}),
    ],
)
async def test_a_member_that_may_be_used_now_is(
    tmp_path: Path, before: Any, after: Any, annotations: dict[str, str]
) -> None:
    """Its declaration changed; the room it reported is as it was."""
    async with running(tmp_path) as hub:
        now = hub.clock.now()
        await hub.cluster("c1", a_pool(cpu="8"))
        await hub.hub.db.write(lambda tx: clusters.change(tx, "c1", **before))
        await hub.apply(*a_queue("q"))
        (uid,) = await hub.apply(a_job("j", queue="q", annotations=annotations))
        await hub.settle()
        assert (await hub.job(uid)).state == "Pending"
        given: dict[str, Any] = {
            name: now if each is True else each for name, each in after.items()
        }
        await hub.hub.db.write(lambda tx: clusters.change(tx, "c1", **given))
        await hub.settle()
        assert (await hub.job(uid)).state == "Placed"


@pytest.mark.parametrize("named", ["", "default"])
async def test_a_default_queue_that_comes_takes_who_named_none(tmp_path: Path, named: str) -> None:
    """And who named it."""
    limits = Settings(intake=Intake(unqueued_jobs="Reject"))
    async with running(tmp_path, limits) as hub:
        await hub.cluster("c1", a_pool(cpu="8"))
        (uid,) = await hub.apply(a_job("j", queue=named))
        await hub.settle()
        row = await hub.job(uid)
        assert (row.state, row.queue, row.reason) == ("Pending", named, "QueueNotFound")
        await hub.apply(*a_queue("default"))
        await hub.settle()
        assert (await hub.job(uid)).state == "Placed"
