"""What is told of one work: how it ended, what drifted and since when, what its Job says of itself."""

import copy
import datetime as dt

import pytest

from agent.decide.decision import Decision
from agent.decide.jobs import NEWER_EPOCH
from agent.objects.pods import JobPods
from agent.objects.readings import Reading
from agent.works.tracked import TrackedWork
from shared import labels
from shared.wire.agent_v1 import Drift
from tests.agent.moments import a_live_job, tracking
from tests.agent.owned import a_config_map, live_of, owning
from tests.agent.parents import a_parent, created
from tests.agent.scripted_hub import a_job, an_object

APPLIED = Decision("Applied")
NOW = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("phase", "object_uid", "acknowledged"),
    [
        ("Gone", "m-1", "m-1"),
        ("Missing", "m-1", "m-1"),
        ("Applied", "m-1", ""),
        ("Gone", "", ""),
        ("Failed", "m-1", ""),
    ],
)
def test_the_end_of_an_object_is_known_once_an_entry_that_said_so_is_stored(
    phase, object_uid, acknowledged
):
    """Gone or Missing, of the object that the entry named."""
    tracked = tracking(a_live_job())
    entry = tracked.observed(Decision(phase), None)
    entry.object_uid, entry.job = object_uid, None
    assert tracked.reported(entry) is bool(acknowledged)
    assert tracked.seen.acknowledged == acknowledged


def test_a_result_that_is_stored_is_news_once():
    """The deletion that waited for it goes on; told again it marks nothing."""
    tracked = tracking(a_live_job(ended_ago=1))
    entry = tracked.observed(APPLIED, None)
    assert [tracked.reported(entry), tracked.reported(entry)] == [True, False]
    assert tracked.seen.told == "m-1"
    running = tracking(a_live_job())
    assert not running.reported(running.observed(APPLIED, None))
    assert running.seen.told == ""


def test_an_object_is_forgotten_once_the_hub_is_told_that_it_is_of_a_newer_epoch():
    """That one, by its uid, and it is news once; whatever else is told of it says nothing of that."""
    tracked = tracking(a_live_job(epoch=2))
    assert not tracked.reported(tracked.observed(APPLIED, None))
    assert tracked.seen.forgotten == ""
    entry = tracked.observed(Decision("Applied", reason=NEWER_EPOCH), None)
    assert [tracked.reported(entry), tracked.reported(entry)] == [True, False]
    assert tracked.seen.forgotten == "m-1"
    assert entry.found_epoch == 2


def a_drift(path, member):
    return Drift(path=path, hub='"1"', member=member, first_seen="2026-01-01T00:00:00Z")


def test_mended_drift_is_told_until_it_is_stored():
    """What the stored entry did not hold yet is told with the next."""
    tracked = tracking(a_live_job())
    tracked.overwritten = {"/a": a_drift("/a", '"2"')}
    entry = tracked.observed(APPLIED, None)
    tracked.overwritten["/b"] = a_drift("/b", '"3"')
    assert tracked.reported(entry)
    assert [each.path for each in tracked.observed(APPLIED, None).drift] == ["/b"]


@pytest.mark.parametrize(("stored", "told"), [(False, ["/a"]), (True, [])])
def test_mended_drift_that_is_stored_already_is_not_told_again(stored, told):
    """A fight delays the overwriting, and the hub stores the drift meanwhile: the next entry omits it."""
    tracked = tracking(a_live_job())
    tracked.drifts = {"/a": a_drift("/a", '"2"')}
    if stored:
        tracked.reported(tracked.observed(APPLIED, None))
    tracked.mend()
    tracked.drifts = {}
    assert [each.path for each in tracked.observed(APPLIED, None).drift] == told


def test_of_a_path_that_drifts_again_its_present_value_is_told():
    """Not the one that was mended and is not reported yet; in the order of paths, a hundred at most."""
    tracked = tracking(a_live_job())
    tracked.overwritten = {"/b": a_drift("/b", '"old"'), "/a": a_drift("/a", '"2"')}
    tracked.drifts = {"/b": a_drift("/b", '"new"')}
    told = [(each.path, each.member) for each in tracked.observed(APPLIED, None).drift]
    assert told == [("/a", '"2"'), ("/b", '"new"')]
    tracked.drifts = {f"/{n:03}": a_drift(f"/{n:03}", "1") for n in range(101)}
    many = tracked.observed(APPLIED, None).drift
    assert (len(many), many[-1].path) == (100, "/099")


def drifting(**data):
    manifest = a_config_map(a="1", b="2")
    work = an_object(manifest, "o-1")
    tracked = TrackedWork("o-1", work=work)
    tree: dict[str, object] = {"f:data": {"f:b": {}}}
    tracked.is_here(live_of(work.manifest, owning(tree), data={"a": "1", "b": "2", **data}), 1.0)
    return tracked


def test_a_drift_keeps_the_hour_at_which_it_was_seen_first():
    """However often it is looked at, and whatever its value is by then; another path has its own."""
    tracked = drifting(a="8")
    tracked.compare(NOW)
    tracked.seen.live["data"]["a"] = "9"
    tracked.compare(NOW + dt.timedelta(minutes=5))
    (drift,) = tracked.drifts.values()
    assert (drift.path, drift.member) == ("/data/a", '"9"')
    assert drift.first_seen == "2026-01-01T12:00:00Z"
    assert tracked.seen.drifted


@pytest.mark.parametrize("change", ["deleting", "mended"])
def test_drift_ends_with_what_drifted(change):
    """An object that is as declared, or is being deleted, has none."""
    tracked = drifting(a="8")
    tracked.compare(NOW)
    if change == "deleting":
        tracked.seen.live["metadata"]["deletionTimestamp"] = "now"
    else:
        tracked.seen.live["data"]["a"] = "1"
    tracked.compare(NOW)
    assert (tracked.drifts, tracked.seen.drifted) == ({}, False)


@pytest.mark.parametrize(
    ("part", "key", "value"),
    [
        ("labels", labels.MANAGED_BY, "x"),
        ("annotations", "example.com/note", "x"),
        ("generation", "", 2),
        ("status", "", {"active": 1}),
    ],
)
def test_a_job_is_compared_where_its_spec_or_its_marks_changed(part, key, value):
    """A change of annotations alone is one; one of its status is none."""
    work = a_job(parallelism=2)
    work.manifest["metadata"]["annotations"]["example.com/note"] = "kept"
    tracked = tracking(copy.deepcopy(a_live_job(work)), work)
    tracked.compare(NOW)
    assert not tracked.drifts
    changed = copy.deepcopy(tracked.seen.live)
    if part == "status":
        changed["status"] = value
    elif key:
        changed["metadata"][part][key] = value
    else:
        changed["metadata"]["generation"], changed["spec"]["parallelism"] = value, 1
    tracked.is_here(changed, 20.0)
    tracked.compare(NOW)
    assert bool(tracked.drifts) is (part != "status")


def test_a_job_is_compared_anew_with_another_work():
    """What it drifted from is not what is asked for now."""
    tracked = tracking(a_live_job(parallelism=2), a_job(parallelism=2))
    tracked.compare(NOW)
    tracked.work = a_job(parallelism=3)
    tracked.compare(NOW)
    assert list(tracked.drifts) == ["/spec/parallelism"]


@pytest.mark.parametrize(
    ("dry", "drifts"), [({"a": "1"}, ["/data/a"]), ({"a": "8"}, []), (None, None)]
)
def test_a_doubt_is_settled_by_what_an_apply_would_change(dry, drifts):
    """A path that it would leave as the member has it is no drift; without an answer nothing is said."""
    tracked = drifting(a="8")
    tracked.doubtful = True
    tracked.settle_doubt(dry and {"data": {**dry, "b": "2"}}, NOW)
    assert list(tracked.drifts) == (drifts or [])
    assert not tracked.doubtful


def with_failure(epoch=1):
    pods = JobPods()
    pods.failed = (epoch, "2026-01-01T00:00:00Z", "pod p: container main exited with code 3", "p")
    return pods


def a_failed_job(**changes):
    live = a_live_job(**changes)
    failed = {"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "message": ""}
    live["status"] = {"conditions": [failed]}
    return live


@pytest.mark.parametrize(("epoch", "told"), [(1, True), (2, False), (0, False)])
def test_how_a_pod_failed_is_told_of_its_own_epoch(epoch, told):
    """It outlasts the pods, and is said of no other run."""
    tracked = tracking(a_failed_job())
    tracked.observed(APPLIED, with_failure(epoch))
    entry = tracked.observed(APPLIED, JobPods())
    assert ("exited with code 3" in entry.job.message) is told


def test_a_failure_is_told_with_how_all_its_pods_failed():
    """Where its job may be tried again by exit codes; one that is deleted is told of at once."""
    live = a_failed_job()
    live["status"]["failed"] = 1
    tracked = tracking(live)
    tracked.work.manifest["metadata"]["annotations"] = {labels.RETRY_ON: "137"}
    assert tracked.account(100.0) == 110.0
    assert tracked.observed(APPLIED, None).job.result is None
    pods = JobPods()
    pods.failures.note(1, "p", ("137/Error",))
    tracked.look_at(pods)
    assert tracked.account(101.0) is None
    told = tracked.observed(APPLIED, pods).job
    assert (told.result, told.failures) == ("Failed", ["137/Error"])
    tracked.look_at(JobPods())  # its pods are gone
    assert tracked.observed(APPLIED, JobPods()).job.failures == ["137/Error"]


def test_a_failure_of_another_kind_is_told_with_how_a_pod_of_it_failed():
    """By its definition it has failed: some pod has, and the watch of pods may be behind."""
    work = a_parent()
    work.manifest["metadata"]["annotations"] = {labels.RETRY_ON: "137"}
    tracked = tracking(created(), work)
    tracked.seen.reading = Reading("m-1", "7", result="Failed", ended_at=NOW)
    assert tracked.account(100.0) == 110.0
    assert tracked.observed(APPLIED, None).job.result is None
    pods = JobPods()
    pods.failures.note(1, "p", ("137/Error",))
    tracked.look_at(pods)
    assert tracked.account(101.0) is None
    told = tracked.observed(APPLIED, pods).job
    assert (told.result, told.failures) == ("Failed", ["137/Error"])


def test_a_failure_of_another_kind_without_a_failed_pod_is_told_after_a_while():
    """As one that reached its deadline: the hub judges without exit codes."""
    work = a_parent()
    work.manifest["metadata"]["annotations"] = {labels.RETRY_ON: "137"}
    tracked = tracking(created(), work)
    tracked.seen.reading = Reading("m-1", "7", result="Failed", ended_at=NOW)
    assert tracked.account(100.0) == 110.0
    assert tracked.account(110.0) is None
    told = tracked.observed(APPLIED, None).job
    assert (told.result, told.failures) == ("Failed", [])


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        ({}, "FailedCreate"),
        ({"active": 1}, ""),
        ({"active": 0}, "FailedCreate"),
        (a_failed_job()["status"], "BackoffLimitExceeded"),
    ],
)
def test_what_events_say_is_told_of_a_job_without_pods_alone(status, reason):
    """One with pods, or with a result, speaks for itself."""
    live = a_live_job()
    live["status"] = status
    tracked = tracking(live, hint=("FailedCreate", "exceeded quota"))
    assert tracked.observed(APPLIED, None).job.reason == reason


@pytest.mark.parametrize(("epoch", "result"), [(1, None), (2, "Succeeded"), (3, "Succeeded")])
def test_what_an_earlier_epochs_job_says_is_not_the_works(epoch, result):
    """While it is being cleared away nothing is told of the work; a newer one's is told as it is."""
    tracked = TrackedWork("u-1", work=a_job(epoch=2))
    tracked.is_here(a_live_job(epoch=epoch, ended_ago=1), 1.0)
    job = tracked.observed(APPLIED, None).job
    assert (job.result if job else None) == result


def test_only_the_result_of_its_own_epoch_outlives_the_object():
    """A newer one's is not kept for a work that never ran."""
    tracked = TrackedWork("u-1", work=a_job())
    tracked.is_here(a_live_job(epoch=2, ended_ago=1), 1.0)
    tracked.observed(APPLIED, None)
    tracked.seen.live = None
    assert tracked.observed(APPLIED, None).job is None


@pytest.mark.parametrize(
    ("phase", "generation"), [("Applied", 1), ("Waiting", 2), ("Failed", 2), ("Missing", 1)]
)
def test_an_object_is_at_the_generation_that_the_phase_speaks_of(phase, generation):
    """What waits or failed is the newer one; what is applied is what the object carries."""
    tracked = TrackedWork("o-1", work=an_object(a_config_map(a="1"), "o-1", generation=2))
    older = an_object(a_config_map(a="1"), "o-1").manifest
    tracked.is_here(live_of(older), 1.0)
    assert tracked.observed(Decision(phase), None).generation == generation


def test_the_incarnation_is_told_of_what_nothing_desires():
    """The hub tells its own leftovers from another's by it; of a work it knows."""
    live = a_live_job()
    live["metadata"]["annotations"][labels.INCARNATION] = "i-7"
    tracked = tracking(live)
    assert tracked.observed(APPLIED, None).incarnation == ""
    tracked.work = None
    assert tracked.observed(APPLIED, None).incarnation == "i-7"


def test_what_is_applied_and_not_available_says_why():
    """An object that is to go says that instead, and a Job speaks by its own status."""
    web = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "uid": "x", "generation": 1},
        "spec": {"replicas": 3},
    }
    status = {"observedGeneration": 1, "updatedReplicas": 3, "availableReplicas": 2}
    web["status"] = status
    tracked = TrackedWork("o-1", an_object(web, "o-1"))
    tracked.is_here(web, 0.0)
    entry = tracked.observed(APPLIED, None)
    assert (entry.available, entry.reason) == (False, "ReplicasNotAvailable")
    assert entry.message == "2 of 3 replicas are available"
    entry = tracked.observed(Decision("Applied", reason="Withdrawing", message="bye"), None)
    assert (entry.reason, entry.message) == ("Withdrawing", "bye")
    status["availableReplicas"] = 3
    entry = tracked.observed(APPLIED, None)
    assert (entry.available, entry.reason, entry.message) == (True, "", "")
    entry = tracking(a_live_job()).observed(APPLIED, None)
    assert (entry.available, entry.reason, entry.message) == (False, "", "")


def test_a_status_is_told_where_it_is_asked_for():
    """Of what is applied: while the object goes, or waits, its status is nobody's business."""
    live = {**live_of(a_config_map(a="1")), "status": {"phase": "Ready"}}
    tracked = TrackedWork("o-1", an_object(a_config_map(a="1"), "o-1"))
    tracked.is_here(live, 0.0)
    assert tracked.observed(APPLIED, None).status is None
    assert tracked.work is not None
    tracked.work.report_status = True
    assert tracked.observed(APPLIED, None).status == {"phase": "Ready"}
    assert tracked.observed(Decision("Waiting"), None).status is None
