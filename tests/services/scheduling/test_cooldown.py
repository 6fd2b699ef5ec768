"""Victim cooldown: the minimum runtime counts from each admission, so a victim is spared anew."""

import pytest

from hub.services.context.settings import Queueing, Settings
from tests.services.build import a_class
from tests.services.hubs import Running, a_job, a_pool, a_queue, running
from tests.services.steps import CLASS, LOWER, gone, lively, passed, reported

pytestmark = pytest.mark.anyio
COOLDOWN = Settings(queueing=Queueing(minimum_runtime_s=20.0))


async def _urgent(hub: Running, name: str) -> str:
    """A job of high priority and of the whole quota."""
    job = a_job(name, queue="q", requests={"cpu": "8"}, labels={CLASS: "high"})
    return (await hub.apply(job))[0]


async def test_a_victim_is_not_displaced_again_before_it_has_run_for_a_while(tmp_path):
    """Preempted, readmitted, and wanted again: it goes only after its minimum runtime, and then at once."""
    async with running(tmp_path, COOLDOWN) as hub:
        await hub.apply(a_class("high", 100))
        await hub.cluster("c1", a_pool(cpu="8"))
        await hub.apply(*a_queue("q", quota={"cpu": "8"}, spec=LOWER))
        (victim,) = await hub.apply(a_job("victim", queue="q", requests={"cpu": "8"}))
        await hub.settle()
        await lively(hub, victim)
        await passed(hub, 21)

        first = await _urgent(hub, "first")
        await hub.settle()
        assert (await hub.job(victim)).reason == "Preempted"
        await gone(hub, victim)
        await hub.settle()
        await lively(hub, first)
        await reported(hub, first, succeeded=1, result="Succeeded")
        await passed(hub, 1)
        assert (await hub.job(victim)).state == "Placed"
        await lively(hub, victim)

        await _urgent(hub, "second")
        await passed(hub, 18)
        assert (await hub.job(victim)).state == "Running"
        await passed(hub, 2)
        row = await hub.job(victim)
        assert (row.state, row.evictions) == ("Withdrawing", {"Preempted": 2})
