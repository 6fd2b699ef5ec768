"""The index takes many rows in parts, and counts who is held back as they come and go."""

import gc
import weakref
from collections import Counter

import pytest
from hypothesis import given, strategies as st

from hub.services.index import reader
from hub.services.index.held_back import Aside, HeldBack
from hub.services.index.reader import PART
from tests.services.hubs import a_job, a_pool, a_queue, running

pytestmark = pytest.mark.anyio


@given(
    st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from(["", "default", "other", None])))
)
def test_who_is_held_back_is_counted_by_door(changes):
    """As many before each LocalQueue as counting them all gives; no queue named is the default one."""
    aside = Aside()
    for uid, queue in changes:
        if queue is None:
            aside.drop(uid)
        else:
            aside.put(uid, HeldBack("team-a", queue, "", ""))
        assert aside.by_local_queue() == Counter(
            held.local_queue for held in aside.copy().values()
        )


async def test_parts_are_the_whole(tmp_path):
    """Rows of every part together are the rows that were read, rules first, none too large.

    The shape of a row comes with the first part that has it, and the news keeps nothing of what it gave.
    """
    async with running(tmp_path) as hub:
        rules = await hub.apply(*a_queue("line"))
        uids = await hub.apply(*(a_job(f"job-{i}", queue="line") for i in range(2 * PART + 1)))
        touched = {"objects": rules, "workloads": uids}
        news = await hub.hub.read(reader.read_news, touched, hub.scheduler.index.known())
        rows = list(news.workloads)
        known: set[str] = set()
        parts = list(news.parts())
        assert {rule.uid for rule in parts[0].rules} == set(rules)
        assert [row for part in parts[1:] for row in part.workloads] == rows
        assert max(len(part.workloads) for part in parts) <= PART
        for part in parts[1:]:
            known |= part.shapes.keys()
            assert {row.shape for row in part.workloads} <= known
        assert (news.workloads, news.shapes) == ([], {})


async def test_followed_in_parts_and_read_anew_are_alike(tmp_path):
    """What was submitted at once waits in the same order, whichever way the index learned of it."""
    async with running(tmp_path) as hub:
        await hub.follow()
        await hub.apply(*a_queue("line"))
        uids = await hub.apply(*(a_job(f"job-{i}", queue="line") for i in range(2 * PART + 1)))
        await hub.follow()
        followed = [hub.scheduler.index.waiting.position(uid) for uid in uids]
        await hub.scheduler.load()
        assert [hub.scheduler.index.waiting.position(uid) for uid in uids] == followed
        assert sorted(place for _, place in followed) == list(range(1, len(uids) + 1))


async def test_an_index_has_no_cycles(tmp_path):
    """A million rows go with their last reference: the collector is never asked to walk them."""
    async with running(tmp_path) as hub:
        await hub.cluster("north", a_pool(cpu="8"))
        await hub.apply(*a_queue("line"), *(a_job(f"job-{i}", queue="line") for i in range(20)))
        await hub.settle()
        gc.disable()
        try:
            before = weakref.ref(hub.scheduler.index)
            await hub.scheduler.load()
            assert before() is None
        finally:
            gc.enable()
            gc.unfreeze()
