"""A member's queue manager starts a Job that it was given suspended, whatever the placement's apply strategy.

Kueue flips `suspend` and writes where the pods go into the template; neither is taken back or told as drift.
"""

from typing import Any

import pytest

from tests.agent.build import drifts_of, edit
from tests.agent.scripted_hub import a_job

pytestmark = pytest.mark.anyio
STARTED: dict[str, Any] = {
    "spec": {
        "suspend": False,
        "template": {
            "metadata": {"labels": {"kueue.x-k8s.io/podset": "main"}},
            "spec": {
                "nodeSelector": {"kubernetes.io/os": "linux"},
                "tolerations": [{"key": "spot", "operator": "Exists"}],
            },
        },
    }
}
STRATEGIES: dict[str, dict[str, Any]] = {
    "always": {},
    "if not drifted": {"when_to_apply": "IfNotDrifted"},
    "full comparison": {"compare_all": True},
    "full, if not drifted": {"compare_all": True, "when_to_apply": "IfNotDrifted"},
    "forced": {"force": True},
    "not forced": {"force": False},
    "co-owned": {"co_ownership": True},
}


@pytest.mark.parametrize("strategy", STRATEGIES)
async def test_what_a_queue_manager_starts_runs_to_its_end(member, strategy):
    """Once, as it was started; a later generation of the hub leaves all of it alone."""
    fields = STRATEGIES[strategy]
    member.hub.put(a_job(suspend=True, run_seconds="600", **fields))
    member.start()
    before = await member.hub.seen("u-1", "Applied")
    await edit(member, "Job", "job", STARTED, "batch/v1")
    await member.hub.job_says("u-1", "active")
    member.hub.put(a_job(suspend=True, run_seconds="600", generation=2, parallelism=2, **fields))
    entry = await member.hub.until(
        lambda hub: hub.observed["u-1"].generation == 2 and hub.observed["u-1"]
    )
    live = await member.job()
    assert entry.object_uid == before.object_uid == live["metadata"]["uid"]
    assert live["spec"]["suspend"] is False
    template = live["spec"]["template"]["spec"]
    assert template["nodeSelector"] == STARTED["spec"]["template"]["spec"]["nodeSelector"]
    assert template["tolerations"] == STARTED["spec"]["template"]["spec"]["tolerations"]
    assert drifts_of(member.hub, "u-1") == []
    assert entry.phase == "Applied"
