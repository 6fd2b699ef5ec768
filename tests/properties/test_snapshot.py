"""A picture stays as it was taken: a cycle leaves the index alone, and the index leaves the picture alone."""

import asyncio
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings, strategies as st

from hub.domain.cycle.cycle import schedule
from hub.domain.cycle.profile import Profile
from hub.domain.cycle.snapshot import Snapshot
from hub.domain.workloads.states import TRANSITIONS, State, Transition
from tests.services.build import a_class, a_cohort, in_cohort
from tests.services.hubs import Running, a_job, a_pool, running

QUEUES = ("a", "b")
PREEMPTS = {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"}
steps = st.lists(
    st.one_of(
        st.tuples(st.just("submit"), st.sampled_from(QUEUES), st.integers(1, 4)),
        st.tuples(st.just("end"), st.just(""), st.integers(0, 9)),
        st.tuples(st.just("report"), st.just(""), st.integers(1, 6)),
        st.tuples(st.just("turn"), st.just(""), st.just(0)),
    ),
    min_size=4,
    max_size=14,
)


@settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow])
@given(steps)
def test_what_happens_later_does_not_show(history: list[tuple[str, str, int]]) -> None:
    """Of every picture taken in a history, all of it is at the end as it was at first."""
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_play(Path(folder), history))


async def _play(folder: Path, history: list[tuple[str, str, int]]) -> None:
    async with running(folder) as hub:
        rules = [a_cohort("all"), a_class("high", 100)]
        for name in QUEUES:
            rules += in_cohort(name, nominal="4", cohort="all", preemption=PREEMPTS)
        await hub.apply(*rules)
        await hub.cluster("north", a_pool(nodes=2, cpu="4"))
        taken: list[tuple[Snapshot, Any]] = []
        uids: list[str] = []
        for what, queue, number in [*history, ("turn", "", 0)]:
            match what:
                case "submit":
                    urgent = {"kueue.x-k8s.io/priority-class": "high"} if number > 2 else {}
                    name = f"j{len(uids)}"
                    job = a_job(name, queue=queue, requests={"cpu": str(number)}, labels=urgent)
                    uids += await hub.apply(job)
                case "end":
                    await _end(hub, uids[number % len(uids)] if uids else "")
                case "report":
                    await hub.cluster("north", a_pool(nodes=2, cpu=str(number)))
                case _:
                    taken += await _turn(hub)
            hub.clock.advance(1)
        for snapshot, before in taken:
            assert _told(snapshot) == before


async def _end(hub: Running, uid: str) -> None:
    state = (await hub.job(uid)).state if uid else State.HELD
    if state is State.WITHDRAWING:
        await hub.transition(Transition.REQUEUE, uid)
    elif state in TRANSITIONS[Transition.SUCCEED][0]:
        await hub.transition(Transition.SUCCEED, uid)


async def _turn(hub: Running) -> list[tuple[Snapshot, Any]]:
    """A picture, and one that a cycle was played on; then a turn of the scheduler."""
    await hub.follow()
    index, now = hub.scheduler.index, hub.clock.now()
    snapshot = index.snapshot(now, 100)
    if snapshot is None:
        return []
    before, holders = _told(snapshot), {q: dict(held) for q, held in index.holders.items()}
    room = index.members.room.copy()
    schedule(snapshot, now, Profile())
    assert _told(snapshot) == before
    assert index.holders == holders
    assert index.members.room.free.tolist() == room.free.tolist()
    assert index.members.room.left.tolist() == room.left.tolist()
    await hub.scheduler.turn()
    return [(snapshot, before)]


def _told(snapshot: Snapshot) -> Any:
    """All that a cycle looks at, as values; workloads, clusters and rules are never changed themselves."""
    queues = [
        (queue, [(lane.demand, list(lane.entries)) for lane in lanes])
        for queue, lanes in snapshot.queues
    ]
    used = {queue.name: snapshot.ledger.usage(queue.name) for queue, _ in snapshot.queues}
    room = snapshot.room
    holders = {queue: dict(held) for queue, held in snapshot.holders.items()}
    return (
        queues, used, room.layout, room.free.tolist(), room.left.tolist(), list(room.touched),
        dict(snapshot.clusters), dict(snapshot.policies), holders, dict(snapshot.nominations),
        dict(snapshot.namespaces), set(snapshot.inactive), dict(snapshot.starts),
        dict(snapshot.catalog.flavors),
    )  # fmt: skip
