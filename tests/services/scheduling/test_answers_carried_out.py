"""What the answers of admission checks add to a work, and what follows where they can not be carried out."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from hub.domain.workloads.admission_checks import EVICTED, Check
from hub.domain.workloads.apply_options import ApplyOptions
from hub.domain.workloads.states import State
from hub.services.index.check_catalog import Gate
from hub.services.index.reservations import Settlement
from hub.services.scheduling.settle import carry_out
from hub.store import manifests, schedule, workloads, works
from hub.store.engine import Database
from hub.store.transaction import Transaction
from shared.clock import ManualClock
from shared.documents import Json
from tests.services.scheduling.reservations import (
    READY,
    RETRIED,
    as_decided,
    fill,
    reserved,
    row,
    settled,
)
from tests.store.build import START, a_work, call, opened

pytestmark = pytest.mark.anyio
SPOT = {"key": "spot", "operator": "Exists"}
PAID = {"key": "paid", "operator": "Exists"}
TEMPLATE = {
    "metadata": {"labels": {"app": "a"}, "annotations": {"note": "n"}},
    "spec": {"nodeSelector": {"disk": "ssd"}},
}


def updates(*given: Json) -> dict[str, Json]:
    return {"budget": {"state": "Ready", "message": "", "at": "t", "podSetUpdates": list(given)}}


async def carried_out(db: Database, checks: Json, options: ApplyOptions, *pod_sets: str) -> Any:
    """Options of the work that came of it; None where there is none."""
    admission = {"podSets": [{"name": name} for name in pod_sets]}
    await fill(db, reserved(checks=checks, admission=admission), reserved("two"))

    def add(tx: Transaction) -> None:
        body = orjson.dumps({"spec": {"template": TEMPLATE}})
        given = {"generation": 1, "hash": "h", "created_at": tx.now}
        manifests.add(tx, [{"uid": uid, "manifest": body, **given} for uid in ("one", "two")])

    await db.write(add)
    ready = await db.read(call(schedule.standing, ["one", "two"]))
    placed = await settled(db, Settlement(ready=[(each, options) for each in ready]))
    found = {work.uid: work for work in await db.read(call(works.of_uids, ["one", "two"]))}
    assert found.pop("two") == a_work("north", "two", epoch=3, options=options)
    assert sorted(placed) == sorted([*found, "two"])
    return found["one"].options if found else None


@pytest.mark.parametrize("pod_sets", [("main",), (), ("main", "other")])
async def test_what_answers_add_goes_with_the_work_beside_what_flavors_do(
    tmp_path: Path, pod_sets: tuple[str, ...]
):
    """Labels, annotations, selector and tolerations of its pod set; another job gets none of it."""
    async with opened(tmp_path) as db:
        options = ApplyOptions(parallelism=2, node_selector={"pool": "gold"}, tolerations=(SPOT,))
        main: Json = {"name": "main", "labels": {"team": "t", "app": "a"}}
        main |= {"annotations": {"cost": "1"}, "nodeSelector": {"zone": "z", "disk": "ssd"}}
        other = {"name": "other", "labels": {"not": "mine"}}
        checks = updates({**main, "tolerations": [PAID]}, other)
        assert await carried_out(db, checks, options, *pod_sets) == ApplyOptions(
            parallelism=2,
            node_selector={"pool": "gold", "zone": "z", "disk": "ssd"},
            tolerations=(SPOT, PAID),
            pod_labels={"team": "t", "app": "a"},
            pod_annotations={"cost": "1"},
        )


async def test_an_answer_that_adds_no_selector_leaves_the_flavors_own(tmp_path: Path):
    """As it leaves labels and annotations that were decided before."""
    async with opened(tmp_path) as db:
        options = ApplyOptions(
            node_selector={"pool": "gold"}, pod_labels={"a": "b"}, pod_annotations={"c": "d"}
        )
        assert await carried_out(db, updates({"name": "main"}), options, "main") == options


OTHERS = [{"name": "other", "labels": {"x": "1"}}, {"name": "other", "labels": {"x": "2"}}]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([{"name": "main", "labels": {"app": "b"}}],
         "labels app: the template says a, checks want b"),
        ([{"name": "main", "annotations": {"note": "m"}}],
         "annotations note: the template says n, checks want m"),
        ([{"name": "main", "nodeSelector": {"disk": "hdd"}}],
         "nodeSelector disk: the template says ssd, checks want hdd"),
        ([{"name": "main", "nodeSelector": {"pool": "lead"}}],
         "nodeSelector pool: its flavor wants gold, check budget wants lead"),
        (OTHERS, "labels x: check budget wants 1, check budget wants 2"),
        ([*OTHERS, {"name": "main", "labels": {"app": "b"}}],
         ("labels x: check budget wants 1, check budget wants 2; "
         "labels app: the template says a, checks want b")),
    ],
)  # fmt: skip
async def test_answers_that_contradict_evict_the_workload(
    tmp_path: Path, given: list[Json], words: str
):
    """Counted as one more requeue, with every contradiction in words; the others are placed."""
    async with opened(tmp_path, ManualClock(START)) as db:
        options = ApplyOptions(node_selector={"pool": "gold"})
        assert await carried_out(db, updates(*given), options, "main", "other") is None
        after = await row(db)
        message = f"admission checks can not be carried out: {words}"
        assert (after.state, after.reason, after.message) == (State.PENDING, EVICTED, message)
        assert after.evicted == {"reason": EVICTED, "message": message, "at": START.isoformat()}
        assert (after.requeues, after.queued_at) == (1, START)
        assert after.requeue_at is not None
        assert (after.cluster, after.cluster_queue, after.admission) == ("", "", None)


@pytest.mark.parametrize(
    ("required", "checks", "message"),
    [
        ((), None, "waits for admission checks: "),
        (("budget",), READY, None),
        (("budget", "new"), {**READY, "new": {"state": "Pending", "message": "",
                                              "at": START.isoformat()}},
         "waits for admission checks: new (example.com/new)"),
        (("new",), {"new": {"state": "Pending", "message": "", "at": START.isoformat()}},
         "waits for admission checks: new (example.com/new)"),
    ],
)  # fmt: skip
async def test_the_checks_of_a_reservation_follow_its_queue(
    tmp_path: Path, required: tuple[str, ...], checks: Any, message: str | None
):
    """What was answered stays, a new check is asked, one that is no longer asked goes."""
    async with opened(tmp_path) as db:
        await fill(db, reserved(message="before"), reserved("two", checks=RETRIED))
        gate = Gate(known={"new": Check("new", "example.com/new")})
        await db.write(
            call(carry_out, Settlement(asked={"one": required}), gate, 1, as_decided(db))
        )
        said = "before" if message is None else message
        assert await row(db) == reserved(checks=checks, message=said)
        assert await row(db, "two") == reserved("two", checks=RETRIED)


async def test_who_waits_again_meanwhile_is_asked_nothing(tmp_path: Path):
    """Checks are asked of what is reserved alone."""
    async with opened(tmp_path) as db:
        await fill(db, reserved(checks=None))
        await settled(db, Settlement(back=[("one", 2, "Why", "words")]))
        before = await row(db)
        gate = Gate(known={"new": Check("new")})
        await db.write(
            call(carry_out, Settlement(asked={"one": ("new",)}), gate, 1, as_decided(db))
        )
        assert await row(db) == before
        assert await db.read(call(workloads.get, "two")) is None
