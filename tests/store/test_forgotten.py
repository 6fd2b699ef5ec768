"""What is forgotten when its time is over, and with it everything about it, however much there is."""

import datetime as dt
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from hub.domain.workloads.states import State
from hub.store import changes, events, front_page, jobs, manifests, retention, workloads, works
from hub.store.dialect import CHUNK
from hub.store.transaction import Transaction
from shared.clock import ManualClock
from tests.store.build import START, a_wanted_work, a_workload, call, opened

pytestmark = pytest.mark.anyio
ENDED: Any = {"state": State.SUCCEEDED, "finished_at": START}


async def test_of_a_job_that_is_forgotten_nothing_is_left(tmp_path: Path):
    """Row, manifests and events go, of it alone; followers hear of it."""
    async with opened(tmp_path) as db:
        rows = [a_workload(uid, **ENDED) for uid in ("old", "new")]

        def fill(tx: Transaction) -> None:
            workloads.add(tx, rows)
            for row in rows:
                body = {"uid": row.uid, "generation": 1, "manifest": b"{}", "hash": "h"}
                manifests.add(tx, [{**body, "created_at": tx.now}])
                tx.say(row, "Succeeded", "")

        await db.write(fill)
        before = await db.read(changes.last_revision)
        await db.write(call(retention.remove_jobs, ["old"]))
        assert list(await db.read(call(workloads.get_many, ["old", "new"]))) == ["new"]
        assert list(await db.read(call(manifests.latest_of, ["old", "new"]))) == ["new"]
        assert [e.uid for e in await db.read(events.list_events)] == ["new"]
        (row,) = await db.read(call(changes.since, before, 10))
        assert row[1:3] == ("workloads", ["old"])


async def test_thousands_of_jobs_are_forgotten_as_one_is(tmp_path: Path):
    """Names and rows of all go, beyond what one statement binds."""
    async with opened(tmp_path) as db:
        uids = [f"j{n}" for n in range(CHUNK + 1)]
        await db.write(call(workloads.add, [a_workload(uid, **ENDED) for uid in uids]))
        await db.write(call(retention.give_names_back, uids))
        found = await db.read(call(workloads.get_many, uids))
        assert {row.live for row in found.values()} == {None}
        (revision, *_), *_ = await db.read(call(changes.since, 1, 1))
        told = await db.read(call(changes.since, 1, 10))
        assert (revision, [row[1] for row in told]) == (2, ["workloads"])
        assert set(told[0][2]) == set(uids)
        await db.write(call(retention.remove_jobs, uids))
        assert await db.read(call(workloads.get_many, uids)) == {}


async def test_names_that_are_given_back_are_no_more_than_were_asked_for(tmp_path: Path):
    """Over all spans together; who has given its name back already is not among them."""
    now = START + dt.timedelta(hours=1)
    async with opened(tmp_path, ManualClock(now)) as db:
        rows = [a_workload(f"{ttl}-{n}", **ENDED, ttl_s=ttl) for ttl in (5, 6) for n in range(2)]
        rows += [a_workload("gone", **ENDED, ttl_s=5, live=None)]
        rows += [a_workload("kept", **ENDED), a_workload("zero", **ENDED, ttl_s=0)]
        await db.write(call(workloads.add, rows))
        assert len(await db.read(call(retention.names_outlived, 3))) == 3
        found = await db.read(call(retention.names_outlived, 10))
        assert sorted(found) == ["5-0", "5-1", "6-0", "6-1", "zero"]


async def test_only_copies_that_are_kept_are_held_too_long(tmp_path: Path):
    """One that is being withdrawn goes by itself."""
    async with opened(tmp_path) as db:
        rows = [a_workload(uid, **ENDED) for uid in ("kept", "going", "free")]

        def fill(tx: Transaction) -> None:
            workloads.add(tx, rows)
            works.upsert(tx, [a_wanted_work("north", uid) for uid in ("kept", "going")])
            works.act(tx, "Keep", [("north", "kept")])
            works.act(tx, "Withdraw", [("north", "going")])

        await db.write(fill)
        later = START + dt.timedelta(seconds=1)
        assert await db.read(call(retention.jobs_held_too_long, later, 10)) == ["kept"]
        assert await db.read(call(retention.jobs_ended_before, later, 10)) == ["free"]


async def test_jobs_count_in_a_namespace_while_they_have_their_names(tmp_path: Path):
    """Also one that is being deleted; none that has given its name back."""
    async with opened(tmp_path) as db:
        rows = [
            a_workload("lives"),
            a_workload("leaves", deleted_at=START),
            a_workload("gone", live=None),
            a_workload("too", live=None),
            a_workload("elsewhere", namespace="team-b"),
        ]
        await db.write(call(workloads.add, rows))
        assert await db.read(call(jobs.count_in_namespace, "team-a")) == 2


async def test_the_live_page_finds_a_job_by_each_of_its_names(tmp_path: Path):
    """Namespace and name, queue or cluster; as many are counted as are shown."""
    async with opened(tmp_path) as db:
        rows = [
            a_workload("one", queue="gold", cluster="north", state=State.RUNNING),
            a_workload("two", queue="lead", cluster="south", state=State.RUNNING),
            a_workload("three", deleted_at=START, live=None),
        ]
        await db.write(call(workloads.add, rows))
        for text, expected in (
            ("team-a/o", ["one"]),
            ("gol", ["one"]),
            ("nort", ["one"]),
            ("lead", ["two"]),
            ("_", []),
            ("", ["one", "two"]),
        ):
            found = await db.read(call(front_page.unfinished, (), text, 0, 10))
            assert [row.uid for row in found] == expected
            assert await db.read(call(front_page.count_unfinished, text)) == len(expected)


async def test_a_decision_that_can_not_be_read_takes_no_other_with_it(tmp_path: Path):
    """The others of the page show theirs; that job is shown without."""
    async with opened(tmp_path) as db:

        def fill(tx: Transaction) -> None:
            rows = [a_workload(uid, scores={"of": uid}) for uid in ("one", "two", "three")]
            workloads.add(tx, rows)
            broken = text("UPDATE workloads SET scores = :bytes WHERE uid = 'two'")
            tx.conn.execute(broken, {"bytes": b"{"})

        await db.write(fill)
        found = await db.read(call(front_page.unfinished, (), "", 0, 10))
        assert {row.uid: row.scores for row in found} == {
            "one": {"of": "one"},
            "two": None,
            "three": {"of": "three"},
        }
