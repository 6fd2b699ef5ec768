"""What a turn of the controller did not come to, and whom a chain must not take for somebody else."""

import pytest
from sqlalchemy import delete

from hub.controllers.chains import Chains
from hub.domain.access import Area, Scope
from hub.domain.workloads.states import Transition
from hub.services.context.hub import Hub, HubWithin
from hub.services.jobs import cancel
from hub.services.questions import jobs
from hub.store import tables
from hub.store.errors import StoreError
from tests.services.chains.chained import chained
from tests.services.hubs import a_queue

pytestmark = pytest.mark.anyio


class Interrupted(Hub):
    """The same hub, where something happens once: after a question was read, or in place of a write."""

    __slots__ = ("moments",)

    def __init__(self, hub, *, after_reading=None, instead_of_writing=None):
        self.__dict__ = hub.__dict__
        self.moments = [after_reading, instead_of_writing]

    async def read(self, fn, *args, **kwargs):
        found = await super().read(fn, *args, **kwargs)
        happens, self.moments[0] = self.moments[0], None
        if happens is not None:
            await happens()
        return found

    async def write(self, fn, *args, **kwargs):
        happens, self.moments[1] = self.moments[1], None
        if happens is not None:
            await happens()
        return await super().write(fn, *args, **kwargs)


async def test_who_comes_while_the_controller_reads_whom_is_waited_for_is_not_missed(tmp_path):
    """A job that is accepted after that was read is looked at in the next turn, not never."""
    async with chained(tmp_path) as it:
        first = await it.submit(a="", b="a")
        later = {}

        async def accept():
            later.update(await it.submit(c="", d="c"))

        it.controller = Chains(Interrupted(it.hub.hub, after_reading=accept), lambda: 1)
        it.controller.follow()
        await it.turn()
        await it.ends(Transition.SUCCEED, first["a"], later["c"])
        assert await it.stands(first["b"]) == ("Pending", "")
        assert await it.stands(later["d"]) == ("Pending", "")


async def test_a_turn_that_failed_is_made_up_for(tmp_path):
    """Who was to go when the store failed goes in the next turn, though nothing is touched any more."""
    async with chained(tmp_path) as it:
        made = await it.submit(a="", b="a")
        await it.turn()

        async def fails():
            raise StoreError("the disk is full")

        it.controller = Chains(Interrupted(it.hub.hub, instead_of_writing=fails), lambda: 1)
        with pytest.raises(StoreError):
            await it.ends(Transition.SUCCEED, made["a"])
        await it.turn()
        assert await it.stands(made["b"]) == ("Pending", "")


async def test_who_was_forgotten_is_not_waited_for_for_ever(tmp_path):
    """A job that is not in the store any more never ends: who waits for it is told so."""
    async with chained(tmp_path) as it:
        made = await it.submit(a="", b="a")
        forget = delete(tables.workloads).where(tables.workloads.c.uid == made["a"])
        await it.hub.hub.write(lambda tx: tx.conn.execute(forget).rowcount)
        await it.turn()
        row = await it.hub.job(made["b"])
        assert (row.state, row.reason) == ("Held", "DependencyNeverSatisfied")
        assert "a was to succeed and is not there" in row.message


async def test_a_deleted_job_is_nobody_who_comes(tmp_path):
    """A name that is waited for is not bound to who had it and was deleted, but to who takes it next."""
    async with chained(tmp_path) as it:
        gone = await it.apply("prepare")
        await it.hub.hub.write(cancel.delete_job, gone, "ann")
        train = await it.apply("train", "prepare")
        await it.turn()
        assert await it.stands(train) == ("Held", "WaitsForJobs")
        again = await it.apply("prepare")
        await it.turn()
        await it.ends(Transition.SUCCEED, again)
        assert await it.stands(train) == ("Pending", "")


async def test_who_waits_is_shown_to_those_alone_who_may_see_them(tmp_path):
    """Of a job in a queue of others that waits for mine nothing is said to me; in mine it is."""
    async with chained(tmp_path) as it:
        await it.hub.apply(*a_queue("theirs"))
        made = await it.submit(prepare="", mine="prepare")
        await it.hub.hub.write(it.submitted, {"other": "prepare"}, queue="theirs")
        me = HubWithin(it.hub.hub, Scope(sees=(Area(queues=frozenset({"q"})),)))
        for hub, names in ((me, ["mine"]), (it.hub.hub, ["mine", "other"])):
            told = await hub.read(jobs.get_job, made["prepare"])
            assert sorted(each["name"] for each in told["before"]) == names
