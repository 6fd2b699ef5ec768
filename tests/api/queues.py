"""Queues and a job in one of them, through the REST API."""

from typing import Any, cast

from hub.domain.workloads.states import Transition
from hub.store import workloads
from hub.store.records.workloads import Workload, move_of
from tests.api.serving import a_job
from tests.bad_inputs.objects import KUEUE, a_queue

FLAVOR = {"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": {"name": "f"}, "spec": {}}


async def codes(hub: Any, *manifests: dict[str, Any]) -> list[str | None]:
    reply = await hub.admin.post(
        "/v1/apply", json={"apiVersion": "v1", "kind": "List", "items": list(manifests)}
    )
    return [item.get("code") for item in reply.json()["items"]]


async def with_a_running_job(hub: Any) -> None:
    """Queue `q` with one job of 1 cpu that is offered to a member."""
    local = {
        "apiVersion": KUEUE, "kind": "LocalQueue",
        "metadata": {"name": "lq", "namespace": "team-a"}, "spec": {"clusterQueue": "q"},
    }  # fmt: skip
    job = a_job("j", "team-a")
    job["metadata"].setdefault("labels", {})["kueue.x-k8s.io/queue-name"] = "lq"
    assert await codes(hub, FLAVOR, a_queue(), local, job) == [None] * 4
    admission = {
        "podSets": [{"name": "main", "count": 1, "flavors": {"cpu": "f"}, "usage": {"cpu": 1000}}]
    }
    await move(hub, "place", await only_job(hub), cluster_queue="q", admission=admission)
    await move(hub, "offer", await only_job(hub))


async def only_job(hub: Any) -> Workload:
    found = await hub.db.read(lambda unit: workloads.live_by_name(unit, [("team-a", "j")]))
    return found["team-a", "j"]


async def move(hub: Any, name: str, row: Workload, **columns: Any) -> None:
    given = move_of(row.uid, row.epoch, cast("Any", columns))
    moved = await hub.db.write(lambda unit: workloads.transition(unit, Transition(name), [given]))
    assert moved == [row.uid], name
