"""How Jobs end in a member: nothing late starts, no end is lost, nothing hangs on us."""

import pytest

from agent.member.applier import Applier
from agent.metrics import Meters
from agent.objects.facts import is_held_by_us
from agent.reconcile.reconciler import Reconciler
from agent.reconcile.resync import STRANDED_S, Resync
from agent.release import _run as release
from agent.works.lease import Lease
from agent.works.tracked import TrackedWork
from shared import labels
from shared.clock import ManualClock
from shared.kube import errors
from tests import waiting
from tests.agent.moments import a_live_job
from tests.agent.scripted_hub import HUB_ID, a_job, eventually

pytestmark = pytest.mark.anyio


@pytest.fixture
def pods_made(member):
    """Names of every pod that is ever created in the member, in order."""
    made = []

    def note(event):
        if event.resource_key == "pods" and event.type == "ADDED":
            made.append(event.object["metadata"]["name"])

    member.cluster.store.subscribe(note)
    return made


async def test_a_create_that_lands_after_the_job_was_taken_back_starts_nothing(member, pods_made):
    """The agent gives the job back at once; what lands late is never started, and goes by order."""
    late = member.cluster.faults.add("hold", verb="create", resource="jobs")
    member.hub.put(a_job(fresh=True))
    member.start()
    await eventually(lambda: late.hits)
    member.hub.put(a_job(action="Withdraw", fresh=True))
    await member.hub.seen("u-1", "Gone")
    member.hub.drop("u-1")
    await member.hub.taken_in()
    member.cluster.faults.remove()
    await member.hub.seen("u-1", "Waiting", "Orphan")
    await member.absent()
    assert pods_made == []


async def test_a_completed_job_that_is_deleted_at_once_has_succeeded(member):
    """Whoever deletes it, a finished Job stays until the hub has its result."""
    member.hub.loses = lambda request: any(entry.job for entry in request.observed.entries)
    member.hub.put(a_job())
    member.start()
    await eventually(lambda: finished(member))
    await member.kube.delete("batch/v1", "Job", "team", "job")
    await member.stop()
    member.hub.loses = lambda request: False
    member.start()
    await member.hub.finished("u-1")
    member.hub.put(a_job(action="Keep"))
    await member.absent()


def finished(member):
    """Whether the one Job in the member has ended."""
    (job,) = list(member.cluster.store.iterate("jobs.batch")) or [{}]
    return any(c["type"] == "Complete" for c in (job.get("status") or {}).get("conditions") or ())


async def test_someones_background_deletion_ends_the_pods_before_it_is_told(member):
    """Our finalizer would keep the pods of a Job that is deleted in the background: we see to them."""
    member.hub.put(a_job(run_seconds="600"))
    member.start()
    await member.hub.job_says("u-1", "active")
    await member.kube.delete("batch/v1", "Job", "team", "job", propagation="Background")
    await member.hub.seen("u-1", "Missing")
    assert (await member.kube.list("v1", "Pod", "team")).items == []
    await member.absent()


async def test_a_kept_job_is_let_go_when_there_is_nothing_else_to_do(member):
    """Its result is with the hub: anybody may delete it from then on."""
    member.hub.put(a_job())
    member.start()
    await member.hub.finished("u-1")
    member.hub.put(a_job(action="Keep"))
    await eventually(lambda: not held(member))
    assert await member.job()


def held(member):
    (job,) = list(member.cluster.store.iterate("jobs.batch"))
    return labels.MEMBER_FINALIZER in (job["metadata"].get("finalizers") or ())


async def test_a_namespace_that_goes_takes_its_jobs_along_without_the_hub(member):
    """Its deletion never hangs on us: after a minute without the hub the end is kept in memory."""
    member.hub.put(a_job(run_seconds="600"))
    member.start()
    await member.hub.job_says("u-1", "active")
    tracked = member.agent.reconciler.tracked_works["u-1"]
    member.hub.down = True
    await member.kube.delete("v1", "Namespace", "", "team")
    await eventually(lambda: tracked.seen.closed)
    clock = ManualClock()
    clock.advance(tracked.since + STRANDED_S)
    applier = Applier(member.kube, HUB_ID, clock)
    reconciler = member.agent.reconciler
    await Resync({"u-1": tracked}, reconciler.observer, applier, clock, reconciler).look()
    await eventually(lambda: not list(member.cluster.store.iterate("jobs.batch")))
    member.hub.down = False
    await member.hub.seen("u-1", "Missing")


async def test_the_end_of_a_later_epoch_is_kept_by_an_agent_that_is_behind(member):
    """Its lease lasts, and yet another may owe the hub that end: it waits until the hub was told of it."""
    member.hub.put(a_job(action="Withdraw", fresh=True))
    member.start(lease_s=30.0)
    await member.hub.seen("u-1", "Gone")
    member.hub.down = True
    job = a_job(epoch=2).manifest
    job["metadata"]["finalizers"] = [labels.MEMBER_FINALIZER]
    await member.kube.create(job, field_manager="roadstead")
    await eventually(lambda: finished(member))
    await member.kube.delete("batch/v1", "Job", "team", "job", propagation="Background")
    deleted = await member.job()
    await waiting.span(0.5, why="an agent that concluded from its lease would let it go meanwhile")
    assert (await member.job())["metadata"] == deleted["metadata"]
    member.hub.down = False
    await member.hub.seen("u-1", "Applied", "NewerEpoch")
    await member.absent()


async def test_what_an_agent_left_behind_is_released_by_command(member, tmp_path, capsys):
    """Listed first; released with --yes; whoever deletes the Job then is not held up."""
    member.hub.put(a_job(run_seconds="600"))
    member.start()
    await member.hub.seen("u-1", "Applied")
    await member.stop()
    assert await release(tmp_path / "kubeconfig", "", do=False) == 0
    assert held(member)
    assert await release(tmp_path / "kubeconfig", "another-hub", do=True) == 0
    assert held(member)
    assert await release(tmp_path / "kubeconfig", HUB_ID, do=True) == 0
    assert not held(member)
    assert capsys.readouterr().out.splitlines()[-5:] == [
        *("team/job", "held: 1; --yes releases them"),
        "no hub holds a Job here: nothing to release",
        *("team/job", "released: 1 of 1"),
    ]
    await member.kube.delete("batch/v1", "Job", "team", "job")
    with pytest.raises(errors.NotFound):
        await member.job()


async def test_one_job_is_released_by_its_name(member, tmp_path, capsys):
    """The others stay held; a name that is no Job of a hub is told, and shows in the exit code."""
    member.hub.put(a_job(run_seconds="600"), a_job("u-2", "other", run_seconds="600"))
    member.start()
    await member.hub.seen("u-1", "Applied")
    await member.hub.seen("u-2", "Applied")
    await member.stop()
    kubeconfig = tmp_path / "kubeconfig"
    assert await release(kubeconfig, "", do=True, only=["team/other"]) == 0
    assert is_held_by_us(await member.job())
    assert not is_held_by_us(await member.job("other"))
    assert await release(kubeconfig, "", do=True, only=["team/none"]) == 1
    assert "team/none: no Job" in capsys.readouterr().err


def test_an_answer_that_its_deletion_overtook_brings_nothing_back():
    """The event of a deletion may come before the answer of the DELETE that asked for it."""
    going = a_job().manifest
    going["metadata"] |= {"uid": "m-1", "resourceVersion": "9", "deletionTimestamp": "now"}
    tracked = TrackedWork("u-1", work=a_job())
    tracked.is_here(going, 1.0)
    tracked.went()
    tracked.is_here(going, 2.0)
    assert tracked.seen.live is None


async def test_that_an_older_object_went_says_nothing_of_the_one_that_took_its_name(member):
    """The answer of our POST may come before the event of the deletion that made room for it."""
    agent = Reconciler(member.kube, HUB_ID, Lease(30.0), lambda: None, ManualClock(), Meters())
    older, newer = a_live_job(), a_live_job(epoch=2, waiting=True)
    newer["metadata"]["uid"] = "m-2"
    agent.desire([a_job(epoch=2)], [])
    agent.object_changed("u-1", older)
    agent.object_changed("u-1", newer)
    agent.object_gone("u-1", older)
    assert agent.tracked_works["u-1"].seen.live == newer
