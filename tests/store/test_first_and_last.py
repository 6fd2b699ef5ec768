"""Of two instants or two copies, which one a row keeps: the first where it says since, else the last."""

import datetime as dt
from typing import Any

import pytest

from hub.domain.workloads.states import Transition
from hub.store import (
    clusters,
    doubts,
    jobs,
    manifests,
    objects,
    on_members,
    placed_jobs,
    placements,
    runtimes,
    tables,
    tokens,
    workloads,
    works,
)
from hub.store.records.placements import Binding
from hub.store.records.workloads import counts_of
from shared.clock import ManualClock
from tests.store.build import START, a_member, a_wanted_work, a_workload, an_object, call, opened

pytestmark = pytest.mark.anyio
MINUTE = dt.timedelta(minutes=1)
LATER = START + MINUTE


async def _moved(db, name: str, **columns: Any) -> Any:
    row: Any = {"uid": "w", "epoch": 1, **columns}
    assert await db.write(lambda tx: workloads.transition(tx, Transition(name), [row])) == ["w"]
    return await db.read(lambda tx: workloads.get(tx, "w"))


async def test_times_of_firsts_stand_until_it_waits_again(tmp_path):
    """Applied, started: said again after a silence, both stay; a job that waits has neither."""
    clock = ManualClock(START)
    async with opened(tmp_path, clock) as db:
        rows = [a_workload("w", state="Offered", epoch=1, cluster="c1", placed_at=START)]
        await db.write(lambda tx: workloads.add(tx, rows))
        assert (await _moved(db, "apply")).applied_at == START
        clock.advance(60)
        row = await _moved(db, "start")
        assert (row.applied_at, row.started_at) == (START, LATER)
        await _moved(db, "lose")
        clock.advance(60)
        row = await _moved(db, "start")
        assert (row.applied_at, row.started_at) == (START, LATER)
        await _moved(db, "withdraw")
        row = await _moved(db, "requeue")
        assert (row.applied_at, row.started_at, row.placed_at) == (None, None, None)


async def test_pods_were_first_ready_once(tmp_path):
    """Lost and ready again: the first time stands, the loss is forgotten; a second loss is a new one."""
    clock = ManualClock(START)
    async with opened(tmp_path, clock) as db:
        rows = [a_workload("w", state="Running", epoch=1, cluster="c1")]
        await db.write(lambda tx: workloads.add(tx, rows))
        told: Any = {
            "succeeded": 0, "failed": 0, "active": 1, "ready": 1, "reason": "", "message": "",
        }  # fmt: skip
        found = []
        for ready in (False, True, False, True, False):
            said = counts_of("w", 1, told, all_ready=ready)
            await db.write(call(on_members.count, [said]))
            row = await db.read(lambda tx: workloads.get(tx, "w"))
            found.append((row.pods_ready_at, row.pods_lost_at))
            clock.advance(60)
        first = START + MINUTE
        assert found == [
            (None, None),
            (first, None),
            (first, START + 2 * MINUTE),
            (first, None),
            (first, START + 4 * MINUTE),
        ]


async def test_a_name_means_who_has_it_else_the_newest(tmp_path):
    """Of two that gave one name back the newest; whoever has it now goes before both."""
    names = {"kind": "Job", "namespace": "team-a", "name": "j"}
    gone = [
        a_workload(uid, live=None, created_at=at, **names)
        for uid, at in (("old", START), ("new", LATER))
    ]
    async with opened(tmp_path) as db:
        await db.write(lambda tx: workloads.add(tx, gone))
        found = await db.read(lambda tx: workloads.newest_by_name(tx, "team-a", "j"))
        assert found.uid == "new"
        holder = a_workload("holder", created_at=START - MINUTE, **names)
        await db.write(lambda tx: workloads.add(tx, [holder]))
        found = await db.read(lambda tx: workloads.newest_by_name(tx, "team-a", "j"))
        assert found.uid == "holder"


async def test_a_work_given_again_keeps_when_it_was_made(tmp_path):
    """A new epoch of one row forgets what the former was seen as, and not since when it is there."""
    clock = ManualClock(START)
    async with opened(tmp_path, clock) as db:
        await db.write(lambda tx: works.upsert(tx, [a_wanted_work("c1", "u")]))
        clock.advance(60)
        await db.write(lambda tx: works.upsert(tx, [a_wanted_work("c1", "u", epoch=2)]))
        (row,) = await db.read(lambda tx: works.of_uids(tx, ["u"]))
        assert (row.epoch, row.created_at) == (2, START)


async def test_only_what_is_applied_follows_a_new_generation(tmp_path):
    """What a cluster is to keep or to give back stays of the generation it was given."""
    actions = {"c1": "Apply", "c2": "Keep", "c3": "Withdraw"}
    async with opened(tmp_path) as db:
        await db.write(lambda tx: works.upsert(tx, [a_wanted_work(c, "u") for c in actions]))
        for cluster, action in actions.items():
            await db.write(call(works.act, action, [(cluster, "u")]))
        await db.write(lambda tx: works.follow_generation(tx, "u", 2))
        rows = await db.read(lambda tx: works.of_uids(tx, ["u"]))
        assert {r.cluster: r.generation for r in rows} == {"c1": 2, "c2": 1, "c3": 1}


async def test_a_binding_stands_since_it_was_first_made(tmp_path):
    """Deciding the same cluster again changes scores and words, not since when it is bound."""
    clock = ManualClock(START)
    table = tables.bindings
    async with opened(tmp_path, clock) as db:
        for score in (1, 2):
            binding = Binding("p", "c1", True, score, 0, "r", "m", "", "")
            await db.write(call(placements.bind, [binding]))
            clock.advance(60)
        (row,) = await db.read(lambda tx: tx.conn.execute(table.select()).all())
        assert (row.affinity_score, row.bound_at) == (2, START)


async def test_just_so_many_revisions_of_a_placement_are_kept(tmp_path):
    """Of one part the newest; another part's, and another placement's, are not counted."""
    table = tables.snapshots
    async with opened(tmp_path) as db:
        for of, part, count in (("p", "policy", 4), ("p", "resources", 2), ("q", "policy", 2)):
            for index in range(count):
                await db.write(call(placements.add_snapshot, of, part, index, "h", {}, 2))
        rows = await db.read(lambda tx: tx.conn.execute(table.select()).all())
        assert {(r.placement, r.part, r._mapping["index"]) for r in rows} == {
            ("p", "policy", 2),
            ("p", "policy", 3),
            *((of, part, i) for of, part in (("p", "resources"), ("q", "policy")) for i in (0, 1)),
        }


async def test_the_newest_jobs_of_a_placement_come_first(tmp_path):
    """Where there are more than are asked for, the newest are given."""
    rows = [a_workload(f"u{n}", placement="p", created_at=START + n * MINUTE) for n in (1, 0, 2)]
    async with opened(tmp_path) as db:
        await db.write(lambda tx: workloads.add(tx, rows))
        found = await db.read(lambda tx: placed_jobs.jobs_of(tx, "p", 2))
        assert [row.uid for row in found] == ["u2", "u1"]


async def test_the_newest_manifest_of_each_job(tmp_path):
    """Whatever the order in which generations were written."""
    async with opened(tmp_path) as db:
        for generation in (2, 10, 1):
            body = f"{generation}".encode()
            row = {"uid": "u", "generation": generation, "manifest": body, "hash": "h"}
            await db.write(call(manifests.add, [row]))
        assert await db.read(lambda tx: manifests.latest_of(tx, ["u"])) == {"u": b"10"}
        assert (await db.read(lambda tx: manifests.latest(tx, "u")))[:2] == (10, b"10")


async def test_a_join_token_is_used_once_and_never_after_it_was_revoked(tmp_path):
    """The first use wins; one that was taken back can not be used at all."""
    async with opened(tmp_path) as db:

        def issue(tx: Any) -> None:
            tokens.add_principal(tx, id="p", role="agent", name="c1", cluster="c1")
            for name in ("live", "revoked"):
                tokens.add(tx, id=name, principal="p", purpose="join", secret_hash="h")
            tokens.revoke_one(tx, "revoked")

        await db.write(issue)
        for name, wins in (("live", True), ("live", False), ("revoked", False)):
            assert await db.write(call(tokens.use, name)) is wins


async def test_a_token_ended_twice_ended_at_the_first_time(tmp_path):
    """Retention counts from when it was taken back, not from when somebody did so again."""
    clock = ManualClock(START)
    async with opened(tmp_path, clock) as db:

        def issue(tx: Any) -> None:
            tokens.add_principal(tx, id="p", role="viewer", name="v")
            tokens.add(tx, id="t", principal="p", purpose="session", secret_hash="h")

        await db.write(issue)
        for _ in range(2):
            await db.write(lambda tx: tokens.revoke_one(tx, "t"))
            clock.advance(60)
        assert (await db.read(lambda tx: tokens.get(tx, "t"))).revoked_at == START


async def test_only_joined_members_have_a_heartbeat(tmp_path):
    """A beat of a member that was written off meanwhile, or never joined, is not kept."""
    async with opened(tmp_path) as db:
        await db.write(lambda tx: clusters.add(tx, a_member("declared")))
        await db.write(lambda tx: clusters.add(tx, a_member("joined", joined_at=START)))
        await db.write(lambda tx: clusters.beat(tx, {"declared": LATER, "joined": LATER}))
        rows = await db.read(clusters.list_all)
        assert {row.name: row.heartbeat_at for row in rows} == {"declared": None, "joined": LATER}


async def test_names_of_a_kind_leave_out_what_is_being_deleted(tmp_path):
    """A queue on its way out is none that a job could wait in; its row is still found."""
    async with opened(tmp_path) as db:
        for uid, at in (("here", None), ("going", START)):
            row = an_object(uid, deleted_at=at)
            await db.write(call(objects.add, row))
        found = await db.read(lambda tx: objects.names_of(tx, "", "ConfigMap", ["team-a"]))
        assert found == {("team-a", "here")}


async def test_what_is_reserved_on_a_cluster_counts_every_job_and_pod(tmp_path):
    """Two jobs of three pods of one shape, and one of another: request × pods × jobs, by cluster."""
    shapes = {
        "s": [{"name": "main", "count": 3, "requests": {"cpu": 2}}],
        "t": [{"name": "main", "count": 1, "requests": {"cpu": 5, "memory": 7}}],
    }
    rows = [
        a_workload(uid, state="Running", shape=shape, cluster=cluster)
        for uid, shape, cluster in (
            ("a", "s", "c1"), ("b", "s", "c1"), ("c", "t", "c1"), ("d", "t", "c2"), ("e", "t", ""),
        )
    ]  # fmt: skip
    async with opened(tmp_path) as db:
        await db.write(lambda tx: manifests.add_shapes(tx, shapes))
        await db.write(lambda tx: workloads.add(tx, rows))
        assert await db.read(jobs.reserved_by_cluster) == {
            "c1": {"cpu": 17, "memory": 7, "pods": 7},
            "c2": {"cpu": 5, "memory": 7, "pods": 1},
        }


async def test_either_word_of_its_runtime_is_enough(tmp_path):
    """Its own word, its limit, or both; who says neither is left out."""
    said = {runtimes.EXPECTED: "5m"}
    rows = [
        a_workload("word", annotations=said),
        a_workload("limit", max_runtime_s=60),
        a_workload("both", annotations=said, max_runtime_s=60),
        a_workload("none", annotations={"other": "x"}),
    ]
    async with opened(tmp_path) as db:
        await db.write(lambda tx: workloads.add(tx, rows))
        found = await db.read(lambda tx: runtimes.timed(tx, [row.uid for row in rows]))
        assert {(t.uid, t.expected, t.max_runtime_s) for t in found} == {
            ("word", "5m", None),
            ("limit", None, 60),
            ("both", "5m", 60),
        }


async def test_only_works_of_the_present_epoch_are_in_doubt(tmp_path):
    """A row that an earlier epoch left behind says nothing of where the job is now."""
    async with opened(tmp_path) as db:
        row = a_workload("u", state="Running", epoch=2, cluster="c1")
        await db.write(lambda tx: workloads.add(tx, [row]))
        await db.write(lambda tx: works.upsert(tx, [a_wanted_work("c1", "u", epoch=1)]))
        assert await db.read(lambda tx: doubts.given_in(tx, [row.state])) == []
        await db.write(lambda tx: works.upsert(tx, [a_wanted_work("c1", "u", epoch=2)]))
        assert len(await db.read(lambda tx: doubts.given_in(tx, [row.state]))) == 1
