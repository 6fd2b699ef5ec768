"""Whose rows a question or a deletion is about: those of its own member, epoch, placement or queue alone."""

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from hub.domain.workloads.apply_options import ApplyOptions
from hub.domain.workloads.states import State, Transition
from hub.store import (
    changes,
    clusters,
    doubts,
    lifetimes,
    manifests,
    on_members,
    placed_jobs,
    placements,
    schedule,
    tokens,
    usage,
    workload_pages,
    workloads,
    works,
)
from hub.store.engine import Database
from hub.store.records.placements import Binding
from hub.store.records.workloads import GivenWork
from hub.store.tables import snapshots
from hub.store.transaction import Transaction
from shared.clock import ManualClock
from tests.store.build import START, a_member, a_wanted_work, a_work, a_workload, call, opened

pytestmark = pytest.mark.anyio
CAPACITY = b'{"pools_revision":0,"pools":[],"bound":[]}'


async def told(db: Database, what: Any) -> list[tuple[str, set[str]]]:
    """The feed's rows of one transaction."""
    before = await db.read(changes.last_revision)
    await db.write(what)
    return [(row[1], set(row[2])) for row in await db.read(call(changes.since, before, 10))]


async def given(db: Database, *jobs: tuple[str, dict[str, Any]], epoch: int = 1) -> None:
    """Jobs on `north` with a work of an epoch each."""

    def run(tx: Transaction) -> None:
        rows = [a_workload(u, **{"cluster": "north", "epoch": epoch} | c) for u, c in jobs]
        workloads.add(tx, rows)
        works.upsert(tx, [a_wanted_work("north", row.uid, epoch=epoch) for row in rows])

    await db.write(run)


def said(uid: str, **columns: Any) -> Any:
    found = {"cluster": "north", "uid": uid, "observed_generation": 1, "phase": "Applied"}
    found |= {"observed": {"active": 1}, "drift": None, "reason": "R", "message": "m"}
    return found | {"available": True, "seen": True} | columns


async def test_of_what_was_offered_only_the_present_epoch_counts_as_unseen(tmp_path: Path):
    """On the members asked about, offered or unknown, and never seen there."""
    async with opened(tmp_path) as db:
        offered: dict[str, Any] = {"state": State.OFFERED}
        await given(db, ("one", offered), ("lost", {"state": State.UNKNOWN}), ("seen", offered))
        await given(db, ("run", {"state": State.RUNNING}), ("later", {**offered, "epoch": 2}))
        await db.write(call(works.observe, [said("seen")]))
        found = await db.read(call(on_members.offered_unseen, ["north", "south"]))
        assert sorted(row.uid for row in found) == ["lost", "one"]
        assert await db.read(call(on_members.offered_unseen, ["south"])) == []


async def test_what_was_last_observed_of_the_unknown_is_of_their_present_epochs(tmp_path: Path):
    """Everything that the member said; nothing of what it said nothing of."""
    async with opened(tmp_path) as db:
        unknown: dict[str, Any] = {"state": State.UNKNOWN}
        await given(db, ("one", unknown), ("silent", unknown), ("later", {**unknown, "epoch": 2}))
        await given(db, ("run", {"state": State.RUNNING}))
        await db.write(call(works.observe, [said(uid) for uid in ("one", "later", "run")]))
        (found,) = await db.read(call(on_members.last_observed, ["north"], [State.UNKNOWN]))
        expected = {"epoch": 1, **said("one")}
        assert found._asdict() == {name: expected[name] for name in found._fields}
        assert await db.read(call(on_members.last_observed, ["south"], [State.UNKNOWN])) == []


async def test_whoever_runs_no_job_is_in_no_doubt(tmp_path: Path):
    """Jobs of these states; a bare Workload is on no member."""
    async with opened(tmp_path) as db:
        await given(db, ("job", {"state": State.RUNNING}), ("held", {"state": State.HELD}))
        bare = a_workload("bare", kind="Workload", state=State.RUNNING)
        await db.write(call(workloads.add, [bare]))
        found = await db.read(call(doubts.jobs_in, [State.RUNNING]))
        assert [(row.uid, row.epoch, row.state) for row in found] == [("job", 1, State.RUNNING)]


async def test_works_in_doubt_are_told_anew_and_count_as_seen(tmp_path: Path):
    """With their options, of the present epochs alone; the agents' index hears of each."""
    async with opened(tmp_path) as db:
        run: dict[str, Any] = {"state": State.RUNNING}
        await given(db, ("one", run), ("two", run), ("later", {**run, "epoch": 2}))
        await db.write(call(works.upsert, [a_wanted_work("south", "one")]))
        hashed = {"options": ApplyOptions(), "hash": "h"}
        rows: Any = [{"cluster": "north", "uid": uid, **hashed} for uid in ("one", "two")]
        await db.write(call(works.reoption, rows))
        found = await db.read(call(doubts.given_in, [State.RUNNING]))
        assert sorted((row.cluster, row.uid) for row in found) == [
            ("north", "one"),
            ("north", "two"),
        ]
        options = ApplyOptions(doubtful=True)
        marked = [GivenWork("north", "one", options)]
        assert await told(db, call(doubts.mark, marked)) == [("works", {"north/one"})]
        after = {(w.cluster, w.uid): w for w in await db.read(call(works.of_uids, ["one", "two"]))}
        assert after["north", "one"] == a_work("north", "one", options=options, seen=True)
        assert after["north", "two"] == a_work("north", "two", hash="h")
        assert after["south", "one"] == a_work("south", "one")
        asked = call(doubts.options_of, "south", ["one", "two"])
        assert await db.read(asked) == {"one": ApplyOptions()}


@pytest.mark.parametrize(
    ("columns", "limited"),
    [
        ({}, True),
        ({"max_runtime_s": None}, False),
        ({"placed_at": None}, False),
        ({"finished_at": START}, False),
        ({"state": State.WITHDRAWING}, False),
        ({"state": State.PLACED}, True),
        ({"state": State.UNKNOWN}, True),
    ],
)
async def test_run_time_is_limited_of_what_is_on_a_cluster(
    tmp_path: Path, columns: dict[str, Any], limited: bool
):
    """From its placing to its end; what is being withdrawn leaves anyway."""
    async with opened(tmp_path) as db:
        given = {"state": State.RUNNING, "max_runtime_s": 60, "ran_s": 5, "placed_at": START}
        await db.write(call(workloads.add, [a_workload("one", **{**given, **columns})]))
        found = [
            (row.uid, row.max_runtime_s, row.ran_s) for row in await db.read(lifetimes.limited)
        ]
        assert found == ([("one", 60, 5)] if limited else [])


async def test_a_member_that_is_forgotten_takes_its_capacity_along(tmp_path: Path):
    """Capacity alone, or both; the other members keep theirs, and followers hear of it."""
    async with opened(tmp_path) as db:

        def fill(tx: Transaction) -> None:
            for name in ("north", "south", "west"):
                clusters.add(tx, a_member(name))
                clusters.set_capacity(tx, name, CAPACITY)

        await db.write(fill)
        gone = await told(db, call(clusters.forget_capacity, "north"))
        assert gone == [("clusters", {"north"})]
        assert await told(db, call(clusters.remove, "south")) == [("clusters", {"south"})]
        assert await db.read(clusters.get_capacities) == {"west": (CAPACITY, START)}
        names = [member.name for member in await db.read(clusters.list_all)]
        assert names == ["north", "west"]


async def test_of_a_placement_that_is_forgotten_nothing_is_left(tmp_path: Path):
    """Decisions and versions go, of it alone; a decision goes of its own placement alone."""
    async with opened(tmp_path) as db:
        bound = [
            Binding(placement, cluster, True, 0, 0, "r", "m", "1", "1")
            for placement in ("p", "q")
            for cluster in ("north", "south")
        ]

        def fill(tx: Transaction) -> None:
            placements.bind(tx, bound)
            for placement in ("p", "q"):
                placements.add_snapshot(tx, placement, "policy", 1, "h", {}, 10)

        await db.write(fill)
        unbound = await told(db, call(placements.unbind, "q", ["south"]))
        assert unbound == [("bindings", {"q"})]
        assert await db.read(call(placements.bindings_of, "p")) == bound[:2]
        assert await db.read(call(placements.bindings_of, "q")) == bound[2:3]
        assert await told(db, call(placements.forget, "p")) == [("bindings", {"p"})]
        assert await db.read(call(placements.bindings_of, "p")) == []
        assert await db.read(call(placements.bindings_of, "q")) == bound[2:3]
        left = await db.read(lambda tx: tx.conn.execute(snapshots.select()).all())
        assert [row.placement for row in left] == ["q"]


async def test_only_jobs_that_have_their_names_may_be_selected(tmp_path: Path):
    """Of the namespace asked about; no Workload of a queue manager is one."""
    async with opened(tmp_path) as db:
        rows = [
            a_workload("one"),
            a_workload("ended", state=State.FAILED),
            a_workload("gone", live=None),
            a_workload("bare", kind="Workload"),
            a_workload("elsewhere", namespace="team-b"),
        ]
        await db.write(call(workloads.add, rows))
        found = await db.read(call(placed_jobs.live_jobs, "team-a"))
        assert sorted(row.uid for row in found) == ["ended", "one"]


async def test_those_that_wait_are_found_by_namespace_and_queue(tmp_path: Path):
    """Of one queue, the one without a name too, or of any."""
    async with opened(tmp_path) as db:
        rows = [a_workload(f"{n}-{q}", namespace=n, queue=q) for n in "ab" for q in ("", "x", "y")]
        rows += [a_workload("runs", namespace="a", queue="x", state=State.RUNNING)]
        await db.write(call(workloads.add, rows))
        for queue, expected in (("x", ["a-x"]), ("", ["a-"]), (None, ["a-", "a-x", "a-y"])):
            assert sorted(await db.read(call(schedule.pending_uids, "a", queue))) == expected


async def test_what_a_queue_has_consumed_goes_with_it_alone(tmp_path: Path):
    """Not that of its namesake elsewhere; a new sample is told to every follower."""
    async with opened(tmp_path) as db:
        rows = [usage.Consumed(n, q, {"cpu": 1.0}, START) for n in "ab" for q in "xy"]
        feed = await told(db, call(usage.put, rows))
        assert [kind for kind, _ in feed] == [usage.CHANGED]
        await db.write(call(usage.drop, [("a", "x"), ("b", "y")]))
        left = await db.read(usage.every)
        assert sorted((row.namespace, row.queue) for row in left) == [("a", "y"), ("b", "x")]


async def test_followers_hear_of_tokens_and_shapes_that_go(tmp_path: Path):
    """Whoever keeps them in memory forgets them too; where nothing went there is nothing to hear."""
    async with opened(tmp_path) as db:

        def fill(tx: Transaction) -> None:
            tokens.add_principal(tx, id="p", role="agent", name="north")
            for name in ("one", "two"):
                tokens.add(tx, id=name, principal="p", purpose="join", secret_hash=name,
                           expires_at=None)  # fmt: skip
            manifests.add_shapes(tx, {"used": [], "idle": []})
            workloads.add(tx, [a_workload("j", shape="used")])

        await db.write(fill)
        assert await told(db, call(tokens.revoke_one, "one")) == [("tokens", {"one"})]
        assert await told(db, call(tokens.revoke, "p", "join")) == [("tokens", {"two"})]
        assert await told(db, call(tokens.remove_principal, "p")) == [("tokens", {"one", "two"})]
        later = START + dt.timedelta(seconds=1)
        assert await told(db, call(manifests.trim_shapes, later)) == [("shapes", {"*"})]
        assert await told(db, call(manifests.trim_shapes, later)) == []
        assert set(await db.read(call(manifests.get_shapes, ["used", "idle"]))) == {"used"}


async def test_a_bare_workload_is_known_by_its_name_while_it_has_it(tmp_path: Path):
    """Of this namespace; a Job of that name is not meant, nor one that has given its name back."""
    async with opened(tmp_path) as db:
        rows = [
            a_workload("one", name="w", kind="Workload", state=State.RUNNING),
            a_workload("job", name="j"),
            a_workload("gone", name="g", kind="Workload", live=None),
            a_workload("elsewhere", name="w", namespace="team-b", kind="Workload"),
        ]
        await db.write(call(workloads.add, rows))
        names = [("team-a", name) for name in "wjgx"]
        found = await db.read(call(workload_pages.bare_by_name, names))
        assert {key: (row.uid, row.state) for key, row in found.items()} == {
            ("team-a", "w"): ("one", State.RUNNING)
        }


async def test_pods_of_a_work_are_ready_until_they_are_lost(tmp_path: Path):
    """So a work stands: all of them ready once, and none lost since."""
    async with opened(tmp_path) as db:
        ready: dict[str, Any] = {"state": State.RUNNING, "pods_ready_at": START}
        await given(db, ("ready", ready), ("lost", {**ready, "pods_lost_at": START}))
        await given(db, ("never", {"state": State.RUNNING}))
        found = await db.read(call(works.standing, "north", ["ready", "lost", "never"]))
        assert {uid: bool(row.pods_ready) for uid, row in found.items()} == {
            "ready": True,
            "lost": False,
            "never": False,
        }


async def test_when_a_job_first_did_something_is_kept(tmp_path: Path):
    """Applied and running anew, it did so first when it first did; pods likewise."""
    clock = ManualClock(START)
    async with opened(tmp_path, clock) as db:
        times = {"applied_at": START, "started_at": START, "pods_ready_at": START}
        row = a_workload("one", state=State.UNKNOWN, cluster="north", epoch=1, **times)
        await db.write(call(workloads.add, [row]))
        clock.advance(60)
        later = {name: clock.now() for name in times}
        move: Any = {"uid": "one", "epoch": 1, **later}
        moved = await db.write(call(workloads.transition, Transition.START, [move]))
        assert moved == ["one"]
        (after,) = (await db.read(call(workloads.get_many, ["one"]))).values()
        assert {name: getattr(after, name) for name in times} == times
