"""A hub with a real store and the scheduler driven by hand: builders for fleets, queues and jobs."""

import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import orjson

from hub.domain.workloads.states import Transition
from hub.services.context import leadership
from hub.services.context.hub import Hub
from hub.services.context.settings import Settings
from hub.services.explain import job
from hub.services.explain.as_it_is_now import quota_view, waiting_view
from hub.services.index.reader import FOLLOWED
from hub.services.objects.apply import apply_documents
from hub.services.reading.draft import draft
from hub.services.scheduling.turn import Scheduler
from hub.store import clusters, workloads
from hub.store.engine import Database
from hub.store.feed import Subscription
from hub.store.records.members import Member
from hub.store.records.workloads import Workload, change_of, move_of
from hub.store.transaction import Transaction
from shared import quantity
from shared.clock import Clock, ManualClock
from shared.kinds.registry import parse
from tests.prepared import url_of
from tests.store.build import a_member

KUEUE = "kueue.x-k8s.io/v1beta2"


class Running:
    """A hub, its scheduler, and what a test does to them."""

    def __init__(self, hub: Hub, scheduler: Scheduler, feed: Subscription) -> None:
        self.hub, self.scheduler, self._feed = hub, scheduler, feed
        self.clock: ManualClock = hub.clock  # type: ignore[assignment]

    async def apply(self, *manifests: dict[str, Any]) -> list[str]:
        """Apply manifests as a user would; uids in order."""

        def run(tx: Transaction) -> list[str]:
            drafts = [replace(draft(parse(m), tx.now), may_set_priority=True) for m in manifests]
            applied = apply_documents(tx, drafts, self.hub.settings.intake)
            assert all(a.error is None for a in applied), applied
            return [d.uid for d in drafts]

        return await self.hub.db.write(run)

    async def cluster(self, name: str, *pools: dict[str, Any], **capacity: Any) -> None:
        """Declare a member and report its pools; or report again."""

        def run(tx: Transaction) -> None:
            if clusters.get(tx, name) is None:
                clusters.add(tx, _member(tx, name))
            report = {"pools_revision": 0, "pools": list(pools), "bound": [], **capacity}
            clusters.set_capacity(tx, name, orjson.dumps(report))

        await self.hub.db.write(run)

    async def follow(self) -> None:
        """Take in what was committed since the last look."""
        change, revision = self._feed.take(), self._feed.revision
        if not self.scheduler.loaded:
            await self.scheduler.load()
        else:
            await self.scheduler.follow(change.keys if change else {}, revision)

    async def settle(self, turns: int = 50) -> None:
        """Follow the feed and take turns until nothing changes any more."""
        for _ in range(turns):
            await self.follow()
            more = await self.scheduler.turn()
            if not more and self._feed.take() is None:
                return
        raise AssertionError("the scheduler does not come to rest")

    async def job(self, uid: str) -> Workload:
        row = await self.hub.read(workloads.get, uid)
        assert row is not None
        return row

    async def jobs(self, uids: Sequence[str]) -> list[Workload]:
        return list((await self.hub.read(workloads.get_many, uids)).values())

    async def explain(self, uid: str) -> dict[str, Any]:
        index = self.scheduler.index
        views = waiting_view(index, uid), quota_view(index, uid)
        return await self.hub.read(job.explain_job, uid, *views)

    async def change(self, uid: str, **columns: Any) -> None:
        """Set columns of a job, as another service would."""
        await self.hub.db.write(
            lambda tx: workloads.change(tx, [change_of(uid, cast("Any", columns))])
        )

    async def transition(self, name: str, uid: str, **columns: Any) -> None:
        """Move a job by hand, as an agent's report would."""
        row = await self.job(uid)

        def run(tx: Transaction) -> list[str]:
            return workloads.transition(
                tx, Transition(name), [move_of(uid, row.epoch, cast("Any", columns))]
            )

        assert await self.hub.db.write(run) == [uid]


@contextlib.asynccontextmanager
async def running(
    folder: Path, limits: Settings | None = None, clock: Clock | None = None
) -> AsyncIterator[Running]:
    """A hub over a store in `folder`, that leads."""
    clock = clock or ManualClock()
    db = Database.open(url_of(folder), clock)
    hub = Hub(db, clock, limits)
    term = await hub.write(leadership.seize, "test")
    feed = hub.subscribe(*FOLLOWED)
    try:
        yield Running(hub, Scheduler(hub, lambda: term), feed)
    finally:
        feed.close()
        await db.close()


def a_pool(
    nodes: int = 1, labels: dict[str, str] | None = None, **amounts: str | int
) -> dict[str, Any]:
    """Equal empty nodes; `cpu="4"`, `memory="8Gi"`, `gpu=8`."""
    named = {"nvidia.com/gpu" if n == "gpu" else n: v for n, v in amounts.items()}
    named.setdefault("pods", 110)
    exact = [quantity.parse(n, v) for n, v in named.items()]
    return {
        "labels": labels or {},
        "taints": [],
        "resources": list(named),
        "nodes": [{"name": f"n{i}", "allocatable": exact, "free": exact} for i in range(nodes)],
    }


def a_job(name: str, namespace: str = "team-a", **given: Any) -> dict[str, Any]:
    """A Job of one pod with 1 cpu; `requests`, `queue`, `count`, `annotations`, `labels`, `pod`."""
    labels = dict(given.get("labels") or {})
    if given.get("queue"):
        labels["kueue.x-k8s.io/queue-name"] = given["queue"]
    count = given.get("count", 1)
    requests = given.get("requests") or {"cpu": "1"}
    resources = {"requests": requests, "limits": {n: a for n, a in requests.items() if "/" in n}}
    container = {"name": "main", "image": "busybox:1.36", "resources": resources}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": labels,
            "annotations": given.get("annotations") or {},
        },
        "spec": {
            "parallelism": count,
            "completions": count,
            "template": {
                "spec": {
                    "restartPolicy": "Never",
                    "containers": [container],
                    **(given.get("pod") or {}),
                }
            },
        },
    }


def a_queue(name: str, namespace: str = "team-a", **given: Any) -> list[dict[str, Any]]:
    """Flavor, ClusterQueue and LocalQueue of one name; `quota` {resource: text}, `spec`, `flavor`."""
    quota = given.get("quota") or {"cpu": "100"}
    flavor = f"{name}-flavor"
    spec = {
        "namespaceSelector": {},
        "resourceGroups": [
            {
                "coveredResources": list(quota),
                "flavors": [
                    {
                        "name": flavor,
                        "resources": [
                            {"name": r, "nominalQuota": text} for r, text in quota.items()
                        ],
                    }
                ],
            }
        ],
        **(given.get("spec") or {}),
    }
    return [
        {
            "apiVersion": KUEUE,
            "kind": "ResourceFlavor",
            "metadata": {"name": flavor},
            "spec": given.get("flavor") or {},
        },
        {"apiVersion": KUEUE, "kind": "ClusterQueue", "metadata": {"name": name}, "spec": spec},
        {
            "apiVersion": KUEUE,
            "kind": "LocalQueue",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"clusterQueue": name},
        },
    ]


def _member(tx: Transaction, name: str) -> Member:
    joined = {"cluster_uid": f"uid-{name}", "joined_at": tx.now, "heartbeat_at": tx.now}
    return a_member(name, created_at=tx.now, **joined)


def a_placement(
    name: str,
    group: str,
    kind: str,
    selected: str,
    namespace: str = "",
    policy: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """A placement of one object by name; cluster-scoped without namespace."""
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    selector = {"group": group, "version": "v1", "kind": kind, "name": selected}
    return {
        "apiVersion": "placement.kubernetes-fleet.io/v1",
        "kind": "ResourcePlacement" if namespace else "ClusterResourcePlacement",
        "metadata": metadata,
        "spec": {
            "resourceSelectors": [selector],
            "policy": policy or {"placementType": "PickAll"},
        },
    }
