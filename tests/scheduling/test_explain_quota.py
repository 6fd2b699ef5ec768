"""Explain says what a queue has, what it borrows, and what preemption could do and may not."""

from pathlib import Path

import pytest

from tests.scheduling.hubs import a_pool, running
from tests.scheduling.test_cohorts import in_cohort, submit
from tests.scheduling.test_preemption import RECLAIM, WITHIN, start, urgent

pytestmark = pytest.mark.anyio


async def test_it_shows_borrowing_and_why_nobody_may_be_preempted(tmp_path: Path) -> None:
    """Numbers of the queue, and for each holder of what is short the rule that spares it."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="16"))
        await hub.apply(*in_cohort("a", "2", preemption=WITHIN), *in_cohort("b", "2"))
        await submit(hub, "a", "3", "one")
        await submit(hub, "b", "1", "two")
        (waits,) = await submit(hub, "a", "1", "three")
        await hub.settle()
        told = await hub.explain(waits)
        (quota,) = told["quota"]
        assert (quota["nominal"], quota["used"], quota["borrowed"]) == ("2", "3", "1")
        assert (quota["available"], quota["potential"]) == ("0", "4")
        assert told["preemption"]["candidates"] == []
        spared = {
            s["reason"]: [e["name"] for e in s["examples"]] for s in told["preemption"]["spared"]
        }
        assert spared == {
            "reclaimWithinCohort of a is Never": ["two"],
            "withinClusterQueue is LowerPriority: its priority is not below 0": ["one"],
        }


async def test_it_names_whom_it_waits_for(tmp_path: Path) -> None:
    """A nominee says which cluster is kept for it and how many have to go."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="4"))
        await hub.apply(*in_cohort("a", "4", cohort="", preemption=RECLAIM))
        (low,) = await submit(hub, "a", "4", "low")
        await hub.settle()
        await start(hub, low)
        high = await urgent(hub, "high", "a", "4")
        await hub.settle()
        told = await hub.explain(high)
        assert told["reason"] == "WaitingForPreemptedWorkloads"
        assert (told["nomination"]["cluster"], told["nomination"]["victims"]) == ("c", [low])
