"""`transition` is the one way a state changes, by the domain's table."""

import datetime as dt
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hub.domain.workloads.states import QUEUED, TERMINAL, TRANSITIONS, State
from hub.store import events, workloads
from shared.clock import ManualClock
from tests.examples import examples
from tests.store.build import START, a_workload, opened

pytestmark = pytest.mark.anyio


async def _one(db, uid="w"):
    return await db.read(lambda unit: workloads.get(unit, uid))


def _move(name, *rows):
    return lambda unit: workloads.transition(unit, name, rows)


@pytest.mark.parametrize("name", sorted(TRANSITIONS))
async def test_only_listed_states_move(tmp_path, name):
    """From each state, a transition moves exactly where the table has it."""
    allowed, target = TRANSITIONS[name]
    async with opened(tmp_path) as db:
        rows = [a_workload(state.value, state=state.value, epoch=1) for state in State]
        await db.write(lambda unit: workloads.add(unit, rows))
        asked = [{"uid": state.value, "epoch": 1} for state in State]
        moved = await db.write(_move(name, *asked))
        assert set(moved) == {state.value for state in allowed}
        for state in State:
            now = (await _one(db, state.value)).state
            assert now == (target if state in allowed else state)


async def test_another_epoch_moves_nothing(tmp_path):
    """A report of an older or a newer epoch is not about this one."""
    async with opened(tmp_path) as db:
        await db.write(lambda u: workloads.add(u, [a_workload("w", state="Running", epoch=2)]))
        for epoch in (0, 1, 3):
            assert await db.write(_move("succeed", {"uid": "w", "epoch": epoch})) == []
        assert (await _one(db)).state == "Running"


async def test_placing_raises_the_epoch_and_stamps(tmp_path):
    """Placed: cluster, next epoch, time; the event names both."""
    async with opened(tmp_path) as db:
        await db.write(lambda unit: workloads.add(unit, [a_workload("w")]))
        await db.write(_move("place", {"uid": "w", "epoch": 0, "cluster": "c1"}))
        row = await _one(db)
        assert (row.epoch, row.cluster, row.placed_at) == (1, "c1", START)
        (event,) = await db.read(lambda unit: events.list_events(unit, uid="w"))
        assert (event.reason, event.message) == ("Placed", "placed on c1, epoch 1")


async def test_requeueing_frees_cluster_and_quota(tmp_path):
    """A workload that waits holds nothing and has not started; its events keep that it once had."""
    clock = ManualClock(START)
    async with opened(tmp_path, clock) as db:
        await db.write(lambda unit: workloads.add(unit, [a_workload("w")]))
        charged = {"cluster": "c1", "cluster_queue": "q", "admission": {"podSets": []}}
        await db.write(_move("place", {"uid": "w", "epoch": 0, **charged}))
        for name in ("offer", "start", "withdraw"):
            clock.advance(1)
            await db.write(_move(name, {"uid": "w", "epoch": 1}))
        await db.write(_move("requeue", {"uid": "w", "epoch": 1, "reason": "Retry"}))
        row = await _one(db)
        freed = ("cluster", "cluster_queue", "admission", "placed_at", "applied_at", "started_at")
        assert [getattr(row, name) for name in freed] == ["", "", None, None, None, None]
        assert (row.state, row.reason, row.epoch) == ("Pending", "Retry", 1)
        await db.write(_move("place", {"uid": "w", "epoch": 1, **charged}))
        await db.write(_move("offer", {"uid": "w", "epoch": 2}))
        clock.advance(9)
        await db.write(_move("start", {"uid": "w", "epoch": 2}))
        row = await _one(db)
        assert row.started_at == row.applied_at == START + dt.timedelta(seconds=12)
        told = await db.read(lambda unit: events.list_events(unit, uid="w"))
        started = [each.at for each in told if each.reason == "Started"]
        assert started == [START + dt.timedelta(seconds=2), START + dt.timedelta(seconds=12)]


async def test_a_terminal_state_is_stamped_and_final(tmp_path):
    """The end has a time; nothing moves a finished epoch."""
    async with opened(tmp_path) as db:
        running = a_workload("w", state="Running", epoch=1, active=2, ready=1)
        await db.write(lambda unit: workloads.add(unit, [running]))
        await db.write(_move("succeed", {"uid": "w", "epoch": 1, "succeeded": 3}))
        row = await _one(db)
        assert (row.finished_at, row.active, row.succeeded) == (START, 0, 3)
        for name in ("fail", "succeed", "requeue", "lose", "cancel"):
            assert await db.write(_move(name, {"uid": "w", "epoch": 1})) == []


async def test_a_thousand_move_at_once(tmp_path):
    """More rows than one statement can bind, with columns of their own."""
    async with opened(tmp_path) as db:
        rows = [a_workload(f"w{i}") for i in range(2500)]
        await db.write(lambda unit: workloads.add(unit, rows))
        asked = [{"uid": f"w{i}", "epoch": 0, "cluster": f"c{i % 3}"} for i in range(2500)]
        moved = await db.write(_move("place", *asked))
        assert moved == [row["uid"] for row in asked]
        assert (await _one(db, "w2000")).cluster == "c2"


async def test_only_transitions_change_states(tmp_path):
    """`change` refuses the column."""
    async with opened(tmp_path) as db:
        change: Any = {"uid": "w", "state": "Running"}
        with pytest.raises(ValueError, match="transition"):
            await db.write(lambda u: workloads.change(u, [change]))


@given(st.lists(st.sampled_from(sorted(TRANSITIONS)), max_size=12))
@examples(30)
def test_any_sequence_keeps_the_invariants(tmp_path_factory, names):
    """Whatever is asked in whatever order: states that wait hold no cluster, ends have a time."""
    import asyncio

    async def story():
        async with opened(tmp_path_factory.mktemp("db")) as db:
            await db.write(lambda unit: workloads.add(unit, [a_workload("w")]))
            for name in names:
                epoch = (await _one(db)).epoch
                extra = {"cluster": "c1"} if name == "place" else {}
                await db.write(_move(name, {"uid": "w", "epoch": epoch, **extra}))
                row = await _one(db)
                if row.state in QUEUED:
                    assert (row.cluster, row.admission) == ("", None)
                if row.state in TERMINAL:
                    assert row.finished_at is not None

    asyncio.run(story())


HELD: Any = {
    "cluster": "c1", "cluster_queue": "q", "admission": {"podSets": []}, "nomination": {"at": "x"},
    "reserved_at": START, "new_nodes": 2, "withdraw_to": "Pending", "placed_at": START,
    "finished_at": START, "applied_at": START, "started_at": START, "pods_ready_at": START,
    "pods_lost_at": START, "active": 3, "ready": 2,
}  # fmt: skip


@pytest.mark.parametrize("held", sorted(HELD))
async def test_nothing_of_a_placement_is_left_on_what_waits_again(tmp_path, held):
    """Each column that speaks of a cluster, of quota or of pods is as it was before the first placement."""
    async with opened(tmp_path) as db:
        fresh = a_workload("w", state="Withdrawing", epoch=1)
        await db.write(lambda u: workloads.add(u, [fresh._replace(**{held: HELD[held]})]))
        assert getattr(await _one(db), held) == HELD[held]
        await db.write(_move("requeue", {"uid": "w", "epoch": 1}))
        assert getattr(await _one(db), held) == getattr(a_workload("w"), held)
