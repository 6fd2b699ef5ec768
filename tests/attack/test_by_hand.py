"""What people in a member do to Jobs by hand."""

import asyncio

import pytest

from agent.applier import Applier
from shared import labels
from shared.clock import SystemClock
from tests.agent.scripted_hub import HUB_ID, a_job, eventually

pytestmark = pytest.mark.anyio


async def label(member, key, value):
    patch = {"metadata": {"labels": {key: value}}}
    where = ("batch/v1", "Job", "team", "job")
    await member.kube.merge_patch(*where, patch, field_manager="kubectl")


@pytest.mark.xfail(strict=True, reason="a Job's epoch is read from a label that anybody may edit")
@pytest.mark.parametrize("epoch", ["0", None])
async def test_an_edited_epoch_label_does_not_end_a_running_job(member, epoch):
    """The label is put back; the Job runs on."""
    member.hub.put(a_job(run_seconds="600"))
    member.start()
    before = await member.hub.job_says("u-1", "running_since")
    await label(member, labels.EPOCH, epoch)
    await asyncio.sleep(2)
    live = await member.job()
    assert live["metadata"]["uid"] == before.object_uid
    assert "deletionTimestamp" not in live["metadata"]


@pytest.mark.xfail(strict=True, reason="NewerEpoch is neither mended nor ever withdrawn")
async def test_a_raised_epoch_label_does_not_keep_a_job_from_being_withdrawn(member):
    """It is ours by its uid, whatever its label says."""
    member.hub.put(a_job(run_seconds="600"))
    member.start()
    await member.hub.job_says("u-1", "running_since")
    await label(member, labels.EPOCH, "7")
    await member.hub.seen("u-1", "Applied", "NewerEpoch")
    member.hub.put(a_job(action="Withdraw"))
    await member.hub.seen("u-1", "Gone", timeout_s=6)


async def test_an_orphaning_deletion_does_not_wedge_a_job(member):
    """kubectl delete --cascade=orphan leaves pods that nobody deletes: their end is enough."""
    member.hub.put(a_job(run_seconds="1.5"))
    member.start()
    await member.hub.job_says("u-1", "running_since")
    await member.kube.delete("batch/v1", "Job", "team", "job", propagation="Orphan")
    await eventually(lambda: ended(member))
    await member.hub.seen("u-1", "Missing", timeout_s=6)


def ended(member):
    (pod,) = member.cluster.store.iterate("pods")
    return pod["status"]["phase"] == "Succeeded"


async def test_another_object_of_the_epoch_is_not_its_absence(member):
    """What was to be deleted has been replaced by a Job of the same work: that one is what there is."""
    stale = await member.kube.create(a_job().manifest, field_manager="roadstead")
    await member.kube.delete("batch/v1", "Job", "team", "job")
    await eventually(lambda: not list(member.cluster.store.iterate("jobs.batch")))
    now = await member.kube.create(a_job(run_seconds="600").manifest, field_manager="roadstead")
    applier = Applier(member.kube, HUB_ID, SystemClock())
    outcome = await applier.delete(stale, "Foreground", strict=True)
    assert outcome.absent_at is None
    assert outcome.live["metadata"]["uid"] == now["metadata"]["uid"]
