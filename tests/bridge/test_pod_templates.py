"""By kubectl: pod templates that could not be withdrawn, or choose their node, are refused."""

import re
from typing import Any

import pytest
import yaml

from hub.store import workloads
from shared import labels
from shared.kube import errors
from shared.kubesim.server import template_guard
from tests.attack.hostile import hostile_templates
from tests.bridge.guide import apply_guide
from tests.bridge.hub_cluster import FIELDS, until, warnings, world
from tests.bridge.policies import GUARD, a_job, submit, without_policy

pytestmark = pytest.mark.anyio
EVERY = pytest.mark.parametrize(
    "hostile",
    hostile_templates(),
    ids=lambda each: each.name,
)


def in_queue(hostile: Any) -> dict[str, Any]:
    """The Job in the guide's queue."""
    job = a_job(hostile.name)
    job["spec"]["template"] = hostile.manifest["spec"]["template"]
    return job


@EVERY
async def test_the_policy_refuses_it(tmp_path, hostile):
    """With the code of REST's answer; the Job is not there."""
    async with world(tmp_path) as it:
        await apply_guide(it)
        with pytest.raises(errors.KubeError, match=f"{hostile.code}: spec.template"):
            await submit(it, in_queue(hostile))
        assert await it.get("Job", hostile.name, "compute-jobs") is None


async def test_the_policy_refuses_it_by_a_patch(tmp_path):
    """A Job that was taken gets no finalizer in its template afterwards."""
    async with world(tmp_path) as it:
        await apply_guide(it)
        await submit(it, a_job())
        patch = {"spec": {"template": {"metadata": {"finalizers": ["example.com/never"]}}}}
        with pytest.raises(errors.KubeError):
            await it.kube.merge_patch(
                "batch/v1", "Job", "compute-jobs", "flood", patch, field_manager=FIELDS
            )
        job = await it.get("Job", "flood", "compute-jobs")
        assert "finalizers" not in job["spec"]["template"]["metadata"]


@EVERY
async def test_without_the_policy_the_job_is_refused_by_an_event(tmp_path, hostile):
    """The Warning has the code and the field; the hub has no row of it, and the Job can be deleted."""
    cluster = await without_policy(tmp_path)
    try:
        async with world(tmp_path, cluster) as it:
            await apply_guide(it)
            marked = in_queue(hostile)
            marked["spec"]["managedBy"] = labels.JOB_CONTROLLER
            await submit(it, marked)

            async def told() -> Any:
                return (await warnings(it)).get(hostile.name)

            reason, message = await until(told)
            assert reason == hostile.code
            assert hostile.field in message
            names = [("compute-jobs", hostile.name)]
            assert not await it.hub.hub.read(workloads.live_by_name, names)
            await it.delete("Job", hostile.name, "compute-jobs")

            async def gone() -> bool:
                return await it.get("Job", hostile.name, "compute-jobs") is None

            await until(gone)
    finally:
        await cluster.stop()


def test_the_policy_is_the_same_as_a_real_one():
    """The simulated cluster refuses with the words of deploy/hub-cluster/job-guard.yaml."""
    (policy,) = [
        each
        for each in yaml.safe_load_all(GUARD.read_text())
        if each["kind"] == "ValidatingAdmissionPolicy"
        and each["metadata"]["name"] == template_guard.POLICY
    ]
    words = {
        value
        for value in vars(template_guard).values()
        if isinstance(value, str) and re.match(r"[A-Z]\w+: spec\.template", value)
    }
    assert {each["message"] for each in policy["spec"]["validations"]} == words
