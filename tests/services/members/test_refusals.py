"""A member that refuses a job's namespace is set aside longer each time, until it reports another state."""

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from tests.services.members.hubs import Agent, Running, running_hub, seen

pytestmark = pytest.mark.anyio


def a_report(**states: str) -> dict[str, Any]:
    """A request with a capacity that tells states of namespaces; names are written with _ for -."""
    consent = {"revision": 1, "states": {k.replace("_", "-"): v for k, v in states.items()}}
    capacity = {"pools_revision": 0, "pools": [], "bound": [], "consent": consent}
    return {"capacity": capacity, "namespaces_held": 1}


async def refused(hub: Running, north: Agent, uid: str, epoch: int) -> float:
    """The member refuses the job's next epoch: for how many seconds it is set aside."""
    await hub.place(uid, "north")
    await hub.settled()
    await north.sync()
    await north.sync(seen(uid, "Failed", epoch, reason="NotAccepted", message="no"))
    await north.sync(seen(uid, "Gone", epoch, unstarted=True))
    told = (await hub.job(uid)).set_aside or {}
    since, until = (dt.datetime.fromisoformat(told[k]) for k in ("north/refused", "north"))
    return (until - since).total_seconds()


async def test_each_refusal_of_a_member_sets_it_aside_for_longer(tmp_path: Path) -> None:
    """It reports all the while that the namespace accepts the hub."""
    async with running_hub(tmp_path) as hub:
        north = await hub.join("north")
        uid = await hub.submit()
        await north.sync(**a_report(team_a="Labelled"))
        assert [await refused(hub, north, uid, epoch) for epoch in (1, 2, 3)] == [30, 60, 120]
        await north.sync(**a_report(team_a="Labelled"))
        assert await refused(hub, north, uid, 4) == 240


async def test_another_state_of_the_namespace_ends_it(tmp_path: Path) -> None:
    """Consent was withdrawn, and is granted: the job may go there at once."""
    async with running_hub(tmp_path) as hub:
        north = await hub.join("north")
        uid = await hub.submit()
        await north.sync(**a_report(team_a="Labelled", team_b="Labelled"))
        assert await refused(hub, north, uid, 1) == 30
        await north.sync(**a_report(team_a="Labelled", team_b="NotAccepted"))
        assert "north" in ((await hub.job(uid)).set_aside or {})
        await north.sync(**a_report(team_a="NotAccepted", team_b="NotAccepted"))
        assert (await hub.job(uid)).set_aside == {}
        assert await refused(hub, north, uid, 2) == 30
