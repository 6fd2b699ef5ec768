"""Who waits before one ClusterQueue, whole: those of its own LocalQueues, and nobody who is gone."""

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from hub.domain.queueing.lanes import Entry
from hub.services.index.held_back import HeldBack
from hub.services.kueue_view.workload import workload_name
from hub.services.questions import visibility
from hub.services.questions.visibility import LineView
from hub.store import objects, workloads
from hub.store.transaction import Transaction
from tests.services.http_hub import http_hub
from tests.services.hubs import a_job, a_queue
from tests.store.build import START, a_workload, an_object, call, opened

pytestmark = pytest.mark.anyio
KUEUE = "kueue.x-k8s.io"
VISIBILITY = "/apis/visibility.kueue.x-k8s.io/v1beta2"
AT = "2026-03-01T12:00:00Z"


def entry(uid: str, queued_at: int, queue: str = "x") -> Entry:
    return Entry(queued_at, uid, 0, namespace="team-a", local_queue=queue)


def held(queue: str) -> HeldBack:
    return HeldBack("team-a", queue, "Stopped", "words")


LINE = LineView(
    lanes=[(0.0, -5, [entry("first", 9)]), (0.0, 0, [entry("gone", 1), entry("third", 2, "y")])],
    set_aside={"late": held("x"), "early": held("x"), "else": held("z"), "left": held("x")},
    local_queues=frozenset({("team-a", "x"), ("team-a", "y")}),
)


async def test_a_line_is_shown_whole(tmp_path: Path):
    """By priority and time, then those set aside; both positions count from 0, whoever is shown."""
    async with opened(tmp_path) as db:

        def fill(tx: Transaction) -> None:
            for kind, name, where in (
                ("ClusterQueue", "q", ""),
                ("LocalQueue", "x", "team-a"),
                ("LocalQueue", "y", "team-a"),
            ):
                objects.add(tx, an_object(name, api_group=KUEUE, kind=kind, namespace=where))
            rows = [a_workload("first", kind="Workload", priority=5), a_workload("third")]
            before = START - dt.timedelta(seconds=1)
            rows += [a_workload("late", priority=1, queued_at=before)]
            rows += [a_workload("early", priority=2)]
            workloads.add(tx, [*rows, a_workload("else")])

        await db.write(fill)

        def item(uid: str, priority: int, queue: str, place: int, own: int) -> dict[str, Any]:
            metadata: dict[str, Any] = {
                "name": workload_name(a_workload(uid)),
                "namespace": "team-a",
                "creationTimestamp": AT,
            }
            if uid == "first":
                metadata["name"] = uid
            else:
                owner = {"apiVersion": "batch/v1", "kind": "Job", "name": uid, "uid": uid}
                metadata["ownerReferences"] = [owner]
            return {
                "metadata": metadata,
                "priority": priority,
                "localQueueName": queue,
                "positionInClusterQueue": place,
                "positionInLocalQueue": own,
            }

        first, third = item("first", 5, "x", 0, 0), item("third", 0, "y", 2, 0)
        early, late = item("early", 2, "x", 3, 2), item("late", 1, "x", 4, 3)
        shown = await db.read(call(visibility.in_cluster_queue, LINE, "q", 0, 10))
        assert shown == {
            "kind": "PendingWorkloadsSummary",
            "apiVersion": "visibility.kueue.x-k8s.io/v1beta2",
            "metadata": {},
            "items": [first, third, early, late],
        }
        for queue, offset, limit, expected in (
            ("x", 0, 10, [first, early, late]),
            ("x", 2, 1, [early]),
            ("y", 0, 10, [third]),
        ):
            key = ("team-a", queue)
            shown = await db.read(call(visibility.in_local_queue, LINE, key, offset, limit))
            assert shown["items"] == expected


async def test_one_queues_line_has_nobody_of_another(tmp_path: Path):
    """Neither of those in line nor of those that a stopped LocalQueue holds back."""
    async with http_hub(tmp_path) as it:
        for name in ("gold", "lead"):
            flavor, queue, door = a_queue(name)
            door["spec"]["stopPolicy"] = "Hold"
            await it.hub.apply(flavor, queue, door, a_queue(name, "team-b")[2])
            await it.hub.apply(a_job(f"held-{name}", queue=name))
            await it.hub.apply(a_job(f"open-{name}", "team-b", queue=name))
        await it.hub.settle()
        for name in ("gold", "lead"):
            path = f"{VISIBILITY}/clusterqueues/{name}/pendingworkloads"
            items = (await it.get(path))["items"]
            found = [each["metadata"]["ownerReferences"][0]["name"] for each in items]
            assert found == [f"open-{name}", f"held-{name}"]
