"""Labels that are too large, by kubectl: a policy refuses them, and the caches do not keep them."""

from typing import Any

import orjson
import pytest
import yaml

from hub.bridge.slimming import is_too_large, slimmed
from hub.store import workloads
from shared import labels
from shared.kinds.selectors import LABEL_BYTES
from shared.kube import errors
from shared.kubesim.server import label_guard
from tests.bridge.guide import apply_guide
from tests.bridge.hub_cluster import FIELDS, until, warnings, world
from tests.bridge.policies import GUARD, QUEUE, a_job, submit, without_policy

pytestmark = pytest.mark.anyio
LARGE = {f"k{n:05d}": "v" * 10 for n in range(20_000)}


@pytest.mark.parametrize("where", ["own", "template"])
async def test_the_policy_refuses_a_job_whose_labels_are_too_large(tmp_path, where):
    """On creation, with the bound and the remedy; the Job is not there."""
    async with world(tmp_path) as it:
        await apply_guide(it)
        with pytest.raises(errors.KubeError, match=label_guard.TOO_LARGE):
            await submit(it, a_job(**{where: LARGE}))
        assert await it.get("Job", "flood", "compute-jobs") is None


async def test_the_policy_refuses_an_update_to_labels_that_are_too_large(tmp_path):
    """A Job that was taken stays as it was."""
    async with world(tmp_path) as it:
        await apply_guide(it)
        await submit(it, a_job())
        patch = {"metadata": {"labels": LARGE}}
        with pytest.raises(errors.KubeError, match=label_guard.TOO_LARGE):
            await it.kube.merge_patch(
                "batch/v1", "Job", "compute-jobs", "flood", patch, field_manager=FIELDS
            )


def test_the_policy_is_the_same_as_a_real_one():
    """The simulated cluster refuses with the words and the bound of deploy/hub-cluster/job-guard.yaml."""
    (policy,) = [
        each
        for each in yaml.safe_load_all(GUARD.read_text())
        if each["kind"] == "ValidatingAdmissionPolicy"
        and each["metadata"]["name"] == label_guard.POLICY
    ]
    rules = policy["spec"]["validations"]
    assert {each["message"] for each in rules} == {label_guard.TOO_LARGE}
    assert all(each["expression"].count(f"<= {LABEL_BYTES}") == 2 for each in rules)


@pytest.mark.parametrize("where", ["own", "template"])
async def test_without_the_policy_the_job_is_refused_by_an_event(tmp_path, where):
    """The Warning names the field and the bound; the hub has no row of it."""
    cluster = await without_policy(tmp_path)
    try:
        async with world(tmp_path, cluster) as it:
            await apply_guide(it)
            marked = a_job(**{where: LARGE})
            marked["spec"]["managedBy"] = labels.JOB_CONTROLLER
            await submit(it, marked)

            async def told() -> Any:
                return (await warnings(it)).get("flood")

            reason, message = await until(told)
            assert reason == "LabelsTooLarge"
            assert f"more than {LABEL_BYTES} bytes" in message
            assert not await it.hub.hub.read(workloads.live_by_name, [("compute-jobs", "flood")])
            await it.delete("Job", "flood", "compute-jobs")

            async def gone() -> bool:
                return await it.get("Job", "flood", "compute-jobs") is None

            await until(gone)
    finally:
        await cluster.stop()


def an_object(**metadata: Any) -> dict[str, Any]:
    """A Job as an API server gives it, with the managed fields of its labels."""
    fields: dict[str, Any] = {f"f:{key}": {} for key in metadata.get("labels") or {}}
    entry = {
        "manager": "kubectl",
        "operation": "Update",
        "fieldsV1": {"f:metadata": {"f:labels": fields}},
    }
    return {**a_job(), "metadata": {"name": "x", "managedFields": [entry], **metadata}}


def test_a_cache_keeps_little_of_what_is_too_large():
    """Of 20,000 labels and their managed fields at most twice the bound remains."""
    kept = slimmed(an_object(labels=LARGE))
    assert len(orjson.dumps(kept)) < 2 * LABEL_BYTES
    assert is_too_large(kept["metadata"])
    assert [each["manager"] for each in kept["metadata"]["managedFields"]] == ["kubectl"]


def test_a_cache_keeps_the_labels_by_which_an_object_is_ours():
    """They are among those that remain, wherever they stood."""
    kept = slimmed(an_object(labels={**LARGE, **QUEUE, labels.ORIGIN: "rest"}))
    assert {**QUEUE, labels.ORIGIN: "rest"}.items() <= kept["metadata"]["labels"].items()


def test_a_cache_keeps_what_fits_as_it_is():
    """No copy is made of an object within the bound."""
    obj = an_object(labels=QUEUE)
    assert slimmed(obj) is obj
