"""What is new in the history since somebody looked, whatever order its ids were committed in."""

import pytest

from hub.services.questions.history import history_from_now, history_since
from hub.store import events
from hub.store.records.history import NewEvent
from tests.store.build import START, call, opened

pytestmark = pytest.mark.anyio


def event(reason: str) -> NewEvent:
    return {
        "at": START, "uid": "u", "kind": "Job", "namespace": "team-a", "name": "one",
        "type": "Normal", "reason": reason, "message": "", "cluster": "", "epoch": 0, "cause": "",
        "subject": "", "member_at": None,
    }  # fmt: skip


async def test_what_was_there_is_not_told_and_what_comes_is_told_once(tmp_path):
    """In the order of ids."""
    async with opened(tmp_path) as db:
        await db.write(call(events.add, [event("Old")]))
        told = await db.read(history_from_now)
        assert told.events == []
        await db.write(call(events.add, [event("A"), event("B")]))
        told = await db.read(call(history_since, told, 10))
        assert [each.reason for each in told.events] == ["A", "B"]
        assert (await db.read(call(history_since, told, 10))).events == []


async def test_an_event_that_is_committed_late_is_told(tmp_path):
    """Another hub took its id before, and committed after, one that was seen."""
    async with opened(tmp_path) as db:
        told = await db.read(history_from_now)
        await db.write(call(events.add, [event("Late"), event("Seen")]))
        late = await db.read(call(history_since, told, 1))
        assert [each.reason for each in late.events] == ["Late"]
        before = late._replace(newest=2, seen=frozenset({2}))
        told = await db.read(call(history_since, before, 10))
        assert [each.reason for each in told.events] == ["Late"]


async def test_of_a_burst_the_first_are_told_and_the_others_counted(tmp_path):
    """They are not made up for: the log would be ever further behind."""
    async with opened(tmp_path) as db:
        told = await db.read(history_from_now)
        await db.write(call(events.add, [event(f"R{number}") for number in range(7)]))
        told = await db.read(call(history_since, told, 3))
        assert ([each.reason for each in told.events], told.left_out) == (["R0", "R1", "R2"], 4)
        assert (await db.read(call(history_since, told, 3))).events == []
