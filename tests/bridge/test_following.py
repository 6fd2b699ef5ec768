"""Which kinds the bridge follows because placements select them, and what it may not read."""

import asyncio
from pathlib import Path

import pytest
from sqlalchemy import select

from hub.domain.workloads.origin import Origin
from hub.services.context.settings import Intake
from hub.services.objects.apply import apply_documents
from hub.services.reading.draft import draft
from hub.store.tables import snapshots
from shared.kinds import parse
from tests.bridge.guide import CRDS, mirrored
from tests.bridge.hub_cluster import World, until, world
from tests.services.placements.fleet import conditions

pytestmark = pytest.mark.anyio

WHOLE = """
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: shop}
data: {color: blue}
---
apiVersion: placement.kubernetes-fleet.io/v1beta1
kind: ClusterResourcePlacement
metadata: {name: everything}
spec:
  resourceSelectors: [{group: "", version: v1, kind: Namespace, name: shop}]
"""
SERVICE = """
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {ports: [{port: 80}]}
"""
CRD = "clusterresourceplacements.placement.kubernetes-fleet.io"


async def test_what_may_not_be_read_is_said_by_the_placement_that_lacks_it(tmp_path: Path):
    """One condition names the kinds; the rest of the namespace is taken all the same."""
    async with world(tmp_path) as it:
        await until(lambda: it.get("CustomResourceDefinition", CRD, version=CRDS))
        fault = it.cluster.faults.add("403", verb="list", resource="secrets", count=0)
        await it.apply(WHOLE)
        placement = await until(lambda: incomplete(it, "False"))
        (said,) = [
            each
            for each in placement["status"]["conditions"]
            if each["type"] == "SelectionComplete"
        ]
        assert (said["reason"], "Secret" in said["message"]) == ("KindsNotReadable", True)
        await until(lambda: mirrored(it, "ConfigMap", "shop", "settings"))
        assert fault.hits == 1


async def test_placements_that_change_in_an_outage_leave_no_loops_behind(tmp_path: Path):
    """One set of loops bridges, however often the hub cluster did not answer."""
    async with world(tmp_path) as it:
        await until(lambda: it.get("CustomResourceDefinition", CRD, version=CRDS))
        await it.apply(WHOLE)
        await until(lambda: mirrored(it, "ConfigMap", "shop", "settings"))
        before = loops()
        for round_ in ("a", "b"):
            await changed_in_an_outage(it, round_)
        assert loops() == before


async def test_a_placement_is_taken_with_what_it_selects(tmp_path: Path):
    """Its kinds are read first: what they have is part of its first version, no change of it."""
    async with world(tmp_path) as it:
        await until(lambda: it.get("CustomResourceDefinition", CRD, version=CRDS))
        *objects, placement = WHOLE.split("---")
        await it.apply("---".join([*objects, SERVICE]))
        await it.apply(placement)
        await until(lambda: mirrored(it, "Service", "shop", "web"))
        await until(lambda: it.hub.hub.read(placed_resources))
        assert (await it.hub.hub.read(placed_resources)) == [
            [("ConfigMap", "settings"), ("Namespace", "shop"), ("Service", "web")]
        ]


async def test_a_placement_does_not_wait_for_a_kind_that_can_not_be_read(tmp_path: Path):
    """What is refused, and what is not served, hold up nobody; the rest is taken."""
    async with world(tmp_path) as it:
        await until(lambda: it.get("CustomResourceDefinition", CRD, version=CRDS))
        it.cluster.faults.add("403", verb="list", resource="secrets", count=0)
        await it.apply(WHOLE)
        await until(lambda: mirrored(it, "ConfigMap", "shop", "settings"), 5)


async def changed_in_an_outage(it: World, name: str) -> None:
    """A placement comes by REST while the hub cluster does not answer; afterwards all goes on."""
    outage = it.cluster.faults.add("503", count=0)
    await it.hub.write(declare, f"p-{name}", f"{name}.example.com")
    await until(lambda: struck(outage))
    it.cluster.faults.remove()
    await it.apply(WHOLE.replace("settings", f"later-{name}"))
    await until(lambda: mirrored(it, "ConfigMap", "shop", f"later-{name}"), 30)


async def struck(fault) -> bool:
    return fault.hits > 0


def loops() -> int:
    """Loops that take turns."""
    names = [getattr(task.get_coro(), "__qualname__", "") for task in asyncio.all_tasks()]
    return names.count("Loop.run")


def declare(tx, name: str, group: str) -> None:
    """A placement by REST."""
    document = {
        "apiVersion": "placement.kubernetes-fleet.io/v1beta1",
        "kind": "ClusterResourcePlacement",
        "metadata": {"name": name},
        "spec": {
            "resourceSelectors": [
                {"group": group, "version": "v1", "kind": "Widget", "name": name},
                {"group": "", "version": "v1", "kind": "Namespace", "name": "other"},
            ]
        },
    }
    given = draft(parse(document), tx.now, origin=Origin.REST)
    (result,) = apply_documents(tx, [given], Intake())
    assert result.error is None, result.error


def placed_resources(tx) -> list[list[tuple[str, str]]]:
    """Kind and name of what each version of all placements holds."""
    query = select(snapshots.c.content).where(snapshots.c.part == "resources")
    versions = tx.conn.execute(query).scalars()
    return [sorted((kind, name) for _, _, kind, _, name in each["selected"]) for each in versions]


async def incomplete(it: World, status: str):
    placement = await it.get("ClusterResourcePlacement", "everything")
    found = conditions({"conditions": [], **(placement.get("status") or {})})
    return placement if found.get("SelectionComplete", ("",))[0] == status else None
