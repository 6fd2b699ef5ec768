"""Queues, members and placements of REST are shown on the hub cluster, and kept by the hub alone."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from hub.services.objects import clusters as declared
from hub.store import events, objects
from shared import labels
from shared.kube import errors
from shared.kubesim.server import mirror_guard
from tests.bridge.defined import with_hub_kinds
from tests.bridge.guide import absent
from tests.bridge.hub_cluster import World, until, warnings, world
from tests.bridge.rest import (
    QUEUES,
    apply,
    is_mirror,
    mirror,
    refusal,
    remove,
    try_to_apply,
)
from tests.e2e.running import REPOSITORY

pytestmark = pytest.mark.anyio
QUEUE = ("ClusterQueue", "main")
OTHER = """
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: main}
spec: {namespaceSelector: {}}
"""


async def test_queues_of_rest_are_shown_with_their_status(tmp_path: Path):
    """As they were sent, marked, with who sent them; their namespace is made; counts come with them."""
    async with world(tmp_path) as it:
        await apply(it, QUEUES, by="olga")
        queue = await mirror(it, *QUEUE)
        await mirror(it, "ResourceFlavor", "plain")
        local = await mirror(it, "LocalQueue", "team", "team-a")
        assert queue["metadata"]["labels"] == {"team": "blue", labels.ORIGIN: "rest"}
        assert queue["metadata"]["annotations"][labels.SUBMITTED_BY] == "olga"
        assert local["spec"] == {"clusterQueue": "main"}
        assert "finalizers" not in queue["metadata"]

        async def counted() -> bool:
            status = (await it.get(*QUEUE)).get("status") or {}
            return "pendingWorkloads" in status

        await until(counted)


async def test_a_namespace_that_is_made_for_them_has_the_labels_of_the_hubs(tmp_path: Path):
    """What is read back from the hub cluster takes nothing away that selectors of queues go by."""
    named = "apiVersion: v1\nkind: Namespace\nmetadata: {name: team-a, labels: {team: blue}}\n"
    async with world(tmp_path) as it:
        await apply(it, named)
        await apply(it, QUEUES)
        await mirror(it, "LocalQueue", "team", "team-a")
        made = await it.get("Namespace", "team-a")
        assert made["metadata"]["labels"]["team"] == "blue"

        async def read_back() -> bool:
            row = await it.hub.hub.read(objects.find, "", "Namespace", "", "team-a")
            assert row is not None
            return "kubernetes.io/metadata.name" in row.labels and row.labels["team"] == "blue"

        await until(read_back)


async def test_members_of_rest_are_shown(tmp_path: Path):
    """With the conditions that a MemberCluster has."""
    async with world(tmp_path) as it:
        settings = it.hub.hub.settings
        await it.hub.write(declared.create_cluster, "north", {"zone": "a"}, [], settings, "ann")
        await mirror(it, "MemberCluster", "north")

        async def ready() -> Any:
            return (await it.get("MemberCluster", "north")).get("status", {}).get("conditions")

        await until(ready)


async def test_a_change_by_rest_is_shown_and_so_is_the_end(tmp_path: Path):
    """The mirror follows its row until that is gone."""
    async with world(tmp_path) as it:
        await apply(it, QUEUES)
        first = await mirror(it, *QUEUE)
        await apply(it, QUEUES.replace("nominalQuota: 5", "nominalQuota: 7"), by="ben")
        await until(lambda: quota(it, 7))
        changed = await mirror(it, *QUEUE)
        assert changed["metadata"]["uid"] == first["metadata"]["uid"]
        assert changed["metadata"]["annotations"][labels.SUBMITTED_BY] == "ann"
        await remove(it, "LocalQueue", "team", "team-a")
        await until(lambda: absent(it, "LocalQueue", "team", "team-a"))


async def test_nobody_else_writes_a_mirror(tmp_path: Path):
    """Edits, deletions and forged marks are refused by the API server, which says where to go instead."""
    async with world(tmp_path) as it:
        await apply(it, QUEUES)
        before = await mirror(it, *QUEUE)
        change = {"spec": {"stopPolicy": "Hold"}}
        assert mirror_guard.KEPT in await refusal(it, change, *QUEUE, "")
        unmarked = {"metadata": {"labels": {labels.ORIGIN: None}}}
        assert mirror_guard.KEPT in await refusal(it, unmarked, *QUEUE, "")
        for refused in (it.delete(*QUEUE), it.apply(OTHER)):
            with pytest.raises(errors.Invalid, match="only the hub changes it"):
                await refused
        forged = OTHER.replace(
            "{name: main}", "{name: mine, labels: {roadstead.dev/origin: rest}}"
        )
        with pytest.raises(errors.Invalid, match="is the hub's: leave it out"):
            await it.apply(forged)
        assert (await it.get(*QUEUE))["spec"] == before["spec"]


async def test_what_kubectl_made_is_not_touched(tmp_path: Path):
    """A REST write to it is refused at once, and the bridge never takes it for a mirror."""
    async with world(tmp_path) as it:
        await until(lambda: served(it))
        (made,) = await it.apply(OTHER)
        await until(lambda: it.hub.hub.read(taken, made["metadata"]["uid"]))
        (answer,) = await try_to_apply(it, OTHER)
        assert answer.error is not None
        assert answer.error.code == "OwnedElsewhere"
        await apply(
            it, "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: x}}"
        )
        await mirror(it, "ResourceFlavor", "x")  # a turn later
        live = await it.get(*QUEUE)
        assert "deletionTimestamp" not in live["metadata"]
        assert not is_mirror(live)
        assert live["metadata"]["uid"] == made["metadata"]["uid"]


async def test_without_the_policy_edits_are_put_back(tmp_path: Path):
    """And said so on the object: what came by REST is changed by REST."""
    cluster = with_hub_kinds(mirror_policy=False)
    await cluster.start()
    try:
        async with world(tmp_path, cluster) as it:
            await apply(it, QUEUES)
            await mirror(it, *QUEUE)
            change = {"metadata": {"labels": {"mine": "yes"}}, "spec": {"stopPolicy": "Hold"}}
            assert await refusal(it, change, *QUEUE, "") == ""

            async def back() -> bool:
                live = await it.get(*QUEUE)
                return (
                    "stopPolicy" not in live["spec"] and "mine" not in live["metadata"]["labels"]
                )

            await until(back)
            told = await until(lambda: warned(it, "main"))
            assert told[0] == "ChangedElsewhere"
    finally:
        await cluster.stop()


async def test_without_the_policy_a_deleted_mirror_is_made_again(tmp_path: Path):
    """Its deletion is no deletion of the queue."""
    cluster = with_hub_kinds(mirror_policy=False)
    await cluster.start()
    try:
        async with world(tmp_path, cluster) as it:
            *_, local = await apply(it, QUEUES)
            first = await mirror(it, "LocalQueue", "team", "team-a")
            await it.delete("LocalQueue", "team", "team-a")

            async def another() -> bool:
                found = await it.get("LocalQueue", "team", "team-a")
                return bool(found) and found["metadata"]["uid"] != first["metadata"]["uid"]

            await until(another)

            async def told() -> bool:
                return "MirrorDeleted" in [each for each, _ in await object_said(it, local.uid)]

            await until(told)
    finally:
        await cluster.stop()


def test_the_simulated_policy_is_the_shipped_one():
    """The same name, the same sentences, and the same account of the hub."""
    file = REPOSITORY / "deploy" / "hub-cluster" / "mirror-guard.yaml"
    policy, *others = [
        each for each in yaml.safe_load_all(file.read_text()) if each["spec"].get("variables")
    ]
    assert policy["metadata"]["name"] == mirror_guard.POLICY
    told = [each["message"] for each in policy["spec"]["validations"]]
    assert told[:2] == [mirror_guard.KEPT, mirror_guard.RESERVED]
    by_hub = {v["name"]: v["expression"] for v in policy["spec"]["variables"]}["byHub"]
    assert by_hub == f"request.userInfo.username == '{mirror_guard.HUB.name}'"
    for each in others:
        assert [c["expression"] for c in each["spec"]["matchConditions"]] == [by_hub]


async def warned(it: World, name: str) -> tuple[str, str] | None:
    return (await warnings(it)).get(name)


async def quota(it: World, nominal: int) -> bool:
    queue = await it.get(*QUEUE)
    (group,) = queue["spec"]["resourceGroups"]
    return group["flavors"][0]["resources"][0]["nominalQuota"] == nominal


async def object_said(it: World, uid: str) -> list[tuple[str, str]]:
    rows = await it.hub.hub.read(lambda tx: events.list_events(tx, uid=uid))
    return [(row.reason, row.message) for row in rows]


def taken(tx: Any, uid: str) -> bool:
    return objects.get(tx, uid) is not None


async def served(it: World) -> Any:
    name = "clusterqueues.kueue.x-k8s.io"
    return await it.get("CustomResourceDefinition", name, version="apiextensions.k8s.io/v1")
