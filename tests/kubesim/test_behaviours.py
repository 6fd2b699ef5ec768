"""The loop of the behaviours on real and on manual clocks, its deadlines, and the Events it writes."""

import asyncio

from shared.clock import ManualClock, SystemClock
from shared.kubesim.agenda import Agenda, WorkList
from shared.kubesim.behaviours import attach
from shared.kubesim.builtin.kinds import built_in_registry
from shared.kubesim.store.objects import ObjectStore
from tests import waiting
from tests.kubesim.world import World, a_job, a_pod, a_pool


def a_cluster(clock):
    store = ObjectStore(built_in_registry(), clock)
    return store, attach(store, clock, [a_pool()])


def is_complete(store):
    job = store.get("jobs.batch", "default", "job")
    return "completionTime" in job.get("status", {})


def test_a_job_runs_on_the_machines_clock():
    """Started, the behaviours act by themselves: a short Job completes in real time."""

    async def story():
        clock = SystemClock()
        store, behaviours = a_cluster(clock)
        await behaviours.start()
        store.create("jobs.batch", a_job(run_seconds="0.05"))
        for _ in range(500):
            if is_complete(store):
                break
            await clock.sleep(0.01)
        await behaviours.stop()
        return is_complete(store)

    assert asyncio.run(story())


def test_a_job_runs_on_a_manual_clock():
    """Nothing happens before its time, and all of it when the clock is moved."""

    async def story():
        clock = ManualClock()
        store, behaviours = a_cluster(clock)
        await behaviours.start()
        store.create("jobs.batch", a_job(run_seconds="100"))
        await waiting.turns(20)
        clock.advance(0.2)
        await waiting.turns(20)
        clock.advance(99)
        await waiting.turns(20)
        early = is_complete(store)
        clock.advance(1)
        await waiting.turns(20)
        await behaviours.stop()
        return early, is_complete(store)

    assert asyncio.run(story()) == (False, True)


def test_nothing_acts_after_stop():
    """A stopped cluster stays as it is."""

    async def story():
        store, behaviours = a_cluster(ManualClock())
        await behaviours.start()
        await behaviours.stop()
        await behaviours.stop()
        store.create("jobs.batch", a_job())
        await waiting.turns(20)
        return store.list("pods")

    assert asyncio.run(story()) == []


def test_an_earlier_deadline_is_not_missed():
    """A deadline that is set while the loop sleeps for a later one wakes it in time."""

    async def story():
        clock = ManualClock()
        agenda = Agenda(clock)
        work: WorkList[str] = WorkList(agenda)
        start = clock.now().timestamp()
        work.add_at("late", start + 100)
        waiter = asyncio.create_task(agenda.wait())
        await waiting.turns(5)
        work.add_at("early", start + 1)
        await waiting.turns(5)
        waiter = asyncio.create_task(agenda.wait())
        await waiting.turns(5)
        clock.advance(1)
        await waiting.turns(5)
        agenda.release_due(clock.now().timestamp())
        done = waiter.done()
        agenda.close()
        return done, len(work)

    assert asyncio.run(story()) == (True, 1)


def test_one_poison_key_does_not_stop_the_others():
    """A visit that raises is reported, tried again later, and passed over now."""
    clock = ManualClock()
    agenda = Agenda(clock)
    faults, visited = [], []
    work: WorkList[str] = WorkList(agenda, lambda key, fault: faults.append((key, str(fault))))
    work.add("bad")
    work.add("good")

    def visit(key):
        visited.append(key)
        if visited == ["bad"]:
            raise ValueError("no")

    work.each(visit, clock.now().timestamp())
    clock.advance(10)
    agenda.release_due(clock.now().timestamp())
    work.each(visit, clock.now().timestamp())
    assert faults == [("bad", "no")]
    assert visited == ["bad", "good", "bad"]


def test_equal_events_are_counted():
    """The same thing said twice about one object is one Event with a count."""
    world = World([a_pool()], restart_s=0.1)
    annotations = {"sim.roadstead.dev/run-seconds": "0.1", "sim.roadstead.dev/exit-code": "1"}
    world.create("pods", a_pod("p", annotations=annotations))
    world.advance(3)
    (event,) = [e for e in world.store.list("events") if e["reason"] == "BackOff"]
    assert event["count"] > 1
    assert event["involvedObject"]["name"] == "p"


def test_events_do_not_live_for_ever():
    """Events are removed after their time, and when there are too many of them."""
    world = World([a_pool()], events="all", event_ttl_s=60, most_events=10)
    for number in range(5):
        world.create("jobs.batch", a_job(f"job-{number}"))
    world.advance(5)
    assert len(world.store.list("events")) <= 10
    world.clock.advance(100)
    world.behaviours.run_pass()
    assert world.store.list("events") == []


def test_ordinary_events_stop_when_there_are_too_many():
    """A burst writes a bounded number of ordinary Events; `none` writes none at all."""
    world = World([a_pool(count=10, pods="1000", cpu="1000")])
    world.create("jobs.batch", a_job(parallelism=500, completions=500))
    world.advance(5)
    assert 100 < len(world.store.list("events")) < 500
    silent = World([a_pool()], events="none")
    silent.create("jobs.batch", a_job())
    silent.advance(5)
    assert silent.store.list("events") == []
