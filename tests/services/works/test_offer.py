"""Offering a work: what its first offering decides stands; what becomes of one that can not be sent."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from hub.domain.workloads.apply_options import ApplyOptions
from hub.domain.workloads.states import State
from hub.services.works.compose import digest
from hub.services.works.offer import Ask, PreparedOffer, offer
from hub.store import clusters, manifests, objects, workloads, works
from hub.store.engine import Database
from hub.store.records.workloads import Workload
from hub.store.transaction import Transaction
from tests.store.build import (
    a_member,
    a_wanted_work,
    a_workload,
    an_object,
    call,
    opened,
)

pytestmark = pytest.mark.anyio
STRATEGY = {"whenToApply": "IfNotDrifted", "whenToTakeOver": "IfNoDiff"}


async def given(db: Database, row: Workload | None = None, **columns: Any) -> None:
    """Member `north` of session `s-1`, and work `one` there, of a job if there is one."""

    def fill(tx: Transaction) -> None:
        clusters.add(tx, a_member("north", session="s-1"))
        if row is not None:
            workloads.add(tx, [row])
            body = orjson.dumps({"spec": {}})
            manifests.add(
                tx,
                [
                    {
                        "uid": "one",
                        "generation": 1,
                        "manifest": body,
                        "hash": "m",
                        "created_at": tx.now,
                    }
                ],
            )
        works.upsert(tx, [a_wanted_work("north", "one", **columns)])

    await db.write(fill)


async def asked(
    db: Database, *served: str, session: str = "s-1", cluster: str = "north"
) -> list[PreparedOffer]:
    """What `north` is sent; `served`: LocalQueues that are active there."""
    ask = Ask(cluster, ("one",), session, frozenset(served))
    (ready,) = await db.write(call(offer, [ask]))
    return ready


async def options(db: Database) -> ApplyOptions:
    (work,) = await db.read(call(works.of_uids, ["one"]))
    assert work.offered
    return work.options


def placed(**columns: Any) -> Workload:
    return a_workload(
        "one", **{"state": State.PLACED, "cluster": "north", "epoch": 1, "queue": "q", **columns}
    )


@pytest.mark.parametrize(
    ("served", "suspend", "queue"),
    [([], False, ""), (["team-b/q", "team-a/other"], False, ""), (["team-a/q"], True, "q")],
)
async def test_a_jobs_epoch_is_offered_as_its_queue_and_its_owner_have_it(
    tmp_path: Path, served: list[str], suspend: bool, queue: str
):
    """Suspended for the queue manager where its own LocalQueue is served there; options of the plan stay."""
    async with opened(tmp_path) as db:
        decided = ApplyOptions(parallelism=2, node_selector={"pool": "gold"}, ttl_s=7)
        await given(db, placed(), options=decided)
        (sent,) = await asked(db, *served)
        expected = ApplyOptions(
            parallelism=2,
            node_selector={"pool": "gold"},
            ttl_s=7,
            session="s-1",
            placed_by="LocalQueue/q",
            suspend=suspend,
            queue=queue,
        )
        assert await options(db) == sent.options == expected
        assert sent.hash == digest("m", expected, 1)
        job = await db.read(call(workloads.get, "one"))
        assert job is not None
        assert job.state == State.OFFERED
        entry = sent.desired
        assert (entry.cluster, entry.uid, entry.epoch, entry.generation) == ("north", "one", 1, 1)
        assert (entry.action, entry.hash, entry.offered) == ("Apply", sent.hash, True)


async def test_a_job_of_a_placement_goes_by_its_strategy(tmp_path: Path):
    """Its member is told the placement's name and how it applies and takes over; its own ttl counts."""
    async with opened(tmp_path) as db:
        placement = an_object(
            "p-1",
            kind="ResourcePlacement",
            name="jobs",
            spec={"strategy": {"applyStrategy": STRATEGY}},
        )
        await db.write(call(objects.add, placement))
        await given(
            db, placed(ttl_s=0, placement="p-1"), placed_by="p-1", options=ApplyOptions(ttl_s=7)
        )
        await asked(db)
        assert await options(db) == ApplyOptions(
            session="s-1",
            placed_by="ResourcePlacement/jobs",
            when_to_apply="IfNotDrifted",
            when_to_take_over="IfNoDiff",
            suspend=False,
            queue="",
            ttl_s=0,
        )


async def test_a_placement_without_strategy_applies_always(tmp_path: Path):
    """And one that is gone by now leaves the job to its queue."""
    async with opened(tmp_path) as db:
        await db.write(
            call(objects.add, an_object("p-1", kind="ResourcePlacement", name="jobs", spec={}))
        )
        await given(db, placed(placement="p-1"), placed_by="p-1")
        await asked(db)
        found = await options(db)
        assert (found.when_to_apply, found.when_to_take_over) == ("Always", "")


async def test_what_an_epoch_was_offered_with_stands(tmp_path: Path):
    """Neither another session nor a queue manager that has come since changes it."""
    async with opened(tmp_path) as db:
        await given(db, placed())
        (first,) = await asked(db)
        await db.write(lambda tx: clusters.change(tx, "north", session="s-2"))
        (second,) = await asked(db, "team-a/q", session="s-2")
        assert (second.options, second.hash) == (first.options, first.hash)
        assert (await options(db)).session == "s-1"


async def test_only_the_session_that_speaks_for_a_member_is_offered_anything(tmp_path: Path):
    """A request that hangs on from before gets nothing, and marks nothing."""
    async with opened(tmp_path) as db:
        await given(db, placed())
        assert await asked(db, session="s-0") == []
        (work,) = await db.read(call(works.of_uids, ["one"]))
        assert work.offered is False


@pytest.mark.parametrize(
    "row",
    [
        placed(state=State.PENDING, cluster=""),
        placed(epoch=2),
        placed(state=State.WITHDRAWING, withdraw_to="Pending"),
    ],
    ids=["waits again", "another epoch", "being taken back"],
)
async def test_a_work_that_was_taken_back_before_it_was_offered_is_forgotten(
    tmp_path: Path, row: Workload
):
    """No agent knows of it: its row goes, and the job is left as it is."""
    async with opened(tmp_path) as db:
        await given(db, row)
        assert await asked(db) == []
        assert await db.read(call(works.of_uids, ["one"])) == []
        assert await db.read(call(workloads.get, "one")) == row


async def test_a_placed_job_without_manifest_fails(tmp_path: Path):
    """Its work goes, its quota is free, and it says why."""
    async with opened(tmp_path) as db:
        await given(db, placed())
        await db.write(call(manifests.remove, ["one"]))
        assert await asked(db) == []
        assert await db.read(call(works.of_uids, ["one"])) == []
        job = await db.read(call(workloads.get, "one"))
        assert job is not None
        assert (job.state, job.cluster, job.reason, job.message) == (
            State.FAILED,
            "",
            "ManifestMissing",
            "the hub no longer has its manifest",
        )


async def test_an_object_that_is_gone_is_withdrawn(tmp_path: Path):
    """Also one that was never offered: a member may hold it from before."""
    async with opened(tmp_path) as db:
        await given(db, None, kind="ConfigMap", epoch=0)
        assert await asked(db) == []
        (work,) = await db.read(call(works.of_uids, ["one"]))
        assert work.action == "Withdraw"


async def test_an_object_is_offered_anew_with_what_it_has_become(tmp_path: Path):
    """Its hash follows its manifest and the options that its placement wrote, which stay its own."""
    async with opened(tmp_path) as db:
        await db.write(
            call(objects.add, an_object("one", manifest={"kind": "ConfigMap"}, hash="a"))
        )
        own = ApplyOptions(when_to_apply="Always", placed_by="ResourcePlacement/p")
        await given(db, None, kind="ConfigMap", epoch=0, options=own, hash=digest("a", own, 0))
        (first,) = await asked(db)
        assert (first.options, first.hash) == (own, digest("a", own, 0))
        await db.write(lambda tx: objects.change(tx, "one", hash="b"))
        (second,) = await asked(db)
        (work,) = await db.read(call(works.of_uids, ["one"]))
        assert second.hash == work.hash == digest("b", own, 0)
        assert work.options == own
