"""Statuses that members report, on objects of the hub cluster."""

from pathlib import Path
from typing import Any

import pytest

from hub.bridge.object_status import reported, with_generation
from shared.kube import errors
from tests.bridge.hub_cluster import World, until, world
from tests.services.members.hubs import seen

pytestmark = pytest.mark.anyio
MIRRORED = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.org}
spec:
  group: example.org
  scope: Namespaced
  names: {plural: things, singular: thing, kind: Thing, listKind: ThingList}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
---
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: placement.kubernetes-fleet.io/v1
kind: ResourcePlacement
metadata: {name: things, namespace: shop}
spec:
  resourceSelectors: [{group: example.org, version: v1, kind: Thing, name: one}]
  policy: {placementType: PickN, numberOfClusters: 1}
  strategy: {reportBackStrategy: {type: Mirror, destination: OriginalResource}}
"""
THING = """
apiVersion: example.org/v1
kind: Thing
metadata: {name: one, namespace: shop}
spec: {size: 1}
"""


async def served(it: World, api_version: str, kind: str) -> bool:
    try:
        await it.kube.list(api_version, kind)
    except errors.KubeError:
        return False
    return True


async def test_a_reported_status_stands_on_the_object_of_the_hub_cluster(tmp_path: Path):
    """Each later one in place of the one before, also where it says less."""
    async with world(tmp_path) as it:
        agent = await it.hub.join("north")
        await until(lambda: served(it, "placement.kubernetes-fleet.io/v1", "ResourcePlacement"))
        await it.apply(MIRRORED)
        await until(lambda: served(it, "example.org/v1", "Thing"))
        await it.apply(THING)

        async def given() -> Any:
            await agent.sync(wait_s=2)
            return [work for work in agent.works.values() if work["kind"] == "Thing"]

        (work,) = await until(given)

        async def told(status: Any) -> Any:
            entry = seen(work["uid"], "Applied", 0, status=status)
            entry.generation = work["generation"]
            await agent.sync(entry)

            async def there() -> bool:
                live = await it.kube.get("example.org/v1", "Thing", "shop", "one")
                return bool(live.get("status") == status)

            return await until(there)

        assert await told({"phase": "Starting", "ready": 0})
        assert await told({"phase": "Ready"})


@pytest.mark.parametrize(
    ("group", "status", "live", "wanted"),
    [
        ("example.org", {"a": 1}, None, {"a": 1}),
        ("example.org", {"a": 1}, {"a": 1}, None),
        ("example.org", {"a": 1}, {"a": 2, "b": 3}, {"a": 1, "b": None}),
        ("example.org", None, {"b": 3}, None),
        ("example.org", {"conditions": [{"type": "NotActedOn"}]}, {"b": 3}, None),
        ("apps", {"replicas": 1}, None, None),
        ("networking.k8s.io", {"a": 1}, None, None),
        ("", {"phase": "Active"}, None, None),
    ],
)
def test_what_is_written_on_an_object(group: str, status: Any, live: Any, wanted: Any):
    """Of custom resources alone, and nothing where nothing is reported: others have controllers there."""
    assert reported(group, status, {"status": live} if live is not None else {}) == wanted


def test_generations_that_a_member_reports_are_its_own():
    """In a placement's status those of the hub's objects become the hub cluster's, and no others."""
    told = {"reportedStatuses": [{"status": {"observedGeneration": 2}}], "observedGeneration": 2}
    assert with_generation(told, 2, 5) == {**told, "observedGeneration": 5}
