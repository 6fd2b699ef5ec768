"""Priority that changes: of a job that waits at once, of one that runs for who may displace it."""

from typing import Any

import pytest

from tests.services.build import a_class
from tests.services.hubs import Running, a_job, a_pool, a_queue, running
from tests.services.steps import CLASS, LOWER, admitted, gone, lively

pytestmark = pytest.mark.anyio


async def _with_classes(hub: Running) -> None:
    await hub.apply(a_class("high", 100), a_class("low", -100))


async def _submit(hub: Running, name: str, named: str = "") -> str:
    """A job of the whole quota; later ones are younger."""
    hub.clock.advance(1)
    return (await hub.apply(_job(name, named)))[0]


def _job(name: str, named: str) -> dict[str, Any]:
    labels = {CLASS: named} if named else {}
    return a_job(name, queue="q", requests={"cpu": "8"}, labels=labels)


async def _three(hub: Running, **spec) -> list[str]:
    """One that has all the quota, two that wait."""
    await _with_classes(hub)
    await hub.cluster("c1", a_pool(cpu="8"))
    await hub.apply(*a_queue("q", quota={"cpu": "8"}, spec=spec))
    uids = []
    for name in ("first", "second", "third"):
        uids.append(await _submit(hub, name))
        await hub.settle()
    return uids


async def test_a_queued_job_moves_at_once(tmp_path):
    """Another class, and it stands where its priority puts it: no wait for anything else."""
    async with running(tmp_path) as hub:
        _, second, third = await _three(hub)
        place = (await hub.explain(third))["position"]
        assert (place["inQueue"], place["ofQueue"]) == (2, 2)
        await hub.apply(_job("third", "high"))
        await hub.follow()
        assert (await hub.explain(third))["position"]["inQueue"] == 1
        assert (await hub.explain(second))["position"]["inQueue"] == 2
        assert (await hub.job(third)).priority == 100


async def test_a_queued_job_may_preempt_as_soon_as_it_may(tmp_path):
    """Raised above what runs, it displaces it where the queue preempts lower priority."""
    async with running(tmp_path) as hub:
        first, _, third = await _three(hub, **LOWER)
        await lively(hub, first)
        await hub.apply(_job("third", "high"))
        await hub.settle()
        assert (await hub.job(first)).reason == "Preempted"
        await gone(hub, first)
        await hub.settle()
        assert (await hub.job(third)).state == "Placed"


async def test_a_running_job_keeps_the_new_priority_and_may_be_displaced_by_it(tmp_path):
    """Lowered while it runs: those that could not preempt it wake and do."""
    async with running(tmp_path) as hub:
        first, second, _ = await _three(hub, **LOWER)
        await lively(hub, first)
        await hub.settle()
        assert (await hub.job(first)).state == "Running"
        await hub.apply(_job("first", "low"))
        await hub.settle()
        row = await hub.job(first)
        assert (row.priority, row.reason) == (-100, "Preempted")
        assert (await hub.job(second)).reason == "WaitingForPreemptedWorkloads"


async def test_an_edited_class_does_not_rewrite_jobs(tmp_path):
    """The value counts when a job names the class; later edits are for later jobs."""
    async with running(tmp_path) as hub:
        await _with_classes(hub)
        uid = await admitted(hub, labels={CLASS: "high"})
        await hub.apply(a_class("high", 7))
        changed = a_job("j", queue="q", labels={CLASS: "high", "team": "b"})
        await hub.apply(changed)
        assert (await hub.job(uid)).priority == 100
        (other,) = await hub.apply(a_job("k", queue="q", labels={CLASS: "high"}))
        assert (await hub.job(other)).priority == 7
