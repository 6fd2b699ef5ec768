"""What becomes of a manifest: every column of the row that it makes, and of the row that it changes."""

import datetime as dt
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hub.domain.workloads.origin import Origin
from hub.services.context.settings import Intake
from hub.services.jobs.accept import submit_jobs
from hub.services.objects.apply import apply_documents
from hub.services.reading.draft import Draft, draft
from hub.store import events, manifests, objects, tables, works
from hub.store.records.workloads import Workload
from hub.store.transaction import Transaction
from shared.errors import Rejected
from shared.kinds.registry import parse
from tests.services.build import a_class, a_workload
from tests.services.hubs import Running, a_job, a_queue, running
from tests.store.build import a_wanted_work

pytestmark = pytest.mark.anyio
EARLIER = dt.datetime(2025, 12, 1, tzinfo=dt.UTC)
CLASS, LIMIT = "kueue.x-k8s.io/priority-class", "kueue.x-k8s.io/max-exec-time-seconds"
WORDS = {"roadstead.dev/retry": "2", "example.com/other": "x"}


def a_full_job(name: str = "j", **given: Any) -> dict[str, Any]:
    """A Job that says everything that has a column."""
    labels = {CLASS: "high", LIMIT: "60", "l": "1"} | given.pop("labels", {})
    job = a_job(name, queue="q", count=3, labels=labels, annotations=WORDS)
    job["spec"] |= {"completions": 4, "ttlSecondsAfterFinished": 9} | given
    return job


async def take(
    hub: Running, *given: dict[str, Any], strict: bool = False, **of: Any
) -> list[Workload | Rejected]:
    """Submit manifests as one request."""

    def run(tx: Transaction) -> list[Workload | Rejected]:
        drafts = [
            replace(draft(parse(each), tx.now, **of), may_set_priority=True) for each in given
        ]
        return submit_jobs(tx, drafts, Intake(), strict=strict)

    return await hub.hub.db.write(run)


async def said_of(hub: Running, uid: str) -> list[tuple[str, str]]:
    rows = await hub.hub.read(lambda tx: events.list_events(tx, uid=uid))
    return [(row.type, row.reason) for row in rows]


async def queues(hub: Running) -> None:
    await hub.apply(*a_queue("q"), *a_queue("r"), a_class("high", 7), a_class("low", -7))


async def test_every_column_of_a_new_job(tmp_path: Path):
    """From its manifest, its class and its queue; what it has not lived yet is empty."""
    async with running(tmp_path) as hub:
        await queues(hub)
        hub.clock.advance(5)
        now = hub.clock.now()
        (row,) = await take(hub, a_full_job(), strict=True)
        assert isinstance(row, Workload)
        assert row == await hub.job(row.uid)
        assert row == Workload(
            uid=row.uid,
            kind="Job",
            namespace="team-a",
            name="j",
            origin="rest",
            labels={CLASS: "high", LIMIT: "60", "l": "1", "kueue.x-k8s.io/queue-name": "q"},
            annotations={"roadstead.dev/retry": "2"},
            queue="q",
            priority=7,
            priority_class="high",
            shape=row.shape,
            parallelism=3,
            completions=4,
            ttl_s=9,
            generation=1,
            state=row.state,
            reason="",
            message="",
            created_at=now,
            queued_at=now,
            max_runtime_s=60,
        )
        assert row.state == "Pending"
        (sets,) = (await hub.hub.read(manifests.get_shapes, [row.shape])).values()
        assert [(each["name"], each["count"]) for each in sets] == [("main", 3)]
        generation, body, _ = await hub.hub.read(manifests.latest, row.uid)
        assert (generation, b"ttlSecondsAfterFinished" in body) == (1, True)


async def test_every_column_of_a_new_bare_workload(tmp_path: Path):
    """All of its pods, its own priority; one that is not active is held and says so."""
    async with running(tmp_path) as hub:
        await queues(hub)
        reference = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "own"}
        manifest = a_workload(
            "w",
            "q",
            count=3,
            priority=5,
            priorityClassRef=reference,
            maximumExecutionTimeSeconds=60,
        )
        manifest["metadata"] |= {"labels": {"l": "1"}, "annotations": WORDS}
        more = dict(manifest["spec"]["podSets"][0], name="more", count=2)
        manifest["spec"]["podSets"].append(more)
        (row,) = await take(hub, manifest, origin=Origin.HUB_CLUSTER, uid="u", created_at=EARLIER)
        assert isinstance(row, Workload)
        assert row == await hub.job("u")
        held = dict(manifest, metadata={**manifest["metadata"], "name": "off"})
        held["spec"] = manifest["spec"] | {"active": False}
        (off,) = await take(hub, held)
        assert isinstance(off, Workload)
        assert row == Workload(
            uid="u",
            kind="Workload",
            api_version="kueue.x-k8s.io/v1beta2",
            namespace="team-a",
            name="w",
            origin="hub-cluster",
            labels={"l": "1"},
            annotations={"roadstead.dev/retry": "2"},
            queue="q",
            priority=5,
            priority_class="own",
            shape=row.shape,
            parallelism=5,
            completions=None,
            ttl_s=None,
            generation=1,
            state=row.state,
            reason="",
            message="",
            created_at=EARLIER,
            queued_at=EARLIER,
            max_runtime_s=60,
        )
        assert (row.state, off.state, off.reason, off.message) == (
            "Pending", "Held", "Deactivated", "spec.active is false",
        )  # fmt: skip


@pytest.mark.parametrize(
    ("spec", "parallelism", "completions"),
    [
        ({}, 1, 1),
        ({"parallelism": 3}, 3, None),
        ({"completions": 3}, 1, 3),
        ({"parallelism": 0, "completions": 3}, 0, 3),
    ],
)
async def test_sizes_are_as_kubernetes_defaults_them(tmp_path, spec, parallelism, completions):
    """Neither given: one pod; only one of them: a work queue, or one at a time; 0 is a number."""
    async with running(tmp_path) as hub:
        await queues(hub)
        job = a_job("j", queue="q")
        del job["spec"]["parallelism"], job["spec"]["completions"]
        job["spec"] |= spec
        (row,) = await take(hub, job)
        assert isinstance(row, Workload)
        assert (row.parallelism, row.completions) == (parallelism, completions)


async def test_what_names_nothing_that_exists_waits_and_says_so(tmp_path: Path):
    """Neither queue nor class: by apply it is taken with both said, by submit it is refused."""
    async with running(tmp_path) as hub:
        await queues(hub)
        job = a_job("j", queue="none", labels={CLASS: "never"})
        (row,) = await take(hub, job)
        assert isinstance(row, Workload)
        assert (row.queue, row.priority, row.priority_class, row.reason, row.message) == (
            "none", 0, "never", "QueueNotFound", "LocalQueue team-a/none does not exist",
        )  # fmt: skip
        assert await said_of(hub, row.uid) == [("Warning", "PriorityClassNotFound")]
        other = a_job("k", queue="q", labels={CLASS: "never"})
        answers = await take(hub, a_job("i", queue="none"), other, a_job("m"), strict=True)
        assert [(str(a.code), a.field) for a in answers if isinstance(a, Rejected)] == [
            ("QueueNotFound", "metadata.labels[kueue.x-k8s.io/queue-name]"),
            ("PriorityClassNotFound", f"metadata.labels[{CLASS}]"),
            ("QueueRequired", "metadata.labels[kueue.x-k8s.io/queue-name]"),
        ]


async def test_names_are_taken_by_kind_and_by_whom(tmp_path: Path):
    """Also within one request; whose it is and whether it is going decides what is said."""
    async with running(tmp_path) as hub:
        await queues(hub)
        job = a_job("j", queue="q")
        first, bare, again = await take(hub, job, a_workload("j", "q"), job)
        assert isinstance(first, Workload)
        assert isinstance(bare, Workload)
        assert isinstance(again, Rejected)
        assert (again.code, getattr(again, "uid", "")) == ("AlreadyExists", first.uid)
        (other,) = await take(hub, a_job("j", queue="q"), origin=Origin.HUB_CLUSTER, uid="h")
        assert isinstance(other, Rejected)
        assert (other.code, "rest" in other.detail) == ("OwnedElsewhere", True)
        await hub.hub.db.write(
            lambda tx: tx.conn.execute(
                tables.workloads.update()
                .where(tables.workloads.c.uid == first.uid)
                .values(state="Withdrawing", withdraw_to="Deleted")
            )
        )
        (going,) = await take(hub, a_job("j", queue="q"))
        assert isinstance(going, Rejected)
        assert going.code == "BeingDeleted"


async def apply_again(hub: Running, manifest: dict[str, Any]) -> str:
    """Apply a manifest that is known; the result."""

    def run(tx: Transaction) -> str:
        (applied,) = apply_documents(tx, [draft(parse(manifest), tx.now)], Intake())
        return applied.result if applied.error is None else str(applied.error.detail)

    return await hub.hub.db.write(run)


async def test_a_newer_manifest_changes_its_columns_and_no_others(tmp_path: Path):
    """What the job has lived, where it is and when it came stay; members get the new generation."""
    async with running(tmp_path) as hub:
        await queues(hub)
        (row,) = await take(hub, a_full_job())
        assert isinstance(row, Workload)
        lived = {"evictions": {"E": 1}, "requeues": 2, "ran_s": 3, "failed": 4, "reason": "R",
                 "message": "M", "set_aside": {"c": "2027-01-01T00:00:00+00:00"}}  # fmt: skip
        await hub.change(row.uid, **lived)
        await hub.hub.db.write(
            lambda tx: works.upsert(tx, [a_wanted_work("c1", row.uid), a_wanted_work("c2", "x")])
        )
        before = await hub.job(row.uid)
        hub.clock.advance(60)
        assert await apply_again(hub, a_full_job()) == "unchanged"
        assert await hub.job(row.uid) == before
        newer = a_full_job(labels={CLASS: "low", LIMIT: "70", "l": "2"}, ttlSecondsAfterFinished=8)
        newer["spec"]["parallelism"] = 2
        newer["metadata"]["annotations"] = {"roadstead.dev/retry": "3"}
        assert await apply_again(hub, newer) == "configured"
        after = await hub.job(row.uid)
        assert after == before._replace(
            labels={CLASS: "low", LIMIT: "70", "l": "2", "kueue.x-k8s.io/queue-name": "q"},
            annotations={"roadstead.dev/retry": "3"},
            priority=-7,
            priority_class="low",
            max_runtime_s=70,
            ttl_s=8,
            parallelism=2,
            generation=2,
            shape=after.shape,
        )
        (sets,) = (await hub.hub.read(manifests.get_shapes, [after.shape])).values()
        assert [each["count"] for each in sets] == [2]
        generations = {
            w.uid: w.generation for w in await hub.hub.read(works.of_uids, [row.uid, "x"])
        }
        assert generations == {row.uid: 2, "x": 1}
        assert (await hub.hub.read(manifests.latest, row.uid))[0] == 2


@pytest.mark.parametrize(
    ("queue", "reason", "message"),
    [
        ("r", "", ""),
        ("none", "QueueNotFound", "LocalQueue team-a/none does not exist"),
        ("q", "WaitingForQuota", "m"),
    ],
)
async def test_one_that_waits_follows_its_queues_name(tmp_path, queue, reason, message):
    """What it waited for in the one it does not wait for in the other; the same queue says nothing new."""
    async with running(tmp_path) as hub:
        await queues(hub)
        (uid,) = await hub.apply(a_job("j", queue="q"))
        await hub.change(uid, reason="WaitingForQuota", message="m")
        job = a_job("j", queue=queue, labels={"new": "1"})
        assert await apply_again(hub, job) == "configured"
        row = await hub.job(uid)
        assert (row.queue, row.reason, row.message) == (queue, reason, message)


@pytest.mark.parametrize("state", ["Reserved", "Placed", "Running", "Withdrawing"])
async def test_one_that_holds_quota_stays_in_its_queue(tmp_path, state):
    """Another name is refused; every field that may not change is named, and nothing is kept of it."""
    async with running(tmp_path) as hub:
        await queues(hub)
        (uid,) = await hub.apply(a_job("j", queue="q"))
        await hub.hub.db.write(
            lambda tx: tx.conn.execute(tables.workloads.update().values(state=state, cluster="c1"))
        )
        other = a_job("j", queue="r", requests={"cpu": "2"})

        def run(tx: Transaction) -> Rejected | None:
            return apply_documents(tx, [draft(parse(other), tx.now)], Intake())[0].error

        error = await hub.hub.db.write(run)
        assert error is not None
        assert [(each.field, str(each.code)) for each in error.errors] == [
            ("spec.template", "Immutable"),
            ("metadata.labels[kueue.x-k8s.io/queue-name]", "Immutable"),
        ]
        row = await hub.job(uid)
        assert (row.queue, row.generation) == ("q", 1)
        assert (await hub.hub.read(manifests.latest, uid))[0] == 1


async def test_a_kept_workload_becomes_the_unit_that_it_was_sent_as(tmp_path: Path):
    """With its uid, origin and age once its queue is there; the object goes, others stay kept."""
    async with running(tmp_path) as hub:

        def keep(tx: Transaction) -> None:
            given: list[Draft] = [
                draft(parse(a_workload(name, name, cpu=2)), tx.now, origin=Origin.HUB_CLUSTER,
                      uid=f"uid-{name}", created_at=EARLIER)
                for name in ("a", "b")
            ]  # fmt: skip
            assert all(each.error is None for each in apply_documents(tx, given, Intake()))

        await hub.hub.db.write(keep)
        assert await hub.jobs(["uid-a", "uid-b"]) == []
        hub.clock.advance(60)
        await hub.apply(*a_queue("a"))
        (row,) = await hub.jobs(["uid-a", "uid-b"])
        assert (row.uid, row.origin, row.created_at, row.queue, row.state) == (
            "uid-a", "hub-cluster", EARLIER, "a", "Pending",
        )  # fmt: skip
        left = await hub.hub.read(objects.list_kind, "kueue.x-k8s.io", "Workload")
        assert [each.uid for each in left] == ["uid-b"]
