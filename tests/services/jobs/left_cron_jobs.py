"""CronJobs that members may still have, and what a client hears who applies one of that name."""

from typing import Any

import orjson

from hub.domain.workloads.origin import Origin
from hub.services.context.settings import Intake
from hub.services.objects.apply import Applied, apply_documents
from hub.services.objects.delete import delete_object
from hub.services.reading.draft import draft
from shared.kinds.registry import parse
from tests.services.hubs import a_queue
from tests.services.jobs.cron_jobs import a_cron_job
from tests.services.members.hubs import Running, seen
from tests.services.placements.fleet import Fleet

PLACEMENT = """
apiVersion: placement.kubernetes-fleet.io/v1
kind: ResourcePlacement
metadata: {name: everywhere, namespace: team-a}
spec:
  resourceSelectors: [{group: batch, version: v1, kind: CronJob, name: nightly}]
"""


async def given_queue(hub: Running, name: str = "nightly") -> Applied:
    """Apply the CronJob with a queue, as a client does."""

    def apply(tx: Any) -> Applied:
        given = draft(parse(a_cron_job(name)), tx.now, origin=Origin.REST)
        return apply_documents(tx, [given], Intake())[0]

    return await hub.write(apply)


async def placed(hub: Running) -> Fleet:
    """A fleet of one member that has CronJob nightly by a placement."""
    fleet = await Fleet.start(hub, "m1")
    queue = "\n---\n".join(orjson.dumps(each).decode() for each in a_queue("q"))
    cron_job = orjson.dumps(a_cron_job(queue="")).decode()
    await fleet.apply(f"{queue}\n---\n{cron_job}\n---\n{PLACEMENT}")
    await fleet.sync()
    assert fleet.held("m1") == ["CronJob/nightly"]
    return fleet


async def deleted(hub: Running, group: str, kind: str, name: str) -> None:
    await hub.write(delete_object, group, kind, "team-a", name, origin="rest", principal="ada")


def refusal(told: Applied) -> str:
    assert told.error is not None
    assert told.error.code == "Conflict"
    return told.error.detail


LEFT = {"api_version": "batch/v1", "kind": "CronJob", "namespace": "team-a", "created": True}
CRON_JOBS_UNREAD = ["batch/v1/CronJob"]


def a_left_cron_job(name: str = "nightly", uid: str = "o-1"):
    """What an agent reports of a CronJob that it wrote and that nothing desires."""
    told = {**LEFT, "name": name}
    return seen(uid, "Applied", 0, object_uid=f"m-{uid}", reason="Orphan", left=told)
