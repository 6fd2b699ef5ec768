"""What people wish of jobs: the whole row afterwards, what is written down, and the whole reply."""

import datetime as dt
from pathlib import Path
from typing import Any

import orjson
import pytest

from hub.domain.workloads.states import State, WithdrawTo
from hub.services.context.settings import Intake
from hub.services.jobs import cancel, hold
from hub.services.jobs.bare_patch import delete_workload, patch_workload
from hub.services.jobs.submit import Reply, Submission, submit
from hub.services.members.deadlines import TIME_EXCEEDED
from hub.services.reading.draft import draft
from hub.store import audit, events, tables, workloads
from hub.store.engine import Database
from hub.store.records.workloads import Workload
from hub.store.transaction import Transaction
from shared.clock import ManualClock
from shared.errors import Rejected
from shared.kinds.registry import parse
from shared.reject_codes import RejectCode
from tests.services.build import a_workload as a_bare
from tests.services.hubs import a_job, a_queue, running
from tests.store.build import START, a_workload, call, opened

pytestmark = pytest.mark.anyio
MINUTE = dt.timedelta(minutes=1)
LATER = "2027-01-01T00:00:00+00:00"


async def stored(db: Database, uid: str, **columns: Any) -> Workload:
    row = a_workload(uid, **columns)
    await db.write(call(workloads.add, [row]))
    return row


async def row_of(db: Database, uid: str) -> Workload:
    return (await db.read(call(workloads.get_many, [uid])))[uid]


async def audited(db: Database) -> list[tuple[str, str, str, str]]:
    """Oldest first."""
    rows = await db.read(audit.list_entries)
    return [(r.principal, r.verb, r.object, r.outcome) for r in reversed(rows)]


RESTLESS = {
    "requeues": 3, "requeue_at": START + MINUTE, "ran_s": 50, "max_runtime_s": 60,
    "set_aside": {"c9": LATER}, "reason": "R", "message": "M",
}  # fmt: skip


@pytest.mark.parametrize(
    ("state", "evicted", "ran_s"),
    [
        (State.HELD, {"reason": "Deactivated", "cause": "HeldByUser"}, 50),
        (State.DEACTIVATED, {"reason": "Deactivated", "cause": "RequeuingLimitExceeded"}, 50),
        (State.DEACTIVATED, {"reason": "Deactivated", "cause": "MaximumExecutionTimeExceeded"}, 0),
        (State.HELD, None, 50),
    ],
)
async def test_what_is_released_waits_as_if_nothing_had_been(tmp_path, state, evicted, ran_s):
    """No back-off, no member avoided, no words left; its time anew only where that was up."""
    async with opened(tmp_path) as db:
        row = await stored(db, "u", state=state, evicted=evicted, **RESTLESS)
        told = await db.write(call(hold.release_job, "u", "ann"))
        assert told["state"] == "Pending"
        assert await row_of(db, "u") == row._replace(
            state=State.PENDING, requeues=0, requeue_at=None, set_aside=None, ran_s=ran_s,
            reason="", message="",
        )  # fmt: skip
        (event,) = await db.read(events.list_events)
        assert event.message == "released by ann"
        assert await audited(db) == [("ann", "release", "Job team-a/u u", "ok")]


async def test_what_is_released_on_its_way_out_avoids_no_member_either(tmp_path):
    """It waits again once its member has let it go, in the words of who released it."""
    async with opened(tmp_path) as db:
        leaving = {"state": State.WITHDRAWING, "withdraw_to": WithdrawTo.HELD, "cluster": "c1"}
        row = await stored(db, "u", **(RESTLESS | leaving))
        await stored(db, "other", **(RESTLESS | leaving | {"withdraw_to": WithdrawTo.CANCELLED}))
        await db.write(call(hold.release_job, "u", "ann"))
        after = await row_of(db, "u")
        assert after == row._replace(
            withdraw_to=WithdrawTo.PENDING, requeues=0, requeue_at=None, set_aside=None,
            message="released by ann",
        )  # fmt: skip
        await db.write(call(hold.release_job, "other", "ann"))
        assert (await row_of(db, "other")).withdraw_to == "Cancelled"
        assert await audited(db) == [("ann", "release", "Job team-a/u u", "ok")]


@pytest.mark.parametrize(
    ("fn", "columns", "code", "words"),
    [
        (hold.hold_job, {"state": State.SUCCEEDED}, "AlreadyEnded", "the job is Succeeded"),
        (
            hold.hold_job,
            {"state": State.WITHDRAWING, "withdraw_to": WithdrawTo.CANCELLED},
            "AlreadyEnded",
            "on its way to Cancelled",
        ),
        (hold.release_job, {"state": State.FAILED}, "AlreadyEnded", "submit it again"),
        (
            hold.release_job,
            {"state": State.DEACTIVATED, "live": None},
            "AlreadyExists",
            "gave its name back",
        ),
        (hold.hold_job, {"deleted_at": START}, "BeingDeleted", "team-a/u is being deleted"),
        (hold.release_job, {"deleted_at": START, "live": None}, "NotFound", "it was deleted"),
        (cancel.delete_job, {"deleted_at": START, "live": None}, "NotFound", "no job u"),
        (cancel.delete_job, {"origin": "hub-cluster"}, "OwnedElsewhere", "kubectl delete job u"),
    ],
)
async def test_what_can_not_be_wished_changes_nothing(tmp_path, fn, columns, code, words):
    """Refused with its own code and words, and not written down."""
    async with opened(tmp_path) as db:
        row = await stored(db, "u", **columns)
        with pytest.raises(Rejected) as refused:
            await db.write(call(fn, "u", "ann"))
        assert refused.value.code == code
        assert words in refused.value.detail
        assert await row_of(db, "u") == row
        assert await audited(db) == []


@pytest.mark.parametrize(
    ("state", "to", "verbs"),
    [
        (State.PENDING, "", ["cancel"]),
        (State.CANCELLED, "", []),
        (State.SUCCEEDED, "", []),
        (State.WITHDRAWING, "Pending", ["cancel"]),
        (State.WITHDRAWING, "Cancelled", []),
        (State.WITHDRAWING, "Deleted", []),
    ],
)
async def test_cancelling_again_is_no_news(tmp_path, state, to, verbs):
    """Written down where it changed something; in the words of who asked for it first."""
    async with opened(tmp_path) as db:
        row = await stored(db, "u", state=state, withdraw_to=WithdrawTo(to), message="before")
        for who in ("ann", "ben"):
            await db.write(call(cancel.cancel_job, "u", who))
        after = await row_of(db, "u")
        assert [each[1] for each in await audited(db)] == verbs
        if verbs:
            assert (after.reason, after.message) == ("CancelledByUser", "cancelled by ann")
        else:
            assert after == row


async def test_who_deletes_names_the_job_that_was_meant(tmp_path):
    """Another uid is refused; the right one, or none, gives the name back in the words of who asked."""
    async with opened(tmp_path) as db:
        for uid in ("u", "v"):
            await stored(db, uid)
        with pytest.raises(Rejected) as refused:
            await db.write(call(cancel.delete_job, "u", "ann", "w"))
        assert (refused.value.code, refused.value.field) == (
            "PreconditionFailed",
            "preconditions.uid",
        )
        for uid, expected in (("u", "u"), ("v", "")):
            await db.write(call(cancel.delete_job, uid, "ann", expected))
            row = await row_of(db, uid)
            assert (row.state, row.live, row.deleted_at) == ("Cancelled", None, START)
            assert (row.reason, row.message) == ("DeletedByUser", "deleted by ann")
        assert [each[1:3] for each in await audited(db)] == [
            ("delete", "Job team-a/u u"),
            ("delete", "Job team-a/v v"),
        ]


async def test_holding_keeps_all_but_the_state_and_its_reason(tmp_path):
    """Its place in line, what it ran, what it avoids; that it was held is its last eviction."""
    clock = ManualClock(START)
    async with opened(tmp_path, clock) as db:
        row = await stored(db, "u", **RESTLESS)
        clock.advance(30)
        await db.write(call(hold.hold_job, "u", "ann"))
        assert await row_of(db, "u") == row._replace(
            state=State.HELD, reason="HeldByUser", message="held by ann", requeues=0, requeue_at=None,
            held_for="Person", evicted={
                "reason": "Deactivated", "cause": "HeldByUser", "message": "held by ann",
                "at": (START + MINUTE / 2).isoformat(),
            },
        )  # fmt: skip
        assert await audited(db) == [("ann", "hold", "Job team-a/u u", "ok")]


def asked(tx: Transaction, *jobs: dict[str, Any] | Rejected, **more: Any) -> Submission:
    """A request with these Jobs."""
    drafts = tuple(j if isinstance(j, Rejected) else draft(parse(j), tx.now) for j in jobs)
    return Submission(drafts, Intake(), **({"single": False} | more))


async def test_requests_of_one_commit_are_answered_each_with_its_own(tmp_path: Path):
    """Places count from where the request's part begins; refusals stand among what was taken."""
    async with running(tmp_path) as hub:
        await hub.apply(*a_queue("q"))
        odd = Rejected(RejectCode.UNSUPPORTED_KIND, "no", "kind")

        def run(tx: Transaction) -> list[Reply | Exception]:
            return submit(
                tx,
                [
                    asked(tx, a_job("a", queue="q"), odd, a_job("a", queue="q"), first=100),
                    asked(tx, a_job("b", queue="none"), single=True),
                    asked(tx, a_job("c", queue="q"), single=True),
                    asked(tx, odd),
                ],
            )

        several, missing, single, refused = await hub.hub.db.write(run)
        assert isinstance(several, Reply)
        assert isinstance(single, Reply)
        assert isinstance(refused, Reply)
        assert isinstance(missing, Rejected)
        assert missing.code == "QueueNotFound"
        assert (several.status, single.status, refused.status) == (200, 201, 200)
        told = [(e["index"], e.get("name"), e.get("code")) for e in orjson.loads(several.body)]
        assert told == [
            (100, "a", None),
            (101, None, "UnsupportedKind"),
            (102, None, "AlreadyExists"),
        ]
        job = orjson.loads(single.body)
        assert (job["name"], job["state"], job["message"]) == ("c", "Pending", "")
        assert [e["index"] for e in orjson.loads(refused.body)] == [0]


async def test_a_reply_is_replayed_to_whom_it_was_given(tmp_path: Path):
    """In a later commit too, with its status; another's key is another; a refusal is not kept."""
    async with running(tmp_path) as hub:
        await hub.apply(*a_queue("q"))

        async def ask(name: str, who: str, hashed: str = "h", **more: Any) -> Reply | Exception:
            def run(tx: Transaction) -> Reply | Exception:
                job = a_job(name, queue=more.get("queue", "q"))
                given = asked(tx, job, single=True, key=(who, "k"), request_hash=hashed)
                return submit(tx, [given])[0]

            return await hub.hub.db.write(run)

        assert isinstance(await ask("a", "ann", queue="none"), Rejected)
        first, again = await ask("a", "ann"), await ask("a", "ann")
        assert isinstance(first, Reply)
        assert again == Reply(201, first.body, replayed=True)
        other = await ask("a", "ann", "other")
        assert isinstance(other, Rejected)
        assert (other.code, other.field) == ("IdempotencyMismatch", "Idempotency-Key")
        bens = await ask("b", "ben")
        assert isinstance(bens, Reply)
        assert (bens.replayed, orjson.loads(bens.body)["name"]) == (False, "b")


async def test_a_patch_is_merged_into_what_was_sent(tmp_path: Path):
    """A null takes out, an object goes into an object; the same again is no news; a Job's is refused."""
    async with running(tmp_path) as hub:
        await hub.apply(*a_queue("q"))
        manifest = a_bare("w", "q", priority=1, maximumExecutionTimeSeconds=60)
        manifest["metadata"]["labels"] = {"a": "1", "b": "1"}
        (uid, job) = await hub.apply(manifest, a_job("j", queue="q"))
        patch = {
            "metadata": {"labels": {"a": None, "c": "2"}},
            "spec": {"maximumExecutionTimeSeconds": None, "priority": 9},
        }
        before = await hub.job(uid)
        for _ in range(2):
            told = await hub.hub.write(patch_workload, "team-a", "w", patch, Intake(), "ann")
            assert (told["metadata"]["name"], told["spec"]["priority"]) == ("w", 9)
        assert await hub.job(uid) == before._replace(
            labels={"b": "1", "c": "2"}, priority=9, max_runtime_s=None, generation=2
        )
        own = f"job-j-{'0' * 5}"
        for name, code in ((own, "NotFound"), ("nobody", "NotFound")):
            with pytest.raises(Rejected) as refused:
                await hub.hub.write(delete_workload, "team-a", name, "ann", "")
            assert refused.value.code == code
        with pytest.raises(Rejected) as refused:
            await hub.hub.write(delete_workload, "team-a", "w", "ann", "other")
        assert refused.value.code == "PreconditionFailed"
        with pytest.raises(Rejected) as refused:
            await hub.hub.write(
                patch_workload, "team-a", "w", {"metadata": {"name": "x"}}, Intake(), "ann"
            )
        assert refused.value.code == "Immutable"
        await hub.hub.write(delete_workload, "team-a", "w", "ann", uid)
        found = await hub.jobs([uid, job])
        assert {row.uid: row.live for row in found} == {uid: None, job: True}
        assert await audited(hub.hub.db) == [
            ("ann", "patch", f"Workload team-a/w {uid}", "configured"),
            ("ann", "delete", f"Workload team-a/w {uid}", "ok"),
        ]


async def test_active_holds_and_lets_wait_by_what_is_newly_said(tmp_path: Path):
    """Held by hand it stays held until its spec says something else of it."""
    async with running(tmp_path) as hub:
        await hub.apply(*a_queue("q"))
        (uid,) = await hub.apply(a_bare("w", "q"))

        async def patched(**spec: Any) -> tuple[str, str]:
            change = {"spec": spec}
            await hub.hub.write(patch_workload, "team-a", "w", change, Intake(), "ann")
            row = await hub.job(uid)
            return row.state, row.reason

        assert await patched(active=False) == ("Held", "Deactivated")
        assert await patched(active=True) == ("Pending", "")
        await hub.hub.write(hold.hold_job, uid, "ann")
        assert await patched(priority=3) == ("Held", "HeldByUser")
        assert await patched(active=None) == ("Pending", "")


async def test_a_bare_workload_whose_time_was_up_begins_anew_when_it_is_active_again(
    tmp_path: Path,
):
    """As one that is released: else it would be over as soon as it is admitted."""
    async with running(tmp_path) as hub:
        await hub.apply(*a_queue("q"))
        (uid,) = await hub.apply(a_bare("w", "q", maximumExecutionTimeSeconds=60, active=False))
        await hub.hub.db.write(
            lambda tx: tx.conn.execute(tables.workloads.update().values(state="Deactivated"))
        )
        await hub.change(
            uid, ran_s=60, requeues=2, evicted={"reason": "Deactivated", "cause": TIME_EXCEEDED}
        )
        patch = {"spec": {"active": True}}
        await hub.hub.write(patch_workload, "team-a", "w", patch, Intake(), "ann")
        row = await hub.job(uid)
        assert (row.state, row.ran_s, row.requeues) == ("Pending", 0, 0)
