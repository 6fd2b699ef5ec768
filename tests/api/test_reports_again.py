"""What an executor says again, or late: the first end counts, times stay, and zero is an epoch too."""

import asyncio
import threading
from typing import Any

import httpx
import orjson
import pytest

from hub.domain.workloads.states import Transition
from hub.services.outside import executors
from hub.services.outside.executor_status import read_status
from hub.store import workloads
from hub.store.records.workloads import Workload, move_of
from hub.store.transaction import Transaction
from tests.api.serving import Served, served
from tests.services.build import a_workload, in_cohort
from tests.waiting import eventually

pytestmark = pytest.mark.anyio
PATH = "/v1/workloads/team-a/w"
MERGE = {"content-type": "application/merge-patch+json"}


async def admitted(hub: Served, pods: int = 1) -> str:
    """A bare Workload of so many pods, admitted as a cycle would."""
    for manifest in in_cohort("a", "9"):
        assert (await hub.admin.post("/v1/apply", json=manifest)).status_code == 200
    uid = str(
        (await hub.admin.post("/v1/workloads", json=a_workload("w", count=pods))).json()["uid"]
    )

    def run(tx: Transaction) -> None:
        row = workloads.get(tx, uid)
        assert row is not None
        usage = {"cpu": 1000}
        pod_set = {"name": "main", "count": pods, "flavors": {"cpu": "any"}, "usage": usage}
        charged: Any = {"cluster": "", "admission": {"podSets": [pod_set]}, "cluster_queue": "a"}
        assert workloads.transition(tx, Transition.PLACE, [move_of(uid, row.epoch, charged)])

    await hub.db.write(run)
    return uid


async def row_of(hub: Served, uid: str) -> Workload:
    row = await hub.hub.read(workloads.get, uid)
    assert row is not None
    return row


async def report(hub: Served, query: str = "", **status: Any) -> httpx.Response:
    content = orjson.dumps({"status": status})
    return await hub.admin.patch(f"{PATH}/status{query}", content=content, headers=MERGE)


def ready(status: str) -> list[dict[str, str]]:
    return [{"type": "PodsReady", "status": status}]


def finished(reason: str) -> dict[str, str]:
    return {"type": "Finished", "status": "True", "reason": reason, "message": ""}


async def test_pods_are_ready_since_they_first_were(tmp_path):
    """Losing some, regaining them and saying so again does not move that time; nor does the loss move."""
    async with served(tmp_path) as hub:
        uid = await admitted(hub)
        told = []
        for status in ("True", "True", "False", "False", "True"):
            hub.clock.advance(60)
            await report(hub, conditions=ready(status))
            row = await row_of(hub, uid)
            first, lost = row.pods_ready_at, row.pods_lost_at
            told.append((first and first.minute, lost and lost.minute))
        assert told == [(1, None), (1, None), (1, 3), (1, 3), (1, None)]


async def test_pods_that_were_never_ready_are_not_lost(tmp_path):
    """A first word that they are not ready says nothing new: their time to become so goes on."""
    async with served(tmp_path) as hub:
        uid = await admitted(hub)
        await report(hub, conditions=ready("False"))
        row = await row_of(hub, uid)
        assert (row.pods_ready_at, row.pods_lost_at) == (None, None)


@pytest.mark.parametrize(
    ("epoch", "status"), [("", 200), ("?epoch=0", 409), ("?epoch=1", 200), ("?epoch=2", 409)]
)
async def test_an_epoch_is_compared_wherever_it_is_given(tmp_path, epoch, status):
    """Neither an earlier run nor one to come is meant by a report that ends this one; readiness as well."""
    async with served(tmp_path) as hub:
        await admitted(hub)
        assert (await report(hub, epoch, conditions=ready("True"))).status_code == status
        assert (await report(hub, epoch, conditions=[finished("Failed")])).status_code == status


async def test_of_two_ends_that_come_together_the_first_counts(tmp_path):
    """In one transaction as in two: what has ended stays as it ended."""
    async with served(tmp_path) as hub:
        uid = await admitted(hub)
        reports = [
            executors.ExecutorReport("team-a", "w", read_status({"conditions": [each]}), "x")
            for each in (finished("Failed"), finished("Succeeded"))
        ]
        await hub.hub.write(executors.take_reports, reports)
        assert (await row_of(hub, uid)).state == "Failed"


async def test_a_report_that_is_refused_leaves_nothing_though_another_is_taken(tmp_path):
    """What is refused in its second half did nothing in its first, whoever reports at the same time."""
    async with served(tmp_path) as hub:
        uid = await admitted(hub)
        await hub.admin.post("/v1/workloads", json=a_workload("other"))
        content = orjson.dumps({"status": {"conditions": [finished("Succeeded")]}})
        too_many = [{"name": "main", "count": 5}]
        free, held = threading.Event(), threading.Event()

        def hold(_: Transaction) -> bool:
            held.set()
            return free.wait(20)

        holding = asyncio.ensure_future(hub.hub.write(hold))
        await eventually(held.is_set)
        both = asyncio.gather(
            report(hub, conditions=ready("True"), reclaimablePods=too_many),
            hub.admin.patch("/v1/workloads/team-a/other/status", content=content, headers=MERGE),
        )
        await eventually(lambda: hub.hub.waiting_writes >= 3)  # both wait for the one that holds
        free.set()
        await holding
        refused, taken = await both
        assert (refused.json()["code"], taken.json()["state"]) == ("OutOfRange", "Succeeded")
        assert (await row_of(hub, uid)).ready == 0


async def test_a_row_is_touched_only_by_what_is_new(tmp_path):
    """Readiness and pods given back that stand already change nothing, and wake nobody."""
    async with served(tmp_path) as hub:
        await admitted(hub, pods=3)
        back = [{"name": "main", "count": 1}]
        await report(hub, conditions=ready("True"))
        await report(hub, reclaimablePods=back)
        before = hub.db.revision
        await report(hub, conditions=ready("True"))
        await report(hub, reclaimablePods=back)
        assert hub.db.revision == before
        await report(hub, reclaimablePods=[{"name": "main", "count": 2}])
        assert hub.db.revision > before
