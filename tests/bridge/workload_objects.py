"""Workload objects on the hub cluster: the one of the guide's Job, read and changed."""

from typing import Any

from hub.store.records.workloads import Workload
from tests.bridge.guide import apply_guide, workload
from tests.bridge.hub_cluster import World, until
from tests.services.members.hubs import ran

KUEUE = "kueue.x-k8s.io/v1beta1"


NAMESPACE = "compute-jobs"


async def shown(it: World) -> dict[str, Any] | None:
    """The Workload of the guide's Job, once its conditions are written."""
    listing = await it.kube.list(KUEUE, "Workload", NAMESPACE)
    found = [each for each in listing.items if each["metadata"]["name"].startswith("job-mock-")]
    return found[0] if found and found[0].get("status", {}).get("conditions") else None


def said(obj: dict[str, Any]) -> dict[str, str]:
    return {c["type"]: f"{c['status']} {c['reason']}" for c in obj["status"]["conditions"]}


async def says(it: World, kind: str, expected: str) -> dict[str, Any] | None:
    """The Workload, once a condition reads so."""
    found = await shown(it)
    return found if found and said(found).get(kind) == expected else None


async def running(it: World) -> Workload:
    """The guide's Job, placed on member north and running there; its row."""
    await apply_guide(it)
    row = await until(lambda: workload(it, "mock-workload"))
    agent = await it.hub.join("north")
    it.agents["north"] = agent
    await it.hub.place(row.uid, "north")
    await agent.sync()
    await agent.sync(ran(row.uid, active=3, ready=3, running_since="2026-05-01T00:00:01Z"))
    return row


async def patch(it: World, obj: Any, change: Any, subresource: str | None = None) -> None:
    await it.kube.merge_patch(
        KUEUE,
        "Workload",
        NAMESPACE,
        obj["metadata"]["name"],
        change,
        field_manager="kubectl-edit",
        subresource=subresource,
    )
