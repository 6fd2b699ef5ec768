"""What a user of a member can write there must not stop the agent."""

import pytest

from shared import labels
from tests import waiting
from tests.agent.scripted_hub import a_job

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    "change",
    [
        {"labels": {labels.EPOCH: "9" * 60}},
        {"labels": {labels.JOB_UID: "A_b.c"}},
        {"env": {labels.EPOCH_VARIABLE: "9" * 5000}},
        {"env": {labels.JOB_UID_VARIABLE: "x" * 5000}},
        {"annotations": {labels.GENERATION: "9" * 5000}},
        {"annotations": {labels.GENERATION: "9" * 30}},
        {"annotations": {labels.INCARNATION: "x" * 5000}},
        {"annotations": {labels.MARK: "a:" + "1" * 18 + ":" + "x" * 100}},
    ],
    ids=["epoch", "uid", "variable", "long uid", "digits", "generation", "incarnation", "mark"],
)
async def test_a_crafted_job_does_not_stop_the_agent(member, change):
    """It comes and goes; other jobs are dispatched as ever, and other deletions noticed."""
    member.hub.removes_strays = False
    crafted = a_job("u-9", "crafted", run_seconds="600").manifest
    container = crafted["spec"]["template"]["spec"]["containers"][0]
    env = [{"name": name, "value": value} for name, value in change.get("env", {}).items()]
    container["env"] = env
    for part in ("labels", "annotations"):
        crafted["metadata"][part] |= change.get(part, {})
    member.start()
    member.hub.put(a_job("u-2", "other", run_seconds="600"))
    await member.hub.job_says("u-2", "running_since")
    await member.kube.create(crafted, field_manager="someone")
    await waiting.span(0.7, why="the agent takes it in, and must live on")
    await member.kube.delete("batch/v1", "Job", "team", "crafted", propagation="Background")
    await waiting.span(0.7, why="the agent takes it in, and must live on")
    member.hub.put(a_job())
    await member.hub.finished("u-1")
    member.hub.put(a_job("u-2", "other", action="Withdraw"))
    await member.hub.seen("u-2", "Gone")
    assert not member.running.done()


@pytest.mark.parametrize("digits", [30, 5000])
async def test_an_annotation_does_not_keep_a_job_from_ending(member, digits):
    """A generation that no number holds is as if it were not there."""
    member.hub.put(a_job(run_seconds="600"))
    member.start()
    await member.hub.job_says("u-1", "running_since")
    member.hub.put(a_job(action="Withdraw"))
    patch = {"metadata": {"annotations": {labels.GENERATION: "9" * digits}}}
    where = ("batch/v1", "Job", "team", "job")
    await member.kube.merge_patch(*where, patch, field_manager="kubectl")
    await member.hub.seen("u-1", "Gone")


@pytest.mark.parametrize(("verb", "what"), [("delete", "withdraw"), ("patch", "start")])
async def test_a_conflict_that_stays_is_not_tried_without_pause(member, verb, what):
    """An API server that answers 409 whatever is asked gets a few requests, not hundreds."""
    member.start()
    if what == "withdraw":
        member.hub.put(a_job(run_seconds="600"))
        await member.hub.job_says("u-1", "running_since")
    fault = member.cluster.faults.add("409", verb=verb, resource="jobs", count=0)
    member.hub.put(a_job(action="Withdraw") if what == "withdraw" else a_job(run_seconds="600"))
    await waiting.span(5, why="tries are counted")
    assert fault.hits < 25
