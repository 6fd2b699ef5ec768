"""A placement that waits for agents to report consent takes their reports together."""

from pathlib import Path

import pytest

from hub.controllers.awaited_reports import GATHER
from tests.services.members.hubs import running_hub
from tests.services.placements.fleet import CONFIG, Fleet, capacity
from tests.services.placements.policies import placement

pytestmark = pytest.mark.anyio

MEMBERS = ("m1", "m2", "m3")


async def awaiting(fleet: Fleet) -> Fleet:
    """A placement of all members, whose agents have yet to report its namespace."""
    for name in MEMBERS:
        await report(fleet, name, {})
    await fleet.apply(CONFIG)
    return fleet


async def report(fleet: Fleet, name: str, states: dict[str, str]) -> None:
    told = {"revision": 1, "states": states}
    await fleet.agents[name].sync(capacity=capacity(8, 32) | {"consent": told})
    await fleet.turn()


async def accept(fleet: Fleet, *names: str) -> None:
    for name in names:
        await report(fleet, name, {"shop": "Labelled"})


async def given(fleet: Fleet) -> list[str]:
    """Members that were given the object."""
    await fleet.hub.settled()
    for agent in fleet.agents.values():
        await agent.sync()
    return [name for name in MEMBERS if fleet.held(name)]


async def test_reports_gather_for_a_second(tmp_path: Path) -> None:
    """Of three awaited reports one has come: its member is given the objects after a second."""
    async with running_hub(tmp_path) as hub:
        fleet = await awaiting(await Fleet.start(hub, *MEMBERS))
        await accept(fleet, "m1")
        assert await given(fleet) == []
        hub.clock.advance(GATHER.total_seconds())
        await fleet.turn()
        assert await given(fleet) == ["m1"]


async def test_the_last_report_ends_the_wait(tmp_path: Path) -> None:
    """Once all awaited agents have reported, all members are given the objects at once."""
    async with running_hub(tmp_path) as hub:
        fleet = await awaiting(await Fleet.start(hub, *MEMBERS))
        await accept(fleet, *MEMBERS)
        assert await given(fleet) == list(MEMBERS)


async def test_states_of_objects_gather_too(tmp_path: Path) -> None:
    """While a report is awaited, what agents say of the objects is in the status after a second."""
    async with running_hub(tmp_path) as hub:
        fleet = await awaiting(await Fleet.start(hub, *MEMBERS))
        await accept(fleet, "m1")
        hub.clock.advance(GATHER.total_seconds())
        await fleet.turn()
        await fleet.sync("m1")
        hub.clock.advance(GATHER.total_seconds())
        await fleet.turn()
        status = await fleet.status("ResourcePlacement", "everywhere", "shop")
        of_m1 = next(e for e in status["placementStatuses"] if e["clusterName"] == "m1")
        assert {c["type"]: c["status"] for c in of_m1["conditions"]}["Applied"] == "True"


async def test_what_people_change_is_not_gathered(tmp_path: Path) -> None:
    """A policy that names the member that has reported counts at once, while others are awaited."""
    async with running_hub(tmp_path) as hub:
        fleet = await awaiting(await Fleet.start(hub, *MEMBERS))
        await accept(fleet, "m1")
        await fleet.apply(placement(placementType="PickFixed", clusterNames=["m1"]))
        assert await given(fleet) == ["m1"]
