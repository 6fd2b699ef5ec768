"""Deleting objects: who may, what must be gone before, and what is said of it."""

from pathlib import Path
from typing import Any

import pytest

from hub.services.objects.delete import delete_object
from hub.store import audit, objects
from shared.errors import Rejected
from shared.kinds.kueue_v1beta2 import GROUP as KUEUE_GROUP
from shared.kinds.placement_v1 import GROUP as PLACEMENT
from tests.services.hubs import Running, a_job, a_placement, a_pool, a_queue, running

pytestmark = pytest.mark.anyio


async def delete(
    hub: Running, group: str, kind: str, namespace: str, name: str, **given: Any
) -> dict[str, Any]:
    """As `ada`, by REST unless another origin is given."""
    options = {"origin": "rest", "principal": "ada", **given}
    return await hub.hub.write(delete_object, group, kind, namespace, name, **options)


async def test_a_namespace_goes_once_neither_jobs_nor_objects_of_users_are_in_it(
    tmp_path: Path,
) -> None:
    """What the hub itself put there does not hold it; a finished Job does while it has its name."""
    async with running(tmp_path) as hub:
        (uid,) = await hub.apply(a_job("one"))
        await hub.settle()
        held = await hub.hub.read(objects.list_namespace, "team-a", 10)
        assert [row.origin for row in held] == ["hub"]
        await hub.transition("fail", uid)
        with pytest.raises(Rejected, match="still holds objects or jobs"):
            await delete(hub, "", "Namespace", "", "team-a")
        await hub.change(uid, live=None)
        metadata = {"name": "c", "namespace": "team-a"}
        config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
        await hub.apply(config)
        with pytest.raises(Rejected, match="still holds objects or jobs"):
            await delete(hub, "", "Namespace", "", "team-a")
        await delete(hub, "", "ConfigMap", "team-a", "c")
        assert (await delete(hub, "", "Namespace", "", "team-a"))["result"] == "deleted"


async def test_a_placement_keeps_the_time_of_its_first_deletion(tmp_path: Path) -> None:
    """It is only marked; whoever deletes it again changes nothing."""
    async with running(tmp_path) as hub:
        (uid,) = await hub.apply(a_placement("p", "", "Namespace", "c"))
        first = hub.clock.now()
        for _ in range(2):
            answer = await delete(hub, PLACEMENT, "ClusterResourcePlacement", "", "p")
            assert answer == {"uid": uid, "result": "deleting", "members": []}
            hub.clock.advance(60)
        row = await hub.hub.read(objects.get, uid)
        assert row is not None
        assert row.deleted_at == first


async def test_draining_concerns_what_a_queue_has_admitted_and_no_other_kind(
    tmp_path: Path,
) -> None:
    """With `drain` a ClusterQueue goes at once, and its jobs say that it was stopped; a Namespace stays."""
    async with running(tmp_path) as hub:
        await hub.cluster("a", a_pool(cpu="8"))
        await hub.apply(*a_queue("gold"))
        (uid,) = await hub.apply(a_job("one", queue="gold"))
        await hub.settle()
        with pytest.raises(Rejected, match="still holds"):
            await delete(hub, "", "Namespace", "", "team-a", drain=True)
        with pytest.raises(Rejected, match="1 jobs are charged"):
            await delete(hub, KUEUE_GROUP, "ClusterQueue", "", "gold", origin="rest")
        await delete(hub, KUEUE_GROUP, "ClusterQueue", "", "gold", drain=True)
        job = await hub.job(uid)
        assert (job.state, job.evicted["reason"], job.evicted["message"]) == (
            "Pending",
            "ClusterQueueStopped",
            "ClusterQueue gold is deleted: its workloads are drained",
        )
        row = await hub.hub.read(objects.find, KUEUE_GROUP, "LocalQueue", "team-a", "gold")
        assert row is not None
        (active,) = row.status["conditions"]
        assert active["status"] == "False"


async def test_what_came_from_elsewhere_is_deleted_there(tmp_path: Path) -> None:
    """What the hub provides, and a Namespace, anybody may delete; each deletion is written down."""
    async with running(tmp_path) as hub:
        (config,) = await hub.apply(
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": "c", "namespace": "team-b"},
            }
        )
        (job,) = await hub.apply(a_job("one", namespace="team-c"))
        await hub.change(job, live=None)
        with pytest.raises(Rejected, match="came from rest"):
            await delete(hub, "", "ConfigMap", "team-b", "c", origin="hub-cluster")
        with pytest.raises(Rejected, match=f"uid {config}"):
            await delete(hub, "", "ConfigMap", "team-b", "c", expected="another")
        await delete(hub, "", "ConfigMap", "team-b", "c", expected=config)
        await delete(hub, KUEUE_GROUP, "LocalQueue", "team-c", "default", origin="hub-cluster")
        await delete(hub, "", "Namespace", "", "team-b", origin="hub-cluster")
        entries = await hub.hub.read(audit.list_entries)
        assert [(e.verb, e.object, e.outcome) for e in reversed(entries)] == [
            ("delete", "ConfigMap/team-b/c", "origin rest"),
            ("delete", "LocalQueue/team-c/default", "origin hub-cluster"),
            ("delete", "Namespace/team-b", "origin hub-cluster"),
        ]
