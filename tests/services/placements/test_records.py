"""What reconciling a placement leaves in the store: works and what becomes of them, whole."""

from pathlib import Path
from typing import Any

import pytest

from hub.domain.workloads.apply_options import ApplyOptions
from hub.domain.workloads.states import State, WithdrawTo
from hub.services.works.compose import digest
from hub.store import changes, events, objects, placements, workloads, works
from shared.clock import ManualClock
from tests.services.placements.stored import (
    a_placement,
    fill,
    observed,
    reconciled,
    standing,
    with_status,
)
from tests.store.build import (
    START,
    a_wanted_work,
    a_work,
    a_workload,
    an_object,
    call,
    opened,
)

pytestmark = pytest.mark.anyio
AT_ONCE = {"rollingUpdate": {"maxUnavailable": "100%"}}


async def test_an_object_becomes_a_work_in_every_chosen_cluster(tmp_path: Path):
    """With its own identity and generation, and the placement's name and strategy as options."""
    strategy = {"applyStrategy": {"whenToApply": "IfNotDrifted", "whenToTakeOver": "Never"}}
    async with opened(tmp_path, ManualClock(START)) as db:
        config = an_object("c", generation=3, hash="h", name="settings")
        await fill(db, a_placement(strategy=strategy, name="web"), config)
        await reconciled(db)
        options = ApplyOptions(
            when_to_apply="IfNotDrifted",
            when_to_take_over="Never",
            placed_by="ResourcePlacement/web",
        )
        expected = a_work(
            "north",
            "c",
            epoch=0,
            generation=3,
            api_version="v1",
            kind="ConfigMap",
            name="settings",
            hash=digest("h", options, 0),
            options=options,
            placed_by="p",
            content="h",
        )
        assert await standing(db, "c") == {
            (name, "c"): expected._replace(cluster=name) for name in ("north", "south")
        }


@pytest.mark.parametrize(
    ("columns", "spec"),
    [
        ({"hash": "h2", "generation": 2}, {}),
        ({"api_version": "v2", "hash": "h2", "generation": 2}, {}),
        ({}, {"strategy": {"applyStrategy": {"whenToApply": "IfNotDrifted"}}}),
    ],
    ids=["content", "version", "strategy"],
)
async def test_a_work_that_is_wanted_otherwise_keeps_what_was_observed(
    tmp_path: Path, columns: Any, spec: Any
):
    """Only what is desired of it changes; what its member said of it, and when, stays."""
    async with opened(tmp_path, ManualClock(START)) as db:
        await fill(db, a_placement(name="web", strategy=AT_ONCE), an_object("c", hash="h1"))
        await reconciled(db)
        drift = [{"path": "/data", "first_seen": "t"}]
        said = observed("north", "c", drift=drift, reason="Why", message="words")
        await db.write(call(works.observe, [said]))
        before = (await standing(db, "c"))["north", "c"]
        row = await db.read(call(objects.get, "p"))
        assert row is not None
        strategy = {**AT_ONCE, **spec.get("strategy", {})}
        await db.write(lambda tx: objects.change(tx, "p", spec={**row.spec, "strategy": strategy}))
        if columns:
            await db.write(lambda tx: objects.change(tx, "c", **columns))
        await reconciled(db)
        after = (await standing(db, "c"))["north", "c"]
        assert (before.drift, before.reason, before.observed_at) == (drift, "Why", START)
        when = "IfNotDrifted" if spec else "Always"
        options = ApplyOptions(when_to_apply=when, placed_by="ResourcePlacement/web")
        wanted = {"generation": 1, "api_version": "v1", **columns}
        hashed = wanted.pop("hash", "h1")
        changed = {"options": options, "hash": digest(hashed, options, 0), "content": hashed}
        assert after == before._replace(**wanted, **changed)


async def test_what_another_placement_placed_first_stays_its_own(tmp_path: Path):
    """It is neither taken over nor withdrawn, and whose it is stands in the status; later it is free."""
    async with opened(tmp_path, ManualClock(START)) as db:
        await fill(db, a_placement("first"), a_placement("second"), an_object("c", hash="h"))
        await reconciled(db, "first")
        before = await standing(db, "c")
        status = await with_status(db, "second")
        assert await standing(db, "c") == before
        said = str(status)
        assert "ResourcePlacement team-a/first placed it here first" in said
        assert "PlacedByAnother" in said
        await db.write(lambda tx: objects.change(tx, "first", deleted_at=START))
        await reconciled(db, "first")
        assert {w.action for w in (await standing(db, "c")).values()} == {"Withdraw"}
        await reconciled(db, "second")
        after = await standing(db, "c")
        assert {(w.action, w.placed_by) for w in after.values()} == {("Apply", "second")}


async def test_what_is_no_longer_selected_is_withdrawn_where_it_is(tmp_path: Path):
    """Once; what else the placement holds, and works of its Jobs, stay as they are."""
    async with opened(tmp_path, ManualClock(START)) as db:
        job = a_workload("j", state=State.RUNNING, cluster="north", placement="p", epoch=1)
        await fill(db, a_placement(), an_object("c"), an_object("d"), jobs=(job,))
        await db.write(call(works.upsert, [a_wanted_work("north", "j", placed_by="p")]))
        await reconciled(db)
        await db.write(call(objects.remove, "d"))
        await reconciled(db)
        found = {key: w.action for key, w in (await standing(db, "c", "d")).items()}
        assert found == {
            ("north", "c"): "Apply",
            ("south", "c"): "Apply",
            ("north", "d"): "Withdraw",
            ("south", "d"): "Withdraw",
        }
        before = await db.read(changes.last_revision)
        await reconciled(db)
        assert await db.read(changes.last_revision) == before


async def test_a_placement_goes_when_the_last_of_what_it_placed_is_gone(tmp_path: Path):
    """Objects and live Jobs are taken back; a Job that has ended keeps its record and its copy."""
    async with opened(tmp_path, ManualClock(START)) as db:
        runs = a_workload("runs", state=State.RUNNING, cluster="north", placement="p", epoch=1)
        done = a_workload(
            "done",
            state=State.SUCCEEDED,
            cluster="north",
            placement="p",
            epoch=1,
            finished_at=START,
        )
        waits = a_workload("waits", placement="p")
        await fill(db, a_placement(name="web"), an_object("c"))
        await reconciled(db)
        assert await db.read(call(placements.bindings_of, "p")) != []
        await db.write(call(workloads.add, [runs, done, waits]))
        wanted = [a_wanted_work("north", uid, placed_by="p") for uid in ("runs", "done")]
        await db.write(call(works.upsert, wanted))
        await db.write(call(works.act, "Keep", [("north", "done")]))
        await db.write(lambda tx: objects.change(tx, "p", deleted_at=START))
        await reconciled(db)
        actions = {key: w.action for key, w in (await standing(db, "c", "runs", "done")).items()}
        assert actions == {
            ("north", "c"): "Withdraw",
            ("south", "c"): "Withdraw",
            ("north", "runs"): "Withdraw",
            ("north", "done"): "Keep",
        }
        found = await db.read(call(workloads.get_many, ["runs", "done", "waits"]))
        why: dict[str, Any] = {
            "reason": "PlacementDeleted",
            "message": "its placement was deleted",
        }
        assert found["done"] == done
        assert found["waits"] == waits._replace(placement="")
        assert found["runs"] == runs._replace(
            state=State.WITHDRAWING, withdraw_to=WithdrawTo.PENDING, placement="", **why
        )
        assert await db.read(call(objects.get, "p")) is not None
        await db.write(call(works.remove, [("north", "c"), ("south", "c"), ("north", "runs")]))
        await reconciled(db)
        assert await db.read(call(objects.get, "p")) is None
        assert await db.read(call(placements.bindings_of, "p")) == []
        assert await db.read(call(placements.latest_snapshot, "p", "policy")) is None
        assert await db.read(call(placements.latest_snapshot, "p", "resources")) is None
        last = (await db.read(call(events.list_events, uid="p")))[-1]
        assert (last.kind, last.namespace, last.name) == ("ResourcePlacement", "team-a", "web")
        assert (last.reason, last.message) == (
            "Deleted",
            "all its objects have been withdrawn",
        )
