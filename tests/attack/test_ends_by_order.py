"""A Job that is taken back by order has not failed of itself."""

import pytest

from tests import waiting
from tests.agent.scripted_hub import a_job, eventually

pytestmark = pytest.mark.anyio
HOLD = (
    "example.com/hold"  # a finalizer of somebody else: pods stay visible a while after their end
)


def pods(member):
    return list(member.cluster.store.iterate("pods"))


async def held(member, *more):
    """The finalizers of the member's people are these, beside those of Kubernetes."""
    for pod in pods(member):
        name = pod["metadata"]["name"]
        kept = [f for f in pod["metadata"].get("finalizers") or () if f != HOLD]
        change = {"metadata": {"finalizers": [*kept, *more]}}
        await member.kube.merge_patch("v1", "Pod", "team", name, change, field_manager="test")


@pytest.mark.parametrize(
    "spec",
    [
        {"backoffLimit": 0},
        {
            "podFailurePolicy": {
                "rules": [
                    {"action": "FailJob", "onExitCodes": {"operator": "NotIn", "values": [0]}}
                ]
            }
        },
        {"activeDeadlineSeconds": 5},
    ],
    ids=["backoff", "policy", "deadline"],
)
async def test_a_job_that_is_taken_back_has_not_failed(member, spec):
    """What its own deletion does to its pods, and what passes meanwhile, is no result of the job."""
    work = a_job(run_seconds="600", podReplacementPolicy="Failed", **spec)
    member.hub.put(work)
    member.start()
    await member.hub.job_says("u-1", "running_since")
    await held(member, HOLD)
    member.hub.put(a_job(action="Withdraw"))
    await eventually(lambda: any("deletionTimestamp" in p["metadata"] for p in pods(member)))
    seconds = 5 if "activeDeadlineSeconds" in spec else 2
    await waiting.span(seconds, why="the job controller counts, or its deadline passes")
    await held(member)
    gone = await member.hub.seen("u-1", "Gone")
    assert gone.job.result is None
