"""After any history the index that followed the feed equals one that reads everything anew."""

import asyncio
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from hub.domain.quota.declared import FlavorResource
from hub.domain.workloads.states import TRANSITIONS, State, Transition
from hub.services.index.index import ScheduleIndex
from hub.store import workloads
from hub.store.records.workloads import WorkloadMove
from tests.examples import examples
from tests.services.hubs import Running, a_job, a_pool, a_queue, running

MOVES = ["offer", "apply", "start", "succeed", "fail", "lose", "withdraw", "requeue", "cancel"]
steps = st.lists(
    st.one_of(
        st.tuples(st.just("submit"), st.integers(0, 3)),
        st.tuples(st.sampled_from(MOVES), st.integers(0, 9)),
        st.tuples(st.just("report"), st.integers(2, 6)),
        st.tuples(st.just("quota"), st.integers(0, 6)),
        st.tuples(st.just("turn"), st.just(0)),
    ),
    max_size=14,
)


@pytest.mark.timeout(400)  # many stores, each on a disk that others use too
@examples(25)
@given(steps)
def test_following_equals_reading_anew(history: list[tuple[str, int]]) -> None:
    """Charges, room and lines are functions of the committed rows, not of the way to them."""
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_play(Path(folder), history))


async def _play(folder: Path, history: list[tuple[str, int]]) -> None:
    async with running(folder) as hub:
        await hub.cluster("a", a_pool(nodes=2, cpu="3"))
        await hub.apply(*a_queue("gold", quota={"cpu": "5"}))
        uids: list[str] = []
        for what, number in history:
            if what == "submit":
                jobs = [a_job(f"j{len(uids) + n}", queue="gold") for n in range(number)]
                uids += await hub.apply(*jobs) if jobs else []
            elif what == "report":
                await hub.cluster("a", a_pool(nodes=2, cpu=str(number)))
            elif what == "quota":
                await hub.apply(*a_queue("gold", quota={"cpu": str(number)}))
            elif what == "turn":
                await hub.settle()
            elif uids:
                await _move(hub, Transition(what), uids[number % len(uids)])
        await hub.settle()
        followed = hub.scheduler.index
        await hub.scheduler.load()
        assert _picture(followed) == _picture(hub.scheduler.index)
        rows = await hub.jobs(uids)
        charged = sum(1 for row in rows if row.admission and row.finished_at is None)
        assert followed.ledger.used("gold", FlavorResource("gold-flavor", "cpu")) == 1000 * charged


async def _move(hub: Running, name: Transition, uid: str) -> None:
    row = await hub.job(uid)
    if State(row.state) in TRANSITIONS[name][0]:
        move = WorkloadMove(uid=uid, epoch=row.epoch)
        await hub.hub.db.write(lambda unit: workloads.transition(unit, name, [move]))


def _picture(index: ScheduleIndex) -> object:
    index.members.refresh(lambda best, left: None)
    lanes = sorted(
        (lane.demand.key, [entry.uid for entry in lane]) for lane in index.waiting.every_lane()
    )
    room = index.members.room
    return index.ledger.usage("gold"), room.left.tolist(), room.free.tolist(), lanes
