"""What becomes of jobs whose cluster is lost: they wait, or go elsewhere, as they ask; never a third time."""

from pathlib import Path
from typing import Any

import pytest

from hub.controllers.heartbeats import SilenceLoop
from hub.controllers.last_down import LastDown
from hub.services.context import leadership
from hub.services.explain.job import explain_job
from hub.services.jobs.cancel import cancel_job, delete_job
from hub.services.jobs.hold import release_job
from hub.services.members.liveness import HEARD, SILENT
from hub.services.objects.fence import fence_cluster
from hub.services.questions.jobs import get_job
from hub.services.works.counters import DOUBLE_RUNS
from hub.services.works.withdraw import withdraw_jobs
from hub.store import clusters, events, on_members, workloads, works
from tests.services.members.hubs import Agent, Running, ran, running_hub, seen

pytestmark = pytest.mark.anyio
LOSS = "roadstead.dev/on-cluster-loss"
AFTER = "RescheduleAfter(5m)"
BEGAN = "2026-05-01T00:00:01Z"


def asking(policy: str) -> dict[str, Any]:
    return {"metadata": {"annotations": {LOSS: policy} if policy else {}}}


class Fleet:
    """Three members, of which the test makes some fall silent, and who watches over silence."""

    def __init__(self, hub: Running, loop: SilenceLoop, agents: dict[str, Agent]) -> None:
        self.hub, self.loop, self.agents = hub, loop, agents

    @classmethod
    async def of(cls, hub: Running) -> "Fleet":
        term = await hub.write(leadership.seize, "test")
        agents = {name: await hub.join(name) for name in ("north", "south", "west")}
        return cls(hub, SilenceLoop(hub.hub, hub.sync, lambda: term, LastDown()), agents)

    async def runs(self, policy: str = AFTER, cluster: str = "north", name: str = "one") -> str:
        """A job that runs in a cluster."""
        uid = await self.hub.placed(cluster, name, **asking(policy))
        await self.agents[cluster].sync()
        await self.agents[cluster].sync(ran(uid, active=1, running_since=BEGAN))
        return uid

    async def pass_by(self, seconds: float, *silent: str) -> None:
        """Time passes, in turns of the loop; these clusters say nothing meanwhile."""
        while seconds > 0:
            self.hub.clock.advance(min(10.0, seconds))
            seconds -= 10.0
            for name, agent in self.agents.items():
                if name not in silent:
                    await agent.sync()
            await self.loop.tick()

    async def place(self, uid: str, cluster: str) -> None:
        """As the scheduler does."""
        await self.hub.place(uid, cluster)
        await self.hub.settled()
        await self.agents[cluster].sync()

    async def told(self, uid: str) -> list[tuple[str, int, str]]:
        """What clusters are to hold of a job: cluster, epoch, action."""
        rows = await self.hub.hub.read(works.of_uids, [uid])
        return sorted((row.cluster, row.epoch, row.action) for row in rows)

    async def events(self, uid: str) -> list[str]:
        rows = await self.hub.hub.read(lambda tx: events.list_events(tx, uid=uid))
        return [row.reason for row in rows]


async def test_a_job_that_allows_it_starts_elsewhere_once_its_time_is_over(tmp_path: Path):
    """Not a turn before; its cluster keeps the order to withdraw, and quota is that of the new epoch."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.of(hub)
        uid = await fleet.runs()
        await fleet.pass_by(290, "north")
        assert (await hub.job(uid)).state == "Unknown"
        await fleet.pass_by(20, "north")
        job = await hub.job(uid)
        assert (job.state, job.reason, job.cluster, job.admission) == (
            "Pending",
            "ClusterLost",
            "",
            None,
        )
        assert "as RescheduleAfter(5m) allows" in job.message
        assert list(job.set_aside or ()) == ["north"]
        assert job.evictions == {"ClusterLost": 1}
        assert await fleet.told(uid) == [("north", 1, "Withdraw")]
        await fleet.place(uid, "south")
        assert await fleet.told(uid) == [("north", 1, "Withdraw"), ("south", 2, "Apply")]


async def test_the_older_goes_when_its_cluster_is_back_and_the_newer_ends_the_job(tmp_path: Path):
    """KeepCurrent: its result is none; that both ran is told once, by Event and by a counter."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.of(hub)
        uid = await fleet.runs()
        await fleet.pass_by(310, "north")
        await fleet.place(uid, "south")
        await fleet.agents["south"].sync(ran(uid, 2, active=1, running_since=BEGAN))
        counted = DOUBLE_RUNS._value.get()
        north = fleet.agents["north"]
        await north.sync(ran(uid, 1, active=1, running_since=BEGAN))
        assert (north.works[uid]["action"], north.works[uid]["epoch"]) == ("Withdraw", 1)
        await north.sync(ran(uid, 1, succeeded=1, result="Succeeded", running_since=BEGAN))
        job = await hub.job(uid)
        assert (job.state, job.cluster, job.epoch) == ("Running", "south", 2)
        shown = await hub.hub.read(get_job, uid)
        (earlier,) = shown["earlierEpochs"]
        assert (earlier["cluster"], earlier["epoch"], earlier["overlapped"]) == ("north", 1, True)
        await north.sync(seen(uid, "Gone"))
        assert await fleet.told(uid) == [("south", 2, "Apply")]
        assert (await fleet.events(uid)).count("DoubleRun") == 1
        assert DOUBLE_RUNS._value.get() == counted + 1
        await fleet.agents["south"].sync(ran(uid, 2, succeeded=1, result="Succeeded"))
        assert (await hub.job(uid)).state == "Succeeded"
        assert (await hub.hub.read(get_job, uid))["earlierEpochs"] == []


async def test_a_cluster_that_ran_nothing_meanwhile_is_no_double_run(tmp_path: Path):
    """What was left behind and had not begun, or is gone before the new epoch starts, ran beside nothing."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.of(hub)
        uid = await hub.placed("north", **asking(AFTER))
        await fleet.agents["north"].sync()
        await fleet.pass_by(310, "north")
        await fleet.place(uid, "south")
        await fleet.agents["north"].sync()
        await fleet.agents["north"].sync(seen(uid, "Gone"))
        assert await fleet.told(uid) == [("south", 2, "Apply")]
        assert "DoubleRun" not in await fleet.events(uid)


@pytest.mark.parametrize("policy", ["", "Wait", "RescheduleWhenFenced"])
async def test_a_partition_that_heals_leads_to_no_second_run(tmp_path: Path, policy: str):
    """Ten minutes cut off, or a day: a job that asks for nothing else is where it was, in its epoch."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.of(hub)
        uid = await fleet.runs(policy)
        await fleet.pass_by(600, "north")
        assert (await hub.job(uid)).state == "Unknown"
        hub.clock.advance(86400)
        await fleet.pass_by(120, "north")
        job = await hub.job(uid)
        assert (job.state, job.cluster, job.epoch) == ("Unknown", "north", 1)
        await fleet.agents["north"].sync()
        await fleet.loop.tick()
        job = await hub.job(uid)
        assert (job.state, job.cluster, job.epoch) == ("Running", "north", 1)
        assert fleet.agents["north"].works[uid]["action"] == "Apply"
        await fleet.agents["north"].sync(ran(uid, result="Succeeded", succeeded=1))
        assert (await hub.job(uid)).state == "Succeeded"


@pytest.mark.parametrize(
    ("policy", "state"),
    [("", "Pending"), ("Wait", "Held"), ("RescheduleWhenFenced", "Pending"), (AFTER, "Pending")],
)
async def test_a_fence_has_a_job_start_elsewhere_or_wait_for_its_owner(
    tmp_path: Path, policy: str, state: str
):
    """At once when its cluster is written off; with `Wait` when somebody releases it."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.of(hub)
        uid = await fleet.runs(policy)
        await fleet.pass_by(120, "north")
        assert (await hub.job(uid)).state == "Unknown"
        await hub.write(fence_cluster, "north", "north", "ada", 45.0)
        job = await hub.job(uid)
        assert (job.state, job.reason, job.epoch) == (state, "ClusterFenced", 1)
        assert await fleet.told(uid) == []
        if state == "Held":
            assert "then release it" in job.message
            await hub.write(release_job, uid, "ada")
        assert (await hub.job(uid)).state == "Pending"


async def test_what_a_fenced_cluster_was_not_told_of_waits_again_whatever_it_asks(tmp_path: Path):
    """It can not have begun there: nobody has to decide."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.of(hub)
        uid = await hub.placed("north", **asking("Wait"))
        hub.clock.advance(46)
        await hub.write(fence_cluster, "north", "north", "ada", 45.0)
        assert (await hub.job(uid)).state == "Pending"
        assert fleet.agents


async def test_never_a_third(tmp_path: Path):
    """While a lost cluster may still run a job it is not moved again; it is, once that is fenced."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.of(hub)
        fleet.agents |= {name: await hub.join(name) for name in ("east", "far")}
        uid = await fleet.runs()
        await fleet.pass_by(310, "north")
        await fleet.place(uid, "south")
        await fleet.agents["south"].sync(ran(uid, 2, active=1, running_since=BEGAN))
        await fleet.pass_by(900, "north", "south")
        job = await hub.job(uid)
        assert (job.state, job.cluster, job.epoch) == ("Unknown", "south", 2)
        told = await hub.hub.read(explain_job, uid)
        assert told["clusterLoss"]["movesNotBefore"] is None
        assert "in north" in told["clusterLoss"]["choices"][0]
        await hub.write(fence_cluster, "north", "north", "ada", 45.0)
        await fleet.pass_by(40, "north", "south")
        assert (await hub.job(uid)).state == "Pending"
        assert await fleet.told(uid) == [("south", 2, "Withdraw")]


async def test_the_hubs_own_absence_does_not_count(tmp_path: Path):
    """A hub that comes up listens for as long as the job says before it moves anything."""
    async with running_hub(tmp_path) as hub:
        uid = await (await Fleet.of(hub)).runs()
        clock = hub.clock
    clock.advance(7200)
    async with running_hub(tmp_path, clock) as hub:
        term = await hub.write(leadership.seize, "test")
        loop = SilenceLoop(hub.hub, hub.sync, lambda: term, LastDown())
        for _ in range(29):
            clock.advance(10)
            await hub.write(_beat)
            await loop.tick()
        assert (await hub.job(uid)).state == "Unknown"
        for _ in range(2):
            clock.advance(10)
            await hub.write(_beat)
            await loop.tick()
        assert (await hub.job(uid)).state == "Pending"


def _beat(tx: Any) -> None:
    clusters.beat(tx, {"south": tx.now, "west": tx.now})


async def test_nothing_is_moved_while_most_of_the_fleet_is_silent(tmp_path: Path):
    """Then it is the hub that is cut off, however long."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.of(hub)
        uid = await fleet.runs()
        await fleet.pass_by(1200, "north", "south")
        assert fleet.loop.frozen
        assert (await hub.job(uid)).state == "Running"


async def test_what_a_job_asks_for_may_be_changed_meanwhile(tmp_path: Path):
    """It is heeded within half a minute."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.of(hub)
        uid = await fleet.runs("Wait")
        await fleet.pass_by(600, "north")
        assert (await hub.job(uid)).state == "Unknown"
        await hub.write(workloads.change, [{"uid": uid, "annotations": {LOSS: AFTER}}])
        await fleet.pass_by(40, "north")
        assert (await hub.job(uid)).state == "Pending"


async def test_a_job_on_its_way_back_to_its_queue_does_not_wait_for_ever(tmp_path: Path):
    """It was preempted as its cluster fell silent: it goes elsewhere all the same; a wish to end stays."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.of(hub)
        uid, ends = await fleet.runs(), await fleet.runs(name="two")
        await hub.write(withdraw_jobs, [uid], "Pending", "Preempted", "")
        await hub.write(cancel_job, ends, "ada")
        await fleet.pass_by(310, "north")
        assert (await hub.job(uid)).state == "Pending"
        assert await fleet.told(uid) == [("north", 1, "Withdraw")]
        assert (await hub.job(ends)).state == "Withdrawing"


async def test_a_job_that_is_cancelled_or_deleted_meanwhile_ends_at_once(tmp_path: Path):
    """The order stands: what is left goes when its cluster is back, and ends nothing."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.of(hub)
        cancelled, deleted = await fleet.runs(), await fleet.runs(name="two")
        await fleet.pass_by(310, "north")
        await hub.write(cancel_job, cancelled, "ada")
        await hub.write(delete_job, deleted, "ada")
        assert (await hub.job(cancelled)).state == "Cancelled"
        assert (await hub.job(deleted)).live is None
        north = fleet.agents["north"]
        await north.sync(ran(cancelled, result="Succeeded"), ran(deleted, result="Succeeded"))
        assert {north.works[uid]["action"] for uid in (cancelled, deleted)} == {"Withdraw"}
        await north.sync(seen(cancelled, "Gone"), seen(deleted, "Gone"))
        assert (await hub.job(cancelled)).state == "Cancelled"
        assert await fleet.told(cancelled) == await fleet.told(deleted) == []


async def test_a_result_of_what_was_left_behind_ends_nothing_while_the_job_waits(tmp_path: Path):
    """Nor does its absence: the job is on no cluster, so no word of any cluster is about it."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.of(hub)
        uid, other = await fleet.runs(), await fleet.runs(name="two")
        await fleet.pass_by(310, "north")
        north = fleet.agents["north"]
        await north.sync(ran(uid, result="Succeeded", succeeded=1), seen(other, "Missing"))
        assert [(await hub.job(each)).state for each in (uid, other)] == ["Pending", "Pending"]
        await north.sync(seen(uid, "Gone", job={"result": "Succeeded"}), seen(other, "Gone"))
        assert [(await hub.job(each)).state for each in (uid, other)] == ["Pending", "Pending"]
        assert await fleet.told(uid) == []


async def test_a_job_may_be_placed_where_it_was(tmp_path: Path):
    """Then its work there is of the new epoch, and the order of the older is in it."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.of(hub)
        uid = await fleet.runs()
        await fleet.pass_by(310, "north")
        await fleet.agents["north"].sync()
        await fleet.place(uid, "north")
        assert await fleet.told(uid) == [("north", 2, "Apply")]
        await fleet.agents["north"].sync(ran(uid, 1, result="Succeeded", succeeded=1))
        assert (await hub.job(uid)).state == "Offered"


async def test_people_are_told_what_may_become_of_it(tmp_path: Path):
    """Since when its cluster is silent, what it asked for, not before when it moves, and what else may."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.of(hub)
        uid, waits = await fleet.runs(), await fleet.runs("Wait", name="two")
        assert (await hub.hub.read(get_job, uid))["clusterLoss"] is None
        await fleet.pass_by(100, "north")
        told = (await hub.hub.read(get_job, uid))["clusterLoss"]
        assert (told["cluster"], told["policy"]) == ("north", AFTER)
        assert told["movesNotBefore"] > told["heardAt"] > "2026-05-01T00:00"
        assert told["choices"][0].startswith("it starts elsewhere not before")
        assert "not before" in (await hub.job(uid)).message
        told = (await hub.hub.read(explain_job, waits))["clusterLoss"]
        assert (told["policy"], told["movesNotBefore"]) == ("Wait", None)
        assert "held for its owner" in told["choices"][0]
        assert "RescheduleAfter(d)" in told["choices"][-1]


async def test_a_cluster_that_is_to_withdraw_something_counts_as_holding_it(tmp_path: Path):
    """So it is not deleted by mistake, and its agent's credential with it."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.of(hub)
        uid = await fleet.runs()
        assert await hub.hub.read(on_members.left_behind, "north") == 0
        await fleet.pass_by(310, "north")
        assert await hub.hub.read(on_members.left_behind, "north") == 1
        await fleet.place(uid, "south")
        assert await hub.hub.read(on_members.left_behind, "north") == 1
        assert await hub.hub.read(on_members.left_behind, "south") == 0


async def test_looking_for_lost_jobs_is_one_statement_and_not_each_turn(tmp_path: Path):
    """However many there are; where no cluster is lost there is none."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.of(hub)
        for index in range(20):
            await fleet.runs(name=f"job-{index}")
            hub.clock.advance(1)
        asked = Counted(fleet.loop)
        await fleet.pass_by(50, "north")
        assert asked.times == 0
        await fleet.pass_by(230, "north")
        assert 0 < asked.times <= 9
        await fleet.pass_by(40, "north")
        rows = await hub.hub.read(lambda tx: on_members.jobs_on(tx, [""], ["Pending"]))
        assert len(rows) == 20


class Counted:
    """How often a loop looks for what it may move."""

    def __init__(self, loop: SilenceLoop) -> None:
        self.times = 0
        self._read = loop._hub.read
        loop._hub.read = self._counted  # type: ignore[method-assign,assignment]

    async def _counted(self, fn: Any, *args: Any) -> Any:
        self.times += getattr(fn, "__name__", "") == "due"
        return await self._read(fn, *args)


async def test_silence_and_its_end_are_told_once_each(tmp_path: Path):
    """Also of a member that holds nothing: whoever is on call reads it among the events."""
    async with running_hub(tmp_path) as hub:
        fleet = await Fleet.of(hub)
        await fleet.pass_by(120, "north")
        await fleet.pass_by(60)
        await fleet.pass_by(60, "north")
        rows = await hub.hub.read(lambda tx: events.list_events(tx, kind="MemberCluster"))
        told = [(r.name, r.reason, r.type) for r in rows if r.reason in {SILENT, HEARD}]
        fell = ("north", SILENT, "Warning")
        assert told == [fell, ("north", HEARD, "Normal"), fell]
