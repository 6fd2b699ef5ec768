"""A plan knows the consent of members, as a submission would find it."""

from pathlib import Path
from typing import Any

import pytest

from shared.consent import NOT_ACCEPTED
from tests.api.planning import a_batch, planned
from tests.api.scheduling import scheduling
from tests.services.hubs import Running, a_pool, a_queue

pytestmark = pytest.mark.anyio


async def begin(live: Running, states: dict[str, str], *waiting: dict[str, Any]) -> None:
    """Queue `open`, and both members' reports of consent."""
    await live.apply(*a_queue("open", quota={"cpu": "60", "memory": "100Gi"}), *waiting)
    for name in ("c", "d"):
        told = {"revision": 1, "states": states}
        await live.cluster(name, a_pool(cpu="45", memory="100Gi"), consent=told)
    await live.settle()


async def test_a_job_whose_namespace_no_member_accepts_is_not_planned_to_run(
    tmp_path: Path,
) -> None:
    """The plan gives the reason and the command that the waiting job has."""
    async with scheduling(tmp_path) as (hub, live):
        hub.app.state.schedule_index = lambda: live.scheduler.index
        await begin(live, {"team-a": NOT_ACCEPTED}, a_batch("waits"))
        (job,) = (await planned(hub, a_batch("planned")))["jobs"]
        assert not job["admitted"]
        assert [each["fits"] for each in job["clusters"]] == [False, False]
        assert "kubectl label namespace team-a" in job["clusters"][0]["message"]


async def test_a_namespace_that_no_agent_was_asked_about_is_a_condition(tmp_path: Path) -> None:
    """The plan says that it holds if the namespace accepts the hub; asking for a plan asks no agent."""
    async with scheduling(tmp_path) as (hub, live):
        hub.app.state.schedule_index = lambda: live.scheduler.index
        await begin(live, {})
        (job,) = (await planned(hub, a_batch("planned")))["jobs"]
        assert job["admitted"]
        assert "if namespace team-a accepts this hub there" in job["message"]
        assert live.scheduler.index.consents.named.names == frozenset()
