"""Priority that changes: of a job that waits at once, of one that runs for who may displace it."""

from typing import Any

import pytest

from hub.controllers.class_values import ClassValues
from hub.services.queues.class_values import BATCH
from hub.store import events
from tests.services.build import a_class, a_workload
from tests.services.hubs import Running, a_job, a_pool, a_queue, running
from tests.services.steps import CLASS, LOWER, admitted, gone, lively, reported

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


async def _classes_followed(hub: Running) -> None:
    """The controller has taken the turns that the edited classes need."""
    follower = ClassValues(hub.hub, hub.scheduler._term)
    for _ in range(20):
        if await follower.tick() is None:
            return
    raise AssertionError("the controller does not come to rest")


async def _told(hub: Running, uid: str) -> list[str]:
    rows = await hub.hub.read(events.about, uid, "PriorityChanged", 100)
    return [row.message for row in rows]


async def test_jobs_follow_the_value_of_their_class(tmp_path):
    """An edited value changes jobs that wait and run, as in Kueue since 0.16; each has an event."""
    async with running(tmp_path) as hub:
        first, second, third = await _three(hub)
        waits = await _submit(hub, "named", "high")
        await hub.settle()
        await hub.apply(a_class("high", 7))
        await _classes_followed(hub)
        await hub.follow()
        assert (await hub.job(waits)).priority == 7
        assert await _told(hub, waits) == ["100 → 7: WorkloadPriorityClass high was changed"]
        assert [(await hub.job(uid)).priority for uid in (first, second, third)] == [0, 0, 0]
        assert (await hub.explain(waits))["position"]["inQueue"] == 1
        await hub.apply(a_class("high", -7))
        await _classes_followed(hub)
        await hub.follow()
        assert (await hub.explain(waits))["position"]["inQueue"] == 3


async def test_a_class_that_is_made_after_its_job_counts(tmp_path):
    """The job waited with priority 0."""
    async with running(tmp_path) as hub:
        _, second, _ = await _three(hub)
        early = await _submit(hub, "early", "later")
        await hub.settle()
        assert (await hub.job(early)).priority == 0
        await hub.apply(a_class("later", 50))
        await _classes_followed(hub)
        await hub.follow()
        assert (await hub.job(early)).priority == 50
        assert (await hub.explain(early))["position"]["inQueue"] == 1
        assert (await hub.job(second)).priority == 0


async def test_a_running_job_is_not_disturbed_by_its_class(tmp_path):
    """Its priority counts for later preemption: raised, it stays; lowered, others may displace it."""
    async with running(tmp_path) as hub:
        await _with_classes(hub)
        await hub.cluster("c1", a_pool(cpu="8"))
        await hub.apply(*a_queue("q", quota={"cpu": "8"}, spec=LOWER))
        first = await _submit(hub, "first", "high")
        await hub.settle()
        await lively(hub, first)
        second = await _submit(hub, "second")
        await hub.apply(a_class("high", 1))
        await _classes_followed(hub)
        await hub.settle()
        row = await hub.job(first)
        assert (row.state, row.priority, row.epoch, row.generation) == ("Running", 1, 1, 1)
        await hub.apply(a_class("high", -1))
        await _classes_followed(hub)
        await hub.settle()
        assert (await hub.job(first)).reason == "Preempted"
        assert (await hub.job(second)).reason == "WaitingForPreemptedWorkloads"


async def test_many_jobs_of_a_class_change_in_bounded_transactions(tmp_path):
    """Each turn of the controller writes a batch; one that restarts meanwhile goes on."""
    async with running(tmp_path) as hub:
        await _with_classes(hub)
        uids = await hub.apply(*(_job(f"j{i}", "high") for i in range(BATCH + 3)))
        follower = ClassValues(hub.hub, hub.scheduler._term)
        assert await follower.tick() is None
        await hub.apply(a_class("high", 5))
        assert await follower.tick() == 0.0
        changed = [row.uid for row in await hub.jobs(uids) if row.priority == 5]
        assert len(changed) == BATCH
        await _classes_followed(hub)
        assert {row.priority for row in await hub.jobs(uids)} == {5}


async def test_ended_jobs_keep_the_priority_that_they_had(tmp_path):
    """A class changes nothing that is over."""
    async with running(tmp_path) as hub:
        await _with_classes(hub)
        uid = await admitted(hub, labels={CLASS: "high"})
        await lively(hub, uid)
        await reported(hub, uid, succeeded=1, result="Succeeded")
        await hub.apply(a_class("high", 7))
        await _classes_followed(hub)
        assert (await hub.job(uid)).priority == 100


async def test_the_number_of_a_bare_workload_is_its_own(tmp_path):
    """It stands in the manifest of its executor; its class judged it when it came."""
    async with running(tmp_path) as hub:
        await _with_classes(hub)
        await hub.apply(*a_queue("q"))
        named = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "high"}
        (uid,) = await hub.apply(a_workload("w", "q", priority=100, priorityClassRef=named))
        await hub.apply(a_class("high", 7))
        await _classes_followed(hub)
        row = await hub.job(uid)
        assert (row.priority_class, row.priority) == ("high", 100)
