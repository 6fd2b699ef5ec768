"""Admission fair sharing on a live hub: LocalQueues that used less go first."""

from pathlib import Path

import pytest

from hub.services.context.settings import Queueing, Settings
from hub.services.index import fair_usage
from hub.services.jobs import cancel
from hub.services.questions import queues
from hub.store import usage
from tests.services.build import WITHIN, heard, start, states
from tests.services.fair_usage import by_usage, consumed, shared, submit
from tests.services.hubs import Running, a_pool, running
from tests.services.outside.controller import a_check, activate, answer, checked

pytestmark = pytest.mark.anyio


async def history(hub: Running) -> dict[str, float]:
    rows = await hub.hub.read(usage.every)
    return {row.queue: round(row.amounts.get("cpu", 0.0), 3) for row in rows}


async def test_s1_less_usage_goes_first_and_priority_only_breaks_ties(tmp_path: Path) -> None:
    """Usage 10 at weight 1 is rank 10, 6 at weight 2 is rank 3: that one goes, whatever priority."""
    async with running(tmp_path, by_usage()) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="8"))
        await hub.apply(*shared("1", {"lq-a": "1", "lq-b": "2"}))
        await consumed(hub, {"lq-a": 10.0, "lq-b": 6.0})
        uids = await submit(hub, "lq-a", "wa", priority="high") + await submit(hub, "lq-b", "wb")
        await hub.settle()
        assert await states(hub, uids) == ["Pending", "Placed"]


async def test_s3_weight_zero_goes_last(tmp_path: Path) -> None:
    """With no usage on either side, the LocalQueue of weight 0 is last."""
    async with running(tmp_path, by_usage()) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="8"))
        await hub.apply(*shared("1", {"lq-a": "0", "lq-b": "1"}))
        uids = await submit(hub, "lq-a", "wa", priority="high") + await submit(hub, "lq-b", "wb")
        await hub.settle()
        assert await states(hub, uids) == ["Pending", "Placed"]


@pytest.mark.parametrize("mode", ["Off", "On"])
async def test_it_counts_only_where_it_is_switched_on(tmp_path: Path, mode: str) -> None:
    """Without the setting the queue's own order stands: whoever came first."""
    limits = by_usage() if mode == "On" else Settings()
    async with running(tmp_path, limits) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="8"))
        await hub.apply(*shared("1", {"lq-a": "1", "lq-b": "1"}))
        await consumed(hub, {"lq-a": 10.0, "lq-b": 0.0})
        uids = await submit(hub, "lq-a", "wa") + await submit(hub, "lq-b", "wb")
        await hub.settle()
        assert await states(hub, uids) == (
            ["Pending", "Placed"] if mode == "On" else ["Placed", "Pending"]
        )


async def test_each_admission_counts_at_once(tmp_path: Path) -> None:
    """The penalty of an admission lets the other LocalQueue go next, also among equal jobs."""
    async with running(tmp_path, by_usage()) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="8"))
        await hub.apply(*shared("4", {"lq-a": "1", "lq-b": "1"}))
        first = await submit(hub, "lq-a", "a1", "a2", "a3", "a4")
        second = await submit(hub, "lq-b", "b1", "b2", "b3", "b4")
        await hub.settle()
        assert await states(hub, first) == ["Placed", "Placed", "Pending", "Pending"]
        assert await states(hub, second) == ["Placed", "Placed", "Pending", "Pending"]


async def test_a_weight_is_a_share(tmp_path: Path) -> None:
    """Of equal demand a LocalQueue of weight 3 gets three times what one of weight 1 gets."""
    async with running(tmp_path, by_usage()) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="8"))
        await hub.apply(*shared("8", {"lq-a": "3", "lq-b": "1"}))
        many = [f"{n}" for n in range(8)]
        first = await submit(hub, "lq-a", *(f"a{n}" for n in many))
        second = await submit(hub, "lq-b", *(f"b{n}" for n in many))
        await hub.settle()
        placed = [(await states(hub, uids)).count("Placed") for uids in (first, second)]
        assert placed == [6, 2]


async def test_a_sample_decays_history_and_takes_in_what_is_used(tmp_path: Path) -> None:
    """One half-life later half of the history is left, with half of what is used now, and penalties."""
    async with running(tmp_path, by_usage(usage_half_life_s=60.0)) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="8"))
        await hub.apply(*shared("4", {"lq-a": "1", "lq-b": "1"}))
        await consumed(hub, {"lq-a": 8.0, "lq-b": 2.0})
        await submit(hub, "lq-b", "b")
        await hub.settle()
        hub.clock.advance(59)
        await hub.settle()
        assert await history(hub) == {"lq-a": 4.0, "lq-b": 1 + 0.5 + 0.5}


async def test_quota_counts_from_its_reservation_on(tmp_path: Path) -> None:
    """While a check is open history does not decay below what is reserved: one core, for ever."""
    async with running(tmp_path, by_usage(usage_half_life_s=60.0)) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="8"))
        await hub.apply(a_check("budget"))
        await activate(hub, "budget")
        manifests = shared("4", {"lq-a": "1"})
        manifests[1]["spec"] |= checked("budget")
        await hub.apply(*manifests)
        await consumed(hub, {"lq-a": 1.0})
        (one,) = await submit(hub, "lq-a", "one")
        await hub.settle()
        assert await states(hub, [one]) == ["Reserved"]
        hub.clock.advance(59)
        await hub.settle()
        assert await history(hub) == {"lq-a": 0.5 + 0.5 + 0.5}  # the last is the penalty
        for expected in (1.25, 1.125):
            hub.clock.advance(60)
            await hub.hub.write(heard)
            await hub.settle()
            assert await history(hub) == {"lq-a": expected}


async def test_a_sample_is_taken_when_it_is_time_and_not_before(tmp_path: Path) -> None:
    """Once per interval, and at once where there is none yet."""
    async with running(tmp_path, by_usage()) as hub:
        await hub.apply(*shared("4", {"lq-a": "1"}))
        await hub.settle()
        began = hub.clock.now()
        for seconds, expected in ((59, 0), (1, 60), (59, 60), (1, 120)):
            hub.clock.advance(seconds)
            await hub.settle()
            (row,) = await hub.hub.read(usage.every)
            assert (row.at - began).total_seconds() == expected


async def test_a_restart_keeps_history_and_penalties(tmp_path: Path) -> None:
    """An index read anew ranks as the one before: what was reserved since the sample is in the rows."""
    async with running(tmp_path, by_usage()) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="8"))
        await hub.apply(*shared("4", {"lq-a": "1", "lq-b": "1"}))
        await consumed(hub, {"lq-a": 1.0, "lq-b": 1.0})
        hub.clock.advance(1)
        await submit(hub, "lq-a", "a1", "a2")
        await hub.settle()
        before = hub.scheduler.index.consumption.ranks()
        await hub.scheduler.load()
        after = hub.scheduler.index.consumption.ranks()
        assert before is not None
        assert after is not None
        assert before.values == after.values
        assert before.values["team-a/lq-a"] > before.values["team-a/lq-b"]


async def test_who_was_preempted_does_not_go_before_whom_it_made_room_for(tmp_path: Path) -> None:
    """What an evicted workload reserved still counts: else the two would evict each other in turn."""
    async with running(tmp_path, by_usage()) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="8"))
        await hub.apply(*shared("1", {"lq-a": "1", "lq-b": "1"}, preemption=WITHIN))
        await submit(hub, "lq-b", "b")
        await hub.settle()
        (low,) = await submit(hub, "lq-a", "low")
        uids = [low, *await submit(hub, "lq-b", "high", priority="high")]
        await hub.settle()
        assert await states(hub, uids) == ["Pending", "Placed"]


async def test_a_deleted_workload_leaves_no_penalty(tmp_path: Path) -> None:
    """Who is deleted before a sample has not used anything."""
    async with running(tmp_path, by_usage()) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="1"))
        await hub.apply(*shared("1", {"lq-a": "1", "lq-b": "1"}))
        (uid,) = await submit(hub, "lq-a", "a")
        await hub.settle()
        assert rank(hub, "lq-a") > 0
        await hub.hub.write(cancel.cancel_job, uid, "somebody")
        await hub.settle()
        assert rank(hub, "lq-a") == 0


def rank(hub: Running, door: str) -> float:
    ranks = hub.scheduler.index.consumption.ranks()
    assert ranks is not None
    return ranks.values[f"team-a/{door}"]


async def test_who_used_more_is_preempted_first(tmp_path: Path) -> None:
    """Among victims of one ClusterQueue those of the LocalQueue with the higher usage go first."""
    async with running(tmp_path, by_usage()) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="8"))
        await hub.apply(*shared("2", {"lq-a": "1", "lq-b": "1"}, preemption=WITHIN))
        uids = await submit(hub, "lq-a", "wa") + await submit(hub, "lq-b", "wb")
        await hub.settle()
        await start(hub, *uids)
        await consumed(hub, {"lq-a": 9.0, "lq-b": 1.0})
        await submit(hub, "lq-b", "urgent", priority="high")
        await hub.settle()
        assert await states(hub, uids) == ["Withdrawing", "Running"]


async def test_positions_follow_usage(tmp_path: Path) -> None:
    """Whoever's LocalQueue used less stands before those that came earlier."""
    async with running(tmp_path, by_usage()) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="8"))
        await hub.apply(*shared("0", {"lq-a": "1", "lq-b": "1"}))
        await consumed(hub, {"lq-a": 5.0, "lq-b": 1.0})
        early = await submit(hub, "lq-a", "a1", "a2")
        (late,) = await submit(hub, "lq-b", "b")
        await hub.settle()
        places = [(await hub.explain(uid))["position"]["inQueue"] for uid in [*early, late]]
        assert places == [2, 3, 1]


async def test_queues_show_what_they_consumed(tmp_path: Path) -> None:
    """A LocalQueue's weight, and Kueue's admissionFairSharingStatus as of the last sample."""
    async with running(tmp_path, by_usage()) as hub:
        await hub.apply(*shared("4", {"lq-a": "2"}))
        await consumed(hub, {"lq-a": 2.5})
        told = await hub.hub.read(queues.get_local_queue, "team-a", "lq-a")
        assert told["fairSharing"]["weight"] == "2"
        assert told["fairSharing"]["admissionFairSharingStatus"]["consumedResources"] == {
            "cpu": "2500m"
        }


async def test_a_local_queue_that_is_gone_is_forgotten(tmp_path: Path) -> None:
    """The ledger holds no more rows than there are LocalQueues that it counts for."""
    async with running(tmp_path, by_usage()) as hub:
        await hub.apply(*shared("4", {"lq-a": "1"}))
        await consumed(hub, {"lq-a": 2.5, "gone": 1.0})
        await hub.settle()
        hub.clock.advance(60)
        await hub.settle()
        assert (await history(hub)).keys() == {"lq-a"}


@pytest.mark.parametrize("given", [{"usage_sampling_s": 0.0}, {"usage_half_life_s": -1.0}])
def test_times_that_make_no_sense_are_refused_at_start(given: dict[str, float]) -> None:
    """A sample takes an interval, and history does not grow with age."""
    with pytest.raises(ValueError, match="usage_sampling_s must be above 0"):
        fair_usage.history_of(Queueing(**given))  # type: ignore[arg-type]  # floats


@pytest.mark.parametrize("text", ["cpu", "cpu=much", "=1,x"])
def test_weights_that_can_not_be_read_are_refused_at_start(text: str) -> None:
    """usage_resource_weights is RESOURCE=NUMBER by comma."""
    with pytest.raises(ValueError, match="usage_resource_weights"):
        fair_usage.history_of(Queueing(usage_resource_weights=text))


async def test_one_penalty_per_reservation(tmp_path: Path) -> None:
    """Reserving counts; that the checks are Ready later does not count again, also across a sample."""
    async with running(tmp_path, by_usage()) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="8"))
        await hub.apply(a_check("budget"))
        await activate(hub, "budget")
        manifests = shared("4", {"lq-a": "1"})
        manifests[1]["spec"] |= checked("budget")
        await hub.apply(*manifests)
        (one,) = await submit(hub, "lq-a", "one")
        await hub.settle()
        assert await states(hub, [one]) == ["Reserved"]
        reserved = rank(hub, "lq-a")
        assert reserved > 0
        await answer(hub, one, "budget", "Ready")
        await hub.settle()
        assert await states(hub, [one]) == ["Placed"]
        assert rank(hub, "lq-a") == reserved
        (two,) = await submit(hub, "lq-a", "two")
        await hub.settle()
        hub.clock.advance(60)
        await hub.hub.write(heard)
        await hub.settle()  # a sample sees the penalty of both
        sampled = rank(hub, "lq-a")
        await answer(hub, two, "budget", "Ready")
        await hub.settle()
        assert await states(hub, [two]) == ["Placed"]
        assert rank(hub, "lq-a") == sampled
