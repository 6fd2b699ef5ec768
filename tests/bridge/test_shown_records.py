"""Records of placements on the hub cluster: what kubectl shows of them, and that the hub alone keeps them."""

from pathlib import Path
from typing import Any

import pytest

from hub.services.context.settings import BridgeSettings, Settings
from hub.services.objects.delete import delete_object
from shared import labels
from shared.groups import PLACEMENT
from shared.kube import errors
from shared.kubesim.requests.call import Call, Reply
from tests import waiting
from tests.bridge.defined import with_hub_kinds
from tests.bridge.hub_cluster import FIELDS, World, until, world
from tests.bridge.rest import apply
from tests.services.members.hubs import seen
from tests.services.placements.fleet import capacity

pytestmark = pytest.mark.anyio
VERSION = f"{PLACEMENT}/v1beta1"
CONFIG = """
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: shop}
data: {color: blue}
---
apiVersion: v1
kind: Secret
metadata: {name: key, namespace: shop}
stringData: {password: hunter2}
---
apiVersion: placement.kubernetes-fleet.io/v1
kind: ClusterResourcePlacement
metadata: {name: shop}
spec:
  resourceSelectors: [{group: "", version: v1, kind: Namespace, name: shop}]
"""
OWN = """
apiVersion: placement.kubernetes-fleet.io/v1
kind: ResourcePlacement
metadata: {name: own, namespace: shop}
spec:
  resourceSelectors: [{group: "", version: v1, kind: ConfigMap, name: settings}]
  policy: {placementType: PickN, numberOfClusters: 1}
"""


async def shown(it: World, kind: str) -> list[dict[str, Any]]:
    try:
        return list((await it.kube.list(VERSION, kind)).items)
    except errors.KindNotServed:  # the bridge installs it
        return []


async def names(it: World, kind: str) -> list[str]:
    return sorted(each["metadata"]["name"] for each in await shown(it, kind))


async def count(it: World, kind: str, number: int) -> list[dict[str, Any]]:
    """The records of a kind, once there are as many."""

    async def there() -> Any:
        return len(await shown(it, kind)) == number

    await until(there)
    return await shown(it, kind)


async def joined(it: World, *members: str) -> None:
    for name in members:
        agent = it.agents[name] = await it.hub.join(name)
        await agent.sync(capacity=capacity(8, 32))


async def synced(it: World) -> None:
    """Agents say that what they were given is there."""
    for agent in it.agents.values():
        await agent.sync()
        entries = []
        for work in agent.works.values():
            entry = seen(work["uid"], "Applied", 0, available=True)
            entry.generation = work["generation"]
            entries.append(entry)
        await agent.sync(*entries)


async def withdrawn(it: World) -> None:
    """Agents say that what they are to withdraw is gone."""
    for agent in it.agents.values():
        await agent.sync()
        left = [work for work in agent.works.values() if work["action"] == "Withdraw"]
        await agent.sync(*(seen(work["uid"], "Gone", 0) for work in left))


def states(obj: dict[str, Any]) -> dict[str, str]:
    return {each["type"]: each["status"] for each in obj.get("status", {}).get("conditions", ())}


async def test_all_records_of_a_placement_are_shown(tmp_path: Path):
    """By KubeFleet's names and labels, with states that follow; what is secret is hidden."""
    async with world(tmp_path) as it:
        await joined(it, "m1", "m2")
        await apply(it, CONFIG)
        bindings = await count(it, "ClusterResourceBinding", 2)
        assert {each["spec"]["targetCluster"] for each in bindings} == {"m1", "m2"}
        await synced(it)
        works = await count(it, "Work", 2)
        assert [each["metadata"]["namespace"] for each in works] == [
            "fleet-member-m1",
            "fleet-member-m2",
        ]
        given = [each["kind"] for each in works[0]["spec"]["workload"]["manifests"]]
        assert sorted(given) == ["ConfigMap", "Namespace", "Secret"]

        async def there() -> bool:
            all_of_it = await shown(it, "ClusterResourceBinding") + await shown(it, "Work")
            return all(states(each).get("Available") == "True" for each in all_of_it)

        await until(there)
        (policy,) = await shown(it, "ClusterSchedulingPolicySnapshot")
        assert policy["metadata"]["name"] == "shop-0"
        (snapshot,) = await shown(it, "ClusterResourceSnapshot")
        assert snapshot["metadata"]["name"] == "shop-0-snapshot"
        assert snapshot["metadata"]["labels"] == {
            "kubernetes-fleet.io/parent-CRP": "shop",
            "kubernetes-fleet.io/resource-index": "0",
            "kubernetes-fleet.io/is-latest-snapshot": "true",
            labels.ORIGIN: "hub",
        }
        assert "hunter2" not in str(snapshot)
        bound = (await shown(it, "ClusterResourceBinding"))[0]["spec"]
        assert (bound["state"], bound["resourceSnapshotName"]) == ("Bound", "shop-0-snapshot")


async def test_records_follow_revisions_and_go_with_the_placement(tmp_path: Path):
    """A new revision is a new snapshot, the older no longer the latest; of a namespaced one, too."""
    async with world(tmp_path) as it:
        await joined(it, "m1")
        await apply(it, CONFIG.rpartition("---")[0] + "---" + OWN)
        await count(it, "ResourceBinding", 1)
        await synced(it)
        await apply(it, CONFIG.rpartition("---")[0].replace("blue", "green"))
        await count(it, "ResourceSnapshot", 2)

        async def latest() -> bool:
            marks = {
                each["metadata"]["name"]: each["metadata"]["labels"][
                    "kubernetes-fleet.io/is-latest-snapshot"
                ]
                for each in await shown(it, "ResourceSnapshot")
            }
            return marks == {"own-0-snapshot": "false", "own-1-snapshot": "true"}

        await until(latest)
        assert await names(it, "SchedulingPolicySnapshot") == ["own-0"]
        assert await names(it, "Work") == ["shop.own-work"]


async def test_nobody_else_writes_records(tmp_path: Path):
    """The policy that guards mirrors guards them, too."""
    async with world(tmp_path) as it:
        await joined(it, "m1")
        await apply(it, CONFIG)
        (binding,) = await count(it, "ClusterResourceBinding", 1)
        name = binding["metadata"]["name"]
        with pytest.raises(errors.KubeError, match="only the hub"):
            await it.kube.delete(VERSION, "ClusterResourceBinding", "", name)
        change = {"spec": {"state": "Unscheduled"}}
        with pytest.raises(errors.KubeError, match="only the hub"):
            await it.kube.merge_patch(
                VERSION, "ClusterResourceBinding", "", name, change, field_manager=FIELDS
            )


async def test_without_the_policy_records_are_put_back(tmp_path: Path):
    """What was changed is as before, what was deleted is made again; nothing follows from either."""
    cluster = with_hub_kinds(mirror_policy=False)
    await cluster.start()
    try:
        async with world(tmp_path, cluster) as it:
            await joined(it, "m1")
            await apply(it, CONFIG)
            (binding,) = await count(it, "ClusterResourceBinding", 1)
            name, uid = binding["metadata"]["name"], binding["metadata"]["uid"]
            change = {
                "spec": {"targetCluster": "m9"},
                "metadata": {"labels": {labels.ORIGIN: None}},
            }
            await it.kube.merge_patch(
                VERSION, "ClusterResourceBinding", "", name, change, field_manager=FIELDS
            )

            async def back() -> bool:
                (live,) = await shown(it, "ClusterResourceBinding")
                marks = live["metadata"].get("labels") or {}
                return live["spec"]["targetCluster"] == "m1" and labels.ORIGIN in marks

            await until(back)
            await it.kube.delete(VERSION, "ClusterResourceBinding", "", name)

            async def again() -> bool:
                found = await shown(it, "ClusterResourceBinding")
                return bool(found) and found[0]["metadata"]["uid"] != uid

            await until(again)
    finally:
        await cluster.stop()


async def test_reports_without_news_write_nothing(tmp_path: Path):
    """However often agents say that all is as it was."""
    async with world(tmp_path) as it:
        await joined(it, "m1")
        await apply(it, CONFIG)
        await count(it, "Work", 1)
        await synced(it)

        async def there() -> bool:
            return all(states(each).get("Available") == "True" for each in await shown(it, "Work"))

        await until(there)
        await until(lambda: quiet(it))
        before = await versions(it)
        for _ in range(3):
            await synced(it)
        await until(lambda: quiet(it))
        assert await versions(it) == before


async def quiet(it: World) -> bool:
    """Two looks a while apart see the same."""
    before = await versions(it)
    await it.hub.hub.clock.sleep(1.5)
    return before == await versions(it)


async def versions(it: World) -> list[str]:
    kinds = ("Work", "ClusterResourceBinding", "ClusterResourceSnapshot")
    return [
        each["metadata"]["resourceVersion"] for kind in kinds for each in await shown(it, kind)
    ]


async def test_they_can_be_left_away_and_are_bounded(tmp_path: Path):
    """A placement is shown whole or not at all, once there is room; Off takes away what was shown."""
    few = Settings(bridge=BridgeSettings(records_at_most=6))
    cluster = with_hub_kinds()
    await cluster.start()
    try:
        async with world(tmp_path, cluster, limits=few) as it:
            await joined(it, "m1")
            await apply(it, CONFIG)
            await count(it, "Work", 1)
            await apply(
                it, CONFIG.replace("name: shop", "name: other").replace(": shop", ": other")
            )

            async def told() -> bool:
                return bool(it.bridge.condition.records_shown == "Some")

            await until(told)
            assert await names(it, "ClusterSchedulingPolicySnapshot") == ["shop-0"]
            await it.hub.write(
                delete_object, PLACEMENT, "ClusterResourcePlacement", "", "shop",
                origin="rest", principal="ann",
            )  # fmt: skip

            async def other_there() -> bool:
                await waiting.span(0.5, why="agents ask a few times a second")
                await withdrawn(it)
                policies = await names(it, "ClusterSchedulingPolicySnapshot")
                return policies == ["other-0"] and it.bridge.condition.records_shown == "All"

            await until(other_there)
        off = Settings(bridge=BridgeSettings(records="Off"))
        async with world(tmp_path, cluster, limits=off) as it:
            await count(it, "Work", 0)
            await count(it, "ClusterResourceSnapshot", 0)
    finally:
        await cluster.stop()


class Replaced:
    """Bindings that somebody replaces by their own just before they are deleted."""

    def __init__(self, it: World) -> None:
        self.uid = ""
        self._it = it
        self._then = it.cluster.server.intercept
        it.cluster.server.intercept = self

    async def before(self, call: Call, verb: str) -> Reply | None:
        asked = call.resource is not None and call.resource.plural == "clusterresourcebindings"
        if asked and verb == "delete" and not self.uid:
            self.uid = "being made"
            live = await self._it.kube.get(VERSION, "ClusterResourceBinding", "", call.name)
            await self._it.kube.delete(VERSION, "ClusterResourceBinding", "", call.name)
            own = {
                **{name: live[name] for name in ("apiVersion", "kind", "spec")},
                "metadata": {"name": call.name},
            }
            made = await self._it.kube.create(own, field_manager=FIELDS)
            self.uid = made["metadata"]["uid"]
        return await self._then.before(call, verb) if self._then else None

    async def after(self, call: Call, verb: str, reply: Reply) -> Reply:
        return await self._then.after(call, verb, reply) if self._then else reply


async def test_what_took_the_name_of_a_record_stays(tmp_path: Path):
    """A record is deleted by its uid: another object of that name is its maker's."""
    cluster = with_hub_kinds(mirror_policy=False)
    await cluster.start()
    try:
        async with world(tmp_path, cluster) as it:
            await joined(it, "m1")
            await apply(it, CONFIG)
            await count(it, "ClusterResourceBinding", 1)
            await synced(it)
            other = Replaced(it)
            await it.hub.write(
                delete_object, PLACEMENT, "ClusterResourcePlacement", "", "shop",
                origin="rest", principal="ann",
            )  # fmt: skip

            async def gone() -> bool:
                await waiting.span(0.5, why="agents ask a few times a second")
                await withdrawn(it)
                return await shown(it, "ClusterResourceSnapshot") == []

            await until(gone)
            await count(it, "Work", 0)
            found = [each["metadata"]["uid"] for each in await shown(it, "ClusterResourceBinding")]
            assert found == [other.uid]
    finally:
        await cluster.stop()
