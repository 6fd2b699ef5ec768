"""Pages: each goes on after the last row of the one before; nothing is shown twice, nothing left out."""

import datetime as dt
from typing import Any

import pytest

from hub.store import (
    audit,
    changes,
    events,
    front_page,
    jobs,
    manifests,
    objects,
    work_pages,
    workload_pages,
    workloads,
    works,
)
from hub.store.transaction import Transaction
from tests.store.build import START, a_wanted_work, a_workload, an_object, call, opened

pytestmark = pytest.mark.anyio
SECOND = dt.timedelta(seconds=1)


def _five_events(tx: Any) -> None:
    for number in range(5):
        tx.event(uid=f"u{number}", kind="Job", namespace="n", name="j", reason="r", message="m")


@pytest.mark.parametrize("newest_first", [False, True])
async def test_events_go_on_from_either_side(tmp_path, newest_first):
    """`after` and `before` name the last event that was shown: it is not shown again."""
    async with opened(tmp_path) as db:
        await db.write(_five_events)
        side = "before" if newest_first else "after"
        shown, last = [], 0
        for _ in range(3):
            page = await db.read(
                call(events.list_events, limit=2, newest_first=newest_first, **{side: last})
            )
            shown += [row.uid for row in page]
            last = page[-1].id
        everybody = [f"u{number}" for number in range(5)]
        assert shown == (everybody[::-1] if newest_first else everybody)


async def test_the_audit_goes_on_before_the_last_entry_shown(tmp_path):
    """Newest first; the entry named is not shown again."""
    async with opened(tmp_path) as db:
        for number in range(5):
            await db.write(call(audit.add, "admin", f"v{number}", "Job n/j"))
        shown, before = [], 0
        for _ in range(3):
            page = await db.read(call(audit.list_entries, before=before, limit=2))
            shown += [row.verb for row in page]
            before = page[-1].id
        assert shown == ["v4", "v3", "v2", "v1", "v0"]


async def test_followers_go_on_after_the_revision_they_have(tmp_path):
    """The feed gives what came after a revision, in order, and not that revision again."""
    async with opened(tmp_path) as db:
        for name in ("one", "two", "three"):
            await db.write(call(Transaction.touch, "objects", name))
        rows = await db.read(lambda tx: changes.since(tx, 1, 10))
        assert [(row[0], row[2]) for row in rows] == [(2, ["two"]), (3, ["three"])]
        assert await db.read(lambda tx: changes.since(tx, 3, 10)) == []


async def test_objects_go_on_after_namespace_and_name(tmp_path):
    """In order of namespace, then name: two of one namespace, and one name in two of them."""
    names = [("a", "x"), ("a", "y"), ("b", "a"), ("b", "x")]
    async with opened(tmp_path) as db:
        for place, (namespace, name) in enumerate(reversed(names)):
            row = an_object(f"u{place}", namespace=namespace, name=name)
            await db.write(call(objects.add, row))
        shown, after = [], None
        for _ in names:
            page = await db.read(call(objects.list_kind, "", "ConfigMap", after=after, limit=1))
            after = (page[0].namespace, page[0].name)
            shown.append(after)
        assert shown == names


async def test_drift_goes_on_after_cluster_and_uid(tmp_path):
    """In order of cluster, then uid: two of one cluster, and one uid in two of them."""
    keys = [("c1", "u2"), ("c1", "u3"), ("c2", "u1"), ("c2", "u2")]
    said = {
        "observed_generation": 1, "phase": "Applied", "observed": {}, "drift": [{"path": "/a"}],
        "reason": "", "message": "", "available": None, "seen": True,
    }  # fmt: skip
    async with opened(tmp_path) as db:
        await db.write(lambda tx: works.upsert(tx, [a_wanted_work(*key) for key in keys]))
        rows: Any = [{"cluster": cluster, "uid": uid, **said} for cluster, uid in keys]
        await db.write(lambda tx: works.observe(tx, rows))
        shown, after = [], None
        for _ in keys:
            (row,) = await db.read(call(work_pages.list_drifted, after, 1))
            after = (row.cluster, row.uid)
            shown.append(after)
        assert shown == keys
        assert await db.read(lambda tx: work_pages.list_drifted(tx, keys[-1], 1)) == []


@pytest.mark.parametrize("of", ["jobs", "workloads"])
async def test_jobs_made_at_one_instant_are_shown_once(tmp_path, of):
    """Newest first; among those of one instant, by uid: a page may end between them."""
    rows = [a_workload(f"u{place}", created_at=START) for place in range(3)]
    rows.append(a_workload("older", created_at=START - SECOND))
    async with opened(tmp_path) as db:
        await db.write(lambda tx: workloads.add(tx, rows))
        shown: list[str] = []
        after: Any = None
        for _ in rows:
            page: Any = jobs.page if of == "jobs" else workload_pages.page
            asked: tuple[Any, ...] = ({}, after, 1) if of == "jobs" else ({}, (), None, after, 1)
            found: Any = await db.read(call(page, *asked))
            (row,) = found.rows if of == "jobs" else found
            after = (row.created_at, row.uid)
            shown.append(row.uid)
        assert shown == ["u2", "u1", "u0", "older"]


async def test_a_name_filter_is_a_prefix(tmp_path):
    """The name itself and what goes on from it, whatever the next character; nothing else."""
    names = ["train", "train-1", "trainé", "trai", "trainz", "zrain", "traj"]
    async with opened(tmp_path) as db:
        await db.write(lambda tx: workloads.add(tx, [a_workload(name) for name in names]))
        found = await db.read(lambda tx: jobs.page(tx, {"name": "train"}, None, 10))
        assert {row.name for row in found.rows} == {"train", "train-1", "trainé", "trainz"}


async def test_the_front_page_shows_the_latest_end_first(tmp_path):
    """What has ended is shown from the latest on, what has not from the oldest on."""
    ended = [
        a_workload(f"e{n}", state="Failed", live=True, finished_at=START + n * SECOND)
        for n in range(3)
    ]
    waits = [a_workload(f"w{n}", created_at=START + n * SECOND) for n in range(3)]
    async with opened(tmp_path) as db:
        await db.write(lambda tx: workloads.add(tx, [*ended, *waits]))
        shown = await db.read(lambda tx: front_page.ended(tx, (), "", 1, 5))
        assert [row.uid for row in shown] == ["e1", "e0"]
        shown = await db.read(lambda tx: front_page.unfinished(tx, (), "", 1, 5))
        assert [row.uid for row in shown] == ["w1", "w2"]


@pytest.mark.parametrize(("most", "given"), [(1, False), (2, True), (3, True)])
async def test_exactly_as_many_shapes_as_are_looked_at_are_given(tmp_path, most, given):
    """Two shapes: nothing is answered where only one may be looked at."""
    async with opened(tmp_path) as db:
        await db.write(lambda tx: manifests.add_shapes(tx, {"a": [], "b": []}))
        found = await db.read(lambda tx: manifests.every_shape(tx, most))
        assert (found is not None) is given


async def test_what_is_being_deleted_is_shown_while_a_cluster_has_it(tmp_path):
    """It still runs there; what was deleted and is gone is shown nowhere."""
    rows = [
        a_workload("leaves", state="Withdrawing", live=True, deleted_at=START),
        a_workload("gone", live=None, deleted_at=START),
        a_workload("stays", live=True),
    ]
    async with opened(tmp_path) as db:
        await db.write(lambda tx: workloads.add(tx, rows))
        shown = await db.read(lambda tx: front_page.unfinished(tx, (), "", 0, 5))
        assert sorted(row.uid for row in shown) == ["leaves", "stays"]
        assert await db.read(lambda tx: front_page.count_unfinished(tx, "")) == 2
