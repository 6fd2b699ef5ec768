"""With exactly the rights of `deploy/hub-cluster`: the hub does its work, and people what is theirs."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hub.bridge.crds import install_crds
from hub.services.context.settings import BridgeSettings, Settings
from hub.store import objects
from shared.kube import errors
from shared.kube.client import KubeClient
from tests.bridge import rest
from tests.bridge.guide import apply_guide, condition, status, workload
from tests.bridge.hub_cluster import FIELDS, VERSIONS, World, until, world
from tests.bridge.rights import ANN, BEN, HUB, OPERATOR, VIEWER, Rights, documents, guarded
from tests.services.members.hubs import ran

pytestmark = pytest.mark.anyio
JOB = (VERSIONS["Job"], "Job", "compute-jobs", "mock-workload")
PLACED = """
{apiVersion: v1, kind: Namespace, metadata: {name: shop}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: shop}, data: {colour: blue}}
---
apiVersion: placement.kubernetes-fleet.io/v1beta1
kind: ClusterResourcePlacement
metadata: {name: shop}
spec:
  resourceSelectors: [{group: "", version: v1, kind: Namespace, name: shop}]
  policy: {placementType: PickAll}
"""


@contextlib.asynccontextmanager
async def fleet(tmp_path: Path) -> AsyncIterator[tuple[World, Rights]]:
    """A hub whose account has these rights, on a hub cluster that enforces them."""
    cluster, rights = guarded()
    await cluster.start()
    cluster.store.create(
        "namespaces", next(each for each in documents() if each["kind"] == "Namespace")
    )
    try:
        shown = Settings(bridge=BridgeSettings(jobs="On"))
        async with world(tmp_path, cluster, limits=shown) as it:
            yield it, rights
    finally:
        await cluster.stop()


@contextlib.asynccontextmanager
async def acting(it: World, tmp_path: Path, user: str) -> AsyncIterator[KubeClient]:
    """What this user's kubectl does."""
    path = tmp_path / f"{user.replace(':', '-')}.kubeconfig"  # a colon parts paths
    path.write_text(it.cluster.kubeconfig_text(user))
    async with await KubeClient.connect(path) as kube:
        yield kube


async def test_the_hub_lacks_no_right(tmp_path: Path):
    """Kinds, Jobs and Workloads, queues, members, Events, placements, mirrors, deletions: never a 403."""
    async with fleet(tmp_path) as (it, rights):
        await apply_guide(it)
        await it.apply(PLACED)
        row = await until(lambda: workload(it, "mock-workload"))
        agent = await it.hub.join("north")
        await it.hub.place(row.uid, "north")
        await agent.sync()
        await agent.sync(ran(row.uid, active=3, ready=3, running_since="2026-05-01T00:00:01Z"))
        await until(lambda: status(it, "active", 3))
        await agent.sync(ran(row.uid, succeeded=3, result="Succeeded"))
        await until(lambda: condition(it, "Complete"))
        await until(lambda: mirrored(it, "ConfigMap", "settings"))
        await it.delete("LocalQueue", "local-queue", "compute-jobs")
        await until(lambda: absent(it, "LocalQueue", "local-queue", "compute-jobs"))
        await rest.apply(it, rest.QUEUES)
        uid = await rest.submit(it)
        await rest.mirror(it, "Job", "train", "team-a")
        await rest.mirror(it, "LocalQueue", "team", "team-a")
        await rest.apply(it, rest.QUEUES.replace("nominalQuota: 5", "nominalQuota: 7"))
        await rest.remove_job(it, uid)
        await until(lambda: absent(it, "Job", "train", "team-a"))
        listed = {each for each in rights.denied if each[1] != "list"}
        assert listed == set()


async def test_the_hub_brings_its_kinds_up_to_date(tmp_path: Path):
    """A definition of an earlier version is replaced at the hub's start."""
    async with fleet(tmp_path) as (it, _):
        await apply_guide(it, last=1)
        place = ("apiextensions.k8s.io/v1", "CustomResourceDefinition", "")
        name = "cohorts.kueue.x-k8s.io"
        now = await it.kube.get(*place, name)
        columns = now["spec"]["versions"][0].pop("additionalPrinterColumns")
        await it.kube.replace(now, field_manager=FIELDS)
        async with acting(it, tmp_path, HUB) as hub:
            assert await install_crds(hub, it.hub.clock) == []
        then = await it.kube.get(*place, name)
        assert then["spec"]["versions"][0]["additionalPrinterColumns"] == columns


async def test_what_the_hub_may_not_read_is_told_of_the_placement(tmp_path: Path):
    """Kinds beyond its role are asked for once and named in the condition."""
    async with fleet(tmp_path) as (it, rights):
        await apply_guide(it, last=1)
        await it.apply(PLACED)

        async def told() -> str:
            found = await it.get("ClusterResourcePlacement", "shop") or {}
            conditions = (found.get("status") or {}).get("conditions") or ()
            return next((c["message"] for c in conditions if c["type"] == "SelectionComplete"), "")

        text = await until(told)
        assert "ConfigMap" not in text
        assert "Role" in text
        assert {user for user, *_ in rights.denied} == {HUB}


async def test_a_user_has_the_jobs_of_a_namespace(tmp_path: Path):
    """Their own are created, looked at and deleted; other namespaces, queues and members are not theirs."""
    async with fleet(tmp_path) as (it, _):
        await apply_guide(it, last=5)
        made = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {
                "name": "mock-workload",
                "namespace": "compute-jobs",
                "labels": {"kueue.x-k8s.io/queue-name": "local-queue"},
            },
            "spec": {
                "template": {
                    "spec": {
                        "restartPolicy": "Never",
                        "containers": [{"name": "main", "image": "busybox:1.36"}],
                    }
                }
            },
        }
        async with acting(it, tmp_path, ANN) as ann, acting(it, tmp_path, BEN) as ben:
            await ann.apply(made, field_manager=FIELDS, force=True)
            await until(lambda: workload(it, "mock-workload"))
            assert (await ann.get(*JOB))["spec"]["suspend"] is not None
            assert (await ann.list(VERSIONS["LocalQueue"], "LocalQueue", "compute-jobs")).items
            assert (await ann.list("v1", "Event", "compute-jobs")).items is not None
            for refused in (
                ben.get(*JOB),
                ann.list("batch/v1", "Job"),
                ann.get(VERSIONS["ClusterQueue"], "ClusterQueue", "", "cluster-queue"),
                ann.delete(VERSIONS["LocalQueue"], "LocalQueue", "compute-jobs", "local-queue"),
                ann.merge_patch(*JOB, {"status": {}}, field_manager=FIELDS, subresource="status"),
            ):
                with pytest.raises(errors.Forbidden):
                    await refused
            await ann.delete(*JOB)
        await until(lambda: absent(it, "Job", "mock-workload", "compute-jobs"))


async def test_an_operator_keeps_queues_and_placements_and_a_viewer_looks(tmp_path: Path):
    """Neither writes what the hub says of them."""
    async with fleet(tmp_path) as (it, _):
        await apply_guide(it, last=2)
        async with acting(it, tmp_path, OPERATOR) as operator:
            queue = await operator.get(
                VERSIONS["ClusterQueue"], "ClusterQueue", "", "cluster-queue"
            )
            change = {"spec": {"stopPolicy": "Hold"}}
            place = (queue["apiVersion"], "ClusterQueue", "", "cluster-queue")
            await operator.merge_patch(*place, change, field_manager=FIELDS)
            member = {
                "apiVersion": VERSIONS["MemberCluster"],
                "kind": "MemberCluster",
                "metadata": {"name": "east"},
                "spec": {},
            }

            async def applied() -> bool:
                with contextlib.suppress(errors.KindNotServed):  # the hub is installing its kinds
                    await operator.apply(member, field_manager=FIELDS, force=True)
                    return True
                return False

            await until(applied)
            with pytest.raises(errors.Forbidden):
                await operator.merge_patch(
                    *place, {"status": {}}, field_manager=FIELDS, subresource="status"
                )
        async with acting(it, tmp_path, VIEWER) as viewer:
            assert (await viewer.get(*place))["spec"]["stopPolicy"] == "Hold"
            with pytest.raises(errors.Forbidden):
                await viewer.merge_patch(*place, change, field_manager=FIELDS)
            with pytest.raises(errors.Forbidden):
                await viewer.list("v1", "Secret", "compute-jobs")


async def mirrored(it: World, kind: str, name: str) -> bool:
    return await it.hub.hub.read(objects.find, "", kind, "shop", name) is not None


async def absent(it: World, kind: str, name: str, namespace: str = "") -> bool:
    return await it.get(kind, name, namespace) is None
