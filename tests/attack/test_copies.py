"""Copies of a Job that people make in a member, with all that it carries."""

from typing import Any

import pytest

from shared import labels
from tests import waiting
from tests.agent.scripted_hub import a_job, eventually
from tests.services.members.hubs import running_hub, seen

pytestmark = pytest.mark.anyio


def copy_of(job, name, run_seconds="600"):
    """What `kubectl get -o yaml | kubectl create` makes of a Job under another name."""
    spec = dict(job["spec"])
    spec.pop("selector", None)
    spec.pop("manualSelector", None)
    template = spec["template"]
    for key in list(template["metadata"].get("labels") or {}):
        if "controller-uid" in key or "job-name" in key:
            del template["metadata"]["labels"][key]
    template["metadata"]["annotations"] = {labels.SIM_RUN_SECONDS: run_seconds}
    kept = {
        key: job["metadata"][key]
        for key in ("namespace", "labels", "annotations", "finalizers")
        if key in job["metadata"]
    }
    kept["labels"] = {
        k: v
        for k, v in kept["labels"].items()
        if "controller-uid" not in k and "job-name" not in k
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {**kept, "name": name},
        "spec": spec,
    }


@pytest.mark.parametrize("name", ["a-copy", "z-copy"])
async def test_a_result_of_a_copy_is_not_the_jobs(member, name):
    """An agent that starts may see the copy before it hears from the hub which Job is meant."""
    work = a_job(run_seconds="600")
    member.hub.put(work)
    member.start()
    await member.hub.job_says("u-1", "running_since")
    await member.stop()
    await member.kube.create(copy_of(await member.job(), name, "0.2"), field_manager="kubectl")
    await eventually(
        lambda: (member.cluster.store.get("jobs.batch", "team", name).get("status") or {}).get(
            "succeeded"
        )
    )
    member.hub.put(a_job(run_seconds="600", seen=True))
    member.hub.told.clear()
    member.hub.down = True
    agent = member.start()
    await eventually(
        lambda: agent.reconciler and agent.reconciler.observer.is_synced("batch/v1", "Job")
    )
    await waiting.span(0.5, why="the agent sees both while nobody tells it anything")
    member.hub.down = False
    await member.hub.seen("u-1", "Applied")
    await waiting.span(2, why="nothing wrong is told meanwhile")
    assert not [e for e in member.hub.told if e.job and e.job.result and e.reason != "Orphan"]
    live = await member.job()
    entry = member.hub.observed["u-1"]
    assert entry.object_uid == live["metadata"]["uid"]


async def test_a_copy_does_not_hold_up_a_withdrawn_job(member):
    """Its pods are its own, also where they have ended and are kept."""
    work = a_job(run_seconds="600")
    member.hub.put(work)
    member.start()
    await member.hub.job_says("u-1", "running_since")
    await member.kube.create(copy_of(await member.job(), "z-copy", "0.2"), field_manager="kubectl")
    await eventually(
        lambda: (member.cluster.store.get("jobs.batch", "team", "z-copy").get("status") or {}).get(
            "succeeded"
        )
    )
    member.hub.put(a_job(action="Withdraw"))
    await member.hub.seen("u-1", "Gone")


async def test_a_managed_by_label_taken_off_while_no_agent_runs(member):
    """The containers say whose it is: the label is put back, and the result is taken."""
    member.hub.put(a_job(run_seconds="1"))
    member.start()
    await member.hub.job_says("u-1", "running_since")
    await member.stop()
    patch = {"metadata": {"labels": {labels.MANAGED_BY: None}}}
    await member.kube.merge_patch("batch/v1", "Job", "team", "job", patch, field_manager="kubectl")
    member.hub.put(a_job(run_seconds="1", seen=True))
    member.start()
    await member.hub.finished("u-1")


async def test_a_copy_can_be_deleted(member):
    """Our finalizer came with it."""
    member.hub.put(a_job(run_seconds="600"))
    member.start()
    await member.hub.job_says("u-1", "running_since")
    await member.kube.create(copy_of(await member.job(), "z-copy", "600"), field_manager="kubectl")
    await waiting.span(1, why="the agent sees the copy")
    await member.kube.delete("batch/v1", "Job", "team", "z-copy", propagation="Background")
    await member.absent("z-copy")


async def test_suspended_and_marked_by_hand_is_not_said_gone_while_pods_run(member):
    """That it was never started is believed only of a Job without pods."""
    member.hub.put(a_job(run_seconds="600"))
    member.start()
    await member.hub.job_says("u-1", "running_since")
    await member.stop()
    patch = {"metadata": {"annotations": {labels.NOT_STARTED: "true"}}, "spec": {"suspend": True}}
    # pods that take their time
    await member.kube.merge_patch("batch/v1", "Job", "team", "job", patch, field_manager="kubectl")
    member.hub.put(a_job(action="Withdraw"))
    member.start()
    await member.hub.seen("u-1", "Gone")
    pods = [
        p
        for p in member.cluster.store.iterate("pods")
        if p["status"].get("phase") not in ("Succeeded", "Failed")
    ]
    assert not pods


async def test_a_copy_that_an_agent_finds_first_does_not_end_the_job(tmp_path):
    """An agent that starts anew tells of all it sees before it knows which Job the work means."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north")
        await agent.sync()
        runs = {"running_since": "2026-05-01T00:00:00Z", "active": 1}
        await agent.sync(seen(uid, "Applied", object_uid="m-1", job=runs))
        agent.restart("session-2")
        copy: dict[str, Any] = {
            "reason": "Orphan",
            "object_uid": "m-2",
            "incarnation": hub.sync.incarnation,
        }
        await agent.sync(seen(uid, "Applied", job={"result": "Succeeded"}, **copy))
        assert (await hub.job(uid)).state == "Running"
        await agent.sync(seen(uid, "Applied", object_uid="m-1", job={"result": "Failed"}))
        assert (await hub.job(uid)).state == "Failed"
