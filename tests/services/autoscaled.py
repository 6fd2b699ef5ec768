"""Members with pools that may grow: declared, joined, and what their agents report."""

from typing import Any

from hub.store import clusters
from tests.services.hubs import Running

GROUP = {"group": "burst"}


def declared(name: str, most: int, labels: dict[str, str] | None = None) -> dict[str, Any]:
    """A MemberCluster with a pool of 4-cpu nodes, at most so many."""
    pool = {
        "name": "burst", "maxNodes": most, "labels": GROUP if labels is None else labels,
        "allocatable": {"cpu": "4", "memory": "16Gi"},
    }  # fmt: skip
    return {
        "apiVersion": "cluster.kubernetes-fleet.io/v1",
        "kind": "MemberCluster",
        "metadata": {"name": name},
        "spec": {"pools": [pool]},
    }


async def a_member(hub: Running, name: str, most: int, *pools: dict[str, Any]) -> None:
    """Declare a member, let it join, and let it report by the labels that the hub asks for."""
    await hub.apply(declared(name, most))
    now = hub.clock.now()
    await hub.hub.db.write(
        lambda unit: clusters.change(unit, name, joined_at=now, heartbeat_at=now)
    )
    await hub.settle()
    await report(hub, name, *pools)


async def report(hub: Running, name: str, *pools: dict[str, Any], **capacity: Any) -> None:
    """What the agent says, grouped by the keys in force."""
    await hub.cluster(name, *pools, pools_revision=hub.scheduler.index.keys.revision, **capacity)
