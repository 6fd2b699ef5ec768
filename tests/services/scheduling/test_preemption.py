"""Preemption on a live hub: victims go gracefully, then the one they went for is placed."""

import datetime as dt
from pathlib import Path

import pytest

from hub.domain.instants import stamp
from hub.domain.plan import Assignment, Nominated
from hub.services.questions import jobs
from hub.services.scheduling.preempt import preempt
from shared.consent import NOT_ACCEPTED
from tests.services.build import RECLAIM, WITHIN, in_cohort, start, states, submit, urgent
from tests.services.hubs import Running, a_job, a_pool, running

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(("word", "flavor"), [("Preempt", "f0"), ("TryNextFlavor", "f1")])
async def test_a_queue_preempts_in_its_first_flavor_or_tries_the_next(
    tmp_path: Path, word: str, flavor: str
) -> None:
    """whenCanPreempt by v1beta1's word: `Preempt` stays with the flavor in which it may preempt."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=2, cpu="4"))
        first, queue, door = in_cohort("a", "4", cohort="", flavor="f0", preemption=WITHIN)
        flavors = queue["spec"]["resourceGroups"][0]["flavors"]
        flavors.append({**flavors[0], "name": "f1"})
        queue["spec"]["flavorFungibility"] = {"whenCanPreempt": word}
        second = {**first, "metadata": {"name": "f1"}}
        await hub.apply(first, second, queue, door)
        (low,) = await submit(hub, "a", "4", "low")
        await hub.settle()
        await start(hub, low)
        high = await urgent(hub, "high", "a", "4")
        await hub.settle()
        if flavor == "f0":
            assert await states(hub, [low, high]) == ["Withdrawing", "Pending"]
            await hub.transition("requeue", low, reason="Preempted")
            await hub.settle()
        admission = (await hub.job(high)).admission
        assert admission["podSets"][0]["flavors"] == {"cpu": flavor}


async def test_lower_priority_goes_gracefully_and_the_higher_is_placed(tmp_path: Path) -> None:
    """withinClusterQueue: the victim is withdrawn, holds its quota until it is gone, then waits again."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="4"))
        await hub.apply(*in_cohort("a", "4", cohort="", preemption=WITHIN))
        (low,) = await submit(hub, "a", "4", "low")
        await hub.settle()
        await start(hub, low)
        high = await urgent(hub, "high", "a", "4")
        await hub.settle()
        assert await states(hub, [low, high]) == ["Withdrawing", "Pending"]
        victim, waits = await hub.job(low), await hub.job(high)
        assert (victim.reason, victim.withdraw_to) == ("Preempted", "Pending")
        assert "team-a/high due to prioritization in the ClusterQueue" in victim.message
        assert waits.reason == "WaitingForPreemptedWorkloads"
        assert waits.nomination["cluster"] == "c"
        queued_at = victim.queued_at
        await hub.transition("requeue", low, reason="Preempted")
        await hub.settle()
        assert await states(hub, [low, high]) == ["Pending", "Placed"]
        assert (await hub.job(low)).queued_at == queued_at
        assert (await hub.job(high)).nomination is None


async def test_one_that_was_never_offered_gives_way_at_once(tmp_path: Path) -> None:
    """Placed but not told to any agent: nothing is waited for."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="4"))
        await hub.apply(*in_cohort("a", "4", cohort="", preemption=WITHIN))
        (low,) = await submit(hub, "a", "4", "low")
        await hub.settle()
        high = await urgent(hub, "high", "a", "4")
        await hub.settle()
        assert await states(hub, [low, high]) == ["Pending", "Placed"]


async def test_equals_and_their_betters_are_spared(tmp_path: Path) -> None:
    """LowerPriority displaces nobody of the same priority."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="4"))
        await hub.apply(*in_cohort("a", "4", cohort="", preemption=WITHIN))
        one, two = await submit(hub, "a", "4", "one", "two")
        await hub.settle()
        assert await states(hub, [one, two]) == ["Placed", "Pending"]
        assert "no workload may be preempted" in (await hub.job(two)).message


async def test_a_queue_reclaims_what_it_lent(tmp_path: Path) -> None:
    """reclaimWithinCohort Any: borrowers go, only as many as are needed."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=2, cpu="8"))
        await hub.apply(*in_cohort("a", "4", preemption=RECLAIM), *in_cohort("b", "4"))
        borrowers = await submit(hub, "b", "2", *(f"b{n}" for n in range(4)))
        await hub.settle()
        await start(hub, *borrowers)
        (own,) = await submit(hub, "a", "2", "own")
        await hub.settle()
        assert sorted(await states(hub, borrowers)) == ["Running"] * 3 + ["Withdrawing"]
        (gone,) = [u for u in borrowers if (await hub.job(u)).state == "Withdrawing"]
        assert "reclamation within the cohort" in (await hub.job(gone)).message
        await hub.transition("requeue", gone, reason="Preempted")
        await hub.settle()
        assert await states(hub, [own, gone]) == ["Placed", "Pending"]


async def test_one_that_fits_once_anothers_victims_are_gone_is_nominated_too(
    tmp_path: Path,
) -> None:
    """Two reclaim what one victim holds: it goes for the first, and the second waits for it as well."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="8"))
        for queue in ("a", "b"):
            await hub.apply(*in_cohort(queue, "4", preemption={"reclaimWithinCohort": "Any"}))
        await hub.apply(*in_cohort("d", "0"))
        (borrower,) = await submit(hub, "d", "8", "borrower")
        await hub.settle()
        await start(hub, borrower)
        (first,) = await submit(hub, "a", "4", "first")
        (second,) = await submit(hub, "b", "4", "second")
        await hub.settle()
        assert await states(hub, [borrower, first, second]) == [
            "Withdrawing",
            "Pending",
            "Pending",
        ]
        row = await hub.job(second)
        assert row.reason == "WaitingForPreemptedWorkloads"
        kept = (await hub.job(first)).nomination
        assert kept["preempted"] == [borrower]  # second waits for it, and has not preempted it
        assert row.nomination == kept | {"preempted": []}
        later = await urgent(hub, "later", "b", "4")
        await hub.settle()
        assert await hub.job(second) == row
        await hub.transition("requeue", borrower, reason="Preempted")
        await hub.settle()
        assert await states(hub, [first, second, later]) == ["Placed", "Placed", "Pending"]


async def test_victims_and_the_room_they_leave_are_on_one_cluster(tmp_path: Path) -> None:
    """No gang evicts on two clusters and fits on none: victims make room on the nominated one."""
    async with running(tmp_path) as hub:
        for name in ("c1", "c2"):
            await hub.cluster(name, a_pool(nodes=1, cpu="4"))
        await hub.apply(*in_cohort("a", "8", cohort="", preemption=WITHIN))
        low = await submit(hub, "a", "2", *(f"low{n}" for n in range(4)))
        await hub.settle()
        await start(hub, *low)
        high = await urgent(hub, "high", "a", "4")
        await hub.settle()
        rows = [await hub.job(uid) for uid in low]
        going = [row for row in rows if row.state == "Withdrawing"]
        nominated = (await hub.job(high)).nomination["cluster"]
        assert [row.cluster for row in going] == [nominated] * 2
        for row in going:
            await hub.transition("requeue", row.uid, reason="Preempted")
        await hub.settle()
        row = await hub.job(high)
        assert (row.state, row.cluster) == ("Placed", nominated)


async def test_room_is_kept_for_the_nominee(tmp_path: Path) -> None:
    """While victims leave nobody else is offered what becomes free; the claim ends in the end."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="4"))
        await hub.apply(
            *in_cohort("a", "4", cohort="", preemption=WITHIN), *in_cohort("b", "4", cohort="")
        )
        low = await submit(hub, "a", "2", "low1", "low2")
        await hub.settle()
        await start(hub, *low)
        high = await urgent(hub, "high", "a", "4")
        await hub.settle()
        (other,) = await submit(hub, "b", "2", "other")
        await hub.transition("requeue", low[0], reason="Preempted")
        await hub.settle()
        assert await states(hub, [high, other]) == ["Pending", "Pending"]
        await hub.transition("cancel", high)
        await hub.settle()
        assert sorted(await states(hub, [low[0], other])) == ["Pending", "Placed"]


@pytest.mark.parametrize(
    ("state", "placed"), [(NOT_ACCEPTED, True), ("Labelled", False), (None, False)]
)
async def test_withdrawn_consent_gives_up_the_room_that_is_kept(
    tmp_path: Path, state: str | None, placed: bool
) -> None:
    """The nominee cannot go there any more: others use the room at once. A report to come frees nothing."""
    async with running(tmp_path) as hub:
        told = {"team-a": "Labelled", "team-b": "Labelled"}
        await hub.cluster("c", a_pool(nodes=1, cpu="4"), consent={"revision": 1, "states": told})
        door = in_cohort("b", "4", cohort="")
        for each in door:
            if each["kind"] == "LocalQueue":
                each["metadata"]["namespace"] = "team-b"
        await hub.apply(*in_cohort("a", "4", cohort="", preemption=WITHIN), *door)
        low = await submit(hub, "a", "2", "low1", "low2")
        await hub.settle()
        await start(hub, *low)
        high = await urgent(hub, "high", "a", "4")
        await hub.settle()
        (other,) = await hub.apply(a_job("other", "team-b", queue="b", requests={"cpu": "2"}))
        await hub.transition("requeue", low[0], reason="Preempted")
        await hub.settle()
        assert await states(hub, [high, other]) == ["Pending", "Pending"]
        told = {"team-b": "Labelled"} | ({} if state is None else {"team-a": state})
        await hub.cluster("c", a_pool(nodes=1, cpu="4"), consent={"revision": 2, "states": told})
        await hub.settle()
        assert await states(hub, [high, other]) == ["Pending", "Placed" if placed else "Pending"]


async def test_who_was_told_to_go_earlier_is_waited_for_too(tmp_path: Path) -> None:
    """A later cycle that finds other victims for the same workload does not forget the first."""
    async with running(tmp_path) as hub:
        await hub.apply(*in_cohort("a", "4", cohort=""))
        (high,) = await submit(hub, "a", "4", "high")
        for victim in ("v1", "v2"):
            waits = Nominated(high, "c", Assignment((), {}, ()), (victim,), "waits", new=True)
            await hub.hub.write(preempt, {}, [waits])
        assert (await hub.job(high)).nomination["victims"] == ["v1", "v2"]


async def test_nominations_outlive_a_restart(tmp_path: Path) -> None:
    """A scheduler that reads everything anew knows who waits for whom, and evicts nobody else."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=2, cpu="4"))
        await hub.apply(*in_cohort("a", "8", cohort="", preemption=WITHIN))
        low = await submit(hub, "a", "4", "low1", "low2")
        await hub.settle()
        await start(hub, *low)
        high = await urgent(hub, "high", "a", "4")
        await hub.settle()
        before = await states(hub, low)
        hub.scheduler.loaded = False
        hub.clock.advance(dt.timedelta(minutes=1).total_seconds())
        await hub.settle()
        assert sorted(before) == ["Running", "Withdrawing"]
        assert await states(hub, low) == before
        assert high in hub.scheduler.index.claims


async def test_one_that_waits_again_has_not_started(tmp_path: Path) -> None:
    """Its start is that of the run it is in, or has ended with; its events keep the earlier ones."""

    async def times(hub: Running, uid: str) -> tuple[str | None, str | None]:
        told = await hub.hub.read(jobs.get_job, uid)
        return told["startedAt"], told["finishedAt"]

    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="4"))
        await hub.apply(*in_cohort("a", "4", cohort="", preemption=WITHIN))
        (low,) = await submit(hub, "a", "4", "low")
        await hub.settle()
        await start(hub, low)
        first = (await times(hub, low))[0]
        assert first is not None
        high = await urgent(hub, "high", "a", "4")
        await hub.settle()
        assert await times(hub, low) == (first, None)  # it is being taken back
        await hub.transition("requeue", low)
        await hub.settle()
        assert await times(hub, low) == (None, None)
        await start(hub, high)
        hub.clock.advance(5)
        await hub.transition("succeed", high)
        await hub.settle()
        assert (await hub.job(low)).state == "Placed"
        assert await times(hub, low) == (None, None)
        await start(hub, low)
        again = stamp(hub.clock.now())
        hub.clock.advance(5)
        await hub.transition("succeed", low)
        assert await times(hub, low) == (again, stamp(hub.clock.now()))
        events = (await hub.hub.read(jobs.job_events, low, 100))["items"]
        assert [each["at"] for each in events if each["reason"] == "Started"] == [first, again]


async def test_who_needs_more_victims_than_another_counts_on_those_too(tmp_path: Path) -> None:
    """Both heads look at the larger; who comes second takes what is left of it, and one more."""
    async with running(tmp_path) as hub:
        await hub.cluster("one", a_pool(nodes=1, cpu="8"))
        for name, cpu in (("a", "4"), ("b", "4"), ("c", "0")):
            await hub.apply(*in_cohort(name, cpu, preemption=RECLAIM))
        (small,) = await submit(hub, "c", "2", "small")
        await hub.settle()
        await start(hub, small)
        hub.clock.advance(10)
        (large,) = await submit(hub, "c", "6", "large")
        await hub.settle()
        await start(hub, large)
        heads = [(await submit(hub, queue, "4", f"w{queue}"))[0] for queue in "ab"]
        await hub.follow()
        await hub.scheduler.turn()
        assert await states(hub, [large, small]) == ["Withdrawing"] * 2
        reasons = [(await hub.job(uid)).reason for uid in heads]
        assert reasons == ["WaitingForPreemptedWorkloads"] * 2


async def test_a_victim_is_not_told_the_name_of_a_job_of_another_namespace(
    tmp_path: Path,
) -> None:
    """Whoever reads its message may see nothing of that namespace."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=2, cpu="8"))
        await hub.apply(*in_cohort("a", "4", preemption=RECLAIM), *in_cohort("b", "4"))
        door = next(each for each in in_cohort("a", "4") if each["kind"] == "LocalQueue")
        elsewhere = {**door, "metadata": {**door["metadata"], "namespace": "team-z"}}
        await hub.apply(elsewhere)
        borrowers = await submit(hub, "b", "2", *(f"b{n}" for n in range(4)))
        await hub.settle()
        await start(hub, *borrowers)
        job = a_job("secret-plan", namespace="team-z", queue="a", requests={"cpu": "2"})
        (own,) = await hub.apply(job)
        await hub.settle()
        (gone,) = [u for u in borrowers if (await hub.job(u)).state == "Withdrawing"]
        message = (await hub.job(gone)).message
        assert "a job of another namespace due to reclamation within the cohort" in message
        told = await hub.hub.read(jobs.job_events, gone, 100)
        assert not any(each in message + str(told) for each in ("secret-plan", "team-z", own))
