"""What the bridge is told of Jobs, objects and members, and what it may say: fact by fact."""

from pathlib import Path
from typing import Any

import pytest

from hub.domain.workloads.origin import Origin
from hub.domain.workloads.states import State
from hub.services.context import leadership
from hub.services.mirror import objects as mirrored, workloads as written
from hub.services.mirror.workloads import Heard, hear, hear_check
from hub.store import audit, clusters, events, manifests, objects, tables, workloads
from hub.store.errors import StaleTerm
from hub.store.transaction import Transaction
from shared.clock import ManualClock
from shared.errors import Rejected
from tests.services.build import a_workload as a_bare, in_cohort
from tests.services.hubs import a_job, a_pool, running
from tests.services.outside.controller import a_check, a_checked_queue
from tests.store.build import START, a_member, a_work, a_workload, an_object, call, opened

pytestmark = pytest.mark.anyio
ON = {"state": State.RUNNING, "cluster": "c1", "epoch": 2}


def observed(active: int) -> dict[str, Any]:
    return {"object_uid": "m", "job": {"active": active}}


async def test_a_jobs_status_is_of_its_present_epoch_and_cluster(tmp_path):
    """What another cluster, or this one of an earlier epoch, last said of it is not said of it now."""
    async with opened(tmp_path) as db:

        def fill(tx: Transaction) -> None:
            rows: dict[str, list[tuple[str, int, Any]]] = {
                "now": [("c1", 2, observed(1)), ("c2", 2, observed(9))],
                "earlier": [("c1", 1, observed(9))],
                "elsewhere": [("c2", 2, observed(9))],
                "unsaid": [("c1", 2, None)],
                "nothing": [],
            }
            for uid, works in rows.items():
                workloads.add(tx, [a_workload(uid, **ON)])
                for cluster, epoch, said in works:
                    work = a_work(cluster, uid, epoch=epoch, observed=said)
                    tx.conn.execute(tables.works.insert(), work._asdict())

        await db.write(fill)
        uids = ["now", "earlier", "elsewhere", "unsaid", "nothing", "absent"]
        facts = await db.read(call(mirrored.job_facts, uids))
        assert {uid: fact.observed for uid, fact in facts.items()} == {
            "now": {"active": 1},
            "earlier": None,
            "elsewhere": None,
            "unsaid": None,
            "nothing": None,
        }
        assert all(fact.row.uid == uid for uid, fact in facts.items())
        assert await db.read(call(mirrored.known_uids, uids)) == set(uids) - {"absent"}


async def test_workload_objects_are_made_of_each_rows_own_shape(tmp_path):
    """A row whose shape is gone has none."""
    async with opened(tmp_path) as db:
        await db.write(call(manifests.add_shapes, {"s": [{"a": 1}], "t": [{"b": 1}]}))
        rows = [a_workload("u"), a_workload("v", shape="t"), a_workload("w", shape="gone")]
        await db.write(call(workloads.add, rows))
        facts = await db.read(call(written.workload_facts, ["u", "v", "w", "x"]))
        assert {uid: (fact.row.uid, fact.pod_sets) for uid, fact in facts.items()} == {
            "u": ("u", [{"a": 1}]),
            "v": ("v", [{"b": 1}]),
            "w": ("w", None),
        }


async def test_a_members_facts_are_its_own(tmp_path):
    """Its row, what it has, and when it said so; one that said nothing is there too."""
    clock = ManualClock(START)
    async with opened(tmp_path, clock) as db:
        for name in ("c1", "c2"):
            await db.write(call(clusters.add, a_member(name, joined_at=START)))
        clock.advance(60)
        report = b'{"pools_revision":0,"pools":[],"bound":[],"kinds":["a/B"]}'
        await db.write(call(clusters.set_capacity, "c2", report))
        facts = await db.read(mirrored.cluster_facts)
        assert {
            name: (member.name, cluster.name, cluster.kinds, at)
            for name, (member, cluster, at) in facts.items()
        } == {"c1": ("c1", "c1", None, None), "c2": ("c2", "c2", frozenset({"a/B"}), clock.now())}


async def test_events_are_told_after_the_last_that_was(tmp_path):
    """In their order, at most so many; of none the last is 0."""
    async with opened(tmp_path) as db:
        assert await db.read(mirrored.last_event) == 0

        def say(tx: Transaction) -> None:
            for n in range(5):
                tx.event(uid=f"u{n}", kind="Job", namespace="n", name="n", reason="R", message="m")

        await db.write(say)
        every = await db.read(events.list_events)
        assert await db.read(mirrored.last_event) == every[-1].id
        told = await db.read(call(mirrored.events_after, every[1].id, 2))
        assert told == every[2:4]
        assert await db.read(call(mirrored.events_after, every[-1].id)) == []


async def test_what_is_of_a_kind_is_found_where_it_is_kept(tmp_path: Path):
    """Jobs as rows, Workloads as rows and as objects, others as objects; by whom they came."""
    async with running(tmp_path) as hub:

        def fill(tx: Transaction) -> None:
            kueue = {"api_group": "kueue.x-k8s.io", "kind": "Workload", "origin": "hub-cluster"}
            for row in (
                an_object("kept", **kueue),
                an_object("going", **kueue, deleted_at=START),
                an_object("map", origin="hub-cluster"),
            ):
                objects.add(tx, row)
            hub_row = {"origin": "hub-cluster"}
            workloads.add(
                tx,
                [
                    a_workload("job", **hub_row),
                    a_workload("ours"),
                    a_workload("left", live=None, **hub_row),
                    a_workload("bare", kind="Workload", **hub_row),
                ],
            )

        await hub.hub.db.write(fill)

        async def uids(group: str, kind: str) -> set[str]:
            found = await hub.hub.read(mirrored.uids_of_kind, group, kind)
            assert all(place == ("team-a", uid) for uid, place in found.items())
            return set(found)

        assert await uids("batch", "Job") == {"job"}
        assert await uids("kueue.x-k8s.io", "Workload") == {"bare", "kept"}
        assert await uids("", "ConfigMap") == {"map"}


async def test_an_object_is_gone_once_nothing_holds_it(tmp_path: Path):
    """A bare Workload ends with it; what a member still holds keeps it; one that is unknown is gone."""
    async with opened(tmp_path) as db:

        def fill(tx: Transaction) -> None:
            bare = {"kind": "Workload", "origin": "hub-cluster", "state": State.PLACED, "epoch": 1}
            workloads.add(tx, [a_workload("bare", **bare)])
            for uid in ("free", "held"):
                objects.add(tx, an_object(uid, origin="hub-cluster"))
            tx.conn.execute(
                tables.works.insert(),
                a_work("c1", "held", epoch=0, kind="ConfigMap", placed_by="p")._asdict(),
            )
            tx.conn.execute(tables.works.insert(), a_work("c1", "lost", epoch=0)._asdict())
            objects.add(tx, an_object("going", origin="hub-cluster", deleted_at=START))

        await db.write(fill)
        gone = {}
        for uid in ("bare", "free", "held", "lost", "going", "never"):
            gone[uid] = await db.write(call(mirrored.delete_object, uid))
        assert gone == {
            "bare": True, "free": True, "held": False, "lost": False, "going": False, "never": True,
        }  # fmt: skip
        row = (await db.read(call(workloads.get_many, ["bare"])))["bare"]
        assert (row.state, row.live, row.reason, row.message) == (
            "Cancelled", None, "DeletedOnHubCluster", "it was deleted on the hub cluster",
        )  # fmt: skip


async def test_what_is_written_into_a_workload_object_is_taken_in_whole(tmp_path: Path):
    """Checks and `active` of one write both count, each under the hub cluster's name."""
    async with running(tmp_path) as hub:
        await hub.cluster("c1", a_pool(cpu="8"))
        await a_checked_queue(hub, "budget", "room")
        (uid,) = await hub.apply(a_job("j", queue="gold"))
        await hub.settle()
        assert (await hub.job(uid)).state == "Reserved"
        term = await hub.hub.write(leadership.seize, "test")
        said = [{"name": "budget", "state": "Ready", "message": "yes"}]
        with pytest.raises(StaleTerm):
            await hub.hub.write(hear, term + 1, Heard(uid, checks=said))
        await hub.hub.write(hear, term, Heard(uid, checks=said))
        row = await hub.job(uid)
        assert row.checks is not None
        assert [(n, c["state"], c["message"]) for n, c in sorted(row.checks.items())] == [
            ("budget", "Ready", "yes"),
            ("room", "Pending", ""),
        ]
        await hub.hub.write(hear, term, Heard(uid, active=False))
        row = await hub.job(uid)
        assert (row.state, row.message) == ("Held", "held by hub-cluster")
        rows = await hub.hub.read(audit.list_entries)
        assert (rows[0].principal, rows[0].verb) == ("hub-cluster", "hold")


async def test_the_status_of_a_bare_workload_is_heard(tmp_path: Path):
    """Who runs it says that it has finished: it has, with those words."""
    async with running(tmp_path) as hub:
        (uid,) = (await hub.apply(*in_cohort("a", "4"), a_bare("w")))[-1:]
        await hub.settle()
        term = await hub.hub.write(leadership.seize, "test")
        done = {"type": "Finished", "status": "True", "reason": "Succeeded", "message": "well",
                "lastTransitionTime": "2026-01-01T00:00:00Z"}  # fmt: skip
        await hub.hub.write(hear, term, Heard(uid, status={"conditions": [done]}))
        row = await hub.job(uid)
        assert (row.state, row.message) == ("Succeeded", "well")


async def test_a_check_is_active_by_its_controllers_word(tmp_path: Path):
    """Of a check that the hub has; of another it is said that it has none."""
    async with running(tmp_path) as hub:
        (uid,) = await hub.apply(a_check("budget"))
        term = await hub.hub.write(leadership.seize, "test")
        active = [{"type": "Active", "status": "True", "reason": "R", "message": "m"}]
        assert await hub.hub.write(hear_check, term, "other", active) is False
        with pytest.raises(StaleTerm):
            await hub.hub.write(hear_check, term + 1, uid, active)
        assert await hub.hub.write(hear_check, term, uid, active) is True
        row = await hub.hub.read(objects.get, uid)
        assert row is not None
        (told,) = [c for c in (row.status or {})["conditions"] if c["type"] == "Active"]
        assert (told["status"], told["reason"], told["message"]) == ("True", "R", "m")


async def test_jobs_of_one_deletion_are_told_apart(tmp_path: Path):
    """What waits goes at once, what a member holds when it has let it go, what is unknown is gone."""
    async with opened(tmp_path) as db:

        def fill(tx: Transaction) -> None:
            of_hub = {"origin": str(Origin.HUB_CLUSTER)}
            workloads.add(
                tx,
                [
                    a_workload("waits", **of_hub),
                    a_workload("runs", **(ON | of_hub)),
                    a_workload("kept", **of_hub),
                ],
            )
            tx.conn.execute(tables.works.insert(), a_work("c1", "runs", epoch=2)._asdict())

        await db.write(fill)
        left = await db.write(call(mirrored.delete_jobs, ["waits", "runs", "never"]))
        assert left == {"waits", "never"}
        rows = await db.read(call(workloads.get_many, ["waits", "runs", "kept"]))
        said = "it was deleted on the hub cluster"
        assert {uid: (r.state, r.live, r.withdraw_to, r.message) for uid, r in rows.items()} == {
            "waits": ("Cancelled", None, "", said),
            "runs": ("Withdrawing", True, "Deleted", said),
            "kept": ("Pending", True, "", ""),
        }
        assert await db.write(call(mirrored.conclude_deletions, ["runs", "kept", "never"])) == {
            "runs"
        }


async def test_only_the_leader_acts_for_the_bridge(tmp_path: Path):
    """What one of an earlier term brings is not taken."""
    async with opened(tmp_path) as db:
        term = await db.write(lambda tx: leadership.seize(tx, "test"))
        await db.write(call(workloads.add, [a_workload("u")]))
        led = mirrored.led
        assert await db.write(call(led, term, mirrored.known_uids, ["u", "v"])) == {"u"}
        with pytest.raises(StaleTerm):
            await db.write(call(led, term - 1, mirrored.known_uids, ["u"]))


async def test_what_is_wrong_is_refused_before_anything_is_kept(tmp_path: Path):
    """A check that is not asked, of a workload that holds nothing."""
    async with running(tmp_path) as hub:
        await a_checked_queue(hub, "budget")
        (uid,) = await hub.apply(a_job("j", queue="gold"))
        term = await hub.hub.write(leadership.seize, "test")
        said = [{"name": "budget", "state": "Ready"}]
        with pytest.raises(Rejected) as refused:
            await hub.hub.write(hear, term, Heard(uid, active=True, checks=said))
        assert refused.value.code == "NotReserved"
