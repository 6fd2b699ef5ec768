"""A queue that was stopped and resumed before the commit: nothing of it is taken back."""

from pathlib import Path
from typing import Any

import pytest

from hub.domain.cycle.profile import Profile
from hub.services.index.catalog import drained
from hub.services.scheduling.grounds import Grounds
from hub.services.scheduling.preempt import drain
from hub.services.scheduling.settle import carry_out
from tests.services.hubs import Running, a_queue, running
from tests.services.outside.controller import checked, reserved
from tests.services.steps import admitted, lively

pytestmark = pytest.mark.anyio
QUEUE, LOCAL = (1, "ClusterQueue"), (2, "LocalQueue")


async def with_policy(hub: Running, which: tuple[int, str], policy: str) -> None:
    manifest: dict[str, Any] = a_queue("q", quota={"cpu": "8"})[which[0]]
    manifest["spec"]["stopPolicy"] = policy
    await hub.apply(manifest)


@pytest.mark.parametrize("which", [QUEUE, LOCAL], ids=lambda which: which[1])
async def test_a_queue_that_was_resumed_is_not_drained(
    tmp_path: Path, which: tuple[int, str]
) -> None:
    """The scheduler saw HoldAndDrain; by the time of its transaction the queue admits again."""
    async with running(tmp_path) as hub:
        uid = await admitted(hub)
        await lively(hub, uid)
        await with_policy(hub, which, "HoldAndDrain")
        await hub.follow()
        index = hub.scheduler.index
        leaving = drained(index.routes, index.holders)
        assert list(leaving.values()) == [[uid]]
        grounds = Grounds.of(index, Profile())
        await with_policy(hub, which, "None")
        await hub.hub.write(drain, leaving, hub.scheduler._term(), grounds)
        assert (await hub.job(uid)).state == "Running"


async def test_what_another_queue_still_drains_leaves_for_that_reason(tmp_path: Path) -> None:
    """The ClusterQueue was resumed, the LocalQueue was not: the reason names the LocalQueue."""
    async with running(tmp_path) as hub:
        uid = await admitted(hub)
        await lively(hub, uid)
        await with_policy(hub, QUEUE, "HoldAndDrain")
        await with_policy(hub, LOCAL, "HoldAndDrain")
        await hub.follow()
        index = hub.scheduler.index
        leaving, grounds = drained(index.routes, index.holders), Grounds.of(index, Profile())
        await with_policy(hub, QUEUE, "None")
        await hub.hub.write(drain, leaving, hub.scheduler._term(), grounds)
        row = await hub.job(uid)
        assert (row.state, row.reason) == ("Withdrawing", "LocalQueueStopped")


async def test_a_reservation_of_a_queue_that_was_resumed_stays(tmp_path: Path) -> None:
    """Its checks are open, and its queue admits again by the time of the transaction."""
    async with running(tmp_path) as hub:
        uid = await reserved(hub)
        queue = a_queue("gold", spec=checked("budget", stopPolicy="Hold"))[1]
        await hub.apply(queue)
        await hub.follow()
        scheduler = hub.scheduler
        grounds = Grounds.of(scheduler.index, Profile())
        filters = grounds.profile.filters
        scheduler.index.refresh_room()
        settled = scheduler.index.reservations.settle(
            filters, hub.clock.now(), scheduler.index.keys.since
        )
        assert list(settled.stopped.values()) == [[uid]]
        await hub.apply(a_queue("gold", spec=checked("budget"))[1])
        gate, term = scheduler.index.routes.gate(), scheduler._term()
        await hub.hub.write(carry_out, settled, gate, term, grounds)
        assert (await hub.job(uid)).state == "Reserved"
