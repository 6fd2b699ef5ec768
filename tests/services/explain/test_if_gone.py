"""Who would start if a job went, and what that frees: the engine's answer, kept by what happens then."""

from pathlib import Path

import pytest

from hub.domain.access import Area, Scope
from hub.services.context.hub import HubWithin
from hub.services.explain.if_gone import MOST, if_gone
from tests.services.build import in_cohort, start, states, submit
from tests.services.hubs import Running, a_pool, running

pytestmark = pytest.mark.anyio


async def gone(hub: Running, uid: str, scope: Scope | None = None):
    seen = hub.hub if scope is None else HubWithin(hub.hub, scope)
    return await if_gone(seen, uid, lambda: hub.scheduler.index)


async def test_it_names_who_would_start_and_they_do(tmp_path: Path) -> None:
    """Each is tried by itself, with what is freed; whoever is too large for it is not named."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="16"))
        await hub.apply(*in_cohort("a", "4", cohort=""))
        (runs,) = await submit(hub, "a", "3", "runs")
        await hub.settle()
        large, small = await submit(hub, "a", "5", "large") + await submit(hub, "a", "2", "small")
        await hub.settle()
        told = await gone(hub, runs)
        assert told["freed"] == [{"resource": "cpu", "flavor": "any", "amount": "3"}]
        assert [each["name"] for each in told["starts"]] == ["small"]
        assert (told["tried"], told["hidden"], told["complete"]) == (2, 0, True)
        await start(hub, runs)
        await hub.transition("succeed", runs)
        await hub.settle()
        assert await states(hub, [large, small]) == ["Pending", "Placed"]


async def test_what_holds_nothing_frees_nothing(tmp_path: Path) -> None:
    """A job that waits, and one that is not there."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="16"))
        await hub.apply(*in_cohort("a", "1", cohort=""))
        (waits,) = await submit(hub, "a", "2", "waits")
        await hub.settle()
        for uid in (waits, "none"):
            assert (await gone(hub, uid))["freed"] == []
            assert (await gone(hub, uid))["starts"] == []


async def test_those_of_others_are_counted_and_not_named(tmp_path: Path) -> None:
    """Who may not see a job is told that there is one, no more; few are tried, however many wait."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="16"))
        await hub.apply(*in_cohort("a", "4", cohort=""))
        (runs,) = await submit(hub, "a", "4", "runs")
        await hub.settle()
        await submit(hub, "a", "1", *(f"w{i}" for i in range(MOST + 3)))
        await hub.settle()
        nothing = (Area(frozenset({"other"})),)
        told = await gone(hub, runs, Scope(nothing, nothing))
        assert (told["starts"], told["hidden"], told["tried"]) == ([], MOST, MOST)
