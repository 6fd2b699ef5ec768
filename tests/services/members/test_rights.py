"""A member whose agent may not create Jobs in a namespace: its jobs go elsewhere, until the agent may."""

from pathlib import Path
from typing import Any

import pytest

from hub.services.questions.clusters import get_cluster
from hub.store import events
from tests.services.hubs import a_job, a_pool, running
from tests.services.members.hubs import Running, running_hub, seen

pytestmark = pytest.mark.anyio
CAPACITY: dict[str, Any] = {"pools_revision": 0, "pools": [], "bound": []}
ROOM: dict[str, Any] = {"cpu": "16", "memory": "64Gi"}


def a_report(*forbidden: str) -> dict[str, Any]:
    """A request with a capacity that names the namespaces in which the agent may not create Jobs."""
    return {"capacity": {**CAPACITY, "jobs_forbidden_in": list(forbidden)}}


async def said_of(hub: Running, name: str) -> list[tuple[str, str]]:
    """Reasons and messages of a member's events."""
    told = await hub.hub.read(
        lambda tx: events.list_events(tx, kind="MemberCluster", name=name, limit=50)
    )
    return [(each.reason, each.message) for each in told if each.reason.startswith("Create")]


async def test_a_refused_job_goes_back_to_its_queue_at_once(tmp_path: Path) -> None:
    """It is withdrawn there as after a NameConflict, and the refusal counts as no attempt."""
    async with running_hub(tmp_path) as hub:
        north = await hub.join("north")
        uid = await hub.placed("north")
        await north.sync()
        await north.sync(seen(uid, "Failed", reason="CreateForbidden", message="no"))
        job = await hub.job(uid)
        assert (job.state, job.reason) == ("Withdrawing", "CreateForbidden")
        await north.sync(seen(uid, "Gone", unstarted=True))
        job = await hub.job(uid)
        assert (job.state, job.unstarted, "north" in (job.set_aside or {})) == ("Pending", 1, True)


async def test_the_right_that_comes_back_ends_the_set_aside(tmp_path: Path) -> None:
    """The job may go there at once; what the member says of it is told as events."""
    async with running_hub(tmp_path) as hub:
        north = await hub.join("north")
        uid = await hub.placed("north")
        await north.sync(**a_report())
        await north.sync(seen(uid, "Failed", reason="CreateForbidden", message="no"))
        await north.sync(seen(uid, "Gone", unstarted=True))
        await north.sync(**a_report("team-a"))
        assert (await hub.hub.read(get_cluster, "north", hub.hub.settings))["jobsForbiddenIn"] == [
            "team-a"
        ]
        await north.sync(**a_report("team-a"))
        await north.sync(**a_report())
        assert (await hub.job(uid)).set_aside == {}
        assert sorted(await said_of(hub, "north")) == [
            ("CreateAllowed", "its agent's account may create Jobs again in: team-a"),
            ("CreateForbidden", "its agent's account may not create Jobs (403) in: team-a"),
        ]


async def test_an_agent_that_does_not_know_yet_changes_nothing(tmp_path: Path) -> None:
    """One that restarts has asked nothing: all stays as stored, and no event says otherwise."""
    async with running_hub(tmp_path) as hub:
        north = await hub.join("north")
        uid = await hub.placed("north")
        await north.sync(**a_report("team-a"))
        await north.sync(seen(uid, "Failed", reason="CreateForbidden", message="no"))
        await north.sync(seen(uid, "Gone", unstarted=True))
        north.restart("session-2")
        await north.sync(capacity={**CAPACITY, "jobs_forbidden_in": None})
        shown = await hub.hub.read(get_cluster, "north", hub.hub.settings)
        assert shown["jobsForbiddenIn"] == ["team-a"]
        assert "north" in ((await hub.job(uid)).set_aside or {})
        assert [reason for reason, _ in await said_of(hub, "north")] == ["CreateForbidden"]


async def test_a_report_of_what_is_no_namespace_is_refused(tmp_path: Path) -> None:
    """An agent can not fill the hub with it."""
    async with running_hub(tmp_path) as hub:
        north = await hub.join("north")
        await north.sync(**a_report("team-a"))
        for bad in (["Not A Name"], [f"n-{n}" for n in range(201)]):
            await north.sync(**a_report(*bad))
            shown = await hub.hub.read(get_cluster, "north", hub.hub.settings)
            assert shown["jobsForbiddenIn"] == ["team-a"]


async def test_jobs_of_the_namespace_go_elsewhere_and_others_do_not(tmp_path: Path) -> None:
    """The larger member may not be given Jobs of team-a; the decision names the right."""
    async with running(tmp_path) as hub:
        await hub.cluster("large", a_pool(nodes=4, **ROOM), jobs_forbidden_in=["team-a"])
        await hub.cluster("small", a_pool(**ROOM))
        refused, taken = await hub.apply(a_job("a"), a_job("b", namespace="team-b"))
        await hub.settle()
        placed = await hub.job(refused)
        assert (placed.cluster, (await hub.job(taken)).cluster) == ("small", "large")
        told = {each["cluster"]: each for each in placed.scores["clusters"]}
        assert told["large"]["reason"] == "CreateForbidden"


async def test_a_job_that_waits_for_the_right_says_so_and_is_placed_with_it(
    tmp_path: Path,
) -> None:
    """No other member is there: the reason names verb and resource."""
    async with running(tmp_path) as hub:
        await hub.cluster("only", a_pool(**ROOM), jobs_forbidden_in=["team-a"])
        (uid,) = await hub.apply(a_job("a"))
        await hub.settle()
        job = await hub.job(uid)
        assert (job.state, job.reason) == ("Pending", "NoClusterMatches")
        assert "grant it verb create on jobs.batch there" in job.message
        await hub.cluster("only", a_pool(**ROOM))
        await hub.settle()
        assert (await hub.job(uid)).cluster == "only"
