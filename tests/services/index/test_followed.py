"""After any lives the index that followed the feed equals one read anew, and charges equal the rows'."""

import asyncio
import contextlib
import datetime as dt
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hub.domain.quota.declared import FlavorResource
from hub.domain.workloads.states import CHARGED, State
from hub.services.context.settings import Queueing, Settings
from hub.services.index.index import ScheduleIndex
from hub.services.jobs import hold
from hub.services.works.evict import BackOff, Requeue, evict
from shared.errors import Rejected
from tests.examples import examples
from tests.services.build import a_class
from tests.services.hubs import Running, a_job, a_pool, a_queue, running
from tests.services.steps import gone, offered, passed, reported, watching

QUOTA = 6
OF = FlavorResource("q-flavor", "cpu")
WHO = st.integers(0, 5)
PODS = st.integers(0, 5)
steps = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["submit", "turn", "pass"]), st.integers(1, 4), PODS),
        st.tuples(st.sampled_from(["ready", "lost", "ended", "gone"]), WHO, PODS),
        st.tuples(st.sampled_from(["ready", "ended"]), st.just(0), PODS),
        st.tuples(st.sampled_from(["resize", "raise", "evict", "hold", "release"]), WHO, PODS),
    ),
    min_size=4,
    max_size=22,
)
# Two jobs that have room, and one of them has begun: most of what is drawn happens to somebody.
BEGINNING = [("submit", 2, 0), ("submit", 2, 0), ("turn", 0, 0), ("ready", 0, 2), ("ready", 0, 2)]


@pytest.mark.timeout(400)  # many stores, each on a disk that others use too
@examples(30)
@given(steps, st.booleans())
def test_following_equals_reading_anew(history: list[tuple[str, int, int]], block: bool) -> None:
    """Quota, lines, back-offs, wishes and readiness are functions of the committed rows."""
    limits = Settings(
        queueing=Queueing(
            pods_ready_timeout_s=12.0,
            requeuing_backoff_base_s=7.0,
            requeuing_backoff_limit=2,
            block_admission="On" if block else "Off",
        )
    )
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_play(Path(folder), limits, history))


async def _play(folder: Path, limits: Settings, history: list[tuple[str, int, int]]) -> None:
    async with running(folder, limits) as hub:
        await hub.cluster("c1", a_pool(nodes=2, cpu="4"))
        preempts = {"preemption": {"withinClusterQueue": "LowerPriority"}}
        await hub.apply(*a_queue("q", quota={"cpu": str(QUOTA)}, spec=preempts))
        await hub.apply(a_class("high", 10))
        uids: list[str] = []
        watch = watching(hub)
        for what, number, pods in [*BEGINNING, *history]:
            if what == "submit":
                hub.clock.advance(1)
                uids += await hub.apply(_job(len(uids), number))
            elif what == "turn":
                await hub.settle()
            elif what == "pass":
                await passed(hub, number * 3, watch)
            elif uids:
                await _step(hub, what, uids[number % len(uids)], pods)
        await hub.settle()
        followed = hub.scheduler.index
        await hub.scheduler.load()
        await hub.settle()
        assert _picture(followed) == _picture(hub.scheduler.index)
        await _check_charges(hub, followed, uids)


def _job(number: int, pods: int, named: str = "") -> dict[str, Any]:
    labels = {"kueue.x-k8s.io/priority-class": named} if named else {}
    annotations = {"roadstead.dev/retry": "2"}
    job = a_job(f"j{number}", queue="q", count=pods, labels=labels, annotations=annotations)
    job["spec"]["completions"] = 9
    return job


async def _step(hub: Running, what: str, uid: str, pods: int) -> None:
    row = await hub.job(uid)
    state, number = State(row.state), int(row.name[1:])
    on_member = state in {State.OFFERED, State.APPLIED, State.RUNNING}
    if what == "ready" and state is State.PLACED:
        await offered(hub, uid)
    elif what in {"ready", "lost"} and on_member:
        await reported(hub, uid, active=pods, ready=pods if what == "ready" else 0)
    elif what == "ended" and on_member:
        result = ("Succeeded", "Failed")[pods % 2]
        await reported(hub, uid, result=result, reason="BackoffLimitExceeded")
    elif what == "gone" and state is State.WITHDRAWING:
        await gone(hub, uid)
    elif what in {"resize", "raise"}:
        given = (pods, row.priority_class) if what == "resize" else (1, "high")
        await hub.apply(_job(number, *given))
    elif what == "evict":
        after, backs_off = dt.timedelta(seconds=pods), BackOff(base_s=3, limit=2)
        again = Requeue(after, counted=pods % 2 == 1, later=pods > 2, back_off=backs_off)
        await hub.hub.db.write(
            lambda tx: evict(tx, [uid], "Preempted", "by chance", requeue=again)
        )
    elif what in {"hold", "release"}:
        act = hold.hold_job if what == "hold" else hold.release_job
        with contextlib.suppress(Rejected):
            await hub.hub.write(act, uid, "ann")


async def _check_charges(hub: Running, index: ScheduleIndex, uids: list[str]) -> None:
    charged = 0
    for row in await hub.jobs(uids):
        if State(row.state) in CHARGED:
            charged += sum(p["usage"]["cpu"] for p in row.admission["podSets"])
        elif row.finished_at is None:
            assert row.admission is None
    assert index.ledger.used("q", OF) == charged <= QUOTA * 1000


def _picture(index: ScheduleIndex) -> object:
    index.refresh_room()
    lanes = sorted(
        (lane.demand.key, [(entry.uid, entry.queued_at) for entry in lane])
        for lane in index.waiting.every_lane()
    )
    holders = sorted(
        (h.uid, h.priority, h.pods_ready, h.evicted, dict(h.usage), [p[2] for p in h.pods])
        for held in index.holders.values()
        for h in held.values()
    )
    wishes = {u: w for u, w in index.wishes._rows.items() if index._charges.holder(u)}
    return (
        index.ledger.usage("q"),
        lanes,
        holders,
        wishes,
        sorted(index._charges.unready),
        sorted(index._backing_off._rows),
        index.members.room.left.tolist(),
    )
