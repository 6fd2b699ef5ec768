"""What a report leaves behind: the whole rows, events and answers, of several members in one commit."""

import datetime as dt
from typing import Any

import pytest

from hub.domain.workloads.states import State, WithdrawTo
from hub.services.members import faults, forgotten
from hub.services.members.observe import (
    ObservedReport,
    ReportOutcome,
    as_observed,
    take_reports,
)
from hub.store import audit, clusters, events, on_members, tables, workloads, works
from hub.store.engine import Database
from hub.store.records.works import Work
from hub.store.transaction import Transaction
from shared.clock import ManualClock
from shared.wire.agent_v1 import ApiServerDown, Observed, Order
from tests.services.members.hubs import ran, seen
from tests.store.build import START, a_member, a_work, a_workload, call, opened

pytestmark = pytest.mark.anyio
DRIFT = {
    "path": "/spec/a",
    "hub": "1",
    "member": "2",
    "first_seen": "2026-03-01T11:00:00Z",
}
JOB = {
    "suspended": True, "active": 1, "ready": 2, "terminating": 3, "succeeded": 4, "failed": 5,
    "start_time": "2026-03-01T11:00:01Z", "completion_time": "2026-03-01T11:00:02Z",
    "completed_indexes": "0-1", "failed_indexes": "2", "running_since": "2026-03-01T11:00:03Z",
    "result": None, "reason": "r", "message": "m", "held_by": "h", "failures": ["3/Error"],
}  # fmt: skip


def given(tx: Transaction, cluster: str, uid: str, **columns: Any) -> None:
    """A job that was offered to a member; `work`: columns of its work."""
    work = a_work(cluster, uid, offered=True, **columns.pop("work", {}))
    row: dict[str, Any] = {"state": State.OFFERED, "epoch": 1, "cluster": cluster} | columns
    workloads.add(tx, [a_workload(uid, **row)])
    tx.conn.execute(tables.works.insert(), work._asdict())


def _taken(
    tx: Transaction, reports: list[ObservedReport], *, heard: bool = True
) -> list[ReportOutcome]:
    """What became of reports none of which is refused."""
    found = take_reports(tx, reports, heard=heard)
    return [each for each in found if isinstance(each, ReportOutcome)]


async def members(db: Database, *names: str) -> None:
    for name in names:
        await db.write(call(clusters.add, a_member(name, joined_at=START)))


async def work_of(db: Database, uid: str) -> Work:
    (found,) = await db.read(call(works.of_uids, [uid]))
    return found


async def test_all_that_is_observed_is_kept(tmp_path):
    """Every field of the entry stands in its row, and is read as the same entry again."""
    clock = ManualClock(START)
    async with opened(tmp_path, clock) as db:
        await members(db, "c1")
        await db.write(call(given, "c1", "u", state=State.UNKNOWN))
        entry = seen(
            "u", "Applied", generation=3, object_uid="m-1", member_generation=7, reason="R",
            message="M", available=False, drift=[DRIFT], job=JOB, seq=9,
        )  # fmt: skip
        clock.advance(60)
        await db.write(lambda tx: _taken(tx, [ObservedReport("c1", [entry])]))
        assert await work_of(db, "u") == a_work(
            "c1",
            "u",
            offered=True,
            seen=True,
            phase="Applied",
            observed_generation=3,
            observed={"object_uid": "m-1", "member_generation": 7, "job": JOB},
            drift=[DRIFT],
            reason="R",
            message="M",
            available=False,
            observed_at=START + dt.timedelta(seconds=60),
        )
        await db.write(
            lambda tx: tx.conn.execute(tables.workloads.update().values(state="Unknown"))
        )
        (last,) = await db.read(call(on_members.last_observed, ["c1"], ["Unknown"]))
        assert as_observed(last) == entry.model_copy(update={"seq": 0})


@pytest.mark.parametrize(
    ("before", "phase", "after"),
    [
        (False, "Waiting", False),
        (False, "Failed", False),
        (False, "Applied", True),
        (False, "Missing", True),
        (True, "Waiting", True),
        (True, "Failed", True),
    ],
)
async def test_what_was_once_seen_stays_so(tmp_path, before, phase, after):
    """Applied or missing: it was there; nothing said later takes that back."""
    async with opened(tmp_path) as db:
        await members(db, "c1")
        await db.write(call(given, "c1", "u", work={"seen": before}))
        await db.write(lambda tx: _taken(tx, [ObservedReport("c1", [seen("u", phase)])]))
        assert (await work_of(db, "u")).seen is after


async def test_drift_is_an_event_where_it_is_new(tmp_path):
    """Path by path; said again it is none, first seen anew it is; gone it is no longer kept."""
    async with opened(tmp_path) as db:
        await members(db, "c1")
        await db.write(call(given, "c1", "u"))
        other = DRIFT | {"path": "/spec/b"}
        again = DRIFT | {"first_seen": "2026-03-01T11:30:00Z"}
        told = []
        for drift in ([DRIFT], [DRIFT, other], [again, other], []):
            entry = seen("u", "Applied", drift=drift, job={})
            at = len(await db.read(events.list_events))
            await db.write(call(take_reports, [ObservedReport("c1", [entry])]))
            rows = (await db.read(events.list_events))[at:]
            told.append(
                [
                    (r.uid, r.kind, r.namespace, r.name, r.type, r.message)
                    for r in rows
                    if r.reason == "Drifted"
                ]
            )
            assert (await work_of(db, "u")).drift == (drift or None)
        of = ("u", "Job", "team-a", "u", "Warning")
        words = "{} on c1: 1 on the hub, 2 in the member"
        a, b = (words.format(path) for path in ("/spec/a", "/spec/b"))
        assert told == [[(*of, a)], [(*of, b)], [(*of, a)], []]


async def test_reports_of_several_members_share_a_commit_and_nothing_else(tmp_path):
    """Each has its own answers, its room and its health; each was heard; one that is up again is up."""
    clock = ManualClock(START)
    async with opened(tmp_path, clock) as db:
        await members(db, "c1", "c2", "c3")
        for cluster, uid in (("c1", "a"), ("c2", "b")):
            await db.write(call(given, cluster, uid))
        down = ApiServerDown(reason="refused", down_s=30)
        clock.advance(60)
        reports = [
            ObservedReport("c1", [seen("a", "Applied"), seen("x", "Applied")], b'{"a":1}', down),
            ObservedReport("c2", [seen("b", "Applied"), seen("a", "Applied")], b'{"b":1}'),
        ]
        first, second = await db.write(lambda tx: _taken(tx, reports))
        assert [[(r.uid, r.code) for r in told.refused] for told in (first, second)] == [
            [("x", "Unknown")],
            [("a", "NotYours")],
        ]
        rows = await db.read(call(workloads.get_many, ["a", "b"]))
        assert {uid: row.state for uid, row in rows.items()} == {"a": "Applied", "b": "Applied"}
        now = START + dt.timedelta(seconds=60)
        known = {member.name: member.heartbeat_at for member in await db.read(clusters.list_all)}
        assert known == {"c1": now, "c2": now, "c3": None}
        assert await db.read(clusters.down) == {
            "c1": {
                "reason": "refused",
                "since": "2026-03-01T12:00:30+00:00",
                "cause": "NoAnswer",
            }
        }
        told = await db.read(clusters.get_capacities)
        assert {name: row[0] for name, row in told.items()} == {"c1": b'{"a":1}', "c2": b'{"b":1}'}
        await db.write(lambda tx: _taken(tx, [ObservedReport("c1")]))
        assert "c1" in await db.read(clusters.down), "no word of its room: none of its health"
        await db.write(lambda tx: _taken(tx, [ObservedReport("c1", (), b"{}")]))
        assert await db.read(clusters.down) == {}


async def test_an_earlier_word_judged_again_is_no_sign_of_life(tmp_path):
    """Nobody was heard."""
    async with opened(tmp_path) as db:
        await members(db, "c1")
        await db.write(lambda tx: _taken(tx, [ObservedReport("c1")], heard=False))
        (member,) = await db.read(clusters.list_all)
        assert member.heartbeat_at is None


async def test_what_is_gone_takes_its_row_along_and_nothing_else(tmp_path):
    """The job waits again as what it was taken back for; the row of another stays; its action follows."""
    async with opened(tmp_path) as db:
        await members(db, "c1")
        leaving = {"state": State.WITHDRAWING, "withdraw_to": WithdrawTo.PENDING, "reason": "R"}
        await db.write(call(given, "c1", "gone", **leaving, work={"action": "Withdraw"}))
        await db.write(call(given, "c1", "done"))
        await db.write(call(given, "c1", "lost"))
        entries = [
            seen("gone", "Gone"),
            ran("done", result="Succeeded"),
            seen("lost", "Missing"),
        ]
        await db.write(lambda tx: _taken(tx, [ObservedReport("c1", entries)]))
        rows = await db.read(call(workloads.get_many, ["gone", "done", "lost"]))
        assert {uid: (row.state, row.reason) for uid, row in rows.items()} == {
            "gone": ("Pending", "R"),
            "done": ("Succeeded", ""),
            "lost": ("Failed", "DeletedInMember"),
        }
        kept = await db.read(call(works.of_uids, ["gone", "done", "lost"]))
        assert {(work.uid, work.action) for work in kept} == {
            ("done", "Keep"),
            ("lost", "Withdraw"),
        }


@pytest.mark.parametrize(
    ("limit", "state", "ran_s"),
    [(600, State.RUNNING, 75), (None, State.RUNNING, 15), (600, State.WITHDRAWING, 15)],
)
async def test_the_time_of_a_failed_try_counts_where_time_is_limited(
    tmp_path, limit, state, ran_s
):
    """Added to what it ran before; what was evicted was counted when it was."""
    clock = ManualClock(START)
    async with opened(tmp_path, clock) as db:
        await members(db, "c1")
        row = {
            "state": state, "withdraw_to": WithdrawTo.PENDING if limit else "", "placed_at": START,
            "max_runtime_s": limit, "ran_s": 15, "annotations": {"roadstead.dev/retry": "2"},
        }  # fmt: skip
        await db.write(call(given, "c1", "u", **row))
        clock.advance(60)
        failed = ran("u", result="Failed", failed=1)
        await db.write(lambda tx: _taken(tx, [ObservedReport("c1", [failed])]))
        await db.write(lambda tx: _taken(tx, [ObservedReport("c1", [seen("u", "Gone")])]))
        found = await db.read(call(workloads.get, "u"))
        assert (found.state, found.retries, found.ran_s) == ("Pending", 1, ran_s)


def stray(uid: str, incarnation: str, job: dict[str, Any] | None = None) -> Observed:
    return seen(uid, "Applied", 4, object_uid=f"m-{uid}", incarnation=incarnation,
                job=job or {}, message=f"Job team-a/{uid}")  # fmt: skip


async def test_a_stray_is_removed_where_this_incarnation_gave_it(tmp_path):
    """Left to an operator otherwise, and kept to be shown only where another gave it; by its object."""
    async with opened(tmp_path) as db:
        await members(db, "c1")
        strays = [stray("mine", "i2"), stray("theirs", "i1"), stray("old", ""),
                  seen("bare", "Applied", job={}), seen("none", "Applied", object_uid="m-none")]  # fmt: skip
        (told,) = await db.write(
            lambda tx: _taken(tx, [ObservedReport("c1", strays, incarnation="i2")])
        )
        assert told.orders == [
            Order(uid="mine", object_uid="m-mine", action="Remove"),
            Order(uid="theirs", object_uid="m-theirs", action="Quarantine"),
            Order(uid="old", object_uid="m-old", action="Quarantine"),
        ]
        shown = await db.read(forgotten.list_forgotten)
        assert [row["uid"] for row in shown] == ["theirs"]
        (quiet,) = await db.write(lambda tx: _taken(tx, [ObservedReport("c1", strays)]))
        assert quiet.orders == []
        assert await db.read(forgotten.list_forgotten) == shown, (
            "who does not know forgets nothing"
        )


async def test_what_is_shown_of_a_forgotten_job(tmp_path):
    """What its member says and what the hub has of the same uid; by cluster, in the overview, as Events."""
    async with opened(tmp_path) as db:
        await members(db, "c1", "c2")
        await db.write(call(workloads.add, [a_workload("b", state=State.HELD)]))
        for cluster, entry in (
            ("c2", stray("b", "i", {"active": 1})),
            ("c1", stray("z", "i", {"result": "Failed", "active": 1})),
            ("c1", stray("a", "i", {})),
        ):
            await db.write(call(forgotten.note, cluster, [entry]))
        told = {"epoch": 4, "seenAt": "2026-03-01T12:00:00Z"}
        rows = [
            {
                **told,
                "cluster": cluster,
                "uid": uid,
                "objectUid": f"m-{uid}",
                "message": f"Job team-a/{uid}",
                "there": there,
                "name": "",
                "manifest": "Awaited",
                "job": job,
                "state": state,
                "decided": "",
            }
            for cluster, uid, there, job, state in (
                ("c1", "a", "Waiting", "", ""),
                ("c1", "z", "Failed", "", ""),
                ("c2", "b", "Running", "team-a/b", "Held"),
            )
        ]
        assert await db.read(forgotten.list_forgotten) == rows
        assert await db.read(call(forgotten.of, "c1")) == rows[:2]
        assert await db.read(forgotten.condition) == {
            "type": "ForgottenJobs",
            "status": "True",
            "reason": "ForgottenJobs",
            "message": "Jobs that were given before the store was restored are in members (c1 2, c2 1) "
            "and are left alone: roadstead restored lists them",
        }
        said = [
            (e.uid, e.kind, e.namespace, e.name, e.type, e.reason, e.message[:15])
            for e in await db.read(events.list_events)
        ]
        assert said == [
            (f"object-{name}", "MemberCluster", "", name, "Warning", "ForgottenJobs", text)
            for name, text in (
                ("c2", "it holds 1 Jobs"),
                ("c1", "it holds 1 Jobs"),
                ("c1", "it holds 2 Jobs"),
            )
        ]


async def test_without_forgotten_jobs_there_is_no_condition(tmp_path):
    """Nothing to tell."""
    async with opened(tmp_path) as db:
        assert await db.read(forgotten.condition) is None


async def test_a_fault_is_audited_and_told_of_its_member(tmp_path):
    """Who, what, of whom; and nothing of one that is no member."""
    async with opened(tmp_path) as db:
        await members(db, "c1")
        await db.write(call(faults.note_fault, "c1", "NotYours", "a\nb"))
        await db.write(call(faults.note_fault, "c9", "NotYours", "x"))
        (entry,) = await db.read(audit.list_entries)
        assert (entry.principal, entry.verb, entry.object, entry.outcome) == (
            "agent of c1",
            "sync",
            "MemberCluster c1",
            "NotYours",
        )
        (event,) = await db.read(events.list_events)
        assert event[2:] == (
            "object-c1",
            "MemberCluster",
            "",
            "c1",
            "Warning",
            "NotYours",
            "a b",
            "c1",
            0,
            "",
            "",
            None,
        )


async def test_jobs_of_others_are_told_with_their_number_and_one_of_them(tmp_path):
    """What is gone, or what nobody knows, is not among them."""
    async with opened(tmp_path) as db:
        await members(db, "c1", "c2")
        for uid in ("a", "b", "c"):
            await db.write(call(given, "c1", uid))
        entries = [seen("a", "Applied"), seen("b", "Applied"), seen("c", "Gone"), ran("x")]
        (told,) = await db.write(lambda tx: _taken(tx, [ObservedReport("c2", entries)]))
        assert [each.model_dump() for each in told.refused] == [
            {"uid": "a", "code": "NotYours", "detail": "it is not placed on this cluster"},
            {"uid": "b", "code": "NotYours", "detail": "it is not placed on this cluster"},
            {"uid": "x", "code": "Unknown", "detail": "the hub does not know this uid"},
        ]
        (event,) = await db.read(events.list_events)
        assert event.message == (
            "its agent reported 2 jobs of other clusters: team-a/a is one, which is on c1"
        )


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
async def test_of_two_words_on_one_job_the_last_counts(tmp_path, order):
    """Of one epoch, or of two: a word on an epoch that is over hides none of the present one after it."""
    async with opened(tmp_path) as db:
        await members(db, "c1")
        await db.write(call(given, "c1", "u"))
        words = [ran("u", active=1, ready=0), ran("u", active=2, ready=1)]
        entries = [words[place] for place in order]
        (told,) = await db.write(lambda tx: _taken(tx, [ObservedReport("c1", entries)]))
        assert told.refused == []
        row = await db.read(call(workloads.get, "u"))
        assert (row.active, row.ready) == ((2, 1), (1, 0))[order[0]]
