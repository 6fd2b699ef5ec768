"""Pods of the member's people that carry a job's labels: the agent waits for them reports nothing else."""

import pytest

from agent.objects.pods import job_owner
from shared import labels
from tests.agent.scripted_hub import a_job, a_job_manifest, eventually

pytestmark = pytest.mark.anyio
FAILS = {"sim.roadstead.dev/exit-code": "3"}


async def people_make(member, name, **spec):
    """People create a Job with the labels and environment of u-1; its pods are in the agent's cache."""
    manifest = a_job_manifest(name, uid="u-1", **spec)
    manifest["metadata"]["finalizers"] = [labels.MEMBER_FINALIZER]
    made = await member.kube.create(manifest, field_manager="people")
    await eventually(lambda: views_of(member, made["metadata"]["uid"]))
    return made


def views_of(member, job_uid):
    """The agent's views of a Job's pods."""
    pods = member.agent.reconciler.observer.pods.get("u-1")
    return pods.owned_by(job_uid) if pods is not None else []


async def failed(member, job_uid):
    """Wait until the agent has seen that pods of a Job failed."""
    await eventually(lambda: any(each.failure for each in views_of(member, job_uid)))


async def test_failing_pods_of_a_copied_job_do_not_fail_the_job(member):
    """They are neither its result nor an attempt: the job succeeds, and no report names them."""
    member.start()
    member.hub.put(a_job(run_seconds="3"))
    await member.hub.job_says("u-1", "running_since")
    copy = await people_make(member, "copy", run_seconds="0.1", annotations=FAILS, backoffLimit=0)
    await failed(member, copy["metadata"]["uid"])
    entry = await member.hub.finished("u-1")
    assert (entry.job.failures, entry.job.failed) == (None, 0)
    assert not [each for each in member.hub.told if each.job and "copy" in each.job.message]


async def test_a_failed_job_is_told_with_its_own_exit_codes_alone(member):
    """The copy failed with code 3, for which `retry-on` would give the job another attempt."""
    member.start()
    own = {"sim.roadstead.dev/exit-code": "7"}
    work = a_job(run_seconds="3", annotations=own, backoffLimit=0)
    work.manifest["metadata"]["annotations"][labels.RETRY_ON] = "3"
    member.hub.put(work)
    await member.hub.job_says("u-1", "running_since")
    copy = await people_make(member, "copy", run_seconds="0.1", annotations=FAILS, backoffLimit=0)
    await failed(member, copy["metadata"]["uid"])
    entry = await member.hub.finished("u-1", "Failed")
    assert entry.job.failures == ["7/Error"]
    assert "exited with code 7" in entry.job.message
    assert "copy" not in entry.job.message


async def test_pods_of_others_neither_run_for_a_job_nor_hold_it_up(member):
    """That no node has room stays the job's reason, though pods of copies run and are stuck."""
    member.start()
    work, changed = a_job(), a_job(generation=2)
    for each in (work, changed):
        (container,) = each.manifest["spec"]["template"]["spec"]["containers"]
        container["resources"]["requests"]["cpu"] = "100"
    member.hub.put(work)
    await member.hub.job_says("u-1", "reason")
    copy = await people_make(member, "copy", run_seconds="300")
    stuck = await people_make(member, "stuck", image="registry.invalid/none:1")
    await eventually(
        lambda: any(each.started for each in views_of(member, copy["metadata"]["uid"]))
    )
    await eventually(
        lambda: any(each.reason for each in views_of(member, stuck["metadata"]["uid"]))
    )
    member.hub.put(changed)
    entry = await member.hub.until(
        lambda hub: hub.observed["u-1"].generation == 2 and hub.observed["u-1"]
    )
    assert (entry.job.reason, entry.job.running_since) == ("FailedScheduling", None)
    reasons = {each.job.reason for each in member.hub.told if each.job}
    assert reasons <= {"", "FailedScheduling"}
    assert not [each for each in member.hub.capacity.bound if each.uid == "u-1" and each.bound]


async def test_a_restored_job_gives_its_result_and_no_words_of_its_pods(member):
    """It lacks the agent's managed fields: the agent reports only its status."""
    work = a_job(seen=True, run_seconds="1", annotations=FAILS, backoffLimit=0)
    work.manifest["metadata"]["annotations"][labels.RETRY_ON] = "3"
    manifest = {**work.manifest, "metadata": dict(work.manifest["metadata"])}
    manifest["metadata"]["finalizers"] = [labels.MEMBER_FINALIZER]
    await member.kube.create(manifest, field_manager="backup")
    member.hub.put(work)
    member.start()
    await member.hub.job_says("u-1", "running_since")
    entry = await member.hub.finished("u-1", "Failed")
    assert (entry.job.failed, entry.job.failures) == (1, [])
    assert "exited" not in entry.job.message


async def test_a_withdrawal_waits_for_the_pods_of_a_restored_job(member):
    """It could be the job, though no managed fields prove that: nothing runs twice."""
    manifest = a_job_manifest(uid="u-1", run_seconds="300")
    await member.kube.create(manifest, field_manager="backup")
    member.hub.put(a_job(seen=True, run_seconds="300"))
    member.start()
    await member.hub.job_says("u-1", "running_since")
    (pod,) = member.cluster.store.list("pods", "team")
    assert not views_of(member, job_owner(pod["metadata"]))[0].made
    held = {"metadata": {"finalizers": ["example.com/held"]}}
    name = pod["metadata"]["name"]
    await member.kube.merge_patch("v1", "Pod", "team", name, held, field_manager="people")
    member.hub.put(a_job(action="Withdraw"))
    await eventually(
        lambda: member.cluster.store.get("pods", "team", name)["metadata"].get("deletionTimestamp")
    )
    assert not [each for each in member.hub.told if each.phase == "Gone"]
    let_go = {"metadata": {"finalizers": None}}
    await member.kube.merge_patch("v1", "Pod", "team", name, let_go, field_manager="people")
    await member.hub.seen("u-1", "Gone")
