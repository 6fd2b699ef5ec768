"""Taking a job back: what its row says then, by the state it was in and by what it is to become."""

from pathlib import Path
from typing import Any

import pytest

from hub.domain.workloads.states import State, WithdrawTo
from hub.services.works.withdraw import withdraw_jobs
from hub.store import workloads, works
from hub.store.transaction import Transaction
from tests.store.build import START, a_wanted_work, a_workload, call, opened

pytestmark = pytest.mark.anyio
WHY: Any = {"reason": "Because", "message": "of this"}
AT_ONCE = {
    WithdrawTo.PENDING: State.PENDING,
    WithdrawTo.HELD: State.HELD,
    WithdrawTo.FAILED: State.FAILED,
    WithdrawTo.CANCELLED: State.CANCELLED,
    WithdrawTo.DEACTIVATED: State.DEACTIVATED,
    WithdrawTo.DELETED: State.CANCELLED,
}
ENDS = {State.FAILED, State.CANCELLED, State.DEACTIVATED}
QUOTA: Any = {"cluster": "north", "cluster_queue": "q", "admission": {"podSets": []}}


@pytest.mark.parametrize("to", AT_ONCE)
@pytest.mark.parametrize("state", [State.PENDING, State.HELD, State.RESERVED, State.PLACED])
async def test_what_no_member_knows_of_becomes_it_at_once(
    tmp_path: Path, state: State, to: WithdrawTo
):
    """With reason and message; quota, cluster and work are given back, and nothing else changes."""
    async with opened(tmp_path) as db:
        quota = QUOTA if state in (State.RESERVED, State.PLACED) else {}
        row = a_workload("one", state=state, epoch=1, requeues=2, placement="p", **quota)

        def run(tx: Transaction) -> list[str]:
            workloads.add(tx, [row])
            if state is State.PLACED:
                works.upsert(tx, [a_wanted_work("north", "one")])
            return withdraw_jobs(tx, ["one"], to, **WHY)

        affected = await db.write(run)
        after = await db.read(call(workloads.get, "one"))
        assert after is not None
        assert await db.read(works.all_desired) == []
        if to is WithdrawTo.PENDING and state in (State.PENDING, State.HELD):
            assert (affected, after) == ([], row)
            return
        if to is WithdrawTo.HELD and state is State.HELD:
            assert after._replace(reason="", message="") == row
            return
        became = AT_ONCE[to]
        expected = row._replace(state=became, cluster="", cluster_queue="", admission=None, **WHY)
        if became is State.HELD:
            expected = expected._replace(held_for="Person")
        if became in ENDS:
            expected = expected._replace(finished_at=START)
            if state is not State.PLACED and to is not WithdrawTo.FAILED:
                kept = {name: getattr(after, name) for name in QUOTA}
                expected = expected._replace(**kept)
        if to is WithdrawTo.DELETED:
            expected = expected._replace(live=None, deleted_at=START)
        assert (affected, after) == (["one"], expected)


@pytest.mark.parametrize("to", AT_ONCE)
@pytest.mark.parametrize("state", [State.OFFERED, State.APPLIED, State.RUNNING, State.UNKNOWN])
async def test_what_a_member_may_hold_is_asked_back_first(
    tmp_path: Path, state: State, to: WithdrawTo
):
    """It keeps cluster, quota and name until the member has said that nothing is left."""
    async with opened(tmp_path) as db:
        row = a_workload("one", state=state, epoch=1, active=1, started_at=START, **QUOTA)

        def run(tx: Transaction) -> list[str]:
            workloads.add(tx, [row])
            works.upsert(tx, [a_wanted_work("north", "one")])
            return withdraw_jobs(tx, ["one"], to, **WHY)

        assert await db.write(run) == ["one"]
        after = await db.read(call(workloads.get, "one"))
        deleted_at = START if to is WithdrawTo.DELETED else None
        assert after == row._replace(
            state=State.WITHDRAWING, withdraw_to=to, deleted_at=deleted_at, **WHY
        )
        (work,) = await db.read(call(works.of_uids, ["one"]))
        assert work.action == "Withdraw"


@pytest.mark.parametrize(
    ("first", "second", "last"),
    [
        (WithdrawTo.PENDING, WithdrawTo.CANCELLED, WithdrawTo.CANCELLED),
        (WithdrawTo.CANCELLED, WithdrawTo.PENDING, WithdrawTo.CANCELLED),
        (WithdrawTo.HELD, WithdrawTo.HELD, WithdrawTo.HELD),
        (WithdrawTo.CANCELLED, WithdrawTo.DELETED, WithdrawTo.DELETED),
    ],
)
async def test_a_stronger_wish_brings_its_own_words(
    tmp_path: Path, first: WithdrawTo, second: WithdrawTo, last: WithdrawTo
):
    """A weaker or an equal one changes nothing, and concerns nobody."""
    async with opened(tmp_path) as db:
        row = a_workload("one", state=State.WITHDRAWING, withdraw_to=first, **QUOTA)
        await db.write(call(workloads.add, [row]))
        affected = await db.write(call(withdraw_jobs, ["one"], second, "Because", "of this"))
        after = await db.read(call(workloads.get, "one"))
        if last is first:
            assert (affected, after) == ([], row)
        else:
            assert (affected, after) == (["one"], row._replace(withdraw_to=last, **WHY))


@pytest.mark.parametrize("to", AT_ONCE)
async def test_what_has_ended_is_only_ever_deleted(tmp_path: Path, to: WithdrawTo):
    """Its record stays as it was; its name is free, and its copy is taken back."""
    async with opened(tmp_path) as db:
        row = a_workload(
            "one", state=State.SUCCEEDED, finished_at=START, reason="Old", message="old", **QUOTA
        )

        def run(tx: Transaction) -> list[str]:
            workloads.add(tx, [row])
            works.upsert(tx, [a_wanted_work("north", "one")])
            works.act(tx, "Keep", [("north", "one")])
            return withdraw_jobs(tx, ["one"], to, **WHY)

        deleted = to is WithdrawTo.DELETED
        assert await db.write(run) == (["one"] if deleted else [])
        after = await db.read(call(workloads.get, "one"))
        assert after == (row._replace(live=None, deleted_at=START) if deleted else row)
        (work,) = await db.read(call(works.of_uids, ["one"]))
        assert work.action == ("Withdraw" if deleted else "Keep")
