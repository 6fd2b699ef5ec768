"""Kinds of work that a member is shown to serve, and the reasons against the others."""

import pytest

from hub.services.questions.clusters import get_cluster
from shared.kinds.dispatched import DISPATCHED
from shared.wire.versions import KINDS
from tests.services.hubs import a_pool
from tests.services.kinds.fleet import SERVED, Fleet, a_fleet
from tests.services.kinds.swarms import SERVED_WITH_SWARMS, a_definition

pytestmark = pytest.mark.anyio
RAY_JOB = "ray.io/v1/RayJob"


async def _told(fleet: Fleet, name: str = "m1") -> dict[str, str]:
    """State by apiVersion/Kind, in the order of the answer."""
    shown = await fleet.hub.read(get_cluster, name, fleet.hub.settings)
    return {f"{each['apiVersion']}/{each['kind']}": each["state"] for each in shown["workKinds"]}


async def _remedy(fleet: Fleet, kind: str) -> str:
    shown = await fleet.hub.read(get_cluster, "m1", fleet.hub.settings)
    (found,) = (each["remedy"] for each in shown["workKinds"] if each["kind"] == kind)
    return str(found)


async def test_each_dispatched_kind_is_told_job_first(tmp_path):
    """Those that the member serves, and those whose operators are to be installed."""
    async with a_fleet(tmp_path) as fleet:
        await fleet.member("m1")
        told = await _told(fleet)
        every = {"batch/v1/Job", *(f"{version}/{kind}" for version, kind in DISPATCHED)}
        assert next(iter(told)) == "batch/v1/Job"
        assert told == {kind: "Served" if kind in SERVED else "NotServed" for kind in every}
        assert "operator" in await _remedy(fleet, "TFJob")
        assert await _remedy(fleet, "RayJob") == ""


async def test_a_kind_that_the_agent_may_not_list_lacks_a_right(tmp_path):
    """It is served, so that no operator is to be installed."""
    async with a_fleet(tmp_path) as fleet:
        agent = await fleet.member("m1")
        told = {
            "pools_revision": 0,
            "pools": [a_pool(cpu="4")],
            "bound": [],
            "kinds": list(SERVED),
        }
        await agent.sync(capacity={**told, "unread_kinds": [RAY_JOB]})
        assert (await _told(fleet))[RAY_JOB] == "RightMissing"
        assert "jobKinds" in await _remedy(fleet, "RayJob")
        await agent.sync(capacity={**told, "unread_kinds": []})
        assert (await _told(fleet))[RAY_JOB] == "Served"


async def test_an_agent_of_an_earlier_release_runs_jobs_alone(tmp_path):
    """The kinds that its member serves do not count."""
    async with a_fleet(tmp_path) as fleet:
        await fleet.member("m1", protocol=6)
        told = await _told(fleet)
        assert told.pop("batch/v1/Job") == "Served"
        assert set(told.values()) == {"AgentTooOld"}


async def test_nothing_is_claimed_before_an_agent_has_reported(tmp_path):
    """A declared member, and one whose agent has not said which kinds it serves."""
    async with a_fleet(tmp_path) as fleet:
        await fleet.exchange.add_cluster("m2")
        agent = await fleet.exchange.join("m3")
        agent.protocol = KINDS
        await agent.sync()
        for name in ("m2", "m3"):
            assert set((await _told(fleet, name)).values()) == {"Unknown"}


async def test_defined_kinds_are_told_once_jobs_of_them_are_dispatched(tmp_path):
    """One that lacks what dispatch needs is left out, as no job of it is given to a member."""
    swarm = "example.org/v1/Swarm"
    async with a_fleet(tmp_path) as fleet:
        await fleet.member("m1", kinds=SERVED_WITH_SWARMS)
        await fleet.member("m2")
        await fleet.try_apply(a_definition(without="suspendDefinition"))
        assert swarm not in await _told(fleet)
        await fleet.try_apply(a_definition())
        assert (await _told(fleet))[swarm] == "Served"
        assert (await _told(fleet, "m2"))[swarm] == "NotServed"
