"""What victims free is kept on their nodes for their preemptor: rule 26 of docs/explain/exactly-once.md."""

from pathlib import Path
from typing import Any

import pytest

from hub.domain.quota.resize import size
from tests.services.build import WITHIN, in_cohort, start, states, submit, urgent
from tests.services.hubs import Running, a_job, running
from tests.services.scheduling.crowded import (
    KEPT_S,
    Member,
    affinity,
    crowded,
    going,
    led_anew,
    with_budget,
)
from tests.services.steps import lively

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("budget", [None, 2])
async def test_two_victims_on_one_node_where_two_are_enough(
    tmp_path: Path, budget: int | None
) -> None:
    """Finding K11: not three on two nodes; and with a budget of two it preempts."""
    async with running(tmp_path, with_budget(budget)) as hub:
        _, low = await crowded(hub)
        high = await urgent(hub, "high", "a", "8")
        await hub.settle()
        gone = await going(hub, low)
        assert sorted(low.index(uid) for uid in gone) in ([0, 2], [1, 3])
        node = low.index(gone[0]) % 2
        assert (await hub.job(high)).nomination["nodes"] == [f"n{node}"]


async def test_one_victim_where_one_leaves_the_quota_and_the_room(tmp_path: Path) -> None:
    """Finding B6: quota asks for one, and the one that is chosen has its node to itself."""
    async with running(tmp_path) as hub:
        member = Member(hub, "c", 24, 24, 24)
        await member.report()
        await hub.apply(*in_cohort("a", "60", cohort="", preemption=WITHIN))
        low = await submit(hub, "a", "12", *(f"low{n}" for n in range(4)))
        await hub.settle()
        await start(hub, *low)
        for uid, node in zip(low, (0, 1, 2, 0), strict=True):
            member.on[uid] = (node, 12)
        await member.report()
        high = await urgent(hub, "high", "a", "16")
        await hub.settle()
        (gone,) = await going(hub, low)
        assert gone in (low[1], low[2])
        await member.end(gone)
        await hub.settle()
        assert (await hub.job(high)).state == "Placed"
        assert (await hub.job(gone)).state == "Pending"


async def preempted(hub: Running) -> tuple[Member, str, list[str]]:
    """The preemptor is placed on the room that its two victims left; both wait again."""
    member, low = await crowded(hub)
    high = await urgent(hub, "high", "a", "8")
    await hub.settle()
    gone = await going(hub, low)
    await member.end(*gone)
    await hub.settle()
    assert (await hub.job(high)).state == "Placed"
    assert await states(hub, gone) == ["Pending", "Pending"]
    return member, high, [*gone, *(uid for uid in low if uid not in gone)]


async def test_the_room_is_kept_on_its_node_until_the_pods_are_bound(tmp_path: Path) -> None:
    """Somebody else ends on the other node: one victim comes back there, and no other anywhere."""
    async with running(tmp_path, with_budget()) as hub:
        member, high, (first, second, stays, _) = await preempted(hub)
        kept = (await hub.job(high)).admission["nodes"]
        assert await affinity(hub, high) == (tuple(kept), ())
        await hub.transition("succeed", stays)
        del member.on[stays]
        await member.report()
        await hub.settle()
        back = await states(hub, [first, second])
        assert sorted(back) == ["Pending", "Placed"]
        placed = (first, second)[back.index("Placed")]
        assert await affinity(hub, placed) == ((), tuple(kept))
        member.epochs[placed] = 2
        await member.bind(4, **{("n1", "n0")[kept == ["n1"]]: placed})
        await member.bind(8, **{kept[0]: high})
        await hub.settle()
        other = second if placed == first else first
        assert await states(hub, [other]) == ["Pending"]


async def test_kept_room_outlasts_the_leader(tmp_path: Path) -> None:
    """It stands in the row: whoever leads next keeps the same nodes, before and after the placement."""
    async with running(tmp_path, with_budget()) as hub:
        member, low = await crowded(hub)
        high = await urgent(hub, "high", "a", "8")
        await hub.settle()
        claimed = (await hub.job(high)).nomination["nodes"]
        await led_anew(hub)
        assert hub.scheduler.index.claims.present()[high].nodes == tuple(claimed)
        await member.end(*await going(hub, low))
        await hub.settle()
        await led_anew(hub)
        assert hub.scheduler.index.members.kept_nodes() == {"c": tuple(claimed)}
        assert (await hub.job(high)).state == "Placed"


async def test_after_five_minutes_the_room_is_kept_no_longer(tmp_path: Path) -> None:
    """Its promise stays a promise; a foreign pod took the room, so another node may serve."""
    async with running(tmp_path, with_budget()) as hub:
        await preempted(hub)
        hub.scheduler.index.snapshot(hub.clock.now(), 10)
        assert hub.scheduler.index.members.kept_nodes()
        hub.clock.advance(KEPT_S + 1)
        hub.scheduler.index.snapshot(hub.clock.now(), 10)
        assert hub.scheduler.index.members.kept_nodes() == {}
        room = hub.scheduler.index.members.room
        assert room.left[room.layout.row["cpu"], 0] == 0


async def test_the_share_in_use_of_a_preemptor_counts_it_once(tmp_path: Path) -> None:
    """Finding K11: the decision said 125 % in use. Two of four jobs and the preemptor are 16 of 16 cpu."""
    async with running(tmp_path, with_budget()) as hub:
        _, high, _ = await preempted(hub)
        (chosen,) = (await hub.job(high)).scores["clusters"]
        shares = [t["value"] for t in chosen["terms"] if t["name"] == "in-use-after"]
        assert shares == [1.0]


async def test_the_commit_takes_the_kept_room_on_the_nodes_of_the_newest_report(
    tmp_path: Path,
) -> None:
    """A foreign pod took the node while the cycle decided: the placement lapses, the next turn decides."""
    async with running(tmp_path, with_budget()) as hub:
        member, low = await crowded(hub)
        high = await urgent(hub, "high", "a", "8")
        await hub.settle()
        gone = await going(hub, low)
        await member.end(*gone)
        await hub.follow()
        node = (await hub.job(high)).nomination["nodes"][0]
        await member.bind(1, **{node: "foreign"})
        await hub.scheduler.turn()
        assert (await hub.job(high)).state == "Pending"
        await hub.settle()
        assert (await hub.job(high)).state == "Pending"


async def test_where_no_agent_tells_nodes_the_model_decides(tmp_path: Path) -> None:
    """Agents of before protocol 6: somebody goes, by the hub's own layout."""
    async with running(tmp_path, with_budget()) as hub:
        _, low = await crowded(hub, tells_nodes=False)
        await urgent(hub, "high", "a", "8")
        await hub.settle()
        assert 2 <= len(await going(hub, low)) <= 3


async def test_a_victim_does_not_come_back_before_its_room_is_reported(tmp_path: Path) -> None:
    """Finding B6: it is gone, the report still shows its pod, and another node would hold it again."""
    async with running(tmp_path) as hub:
        member = Member(hub, "c", 24, 24)
        await member.report()
        await hub.apply(*in_cohort("a", "40", cohort="", preemption=WITHIN))
        low = await submit(hub, "a", "12", *(f"low{n}" for n in range(3)))
        await hub.settle()
        await start(hub, *low)
        for uid, node in zip(low, (0, 1, 0), strict=True):
            member.on[uid] = (node, 12)
        await member.report()
        high = await urgent(hub, "high", "a", "16")
        await hub.settle()
        (gone,) = await going(hub, low)
        assert gone == low[1]
        await hub.transition("requeue", gone, reason="Preempted")
        await hub.settle()
        assert await states(hub, [high, gone]) == ["Pending", "Pending"]
        assert (await hub.job(high)).reason == "WaitingForPreemptedWorkloads"
        del member.on[gone]
        await member.report()
        await hub.settle()
        assert await states(hub, [high, gone]) == ["Placed", "Pending"]


async def test_nobody_more_goes_between_the_report_and_the_end_of_a_victim(tmp_path: Path) -> None:
    """Its pod is in no report any more, and its end is on its way: the room that it promised is its own."""
    async with running(tmp_path) as hub:
        member = Member(hub, "c", 24, 24, 24)
        await member.report()
        await hub.apply(*in_cohort("a", "60", cohort="", preemption=WITHIN))
        low = await submit(hub, "a", "12", *(f"low{n}" for n in range(4)))
        await hub.settle()
        await start(hub, *low)
        for uid, node in zip(low, (0, 1, 2, 0), strict=True):
            member.on[uid] = (node, 12)
        await member.report()
        high = await urgent(hub, "high", "a", "16")
        await hub.settle()
        (gone,) = await going(hub, low)
        del member.on[gone]
        await member.report()
        await hub.settle()
        assert await going(hub, low) == [gone]
        await hub.transition("requeue", gone, reason="Preempted")
        await hub.settle()
        assert await states(hub, [high, gone]) == ["Placed", "Pending"]


async def test_nobody_grows_into_kept_room(tmp_path: Path) -> None:
    """A job of another queue that is wanted larger stays as it is while one of two victims has left."""
    async with running(tmp_path, with_budget()) as hub:
        member = Member(hub, "c", 8, 4)
        await member.report()
        await hub.apply(*in_cohort("a", "100", cohort="", preemption=WITHIN))
        await hub.apply(*in_cohort("b", "100", cohort=""))
        low = await submit(hub, "a", "4", "low0", "low1")
        await hub.settle()
        await start(hub, *low)
        member.on |= dict.fromkeys(low, (0, 4))
        await member.report()
        (wide,) = await hub.apply(a_crowd(2))
        await hub.settle()
        await lively(hub, wide, 2)
        member.pods[wide] = 2
        await member.bind(4, n1=wide)
        await hub.settle()
        high = await urgent(hub, "high", "a", "8")
        await hub.settle()
        assert (await hub.job(high)).nomination["nodes"] == ["n0"]
        await member.end(low[0])
        await hub.transition("cancel", low[0])
        await hub.apply(a_crowd(4))
        await hub.settle()
        assert size((await hub.job(wide)).admission or {}) == 2
        await hub.transition("cancel", high)
        await hub.settle()
        assert size((await hub.job(wide)).admission or {}) == 4


def a_crowd(pods: int) -> dict[str, Any]:
    """A Job of so many pods of 2 cpu at a time."""
    job = a_job("wide", queue="b", requests={"cpu": "2"}, count=pods)
    job["spec"]["completions"] = 9
    return job
