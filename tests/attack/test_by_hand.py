"""What people in a member do to Jobs by hand."""

import pytest

from agent.member.applier import Applier
from shared import labels
from shared.clock import SystemClock
from tests.agent.scripted_hub import HUB_ID, a_job, eventually

pytestmark = pytest.mark.anyio


async def label(member, key, value):
    patch = {"metadata": {"labels": {key: value}}}
    where = ("batch/v1", "Job", "team", "job")
    await member.kube.merge_patch(*where, patch, field_manager="kubectl")


@pytest.mark.parametrize("epoch", ["0", "7", None])
async def test_an_edited_epoch_label_does_not_end_a_running_job(member, epoch):
    """The label is put back; the Job runs on, and is withdrawn as ever."""
    member.hub.put(a_job(run_seconds="600"))
    member.start()
    before = await member.hub.job_says("u-1", "running_since")
    await label(member, labels.EPOCH, epoch)
    live = await labelled(member, labels.EPOCH, "1")
    assert live["metadata"]["uid"] == before.object_uid
    assert "deletionTimestamp" not in live["metadata"]
    member.hub.put(a_job(action="Withdraw"))
    await member.hub.seen("u-1", "Gone")


@pytest.mark.parametrize("key", [labels.JOB_UID, labels.MANAGED_BY])
@pytest.mark.parametrize("value", ["another", None])
async def test_an_edited_label_does_not_make_a_job_anothers(member, key, value):
    """It is put back, and the Job has been the same all the time."""
    work = a_job(run_seconds="600")
    member.hub.put(work)
    member.start()
    before = await member.hub.job_says("u-1", "running_since")
    await label(member, key, value)
    live = await labelled(member, key, work.manifest["metadata"]["labels"][key])
    assert live["metadata"]["uid"] == before.object_uid
    assert {entry.uid for entry in member.hub.told} == {"u-1"}


@pytest.mark.parametrize("withdrawn", [False, True])
async def test_a_withdrawn_job_whose_epoch_label_was_edited_goes(member, withdrawn):
    """Whether it was edited before or after: what is deleted is the Job of the work."""
    member.hub.put(a_job(run_seconds="600"))
    member.start()
    await member.hub.job_says("u-1", "running_since")
    await member.stop()
    await label(member, labels.EPOCH, "7")
    if withdrawn:
        member.hub.put(a_job(action="Withdraw"))
        member.start()
        await member.hub.seen("u-1", "Gone")
    else:
        member.start()
        await labelled(member, labels.EPOCH, "1")


async def labelled(member, key, value):
    """The Job, once this label of it is so."""

    def now():
        job = member.cluster.store.get("jobs.batch", "team", "job")
        return job["metadata"]["labels"].get(key) == value

    await eventually(now)
    return await member.job()


async def test_an_orphaning_deletion_does_not_wedge_a_job(member):
    """kubectl delete --cascade=orphan leaves pods that nobody deletes: their end is enough."""
    member.hub.put(a_job(run_seconds="1.5"))
    member.start()
    await member.hub.job_says("u-1", "running_since")
    await member.kube.delete("batch/v1", "Job", "team", "job", propagation="Orphan")
    await eventually(lambda: all(map(ended, member.cluster.store.iterate("pods"))))
    await member.hub.seen("u-1", "Missing")


def ended(pod):
    return pod["status"].get("phase") == "Succeeded"


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


async def test_what_is_left_to_a_person_goes_when_that_person_deletes_it(member):
    """The hub does not know it: once its pods are gone, nobody waits for how it has ended."""
    member.hub.stray_action = "Quarantine"
    crafted = a_job("u-9", run_seconds="600").manifest
    crafted["metadata"]["finalizers"] = [labels.MEMBER_FINALIZER]
    await member.kube.create(crafted, field_manager="roadstead")
    member.start()
    await member.hub.seen("u-9", "Applied", "Orphan")
    await eventually(lambda: list(member.cluster.store.iterate("pods")))
    await member.kube.delete("batch/v1", "Job", "team", "job", propagation="Background")
    await member.absent()
    assert not [p for p in member.cluster.store.iterate("pods") if not ended(p)]


async def test_a_job_of_an_epoch_that_the_hub_has_forgotten_goes_when_a_person_deletes_it(member):
    """The hub went back to an earlier epoch: what runs is left alone, and can be deleted."""
    member.hub.put(a_job(epoch=2, run_seconds="600"))
    member.start()
    await member.hub.job_says("u-1", "running_since")
    member.hub.put(a_job(epoch=1, seen=True))
    await member.hub.seen("u-1", "Applied", "NewerEpoch")
    await member.kube.delete("batch/v1", "Job", "team", "job", propagation="Background")
    await member.absent()
    await member.hub.seen("u-1", "Missing")
