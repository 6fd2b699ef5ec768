"""What silence, faults and spans take back: which jobs, with which words, and what their rows keep."""

import datetime as dt
from typing import Any

import pytest

from hub.domain.workloads.states import State
from hub.services.context.settings import Queueing
from hub.services.members import api_servers, deadlines, liveness
from hub.store import clusters, leases, tables, workloads
from hub.store.engine import Database
from hub.store.errors import StaleTerm
from hub.store.records.workloads import Workload
from hub.store.transaction import Transaction
from shared.clock import ManualClock
from tests.store.build import START, a_member, a_work, a_workload, call, opened

pytestmark = pytest.mark.anyio
SECOND = dt.timedelta(seconds=1)
MINUTE = dt.timedelta(minutes=1)
STATES = ("Placed", "Offered", "Applied", "Running", "Unknown", "Withdrawing")
LATER = "2026-03-01T13:00:00+00:00"
LONG_AGO = START - dt.timedelta(days=1)  # since then the hub hears its agents


def given(tx: Transaction, uid: str, cluster: str = "c1", **columns: Any) -> None:
    """A job on a member; `work`: columns of its work."""
    work = a_work(cluster, uid, **columns.pop("work", {}))
    row: dict[str, Any] = {"epoch": 1, "cluster": cluster, "placed_at": START} | columns
    workloads.add(tx, [a_workload(uid, **row)])
    tx.conn.execute(tables.works.insert(), work._asdict())


async def term_of(db: Database) -> int:
    return await db.write(lambda tx: leases.seize(tx, "test", dt.timedelta(days=1)))


async def jobs(db: Database) -> dict[str, Workload]:
    rows = await db.read(lambda tx: [uid for (uid,) in tx.conn.execute(
        tables.workloads.select().with_only_columns(tables.workloads.c.uid))])  # fmt: skip
    return await db.read(call(workloads.get_many, rows))


async def said(db: Database) -> dict[str, tuple[str, str, str]]:
    """State, reason and message by uid."""
    return {uid: (row.state, row.reason, row.message) for uid, row in (await jobs(db)).items()}


async def each_state(db: Database, *names: str) -> None:
    """On each cluster a job in each state, `<cluster>-<state>`."""
    for cluster in names:
        for state in STATES:
            await db.write(call(given, f"{cluster}-{state}", cluster, state=State(state)))


async def test_a_silent_members_jobs_are_unknown_and_others_are_not(tmp_path):
    """Those that it may run, each with its own member's last word; only under the present term."""
    async with opened(tmp_path) as db:
        term = await term_of(db)
        await each_state(db, "c1", "c2", "c3")
        silent = {"c1": START - 90.7 * SECOND, "c2": None}
        with pytest.raises(StaleTerm):
            await db.write(call(liveness.lose_jobs, silent, term - 1))
        assert await db.write(call(liveness.lose_jobs, silent, term)) == 6
        found = await said(db)
        words = {
            "c1": "c1 has been silent since 2026-03-01T11:58:29Z: the job waits, its quota stays charged",
            "c2": "c2 has been silent since the hub started: the job waits, its quota stays charged",
        }
        for uid, told in found.items():
            cluster, state = uid.split("-")
            lost = cluster != "c3" and state in {"Offered", "Applied", "Running"}
            unknown = "Unknown", "ClusterUnreachable", words.get(cluster, "")
            assert told == (unknown if lost else (state, "", ""))


async def test_what_a_silent_member_was_not_told_of_waits_again(tmp_path):
    """And nothing else of it, nor of others."""
    async with opened(tmp_path) as db:
        term = await term_of(db)
        await each_state(db, "c1", "c2")
        assert await db.write(call(liveness.free_unoffered, {"c1": None}, term)) == 1
        found = await said(db)
        text = "its cluster fell silent before the offer"
        assert found.pop("c1-Placed") == ("Pending", "ClusterUnreachable", text)
        assert all(told == (uid.split("-")[1], "", "") for uid, told in found.items())


async def test_jobs_of_all_members_that_are_heard_again_are_found(tmp_path):
    """Each as its member saw it last; of what was never seen nothing is known."""
    async with opened(tmp_path) as db:
        term = await term_of(db)
        for name in ("c1", "c2", "c3"):
            await db.write(call(clusters.add, a_member(name)))
        runs = {"object_uid": "m", "job": {"running_since": "x", "active": 1, "ready": 1}}
        works = {"phase": "Applied", "offered": True, "seen": True}
        for uid, cluster, more in (
            ("a", "c1", {"observed": runs}),
            ("b", "c2", {"observed": runs | {"job": {"suspended": True, "held_by": "x"}}}),
            ("c", "c1", {"observed": None}),
            ("d", "c3", {"observed": runs}),
            ("e", "c1", {"observed": runs}),
        ):
            lost = {"state": State.UNKNOWN, "reason": "ClusterUnreachable"}
            await db.write(call(given, uid, cluster, **lost, work=works | more))
        assert await db.write(call(liveness.find_again, ["c1", "c2"], term)) == 3
        found = await said(db)
        assert found == {
            "a": ("Running", "", ""),
            "b": ("Applied", "HeldByMember", "x keeps the Job suspended in c2"),
            "c": ("Unknown", "ClusterUnreachable", ""),
            "d": ("Unknown", "ClusterUnreachable", ""),
            "e": ("Running", "", ""),
        }
        assert all(m.heartbeat_at is None for m in await db.read(clusters.list_all))


async def test_only_who_joined_is_a_member_to_be_heard(tmp_path):
    """With when it was last; one that never was is among them."""
    async with opened(tmp_path) as db:
        for name, columns in (
            ("a", {"joined_at": START, "heartbeat_at": START + SECOND}),
            ("b", {"joined_at": START}),
            ("c", {}),
        ):
            await db.write(call(clusters.add, a_member(name, **columns)))
        assert await db.read(liveness.joined_clusters) == {"a": START + SECOND, "b": None}


async def test_what_does_not_start_in_time_is_taken_back_each_in_its_words(tmp_path):
    """Elsewhere, with its member set aside beside those that are; for good where no other would do."""
    clock = ManualClock(START)
    async with opened(tmp_path, clock) as db:
        term = await term_of(db)
        rows: dict[str, dict[str, Any]] = {
            "plain": {"state": State.APPLIED},
            "waits": {
                "state": State.APPLIED,
                "reason": "FailedScheduling",
                "message": "0/3 nodes",
                "set_aside": {"c9": LATER},
            },
            "image": {
                "state": State.APPLIED,
                "reason": "ImagePullBackOff",
                "message": "no such",
            },
            "config": {"state": State.OFFERED, "reason": "CreateContainerConfigError"},
            "runs": {"state": State.RUNNING},
            "nodes": {"state": State.APPLIED, "new_nodes": 2},
            "young": {"state": State.APPLIED, "placed_at": START + SECOND},
            "silent": {"state": State.APPLIED, "cluster": "c2"},
        }
        for uid, columns in rows.items():
            await db.write(call(given, uid, **columns))
        clock.advance(60.5)
        taken = call(liveness.take_back_stuck, MINUTE, ["c2"], term)
        assert await db.write(taken) == 4
        found = await jobs(db)
        late = "not started within 1 min: "
        assert {
            uid: (row.withdraw_to, row.reason, row.message)
            for uid, row in found.items()
            if row.state == "Withdrawing"
        } == {
            "plain": (
                "Pending",
                "PodsPendingTimeout",
                f"{late}c1: its pods have not started",
            ),
            "waits": ("Pending", "PodsPendingTimeout", f"{late}0/3 nodes"),
            "image": ("Failed", "ImagePullBackOff", f"{late}no such"),
            "config": (
                "Failed",
                "CreateContainerConfigError",
                f"{late}c1: its pods have not started",
            ),
        }
        until = "2026-03-01T12:06:00.500000+00:00"
        assert {uid: row.set_aside for uid, row in found.items() if row.set_aside} == {
            "plain": {"c1": until},
            "waits": {"c9": LATER, "c1": until},
        }
        assert {uid: row.state for uid, row in found.items() if row.state != "Withdrawing"} == {
            "runs": "Running", "nodes": "Applied", "young": "Applied", "silent": "Applied",
        }  # fmt: skip
        await db.write(call(liveness.take_back_stuck, 30 * SECOND, (), term, awaiting_nodes=True))
        found = await jobs(db)
        assert (
            found["nodes"].message == "not started within 0.5 min: c1: its pods have not started"
        )
        assert {uid for uid, row in found.items() if row.state == "Applied"} == {"young", "silent"}


async def test_what_was_suspended_after_it_ran_waits_from_then_on(tmp_path):
    """Its member's queue evicted it: the hub withdraws it after the timeout, counted from the eviction."""
    clock = ManualClock(START)
    async with opened(tmp_path, clock) as db:
        term = await term_of(db)
        ran: dict[str, Any] = {"state": State.APPLIED, "started_at": START}
        said = {"reason": "WaitsInMemberQueue", "message": "waits in LocalQueue q of c1"}
        for uid, lost_at in (("long", START + SECOND), ("short", START + 60 * SECOND)):
            await db.write(call(given, uid, **ran, **said, pods_lost_at=lost_at))
        clock.advance(90)
        assert await db.write(call(liveness.take_back_stuck, MINUTE, (), term)) == 1
        found = await jobs(db)
        assert (found["long"].withdraw_to, found["long"].reason) == (
            "Pending", "PodsPendingTimeout",
        )  # fmt: skip
        assert "waits in LocalQueue q of c1" in found["long"].message
        assert found["short"].state == "Applied"


async def test_jobs_of_a_member_whose_server_is_down_say_so_until_it_is_up(tmp_path):
    """Each with its own member's words; what is not told yet goes back, what is unseen is asked back."""
    clock = ManualClock(START)
    async with opened(tmp_path, clock) as db:
        term = await term_of(db)
        for name in ("c1", "c2", "c3"):
            await db.write(call(clusters.add, a_member(name)))
        await each_state(db, "c1", "c2", "c3")
        await db.write(call(given, "unseen", state=State.OFFERED, set_aside={"c9": LATER}))
        await db.write(lambda tx: tx.conn.execute(
            tables.works.update().where(tables.works.c.uid != "unseen").values(seen=True)))  # fmt: skip
        for name, ago in (("c1", 60), ("c2", 10)):
            since = {"reason": f"no {name}", "since": (START - ago * SECOND).isoformat()}
            await db.write(call(clusters.set_capacity, name, b"{}", since))
        clock.advance(60)
        heard = {"heard": dict.fromkeys(("c1", "c2", "c3"), clock.now()), "since": LONG_AGO}
        tended = await db.write(call(api_servers.tend, 100 * SECOND, (), term, **heard))
        assert tended == api_servers.Tended({"c1": "NoAnswer", "c2": "NoAnswer"}, 1)
        found = await said(db)
        words = {
            "c1": "c1: its API server has not answered since 2026-03-01T11:59:00+00:00 (no c1)",
            "c2": "c2: its API server has not answered since 2026-03-01T11:59:50+00:00 (no c2)",
        }
        assert found.pop("unseen") == ("Withdrawing", "ClusterUnhealthy", words["c1"])
        assert (await jobs(db))["unseen"].set_aside == {"c9": LATER}
        for uid, told in found.items():
            cluster, state = uid.split("-")
            if cluster != "c3" and state == "Placed":
                text = "its cluster can not start it"
                assert told == ("Pending", "ClusterUnhealthy", text)
            elif cluster != "c3" and state in {"Offered", "Applied", "Running"}:
                assert told == (state, "ClusterUnhealthy", words[cluster])
            else:
                assert told == (state, "", "")
        await db.write(lambda tx: workloads.change(tx, [{"uid": "c1-Running", "reason": "Other"}]))
        await db.write(call(clusters.set_capacity, "c1", b"{}", None))
        tended = await db.write(call(api_servers.tend, 100 * SECOND, {"c1", "c2"}, term, **heard))
        assert tended == api_servers.Tended({"c2": "NoAnswer"}, 0)
        found = await said(db)
        assert found["c1-Applied"] == ("Applied", "", "")
        assert found["c1-Running"][1] == "Other", "another reason came since: it stays"
        assert found["c2-Running"] == ("Running", "ClusterUnhealthy", words["c2"])


async def test_while_all_servers_answer_nothing_is_done(tmp_path):
    """Not even by who leads no more."""
    async with opened(tmp_path) as db:
        term = await term_of(db)
        nothing = call(api_servers.tend, MINUTE, (), term - 1, heard={}, since=LONG_AGO)
        assert await db.write(nothing) == api_servers.Tended()


TIMES = {"state": State.RUNNING, "cluster_queue": "q"}


async def unready(db: Database, **given_: Any) -> dict[str, list[str]]:
    return await db.read(call(deadlines.unready, Queueing(**given_)))


async def test_what_is_not_ready_in_time_is_told_with_its_members_words(tmp_path):
    """Never ready, or no longer: each its own span and sentence; jobs alike share one."""
    clock = ManualClock(START)
    async with opened(tmp_path, clock) as db:
        ready = {"pods_ready_at": START}
        for uid, columns in (
            ("a", {}),
            ("b", {}),
            ("c", {"message": "0/3 nodes"}),
            ("d", {"placed_at": START + SECOND}),
            ("e", ready),
            ("f", ready | {"pods_lost_at": START}),
            ("g", ready | {"pods_lost_at": START + 50 * SECOND, "message": "m"}),
            ("h", {"state": State.WITHDRAWING}),
        ):
            await db.write(call(given, uid, **(TIMES | columns)))
        clock.advance(60)
        never, lost = (
            "not all pods were ready within 60 s",
            "pods were lost and not back within {} s",
        )
        first = {never: ["a", "b"], f"{never}: 0/3 nodes": ["c"]}
        late = {lost.format(10): ["f"], lost.format(10) + ": m": ["g"]}
        assert await unready(db) == {}
        found = await unready(db, pods_ready_timeout_s=60, pods_ready_recovery_timeout_s=10)
        assert {said: sorted(uids) for said, uids in found.items()} == first | late
        assert await unready(db, pods_ready_recovery_timeout_s=10) == late
        found = await unready(db, pods_ready_timeout_s=60)
        assert found == first | {lost.format(60): ["f"]}
        assert await unready(db, pods_ready_timeout_s=60, pods_ready_recovery_timeout_s=0) == first


@pytest.mark.parametrize(("by", "later"), [("Eviction", True), ("Creation", False)])
async def test_what_is_evicted_for_its_pods_backs_off_as_was_set(tmp_path, by, later):
    """Counted, with the span and limit that an administrator set, and queued by the time that was."""
    clock = ManualClock(START)
    async with opened(tmp_path, clock) as db:
        term = await term_of(db)
        for uid, requeues in (("once", 0), ("again", 1), ("often", 2)):
            await db.write(call(given, uid, **TIMES, requeues=requeues, queued_at=START + SECOND))
        clock.advance(60)
        settings = Queueing(
            pods_ready_timeout_s=60, requeuing_timestamp=by, requeuing_backoff_base_s=10,
            requeuing_backoff_max_s=15, requeuing_backoff_limit=2,
        )  # fmt: skip
        assert await db.write(call(deadlines.take_back_unready, settings, term)) == 3
        found = await jobs(db)
        now = START + 60 * SECOND
        assert {
            uid: (row.withdraw_to, row.requeues, row.requeue_at, row.queued_at)
            for uid, row in found.items()
        } == {
            "once": ("Pending", 1, now + 10 * SECOND, now if later else START),
            "again": ("Pending", 2, now + 15 * SECOND, now if later else START),
            "often": ("Deactivated", 0, None, now if later else START),
        }
        assert found["once"].evicted == {
            "reason": "PodsReadyTimeout",
            "message": "not all pods were ready within 60 s",
            "at": now.isoformat(),
        }
        assert (found["often"].evicted or {})["cause"] == "RequeuingLimitExceeded"


async def test_only_what_still_runs_too_long_is_ended(tmp_path):
    """One that was found earlier and has been given up since is left; the row says how long it ran."""
    clock = ManualClock(START)
    async with opened(tmp_path, clock) as db:
        term = await term_of(db)
        for uid, columns in (
            ("over", {"max_runtime_s": 60, "ran_s": 10}),
            ("done", {"max_runtime_s": 60, "state": State.SUCCEEDED}),
            ("more", {"max_runtime_s": 600}),
        ):
            await db.write(call(given, uid, **(TIMES | columns)))
        clock.advance(55)
        uids = ["over", "done", "more"]
        assert await db.write(call(deadlines.end_overrun, uids, term)) == 1
        row = (await jobs(db))["over"]
        text = "ran for 60 s, its maximum execution time"
        assert (row.state, row.withdraw_to, row.ran_s, row.reason, row.message) == (
            "Withdrawing", "Deactivated", 65, "MaximumExecutionTimeExceeded", text,
        )  # fmt: skip
        assert row.evicted == {
            "reason": "Deactivated",
            "cause": "MaximumExecutionTimeExceeded",
            "message": text,
            "at": (START + 55 * SECOND).isoformat(),
        }
        assert row.evictions == {"Deactivated/MaximumExecutionTimeExceeded": 1}
