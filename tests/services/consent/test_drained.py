"""A drain names the namespaces whose jobs will wait, as no other member accepts them."""

from pathlib import Path
from typing import Any

import pytest

from hub.services.objects.drain import drain_cluster
from shared.consent import NOT_ACCEPTED
from tests.services.hubs import Running, a_job, a_pool, running

pytestmark = pytest.mark.anyio
POOL = a_pool(cpu="8", memory="8Gi")


def consent(**states: str) -> dict[str, Any]:
    return {"revision": 1, "states": {k.replace("_", "-"): v for k, v in states.items()}}


async def drained(hub: Running) -> list[tuple[str, int, str]]:
    """What the dry run of a drain of `east` says of namespaces."""
    told = await hub.hub.write(lambda tx: drain_cluster(tx, "east", "ann", carry_out=False))
    return [(each["namespace"], each["jobCount"], each["message"]) for each in told["waiting"]]


async def jobs_in_east(hub: Running) -> None:
    """Two jobs of team-a and one of team-b run there, which alone accepts team-a."""
    await hub.cluster("east", POOL, consent=consent(team_a="Labelled", team_b="Labelled"))
    await hub.apply(a_job("one"), a_job("two"), a_job("three", "team-b"))
    await hub.settle()


async def test_a_drain_names_jobs_that_no_other_member_accepts(tmp_path: Path) -> None:
    """With their number and the command; jobs of a namespace that another member accepts are not named."""
    async with running(tmp_path) as hub:
        await jobs_in_east(hub)
        await hub.cluster("west", POOL, consent=consent(team_a=NOT_ACCEPTED, team_b="Created"))
        ((namespace, jobs, message),) = await drained(hub)
        assert (namespace, jobs) == ("team-a", 2)
        assert message.startswith("2 jobs wait until another cluster accepts namespace team-a")
        assert "kubectl label namespace team-a roadstead.dev/accept=" in message


@pytest.mark.parametrize(
    "told",
    [None, consent(), consent(team_a="Absent")],
    ids=["an earlier release", "not reported yet", "accepted"],
)
async def test_a_member_that_may_take_the_jobs_is_enough(
    tmp_path: Path, told: dict[str, Any] | None
) -> None:
    """One that has yet to report, or reports no consent, refuses nothing."""
    async with running(tmp_path) as hub:
        await jobs_in_east(hub)
        await hub.cluster("west", POOL, consent=consent(team_a=NOT_ACCEPTED))
        await hub.cluster("south", POOL, consent=told)
        assert await drained(hub) == []


async def test_a_fleet_of_one_member_has_no_namespace_to_name(tmp_path: Path) -> None:
    """No other member refuses anything."""
    async with running(tmp_path) as hub:
        await jobs_in_east(hub)
        assert await drained(hub) == []
