"""Writing a row anew: what of it is replaced, what is forgotten, and what stays, field by field."""

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from hub.domain.workloads.apply_options import ApplyOptions
from hub.domain.workloads.states import State
from hub.store import (
    clusters,
    leases,
    manifests,
    objects,
    placements,
    schedule,
    usage,
    workload_pages,
    workloads,
    works,
)
from hub.store.engine import Database
from hub.store.records.works import Work
from hub.store.transaction import Transaction
from hub.store.usage import Consumed
from shared.clock import ManualClock
from tests.store.build import (
    START,
    a_member,
    a_wanted_work,
    a_work,
    a_workload,
    an_object,
    call,
    opened,
)

pytestmark = pytest.mark.anyio
LATER = START + dt.timedelta(minutes=1)
SAID: Any = {
    "cluster": "north",
    "uid": "one",
    "observed_generation": 4,
    "phase": "Failed",
    "observed": {"active": 1},
    "drift": [{"path": "/a"}],
    "reason": "Why",
    "message": "words",
    "available": True,
    "seen": True,
}
NEW: Any = {"hash": "", "action": "Apply", "content": ""}
OPTIONED: Any = {
    "cluster": "north",
    "uid": "one",
    "options": ApplyOptions(ttl_s=5),
    "hash": "h",
}
OBSERVED = a_work(
    "north",
    "one",
    offered=True,
    options=ApplyOptions(ttl_s=5),
    hash="h",
    observed_generation=4,
    phase="Failed",
    observed={"active": 1},
    drift=[{"path": "/a"}],
    reason="Why",
    message="words",
    available=True,
    seen=True,
    observed_at=START,
)


async def observed(db: Database) -> None:
    """Work `one` of member `north`, offered and observed, and one of `south` beside it."""

    def fill(tx: Transaction) -> None:
        works.upsert(tx, [a_wanted_work("north", "one"), a_wanted_work("south", "one")])
        works.offer(tx, [OPTIONED])
        works.observe(tx, [SAID])

    await db.write(fill)


async def both(db: Database) -> list[Work]:
    return sorted(await db.read(call(works.of_uids, ["one"])))


async def test_what_a_member_said_is_kept_whole(tmp_path: Path):
    """With the time at which it was said, and of that member's work alone."""
    async with opened(tmp_path) as db:
        await observed(db)
        assert await both(db) == [OBSERVED, a_work("south", "one")]
        at = START - dt.timedelta(minutes=5)
        await db.write(call(works.observe, [{**SAID, "observed_at": at, "drift": None}]))
        assert (await both(db))[0] == OBSERVED._replace(observed_at=at, drift=None)


async def test_a_new_epoch_forgets_what_the_former_was_observed_as(tmp_path: Path):
    """Everything is the new one's, not offered and not seen yet; only since when there is a row stays."""
    clock = ManualClock(START)
    async with opened(tmp_path, clock) as db:
        await observed(db)
        clock.advance(60)
        given = {
            "epoch": 2,
            "generation": 3,
            "api_version": "batch/v2",
            "kind": "Other",
            "namespace": "team-b",
            "name": "renamed",
            "options": ApplyOptions(queue="q"),
            "placed_by": "p",
        }
        await db.write(call(works.upsert, [a_wanted_work("north", "one", **given)]))
        assert await both(db) == [a_work("north", "one", **given), a_work("south", "one")]


async def test_a_work_that_is_renewed_keeps_what_was_observed(tmp_path: Path):
    """What is wanted changes; what was said, offered and seen stays."""
    async with opened(tmp_path) as db:
        await observed(db)
        wanted: dict[str, Any] = {
            "generation": 3,
            "api_version": "v2",
            "options": ApplyOptions(queue="q"),
            "placed_by": "p",
            "hash": "new",
            "action": "Keep",
            "content": "c",
        }
        await db.write(call(works.renew, [a_wanted_work("north", "one", **wanted)]))
        assert await both(db) == [OBSERVED._replace(**wanted), a_work("south", "one")]


async def test_options_of_an_epoch_change_alone(tmp_path: Path):
    """With the hash that follows from them."""
    async with opened(tmp_path) as db:
        await observed(db)
        changed: dict[str, Any] = {"options": ApplyOptions(parallelism=1), "hash": "other"}
        await db.write(call(works.reoption, [{**OPTIONED, **changed}]))
        assert await both(db) == [OBSERVED._replace(**changed), a_work("south", "one")]


async def test_a_change_enters_the_feed_as_what_it_is_a_change_of(tmp_path: Path):
    """Of what is desired, or of what is observed: agents' sets follow the one, statuses the other."""
    steps: list[tuple[Any, dict[str, set[str]]]] = [
        (call(works.upsert, [a_wanted_work("north", "one")]), {"works": {"north/one"}}),
        (call(works.renew, [a_wanted_work("north", "one", **NEW)]),
         {"works": {"north/one"}}),
        (call(works.offer, [OPTIONED]), {"works": {"north/one"}}),
        (call(works.reoption, [OPTIONED]), {"works": {"north/one"}}),
        (call(works.observe, [SAID]), {"observed": {"north/one"}}),
        (call(works.follow_generation, "one", 2), {"works": {"north/one"}}),
        (call(works.act, "Withdraw", [("north", "one")]), {"works": {"north/one"}}),
        (call(works.follow_generation, "one", 3), {"works": set()}),
        (call(works.remove, [("north", "one")]),
         {"works": {"north/one"}, "observed": {"north/one"}}),
    ]  # fmt: skip
    async with opened(tmp_path) as db:

        def run(tx: Transaction) -> None:
            for step, expected in steps:
                part = Transaction(tx.conn, tx.now)
                step(part)
                assert part.touched == expected

        await db.write(run)


async def test_what_a_work_is_composed_from_is_its_own(tmp_path: Path):
    """The manifest of its generation, not of a newer one; annotations of its job, else of its object."""
    async with opened(tmp_path) as db:

        def fill(tx: Transaction) -> None:
            workloads.add(tx, [a_workload("one", annotations={"of": "job"}, queue="q", ttl_s=0)])
            for n in (1, 2):
                row = {"uid": "one", "generation": n, "manifest": b"%d" % n, "hash": f"m{n}"}
                manifests.add(tx, [{**row, "created_at": tx.now}])
            own = {"annotations": {"of": "object"}, "manifest": {"a": 1}, "hash": "o"}
            objects.add(tx, an_object("two", **own))
            works.upsert(tx, [a_wanted_work("north", uid, generation=2) for uid in ("one", "two")])

        await db.write(fill)
        job, thing = sorted(await db.read(call(works.composable, "north", ["one", "two"])))
        assert (job.job_manifest, job.job_hash, job.object_manifest) == (b"2", "m2", None)
        assert (job.annotations, job.queue, job.ttl_s) == ({"of": "job"}, "q", 0)
        assert (job.state, job.workload_epoch) == ("Pending", 0)
        assert (thing.object_manifest, thing.object_hash, thing.job_manifest) == (
            {"a": 1},
            "o",
            None,
        )
        assert (thing.annotations, thing.state) == ({"of": "object"}, None)
        await db.write(call(placements.add_contents, "p", {"g": {"a": 0}}))
        await db.write(
            call(works.upsert, [a_wanted_work("north", "two", placed_by="p", content="g")])
        )
        (thing,) = await db.read(call(works.composable, "north", ["two"]))
        assert (thing.content, thing.content_manifest) == ("g", {"a": 0})
        await db.write(call(works.renew, [a_wanted_work("north", "one", **NEW)]))
        (job,) = await db.read(call(works.composable, "north", ["one"]))
        assert (job.generation, job.job_manifest, job.job_hash) == (1, b"1", "m1")


async def test_a_report_replaces_the_one_before(tmp_path: Path):
    """Capacity, time and whether its API server answers; a member that goes takes its report along."""
    clock = ManualClock(START)
    async with opened(tmp_path, clock) as db:
        await db.write(call(clusters.add, a_member("north")))
        down: Any = {"reason": "no answer", "since": "t"}
        await db.write(call(clusters.set_capacity, "north", b"{}", down))
        assert await db.read(clusters.down) == {"north": down}
        clock.advance(60)
        await db.write(call(clusters.set_capacity, "north", b"{1}"))
        assert await db.read(clusters.down) == {}
        assert await db.read(clusters.get_capacities) == {"north": (b"{1}", LATER)}
        await db.write(call(clusters.remove, "north"))
        assert await db.read(clusters.get_capacities) == {}


async def test_a_sample_replaces_the_one_before(tmp_path: Path):
    """Of that LocalQueue of that namespace: amounts and time; dropping one drops no namesake."""
    async with opened(tmp_path) as db:
        first = [Consumed(name, "q", {"cpu": 1.0}, START) for name in ("team-a", "team-b")]
        await db.write(call(usage.put, first))
        newer = Consumed("team-a", "q", {"cpu": 2.0}, LATER)
        await db.write(call(usage.put, [newer]))
        assert sorted(await db.read(usage.every), key=str) == [newer, first[1]]
        await db.write(call(usage.drop, [("team-b", "q")]))
        assert await db.read(usage.every) == [newer]


async def test_an_explanation_is_as_of_when_it_was_written_last(tmp_path: Path):
    """The words and their time go together."""
    clock = ManualClock(START)
    async with opened(tmp_path, clock) as db:
        await db.write(call(schedule.put_explanations, {"k": {"why": 1}, "l": {"why": 2}}))
        clock.advance(60)
        await db.write(call(schedule.put_explanations, {"k": {"why": 3}}))
        assert await db.read(call(schedule.explanation, "k")) == ({"why": 3}, LATER)
        assert await db.read(call(schedule.explanation, "l")) == ({"why": 2}, START)


@pytest.mark.parametrize("again", [leases.take, leases.seize])
async def test_a_lease_that_is_taken_again_runs_from_then(tmp_path: Path, again: Any):
    """Its end moves with every renewal: nobody else gets it a moment before."""
    clock = ManualClock(START)
    minute = dt.timedelta(minutes=1)
    async with opened(tmp_path, clock) as db:
        assert await db.write(call(leases.take, "a", minute)) == 1
        clock.advance(40)
        assert await db.write(call(again, "a", minute)) in (1, 2)
        clock.advance(40)
        assert await db.write(call(leases.take, "b", minute)) is None
        clock.advance(20)
        assert await db.write(call(leases.take, "b", minute)) is not None


async def test_a_seized_lease_is_of_its_own_name(tmp_path: Path):
    """Each lease counts its own terms."""
    async with opened(tmp_path) as db:
        minute = dt.timedelta(minutes=1)
        for _ in range(3):
            await db.write(call(leases.seize, "a", minute))
        assert await db.write(call(leases.seize, "a", minute, "other")) == 1
        assert await db.read(leases.present_term) == 3


async def test_kinds_are_counted_by_group_and_kind(tmp_path: Path):
    """One name of a kind in two groups is two kinds."""
    async with opened(tmp_path) as db:

        def fill(tx: Transaction) -> None:
            objects.add(tx, an_object("a", api_group="one.dev", kind="Widget"))
            objects.add(tx, an_object("b", api_group="two.dev", kind="Widget"))
            objects.add(tx, an_object("c", api_group="two.dev", kind="Widget"))

        await db.write(fill)
        assert await db.read(objects.kinds) == [("one.dev", "Widget", 1), ("two.dev", "Widget", 2)]


async def test_only_what_waits_is_pending_of_its_placement(tmp_path: Path):
    """Those that are placed wait for nothing of it."""
    async with opened(tmp_path) as db:
        rows = [
            a_workload("waits", placement="p"),
            a_workload("runs", placement="p", state=State.RUNNING),
            a_workload("other", placement="q"),
        ]
        await db.write(call(workloads.add, rows))
        assert await db.read(call(schedule.pending_of_placements, ["p"])) == ["waits"]


@pytest.mark.parametrize(
    ("columns", "ready"),
    [
        ({"state": State.RUNNING}, 0),
        ({"state": State.RUNNING, "pods_ready_at": START}, 1),
        ({"state": State.RUNNING, "pods_ready_at": START, "pods_lost_at": START}, 0),
        ({"state": State.RESERVED}, 1),
        ({"state": State.PLACED}, 0),
        ({"state": State.PLACED, "kind": "Workload"}, 1),
        ({"state": State.PLACED, "kind": "Workload", "pods_lost_at": START}, 0),
    ],
)
async def test_pods_are_ready_until_they_are_lost(tmp_path: Path, columns: Any, ready: int):
    """What is only reserved has none to wait for; a bare one's are, until its executor says otherwise."""
    async with opened(tmp_path) as db:
        await db.write(call(workloads.add, [a_workload("one", **columns)]))
        (row,) = await db.read(call(schedule.standing, ["one"]))
        (pulse,) = await db.read(call(schedule.pulses, ["one"]))
        assert (row.pods_ready, pulse.pods_ready) == (ready, ready)


async def test_a_local_queue_is_known_by_its_namespace_too(tmp_path: Path):
    """A page of some LocalQueues holds nobody of a namesake; of none, nobody."""
    async with opened(tmp_path) as db:
        rows = [a_workload(f"{n}-{q}", namespace=n, queue=q) for n in "ab" for q in "xy"]
        await db.write(call(workloads.add, rows))

        async def found(queues: Any) -> list[str]:
            page = await db.read(call(workload_pages.page, {}, (), queues, None, 10))
            return sorted(row.uid for row in page)

        assert await found([("a", "x"), ("b", "y")]) == ["a-x", "b-y"]
        assert await found([]) == []
        assert await found(None) == ["a-x", "a-y", "b-x", "b-y"]
