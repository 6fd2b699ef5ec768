"""CronJobs on a hub: each scheduled time becomes at most one Job, with several hubs and after restarts."""

import datetime as dt

import pytest

from hub.services.context import leadership
from hub.services.context.settings import Intake
from hub.services.jobs import cancel, revise
from hub.services.objects.delete import delete_object
from hub.services.works.restored import accept, begin_recovery
from hub.store import events, objects
from tests.services.hubs import KUEUE, a_job, a_queue, running
from tests.services.jobs.cron_jobs import Crons, a_cron_job

pytestmark = pytest.mark.anyio


def after(running_hub, minutes: float) -> dt.datetime:
    """An instant after the present ten minutes of the clock."""
    now = running_hub.clock.now()
    start = now.replace(minute=now.minute // 10 * 10, second=0, microsecond=0)
    return start + dt.timedelta(minutes=minutes)


async def said(hub, reason: str) -> list[str]:
    """The messages of the events of that reason."""
    found = await hub.hub.read(lambda tx: events.list_events(tx, limit=1000))
    return [each.message for each in found if each.reason == reason]


async def test_each_time_becomes_one_job_of_the_queue_that_names_its_cron_job(tmp_path):
    """Its name has the minutes since 1970 of the time; the status says what runs."""
    async with running(tmp_path) as hub:
        crons, ten = Crons(hub), after(hub, 10)
        await hub.apply(*a_queue("q"), a_cron_job())
        await crons.turn()
        assert await crons.children() == []
        await crons.at(ten)
        await crons.turn()
        (child,) = await crons.children()
        assert child.name == f"nightly-{int(ten.timestamp()) // 60}"
        assert (child.kind, child.queue, child.state) == ("Job", "q", "Pending")
        assert child.annotations["roadstead.dev/cron-job"] == "nightly"
        status = (await crons.row()).status
        assert [each["uid"] for each in status["active"]] == [child.uid]
        assert status["lastScheduleTime"] == ten.isoformat().replace("+00:00", "Z")
        await crons.at(after(hub, 10))
        assert len(await crons.children()) == 2


async def test_two_hubs_that_decide_one_time_create_one_job(tmp_path):
    """Also a hub that has forgotten all: what is decided is in the store."""
    async with running(tmp_path) as hub:
        await hub.apply(*a_queue("q"), a_cron_job())
        await Crons(hub).at(after(hub, 10))
        for _ in range(3):
            await Crons(hub).turn()
        assert len(await Crons(hub).children()) == 1


async def test_a_hub_that_no_longer_leads_creates_nothing(tmp_path):
    """Its term is over in the transaction that would create."""
    async with running(tmp_path) as hub:
        await hub.apply(*a_queue("q"), a_cron_job())
        old = Crons(hub)
        await old.turn()
        term = await hub.hub.write(leadership.seize, "another")
        with pytest.raises(Exception, match="term"):
            await old.at(after(hub, 10))
        await Crons(hub, term).turn()
        assert len(await old.children()) == 1


async def test_of_times_that_passed_without_a_hub_the_newest_runs(tmp_path):
    """The others are missed, and said."""
    async with running(tmp_path) as hub:
        await hub.apply(*a_queue("q"), a_cron_job())
        await Crons(hub).at(after(hub, 45))
        (child,) = await Crons(hub).children()
        assert child.name == f"nightly-{int(after(hub, 0).timestamp()) // 60}"
        assert "3 scheduled times" in (await said(hub, "MissSchedule"))[0]


async def test_more_than_a_hundred_missed_times_warn(tmp_path):
    """The newest runs; the words name the remedy."""
    async with running(tmp_path) as hub:
        await hub.apply(*a_queue("q"), a_cron_job())
        await Crons(hub).at(after(hub, 10 * 500))
        assert len(await Crons(hub).children()) == 1
        assert "startingDeadlineSeconds" in (await said(hub, "TooManyMissedTimes"))[0]


async def test_forbid_waits_for_the_job_that_runs(tmp_path):
    """Once it has ended, the newest time that has passed meanwhile runs."""
    async with running(tmp_path) as hub:
        crons = Crons(hub)
        await hub.apply(*a_queue("q"), a_cron_job(concurrencyPolicy="Forbid"))
        await crons.at(after(hub, 10))
        (first,) = await crons.children()
        await crons.at(after(hub, 25))
        assert [each.uid for each in await crons.children()] == [first.uid]
        (told, *_) = await said(hub, "JobAlreadyActive")
        assert told.endswith(f"waits until earlier ones have ended: {first.name} (Pending)")
        await hub.hub.write(cancel.cancel_job, first.uid, "ada")
        await crons.turn()
        assert len([each for each in await crons.children() if each.state == "Pending"]) == 1


async def test_replace_deletes_the_job_that_runs(tmp_path):
    """And the next run takes its place."""
    async with running(tmp_path) as hub:
        crons = Crons(hub)
        await hub.apply(*a_queue("q"), a_cron_job(concurrencyPolicy="Replace"))
        await crons.at(after(hub, 10))
        (first,) = await crons.children()
        await crons.at(after(hub, 10))
        (second,) = await crons.children()
        assert second.uid != first.uid
        assert (await hub.job(first.uid)).reason == "Replaced"


async def test_a_run_that_is_refused_replaces_nothing(tmp_path):
    """Another job has its name: the running Job continues, and an event says both."""
    async with running(tmp_path) as hub:
        crons = Crons(hub)
        await hub.apply(*a_queue("q"), a_cron_job(concurrencyPolicy="Replace"))
        await crons.at(after(hub, 10))
        (first,) = await crons.children()
        next_at = int(after(hub, 10).timestamp()) // 60
        await hub.apply(a_job(f"nightly-{next_at}", namespace="team-a", queue="q"))
        await crons.at(after(hub, 10))
        assert (await hub.job(first.uid)).state == "Pending"
        status = (await crons.row()).status
        assert [each["uid"] for each in status["active"]] == [first.uid]
        (told,) = await said(hub, "FailedCreate")
        assert "this time does not run, and replaces no Job" in told
        assert await said(hub, "SuccessfulDelete") == []
        await crons.at(after(hub, 10))
        assert (await hub.job(first.uid)).reason == "Replaced"


async def test_no_time_runs_while_the_queue_does_not_exist(tmp_path):
    """Each is missed with a Warning, no Job waits for the queue, and a running Job is not replaced."""
    async with running(tmp_path) as hub:
        crons = Crons(hub)
        await hub.apply(a_cron_job(concurrencyPolicy="Replace"))
        await crons.at(after(hub, 10))
        assert await crons.children() == []
        (told,) = await said(hub, "MissSchedule")
        assert "LocalQueue team-a/q does not exist, and this time does not run" in told

        await hub.apply(*a_queue("q"))
        await crons.turn()
        assert await crons.children() == [], "the missed time is decided"
        await crons.at(after(hub, 10))
        (first,) = await crons.children()

        place = ("kueue.x-k8s.io", "LocalQueue", "team-a", "q")
        await hub.hub.write(delete_object, *place, origin="rest", principal="ada")
        await crons.at(after(hub, 10))
        assert [each.uid for each in await crons.children()] == [first.uid]


async def test_the_status_names_the_next_time_and_the_last_result(tmp_path):
    """The next time is absent while it is suspended."""
    async with running(tmp_path) as hub:
        crons, ten = Crons(hub), after(hub, 10)
        await hub.apply(*a_queue("q"), a_cron_job())
        await crons.turn()
        assert (await crons.row()).status == {"nextScheduleTime": f"{ten:%Y-%m-%dT%H:%M:%S}Z"}
        await crons.at(ten)
        (child,) = await crons.children()
        await hub.hub.write(cancel.cancel_job, child.uid, "ada")
        await hub.apply(a_cron_job(suspend=True))
        await crons.turn()
        status = (await crons.row()).status
        assert (status["lastResult"], "nextScheduleTime" in status) == ("Cancelled", False)


async def test_a_run_beyond_its_starting_deadline_does_not_start(tmp_path):
    """The hub writes one event."""
    async with running(tmp_path) as hub:
        crons = Crons(hub)
        await hub.apply(*a_queue("q"), a_cron_job(startingDeadlineSeconds=60))
        await crons.at(after(hub, 15))
        await Crons(hub).turn()
        assert await crons.children() == []
        assert len(await said(hub, "MissSchedule")) == 1


async def test_a_suspended_cron_job_creates_nothing_and_a_resumed_one_the_newest_run(tmp_path):
    """As in Kubernetes."""
    async with running(tmp_path) as hub:
        crons = Crons(hub)
        await hub.apply(*a_queue("q"), a_cron_job(suspend=True))
        await crons.at(after(hub, 35))
        assert await crons.children() == []
        await hub.apply(a_cron_job(suspend=False))
        await crons.turn()
        assert len(await crons.children()) == 1


async def test_another_schedule_counts_from_its_change_on(tmp_path):
    """Times of the new schedule that have passed do not run."""
    async with running(tmp_path) as hub:
        crons = Crons(hub)
        await hub.apply(*a_queue("q"), a_cron_job(schedule="0 0 1 1 *"))
        await crons.at(after(hub, 15))
        await hub.apply(a_cron_job(schedule="*/10 * * * *"))
        await crons.turn()
        assert await crons.children() == []
        await crons.at(after(hub, 10))
        assert len(await crons.children()) == 1


async def test_ended_jobs_are_kept_up_to_the_history_limits(tmp_path):
    """The oldest go first: here two failed ones and one stay of five."""
    async with running(tmp_path) as hub:
        crons = Crons(hub)
        await hub.apply(*a_queue("q"), a_cron_job(failedJobsHistoryLimit=2))
        for _ in range(4):
            await crons.at(after(hub, 10))
            (active,) = [each for each in await crons.children() if each.state == "Pending"]
            await hub.hub.write(cancel.cancel_job, active.uid, "ada")
            await crons.turn()
        kept = await crons.children()
        assert [each.state for each in kept] == ["Cancelled", "Cancelled"]
        assert [each["uid"] for each in (await crons.row()).status["ended"]] == [
            e.uid for e in kept
        ]


async def test_deleting_a_cron_job_deletes_its_jobs(tmp_path):
    """As Kubernetes' garbage collector does; no other time runs."""
    async with running(tmp_path) as hub:
        crons = Crons(hub)
        await hub.apply(*a_queue("q"), a_cron_job())
        await crons.at(after(hub, 10))
        key = ("batch", "CronJob", "team-a", "nightly")
        await hub.hub.write(lambda tx: delete_object(tx, *key, origin="rest", principal="ada"))
        await crons.at(after(hub, 10))
        assert await crons.children() == []


async def test_a_time_whose_name_is_taken_does_not_run_and_is_said(tmp_path):
    """The job that has the name is left alone, and the next time runs."""
    async with running(tmp_path) as hub:
        crons, ten = Crons(hub), after(hub, 10)
        taken = a_job(f"nightly-{int(ten.timestamp()) // 60}", queue="q")
        (other,) = (await hub.apply(*a_queue("q"), a_cron_job(), taken))[-1:]
        await crons.at(ten)
        assert [each.uid for each in await crons.children()] == [other]
        assert "AlreadyExists" in (await said(hub, "FailedCreate"))[0] or await said(
            hub, "FailedCreate"
        )
        await crons.at(after(hub, 10))
        assert len(await crons.children()) == 2


async def test_an_accepted_store_runs_no_time_of_before(tmp_path):
    """The hub whose store was lost may have run it; the first time after the acceptance runs again."""
    async with running(tmp_path) as hub:
        await hub.apply(*a_queue("q"), a_cron_job())
        hub.clock.advance((after(hub, 25) - hub.clock.now()).total_seconds())
        await hub.hub.write(begin_recovery, "yesterday", "ada", ())
        crons = Crons(hub, await hub.hub.write(leadership.seize, "test"))
        hub.clock.advance(600)
        await crons.turn()
        assert await crons.children() == [], "the hub is stopped"
        await hub.hub.write(accept, "ada")
        await crons.turn()
        assert await crons.children() == []
        await crons.at(after(hub, 10))
        assert len(await crons.children()) == 1


async def test_a_time_that_is_created_again_is_the_same_job(tmp_path):
    """If the store lost the time and kept the Job, the hub creates no second one."""
    async with running(tmp_path) as hub:
        await hub.apply(*a_queue("q"), a_cron_job())
        await Crons(hub).at(after(hub, 10))
        (child,) = await Crons(hub).children()
        uid = (await Crons(hub).row()).uid

        await hub.hub.write(lambda tx: objects.set_statuses(tx, {uid: {}}))
        await Crons(hub).turn()
        assert [each.uid for each in await Crons(hub).children()] == [child.uid]
        status = (await Crons(hub).row()).status
        assert [each["uid"] for each in status["active"]] == [child.uid]


async def test_a_time_that_is_created_again_does_not_replace_its_own_job(tmp_path):
    """With Replace, if the store lost the time and the status still names the Job as active."""
    async with running(tmp_path) as hub:
        await hub.apply(*a_queue("q"), a_cron_job(concurrencyPolicy="Replace"))
        await Crons(hub).at(after(hub, 10))
        (child,) = await Crons(hub).children()
        row = await Crons(hub).row()
        lost = {"decidedUntil", "lastScheduleTime"}
        left = {name: value for name, value in row.status.items() if name not in lost}
        await hub.hub.write(lambda tx: objects.set_statuses(tx, {row.uid: left}))
        await Crons(hub).turn()
        (same,) = await Crons(hub).children()
        assert (same.uid, same.state) == (child.uid, child.state)
        status = (await Crons(hub).row()).status
        assert [each["uid"] for each in status["active"]] == [child.uid]


async def test_a_clock_that_was_set_back_decides_no_time_anew(tmp_path):
    """Neither another schedule nor an acceptance moves the decided times backwards."""
    async with running(tmp_path) as hub:
        crons = Crons(hub)
        await hub.apply(*a_queue("q"), a_cron_job(schedule="*/10 * * * *"))
        await crons.at(after(hub, 60))
        decided = (await crons.row()).status["decidedUntil"]
        hub.clock.advance(-1800)
        await hub.apply(a_cron_job(schedule="*/5 * * * *"))
        assert (await crons.row()).status["decidedUntil"] == decided
        await hub.hub.write(begin_recovery, "yesterday", "ada", ())
        await hub.hub.write(accept, "ada")
        assert (await crons.row()).status["decidedUntil"] == decided


async def test_a_job_of_a_cron_job_gets_another_priority(tmp_path):
    """The annotations of the hub stay in its manifest."""
    async with running(tmp_path) as hub:
        urgent = {
            "apiVersion": KUEUE,
            "kind": "WorkloadPriorityClass",
            "metadata": {"name": "urgent"},
        }
        crons = Crons(hub)
        await hub.apply(*a_queue("q"), {**urgent, "value": 7}, a_cron_job())
        await crons.at(after(hub, 10))
        (child,) = await crons.children()
        await hub.hub.write(revise.set_priority, child.uid, "urgent", Intake(), "ada")
        (child,) = await crons.children()
        assert (child.priority, child.annotations["roadstead.dev/cron-job"]) == (7, "nightly")
