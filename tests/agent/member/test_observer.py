"""What the agent's caches make of single events: whose pod it is, who is told, what counts as known."""

import asyncio
from typing import Any

import pytest

from agent.member.observer import Observer
from agent.objects.holds import JOB
from shared import labels
from shared.clock import ManualClock
from tests.agent.moments import a_live_job
from tests.agent.scripted_hub import HUB_ID

pytestmark = pytest.mark.anyio


class Told:
    """Who is told, and of what."""

    def __init__(self) -> None:
        self.said: list[tuple[str, str]] = []

    def object_changed(self, uid: str, _obj: Any) -> None:
        self.said.append(("changed", uid))

    def object_gone(self, uid: str, _obj: Any) -> None:
        self.said.append(("gone", uid))

    def pods_changed(self, uid: str) -> None:
        self.said.append(("pods", uid))

    def kind_changed(self, key: Any) -> None:
        self.said.append(("kind", key[1]))


def an_observer():
    nothing: Any = None
    listener = Told()
    return Observer(nothing, HUB_ID, listener, ManualClock()), listener


def a_pod(uid, *, marks=True, reason=""):
    waiting = {"state": {"waiting": {"reason": reason, "message": "m"}}}
    told = {labels.JOB_UID: "u-1", labels.EPOCH: "1"} if marks else {}
    owner = {"kind": "Job", "uid": "m-1", "name": "job", "controller": True}
    return {
        "metadata": {"uid": uid, "name": uid, "labels": told, "ownerReferences": [owner]},
        "status": {"phase": "Pending", "containerStatuses": [waiting] if reason else []},
    }


def add(observer, pod):
    seen = observer._pod_view(pod, None)
    observer._pod("ADDED", None, seen)
    return seen


@pytest.mark.parametrize(
    ("event", "old", "new", "news"),
    [
        ("ADDED", None, True, True),
        ("ADDED", None, False, True),
        ("MODIFIED", True, True, False),
        ("MODIFIED", True, False, True),
        ("MODIFIED", False, True, True),
        ("DELETED", True, None, True),
    ],
)
async def test_a_queue_is_news_where_it_begins_or_ends_to_be_served(event, old, new, news):
    """Its counts change with every Job there."""
    observer, _ = an_observer()
    observer._queue(event, old, new)
    assert observer.revision == (1 if news else 0)


@pytest.mark.parametrize(
    ("first", "second", "told"), [("", "", 0), ("ErrImagePull", "", 1), ("", "ErrImagePull", 0)]
)
async def test_a_pod_that_went_is_news_where_it_had_something_to_say(first, second, told):
    """While others are left; when the last one goes, that is news by itself."""
    observer, listener = an_observer()
    one, two = add(observer, a_pod("a", reason=first)), add(observer, a_pod("b", reason=second))
    listener.said.clear()
    observer._pod("DELETED", one, None)
    assert len(listener.said) == told
    listener.said.clear()
    observer._pod("DELETED", two, None)
    assert listener.said == [("pods", "u-1")]
    assert not observer.pods


async def test_a_pod_without_our_labels_is_of_the_job_that_owns_it():
    """A template may lack them; once the Job is gone its uid says nothing any more."""
    observer, _ = an_observer()
    job = a_live_job(epoch=3)
    observer._object("ADDED", None, job)
    seen = observer._pod_view(a_pod("a", marks=False), None)
    assert (seen.job_uid, seen.epoch) == ("u-1", 3)
    labelled = observer._pod_view(a_pod("b"), None)
    assert (labelled.job_uid, labelled.epoch) == ("u-1", 1)
    observer._object("DELETED", job, job)
    assert observer._pod_view(a_pod("c", marks=False), None).job_uid == ""


async def test_an_object_that_lost_its_labels_is_told_of_to_whom_it_was():
    """Changed or gone: the last state that had them says whose."""
    observer, listener = an_observer()
    marks = {labels.MANAGED_BY: HUB_ID, labels.JOB_UID: "o-1"}
    written = [{"manager": labels.FIELD_MANAGER, "fieldsV1": {}}]
    ours = {"metadata": {"labels": marks, "managedFields": written}}
    bare: dict[str, Any] = {"metadata": {}}
    observer._object("MODIFIED", ours, bare)
    observer._object("DELETED", ours, bare)
    observer._object("ADDED", None, bare)
    assert listener.said == [("changed", "o-1"), ("gone", "o-1")]


class Cache:
    def __init__(self, *, complete: bool) -> None:
        self.synced = asyncio.Event()
        if complete:
            self.synced.set()


@pytest.mark.parametrize(
    ("jobs", "pods", "known"),
    [(True, True, True), (True, False, False), (False, True, False)],
)
async def test_jobs_are_known_once_their_pods_are(jobs, pods, known):
    """Without them an earlier epoch's pods would not be waited for; other kinds have none."""
    observer: Any = an_observer()[0]
    observer._informers = {JOB: Cache(complete=jobs), ("v1", "Secret"): Cache(complete=True)}
    observer._all_pods = Cache(complete=pods)
    assert observer.is_synced(*JOB) is known
    assert observer.is_synced("v1", "Secret")
    assert not observer.is_synced("v1", "ConfigMap")


async def test_a_failed_pod_that_cannot_be_reported_is_counted_as_failed():
    """The cache does not keep it as running."""
    observer, _ = an_observer()

    def refuse(_job, _epoch, _pod):
        raise ValueError("no value of this field")

    observer.made_jobs.tell = refuse
    observer._job_view(a_made_job("m-1"), None)
    assert add(observer, a_failed_pod_of("m-1")).phase == "Failed"


def a_made_job(uid):
    """A running Job that the agent made."""
    job = a_live_job()
    fields: dict[str, Any] = {"f:spec": {"f:parallelism": {}}}
    job["metadata"] |= {
        "uid": uid,
        "managedFields": [{"manager": labels.FIELD_MANAGER, "fieldsV1": fields}],
    }
    return job


def a_failed_pod_of(job_uid, name="a"):
    """A failed pod whose owner is a Job; it has the labels of a work."""
    pod = a_pod(name)
    pod["metadata"]["ownerReferences"][0]["uid"] = job_uid
    pod["status"]["phase"] = "Failed"
    return pod


def told_of(observer):
    """The names of failed pods that are told, as they are told."""
    names = []
    observer.made_jobs.tell = lambda _job, _epoch, pod: names.append(pod["metadata"]["name"])
    return names


async def test_a_failed_pod_is_told_once_its_job_is_known():
    """A restarted agent lists pods before Jobs."""
    observer, _ = an_observer()
    names = told_of(observer)
    add(observer, a_failed_pod_of("m-1", "early"))
    assert names == []
    observer._job_view(a_made_job("m-1"), None)
    add(observer, a_failed_pod_of("m-1", "late"))
    assert names == ["early", "late"]


async def test_failed_pods_of_a_copied_job_are_never_told():
    """People made the Job, before or after the agent saw its pod: labels and environment are no evidence."""
    observer, _ = an_observer()
    names = told_of(observer)
    add(observer, a_failed_pod_of("theirs", "early"))
    copy = a_made_job("theirs")
    copy["metadata"]["managedFields"][0]["manager"] = "people"
    observer._job_view(copy, None)
    add(observer, a_failed_pod_of("theirs", "late"))
    assert names == []


async def test_the_agent_still_knows_its_job_once_that_is_cached_slim():
    """The cached running Job has no managed fields, and a later state may name other managers."""
    observer, _ = an_observer()
    names = told_of(observer)
    observer._job_view(a_made_job("m-1"), None)
    changed = a_made_job("m-1")
    changed["metadata"]["managedFields"] = []
    observer._job_view(changed, None)
    add(observer, a_failed_pod_of("m-1"))
    assert names == ["a"]


def a_loud_pod(job_uid, name="a", **marks):
    """A failed pod of a Job, with exit code 3 and the labels of work u-1."""
    pod = a_failed_pod_of(job_uid, name)
    pod["metadata"]["labels"] |= marks
    ended = {"exitCode": 3, "startedAt": "2026-01-01T00:00:01Z", "reason": "Error"}
    pod["status"]["containerStatuses"] = [{"name": "main", "state": {"terminated": ended}}]
    return pod


def heard_of(observer, epoch=1):
    """Exit codes that the pods of work u-1 report, and the first start."""
    pods = observer.pods["u-1"]
    return pods.failures.told(epoch), pods.running_since


SILENT: tuple[list[str], str] = ([], "")
HEARD = (["3/Error"], "2026-01-01T00:00:01Z")


@pytest.mark.parametrize("first", ["pod", "job"])
async def test_pods_of_a_made_job_are_heard_whatever_comes_first(first):
    """Jobs and pods are watched apart."""
    observer, _ = an_observer()
    if first == "job":
        observer._job_view(a_made_job("m-1"), None)
    add(observer, a_loud_pod("m-1"))
    assert heard_of(observer) == (HEARD if first == "job" else SILENT)
    observer._job_view(a_made_job("m-1"), None)
    assert heard_of(observer) == HEARD


@pytest.mark.parametrize("first", ["pod", "job"])
async def test_pods_of_a_copied_job_are_present_and_not_heard(first):
    """A copy of labels, environment and finalizer is not written by the agent."""
    observer, _ = an_observer()
    copy = a_made_job("theirs")
    copy["metadata"]["managedFields"][0]["manager"] = "people"
    observer._job_view(a_made_job("m-1"), None)
    if first == "job":
        observer._job_view(copy, None)
    add(observer, a_loud_pod("theirs"))
    observer._job_view(copy, None)
    assert heard_of(observer) == SILENT
    assert observer.pods["u-1"].left() == 1


async def test_a_pod_that_carries_the_uid_of_another_work_is_not_heard_for_it():
    """The agent made the pod's Job, for work u-1; people edited the pod's label."""
    observer, _ = an_observer()
    observer._job_view(a_made_job("m-1"), None)
    add(observer, a_loud_pod("m-1", **{labels.JOB_UID: "u-2"}))
    pods = observer.pods["u-2"]
    assert (pods.failures.told(1), pods.left()) == ([], 1)


async def test_a_pod_is_of_the_epoch_of_its_job():
    """People can edit its label: a later epoch there would erase the exit codes of the others."""
    observer, _ = an_observer()
    observer._job_view(a_made_job("m-1"), None)
    add(observer, a_loud_pod("m-1", **{labels.EPOCH: "7"}))
    assert heard_of(observer) == HEARD


async def test_a_pod_is_heard_after_its_job_is_gone():
    """The Job goes from the index; the pod fails, or is orphaned, afterwards."""
    observer, _ = an_observer()
    job = a_made_job("m-1")
    observer._job_view(job, None)
    seen = add(observer, a_pod("a"))
    observer._object("DELETED", job, job)
    orphan = a_loud_pod("m-1")
    orphan["metadata"]["ownerReferences"] = []
    observer._pod("MODIFIED", seen, observer._pod_view(orphan, seen))
    assert heard_of(observer) == HEARD


async def test_a_pod_is_counted_once_when_its_job_comes_back_into_view():
    """People take the label off the Job and put it back: the watch shows a deletion and a new Job."""
    observer, _ = an_observer()
    job, pod = a_made_job("m-1"), a_pod("a")
    pod["spec"] = {"nodeName": "n1"}
    add(observer, pod)
    for _ in range(2):
        observer._job_view(a_made_job("m-1"), None)
        observer._object("DELETED", job, job)
    assert observer.ledger.works["u-1", 1].bound == 1
