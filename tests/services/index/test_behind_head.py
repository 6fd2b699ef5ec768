"""Who waits behind the head of a queue says so in its row, as `explain` does, and stays told."""

from pathlib import Path

import pytest

from hub.store.feed import Subscription
from tests.services.build import WITHIN, in_cohort, start, submit, urgent
from tests.services.hubs import Running, a_job, a_pool, running

pytestmark = pytest.mark.anyio


async def reasons(hub: Running, uids: list[str]) -> list[str]:
    """What rows give as reasons; `explain` must give the same."""
    told = [(await hub.job(uid)).reason for uid in uids]
    assert told == [(await hub.explain(uid))["reason"] for uid in uids]
    return told


async def test_who_stands_behind_a_preemptor_is_told_so(tmp_path: Path) -> None:
    """While a preemptor waits for its victims, those behind it say BehindHead, also when read again."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="64"))
        await hub.apply(*in_cohort("a", "10", cohort="", preemption=WITHIN, strict=True))
        (low,) = await submit(hub, "a", "8", "low")
        await hub.settle()
        await start(hub, low)
        behind = [*await submit(hub, "a", "4", "two"), *await submit(hub, "a", "3", "three")]
        await hub.settle()
        high = await urgent(hub, "high", "a", "9")
        await hub.settle()
        assert (await hub.job(high)).reason == "WaitingForPreemptedWorkloads"
        assert await reasons(hub, behind) == ["BehindHead", "BehindHead"]
        assert "behind the head of a" in (await hub.job(behind[0])).message
        assert "team-a/high (WaitingFor" in (await hub.explain(behind[0]))["message"]
        for uid in behind:
            await hub.change(uid, annotations={"note": "looked at again"})
        late = await submit(hub, "a", "4", "late")
        await hub.settle()
        assert await reasons(hub, [*behind, *late]) == ["BehindHead"] * 3


async def test_it_stays_told_as_the_head_changes(tmp_path: Path) -> None:
    """A victim queues again as head, then that is cancelled: rows follow, `explain` names who is ahead."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="64"))
        await hub.apply(*in_cohort("a", "10", cohort="", preemption=WITHIN, strict=True))
        (low,) = await submit(hub, "a", "8", "low")
        await hub.settle()
        await start(hub, low)
        two, equal = await submit(hub, "a", "4", "two", "equal")
        (three,) = await submit(hub, "a", "3", "three")
        await hub.settle()
        assert await reasons(hub, [two, three]) == ["WaitingForQuota", "BehindHead"]
        high = await urgent(hub, "high", "a", "9")
        await hub.settle()
        await hub.transition("requeue", low)
        await hub.settle()
        await start(hub, high)
        assert (await hub.job(high)).state == "Running"
        waiting = [low, two, equal, three]
        assert await reasons(hub, waiting) == ["WaitingForQuota", *["BehindHead"] * 3]
        assert "team-a/low (WaitingForQuota)" in (await hub.explain(two))["message"]
        await hub.transition("cancel", low)
        await hub.settle()
        assert "team-a/two" in (await hub.explain(three))["message"]
        await hub.transition("cancel", two)
        await hub.settle()
        assert (await reasons(hub, [three])) == ["BehindHead"]
        assert "team-a/equal (WaitingForQuota)" in (await hub.explain(three))["message"]


async def test_a_class_that_comes_back_is_told_again(tmp_path: Path) -> None:
    """The same reason in the same words, of a later job of a class that had emptied."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="64"))
        await hub.apply(*in_cohort("a", "10", cohort=""))
        await submit(hub, "a", "8", "one")
        (two,) = await submit(hub, "a", "4", "two")
        await hub.settle()
        await hub.transition("cancel", two)
        await hub.settle()
        later = await submit(hub, "a", "4", "later")
        await hub.settle()
        assert await reasons(hub, later) == ["WaitingForQuota"]


async def test_nobody_is_told_to_stand_behind_itself(tmp_path: Path) -> None:
    """Between the end of a head and the next cycle the next in line names nobody."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="4"))
        await hub.apply(*in_cohort("a", "100", cohort="", strict=True))
        (first,) = await submit(hub, "a", "8", "first")
        (second,) = await submit(hub, "a", "1", "second")
        await hub.settle()
        assert "team-a/first" in (await hub.explain(second))["message"]
        await hub.transition("cancel", first)
        await hub.follow()
        told = await hub.explain(second)
        assert told["reason"] == "BehindHead"
        assert "team-a/" not in told["message"]


async def test_many_behind_a_head_are_told_once(tmp_path: Path) -> None:
    """Each row is written once when it comes to stand behind; a cycle or another head writes none."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="4"))
        await hub.apply(*in_cohort("a", "100", cohort="", strict=True))
        first, _ = await submit(hub, "a", "8", "first", "second")
        many = [a_job(f"small-{n:03d}", queue="a") for n in range(150)]
        uids = await hub.apply(*many)
        await hub.settle()
        assert {(await hub.job(uid)).reason for uid in uids} == {"BehindHead"}
        feed: Subscription = hub.hub.subscribe("workloads")
        await submit(hub, "a", "16", "last")
        await hub.transition("cancel", first)
        hub.clock.advance(30)
        await hub.settle()
        assert "team-a/second" in (await hub.explain(uids[0]))["message"]
        change = feed.take()
        feed.close()
        assert change is not None
        assert not change.keys["workloads"] & set(uids)


async def test_a_hub_that_starts_anew_takes_no_reason_away(tmp_path: Path) -> None:
    """Rows keep what the last cycle said until the next one; nobody is told nothing in between."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="4"))
        await hub.apply(*in_cohort("a", "100", cohort="", strict=True))
        waiting = [*await submit(hub, "a", "8", "head"), *await submit(hub, "a", "1", "small")]
        await hub.settle()
        hub.scheduler.loaded = False
        await hub.follow()
        assert not hub.scheduler.index.pending_reasons
        await hub.settle()
        assert await reasons(hub, waiting) == ["NoClusterFits", "BehindHead"]
