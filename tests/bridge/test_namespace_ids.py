"""The id of a hub's namespace: the hub keeps it, and a namespace that is made again gets another."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from hub.bridge import deletion
from hub.services.consent import namespaces as consents
from hub.services.context import hub_cluster
from hub.store import objects
from shared.kube.client import KubeClient
from tests import waiting
from tests.bridge.defined import with_hub_kinds
from tests.bridge.hub_cluster import World, until, world
from tests.bridge.rest import mirror, remove_job, submit
from tests.bridge.showing import showing

pytestmark = pytest.mark.anyio
NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: NAME}"
LAB = NAMESPACE.replace("NAME", "lab")
TRAIN = ("Job", "train", "team-a")


async def id_of(it: World, name: str = "lab") -> str:
    return (await it.hub.hub.read(consents.ids_of, [name])).get(name, "")


async def uid_there(it: World, name: str = "lab") -> str:
    live = await it.get("Namespace", name)
    return "" if live is None else str(live["metadata"]["uid"])


async def gone(it: World, name: str) -> None:
    """It is deleted on the hub cluster."""
    await it.delete("Namespace", name)

    async def is_gone() -> bool:
        return await it.get("Namespace", name) is None

    await until(is_gone)


def read(it: World, name: str = "lab") -> Callable[[], Awaitable[bool]]:
    """Has the hub read the Namespace as the hub cluster has it now?"""

    async def is_read() -> bool:
        row = await it.hub.hub.read(objects.find, "", "Namespace", "", name)
        there = await uid_there(it, name)
        return row is not None and bool(there) and row.hub_cluster_uid == there

    return is_read


async def test_a_namespace_of_the_hub_cluster_has_its_uid_there(tmp_path: Path):
    """So a hub that has lost its row finds the same id again."""
    async with world(tmp_path) as it:
        await it.apply(LAB)
        await until(read(it))
        assert await id_of(it) == await uid_there(it)


async def test_one_that_a_job_by_rest_made_keeps_its_id_when_kubectl_makes_it_too(tmp_path: Path):
    """It is the same namespace: nobody has deleted it."""
    async with world(tmp_path) as it:
        await it.hub.submit(metadata={"namespace": "lab"})
        before = await id_of(it)
        assert before
        await it.apply(LAB)
        await until(read(it))
        assert await id_of(it) == before != await uid_there(it)


async def test_one_that_is_deleted_and_made_again_has_another(tmp_path: Path):
    """And agents are told, where they were asked about it."""
    async with world(tmp_path) as it:
        await it.apply(LAB)
        await until(read(it))
        before = await id_of(it)
        named = await it.hub.write(lambda tx: consents.require(tx, frozenset({"lab"})))
        await gone(it, "lab")
        await it.apply(LAB)
        await until(read(it))
        assert await id_of(it) not in {"", before}
        assert (await it.hub.hub.read(consents.load)).revision > named.revision


async def test_a_change_that_nobody_explains_counts_as_a_deletion(tmp_path: Path):
    """A job by REST keeps the namespace in the hub; a person makes it again on the hub cluster."""
    async with world(tmp_path) as it:
        await it.apply(LAB)
        await until(read(it))
        await it.hub.submit(metadata={"namespace": "lab"})
        before = await id_of(it)
        await gone(it, "lab")
        await it.apply(LAB)
        await until(read(it))
        assert await id_of(it) not in {"", before}


async def test_one_that_the_bridge_makes_again_keeps_its_id(tmp_path: Path):
    """It shows a Job of REST there: the hub has its namespace all along."""
    async with showing(tmp_path) as it:
        uid = await submit(it)
        await mirror(it, *TRAIN)
        await until(read(it, "team-a"))
        before, there = await id_of(it, "team-a"), await uid_there(it, "team-a")
        await gone(it, "team-a")
        await mirror(it, *TRAIN)
        await until(read(it, "team-a"))
        assert await uid_there(it, "team-a") != there
        assert await id_of(it, "team-a") == before
        await remove_job(it, uid)


async def test_ids_stay_when_the_hub_is_told_to_adopt_another_hub_cluster(tmp_path: Path):
    """Its Namespaces have other uids, and an administrator has explained that."""
    async with world(tmp_path) as it:
        await it.apply(LAB)
        await until(read(it))
        before = await id_of(it)
        await it.hub.write(hub_cluster.adopt_hub_cluster, "another")
        row = await it.hub.hub.read(objects.find, "", "Namespace", "", "lab")
        assert row.hub_cluster_uid is None
        await it.hub.write(objects.change, before, hub_cluster_uid="other-uid")
        await it.hub.write(hub_cluster.adopt_hub_cluster, "another")
        await it.apply(LAB.replace("{name: lab}", "{name: lab, labels: {team: blue}}"))
        await until(read(it))
        assert await id_of(it) == before


async def test_a_late_deletion_of_an_earlier_one_takes_nothing(tmp_path: Path):
    """The hub's Namespace is the later one by then."""
    async with showing(tmp_path) as it:
        await submit(it)
        await mirror(it, *TRAIN)
        await until(read(it, "team-a"))
        earlier = await uid_there(it, "team-a")
        await gone(it, "team-a")
        await mirror(it, *TRAIN)
        await until(read(it, "team-a"))
        assert await it.hub.hub.read(objects.namespace_of, earlier) is None
        row = await it.hub.hub.read(objects.namespace_of, await uid_there(it, "team-a"))
        assert row.name == "team-a"


async def test_one_whose_contents_go_later_goes_with_the_last_of_them(tmp_path: Path, monkeypatch):
    """The hub keeps it while something is in it here, and looks again."""
    monkeypatch.setattr(deletion, "_OWED_EVERY_S", 0.1)
    async with world(tmp_path) as it:
        await it.apply(LAB)
        await until(read(it))
        before = await id_of(it)
        uid = await it.hub.submit(metadata={"namespace": "lab"})
        await gone(it, "lab")
        await waiting.span(0.5, why="it is refused some times")
        assert await id_of(it) == before
        await remove_job(it, uid)

        async def forgotten() -> bool:
            return not await id_of(it)

        await until(forgotten)


async def test_one_that_was_deleted_while_the_hub_was_away_is_forgotten(tmp_path: Path):
    """The hub finds out when it is back, before anybody makes it again."""
    cluster = with_hub_kinds()
    await cluster.start()
    async with world(tmp_path, cluster) as it:
        await it.apply(LAB)
        await until(read(it))
    async with await KubeClient.connect(tmp_path / "hub.kubeconfig") as kube:
        await kube.delete("v1", "Namespace", "", "lab")
    async with world(tmp_path, cluster) as it:

        async def forgotten() -> bool:
            return not await id_of(it)

        await until(forgotten)
    await cluster.stop()
