"""No envelope carries a CronJob to members beside the hub's own of that name."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from hub.domain.workloads.origin import Origin
from hub.services.context.settings import Intake
from hub.services.objects.apply import Applied, apply_documents
from hub.services.reading.draft import draft
from shared.kinds.registry import parse
from tests.services.hubs import a_queue
from tests.services.jobs.cron_jobs import a_cron_job
from tests.services.jobs.left_cron_jobs import given_queue, refusal
from tests.services.members.hubs import Running, running_hub
from tests.services.placements.fleet import Fleet

pytestmark = pytest.mark.anyio
API = "placement.kubernetes-fleet.io"
PLACEMENT = {
    "apiVersion": f"{API}/v1",
    "kind": "ResourcePlacement",
    "metadata": {"name": "boxes", "namespace": "team-a"},
    "spec": {
        "resourceSelectors": [
            {"group": API, "version": "v1beta1", "kind": "ResourceEnvelope", "name": "box"}
        ]
    },
}


def a_box(inner: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": f"{API}/v1beta1",
        "kind": "ResourceEnvelope",
        "metadata": {"name": "box", "namespace": "team-a"},
        "data": {"c.yaml": inner},
    }


async def applied(hub: Running, manifest: dict[str, Any], origin: str = Origin.REST) -> Applied:
    """Apply a manifest as a client, or as the bridge, does."""

    def apply(tx: Any) -> Applied:
        strict = origin == Origin.REST
        read = parse(manifest, strict=strict, origin="rest" if strict else "hub-cluster")
        uid = "" if strict else "of-kubectl"
        return apply_documents(tx, [draft(read, tx.now, origin=origin, uid=uid)], Intake())[0]

    return await hub.write(apply)


async def a_queued_fleet(hub: Running) -> Fleet:
    fleet = await Fleet.start(hub, "m1")
    await fleet.apply("\n---\n".join(orjson.dumps(each).decode() for each in a_queue("q")))
    return fleet


async def test_an_envelope_with_one_that_the_hub_schedules_is_refused(tmp_path: Path):
    """The refusal names the manifest in it; one of another name is placed."""
    async with running_hub(tmp_path) as hub:
        await a_queued_fleet(hub)
        assert (await given_queue(hub)).error is None
        told = await applied(hub, a_box(a_cron_job(queue="")))
        assert told.error is not None
        assert (told.error.code, told.error.field) == ("Conflict", "data[c.yaml]")
        assert (await applied(hub, a_box(a_cron_job("other", queue="")))).error is None


async def test_one_that_an_envelope_carries_gets_no_queue(tmp_path: Path):
    """Before any placement selects it, too."""
    async with running_hub(tmp_path) as hub:
        await a_queued_fleet(hub)
        assert (await applied(hub, a_box(a_cron_job(queue="")))).error is None
        assert "ResourceEnvelope box of the namespace" in refusal(await given_queue(hub))
        assert (await given_queue(hub, "other")).error is None


async def test_an_envelope_of_the_hub_cluster_brings_none_that_the_hub_schedules(tmp_path: Path):
    """Nothing is refused at its door: the placement leaves the CronJob out, and says so."""
    async with running_hub(tmp_path) as hub:
        fleet = await a_queued_fleet(hub)
        assert (await given_queue(hub)).error is None
        told = await applied(hub, a_box(a_cron_job(queue="")), Origin.HUB_CLUSTER)
        assert told.error is None
        await fleet.apply(orjson.dumps(PLACEMENT).decode())
        for _ in range(2):
            await fleet.turn()
            await fleet.sync()
        assert fleet.held("m1") == []
        status = await fleet.status("ResourcePlacement", "boxes", "team-a")
        assert "the hub keeps the schedule of the CronJob" in orjson.dumps(status).decode()
