"""What one turn of the event loop writes is kept whole: a pod's end and its Job's count."""

import asyncio

from shared.clock import ManualClock
from shared.kubesim.behaviours import attach
from shared.kubesim.builtin.kinds import built_in_registry
from shared.kubesim.builtin.strategies import built_in_strategies
from shared.kubesim.store.journal import Journal
from shared.kubesim.store.objects import ObjectStore
from shared.kubesim.store.serializer import WireCache
from shared.kubesim.store.watch import WatchHub
from tests import waiting
from tests.kubesim.world import a_job, a_pool


class Releases(WatchHub):
    """A watch hub that remembers up to which version each commit reached."""

    def __init__(self, store):
        super().__init__(store)
        self.commits = []

    def release(self, rv):
        self.commits.append(rv)
        super().release(rv)


def opened(path, clock):
    """A store, its journal on a file and its watch hub, as a cluster that starts has them."""
    store = ObjectStore(built_in_registry(), clock, strategies=built_in_strategies())
    hub = Releases(store)
    journal = Journal(path, store, hub, WireCache())
    journal.load()
    return store, journal, hub


def test_no_commit_divides_a_pass(tmp_path):
    """Each commit ends where a pass of the behaviours ended: a kill between two loses no count."""

    async def story():
        clock = ManualClock()
        store, journal, hub = opened(tmp_path / "j.sqlite", clock)
        journal.start()
        behaviours = attach(store, clock, [a_pool()])
        behaviours.follow()
        store.create("jobs.batch", a_job(run_seconds="1", parallelism=9, completions=9))
        await journal.committed(store.rv)
        ends = {store.rv}
        for _ in range(30):
            behaviours.run_pass()
            ends.add(store.rv)
            await waiting.turns()
            clock.advance(0.1)
        await journal.committed(store.rv)
        await journal.stop()
        return set(hub.commits) - ends

    assert asyncio.run(story()) == set()


def test_what_is_on_disk_counts_each_pod_once(tmp_path):
    """After every commit the Jobs on disk have counted exactly the pods on disk that ended."""

    async def story():
        clock = ManualClock()
        store, journal, _ = opened(tmp_path / "j.sqlite", clock)
        journal.start()
        behaviours = attach(store, clock, [a_pool()])
        behaviours.follow()
        store.create("jobs.batch", a_job(run_seconds="1", parallelism=2, completions=3))
        for _ in range(30):
            behaviours.run_pass()
            await journal.committed(store.rv)
            kept, other, _ = opened(tmp_path / "j.sqlite", clock)
            (job,) = kept.list("jobs.batch")
            ended = [p for p in kept.list("pods") if p["status"]["phase"] == "Succeeded"]
            assert len(ended) == job.get("status", {}).get("succeeded", 0)
            await other.stop()
            clock.advance(0.1)
        await journal.stop()
        return ended

    assert len(asyncio.run(story())) == 3
