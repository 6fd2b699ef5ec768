"""A member whose queue manager takes every Job of a namespace."""

import asyncio

import pytest

from shared import labels
from tests.agent.scripted_hub import a_job, eventually

pytestmark = pytest.mark.anyio


def gives_default_queue(member):
    """What Kueue does where LocalQueue `default` exists: Jobs without the label get it, and are admitted."""
    store = member.cluster.store

    def note(event):
        if event.resource_key != "jobs.batch" or event.type != "ADDED":
            return
        if labels.QUEUE_NAME in event.object["metadata"]["labels"]:
            return

        def admit():
            job = store.get("jobs.batch", "team", event.object["metadata"]["name"])
            if job is not None:
                spec = {**job["spec"], "suspend": False}
                marks = {**job["metadata"]["labels"], labels.QUEUE_NAME: "default"}
                meta = {**job["metadata"], "labels": marks}
                admitted = {**job, "metadata": meta, "spec": spec}
                store.update("jobs.batch", admitted, manager="kueue", trusted=True)

        asyncio.get_running_loop().call_soon(admit)

    store.subscribe(note)


async def test_a_late_post_starts_nothing_where_kueue_has_a_default_queue(member):
    """The Job is inert by itself, not only for want of a label that the member adds."""
    pods = []
    member.cluster.store.subscribe(
        lambda e: (
            pods.append(e.object["metadata"]["name"])
            if e.resource_key == "pods" and e.type == "ADDED"
            else None
        )
    )
    gives_default_queue(member)
    late = member.cluster.faults.add("hold", verb="create", resource="jobs")
    member.hub.put(a_job(fresh=True, run_seconds="600"))
    member.start()
    await eventually(lambda: late.hits)
    member.hub.put(a_job(action="Withdraw", fresh=True))
    await member.hub.seen("u-1", "Gone")
    member.hub.drop("u-1")
    await member.hub.taken_in()
    member.cluster.faults.remove()
    await member.hub.seen("u-1", "Waiting", "Orphan")
    await member.absent()
    assert pods == []
