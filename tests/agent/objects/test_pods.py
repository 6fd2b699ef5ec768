"""What is kept of a pod, and what the pods of one Job say together, as tables."""

import pytest

from agent.objects.pods import JobPods, PodView, is_of_copy, is_over, view
from shared import labels

OWNED = [{"kind": "Job", "uid": "m-1", "name": "job", "controller": True}]


def a_pod(uid="p", *, containers=(("main", "500m"),), owners=(), marks=None, **status):
    made = [
        {"name": name, "resources": {"requests": {"cpu": cpu}} if cpu else {}}
        for name, cpu in containers
    ]
    return {
        "metadata": {
            "name": uid,
            "namespace": "n",
            "uid": uid,
            "labels": marks or {},
            "ownerReferences": list(owners),
        },
        "spec": {"nodeName": "n1", "containers": made},
        "status": {"phase": "Running", **status},
    }


def a_view(uid="p", **fields):
    given = {"node": "n1", "phase": "Running", "requests": {}, "size": 0, "job_uid": "u-1"}
    return PodView(uid=uid, **{**given, "epoch": 1, "owner": "m-1", "made": True, **fields})


def given(name, *, runs=None, allocated=None):
    """A container as the kubelet shows it."""
    told = {"name": name}
    if runs:
        told["resources"] = {"requests": {"cpu": runs}}
    if allocated:
        told["allocatedResources"] = {"cpu": allocated}
    return told


def pending(reason, status="True"):
    return [{"type": "PodResizePending", "status": status, "reason": reason}]


@pytest.mark.parametrize(
    ("asked", "status", "cpu"),
    [
        ("500m", {}, 500),
        ("2", {"resize": "InProgress"}, 2000),
        ("2", {"resize": "Infeasible"}, 2000),  # nothing is said of what it has
        ("2", {"containerStatuses": [given("main", runs="500m", allocated="500m")]}, 2000),
        ("500m", {"containerStatuses": [given("main", runs="2", allocated="500m")]}, 2000),
        ("500m", {"containerStatuses": [given("main", runs="500m", allocated="2")]}, 2000),
        ("500m", {"containerStatuses": [given("other", runs="2")]}, 500),
        (
            "2",
            {
                "conditions": pending("Deferred"),
                "containerStatuses": [given("main", runs="500m")],
            },
            2000,
        ),
        (
            "2",
            {
                "conditions": pending("Infeasible"),
                "containerStatuses": [given("main", runs="500m", allocated="1")],
            },
            1000,
        ),
        (
            "2",
            {
                "conditions": pending("Infeasible", "False"),
                "containerStatuses": [given("main", runs="500m")],
            },
            2000,
        ),
        ("2", {"resize": "Infeasible", "containerStatuses": [given("main", runs="1")]}, 1000),
    ],
)
def test_a_resized_pod_takes_the_most_of_what_is_asked_allocated_and_used(asked, status, cpu):
    """As the scheduler counts it; what no room will ever be found for is not counted."""
    assert view(a_pod(containers=[("main", asked)], **status), None).requests["cpu"] == cpu


RUNS = {"containerStatuses": [given("main", runs="500m", allocated="500m")]}
GROWN = {"containerStatuses": [given("main", runs="2", allocated="2")]}
BEGUN = [{"type": "PodResizeInProgress", "status": "True"}]


@pytest.mark.parametrize(
    ("asked", "status", "cpu"),
    [
        ("2", RUNS, 2000),
        ("2", {**RUNS, "conditions": BEGUN}, 2000),
        ("2", {**RUNS, "conditions": pending("Deferred")}, 2000),
        ("2", {**RUNS, "conditions": pending("Infeasible")}, 500),
        ("2", GROWN, 2000),
        ("500m", GROWN, 2000),
        ("2", {}, 2000),
    ],
    ids=["asked", "begun", "deferred", "infeasible", "done", "smaller", "nothing told"],
)
def test_a_resize_is_seen_however_it_is_told(asked, status, cpu):
    """By a condition (since 1.33), by what the kubelet gives, or by the spec alone, begun or done."""
    before = view(a_pod(**RUNS), None)
    assert before.requests["cpu"] == 500
    assert view(a_pod(containers=[("main", asked)], **status), before).requests["cpu"] == cpu


def test_amounts_are_not_read_again_while_their_pod_keeps_its_size():
    """Phase, readiness and other conditions come and go; another pod of the same name has its own."""
    before = view(a_pod(**RUNS), None)
    later = {**RUNS, "phase": "Succeeded", "conditions": [{"type": "Ready", "status": "False"}]}
    assert view(a_pod(**later), before).requests is before.requests
    other = a_pod("q", **RUNS)
    assert view(other, before).requests is not before.requests


def test_a_pod_whose_amounts_can_not_be_read_takes_its_place_all_the_same():
    """It counts as one of `pods`."""
    assert view(a_pod(containers=[("main", "many")]), None).requests == {"pods": 1}


@pytest.mark.parametrize(("text", "epoch"), [("3", 3), ("", 0), ("x", 0), (None, 0)])
def test_a_pod_is_of_the_epoch_on_its_label(text, epoch):
    """0 where there is none that can be read."""
    marks = {labels.JOB_UID: "u-1"} | ({} if text is None else {labels.EPOCH: text})
    assert view(a_pod(marks=marks), None).epoch == epoch


@pytest.mark.parametrize(
    ("owners", "owner"),
    [
        (OWNED, "m-1"),
        ([{**OWNED[0], "controller": False}], ""),
        ([{**OWNED[0], "kind": "ReplicaSet"}], ""),
        ([{"kind": "Other", "uid": "x", "controller": True}, *OWNED], "m-1"),
        ([], ""),
    ],
)
def test_a_pod_belongs_to_the_job_that_controls_it(owners, owner):
    """Other owners, and a Job that only refers to it, are none."""
    assert view(a_pod(owners=owners), None).owner == owner


@pytest.mark.parametrize(
    ("phase", "owners", "over"),
    [
        ("Running", [], False),
        ("Succeeded", [], True),
        ("Failed", [], True),
        ("Failed", OWNED, False),
        ("Pending", OWNED, False),
    ],
)
def test_a_pod_is_over_once_it_has_ended_and_nobody_has_to_count_it(phase, owners, over):
    """An ended pod of a Job waits for the Job's controller; seen in full and in the view alike."""
    pod = a_pod(owners=owners, phase=phase)
    assert is_over(pod) is over
    assert view(pod, None).counts is not over


@pytest.mark.parametrize(
    ("owner", "job", "copy"),
    [("job", "job", False), ("other", "job", True), ("", "job", False), ("other", "", False)],
)
def test_pods_of_another_name_are_of_a_copy(owner, job, copy):
    """Without a Job, or where the job's name is not known, they count as its own."""
    assert is_of_copy(owner, job) is copy
    group = JobPods()
    group.put(a_view(owner_name=owner))
    assert group.left(job) == (0 if copy else 1)


def container(name="main", **state):
    return {"name": name, "state": state}


T1, T2, T3 = (f"2026-01-01T00:00:0{n}Z" for n in (1, 2, 3))


@pytest.mark.parametrize(
    ("status", "started"),
    [
        ({"containerStatuses": [container(running={"startedAt": T2})]}, T2),
        (
            {
                "containerStatuses": [
                    container("a", running={"startedAt": T2}),
                    container("b", terminated={"startedAt": T1}),
                ]
            },
            T1,
        ),
        ({"startTime": T3}, T3),
        ({"startTime": T3, "phase": "Pending"}, ""),
        ({"startTime": T3, "containerStatuses": [container(running={"startedAt": T2})]}, T2),
        ({"containerStatuses": [container(waiting={})], "phase": "Pending"}, ""),
    ],
)
def test_a_pod_runs_since_its_first_container_started(status, started):
    """The pod's own startTime, which is when the kubelet saw it, stands in where it runs."""
    assert view(a_pod(**status), None).started == started


def test_a_start_that_was_seen_is_kept():
    """A container that waits to be started again does not say when it began first."""
    first = view(a_pod(containerStatuses=[container(running={"startedAt": T1})]), None)
    waits = a_pod(phase="Pending", containerStatuses=[container(waiting={"reason": "x"})])
    assert view(waits, first).started == T1


STUCK = {"waiting": {"reason": "ImagePullBackOff", "message": "no image"}}
NOWHERE = [
    {"type": "Ready", "reason": "Unschedulable", "message": "no"},
    {"type": "PodScheduled", "reason": "Unschedulable", "message": "0/2 nodes"},
]


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        ({"containerStatuses": [container(**STUCK)]}, ("ImagePullBackOff", "no image")),
        ({"initContainerStatuses": [container(**STUCK)]}, ("ImagePullBackOff", "no image")),
        (
            {"containerStatuses": [container(running={}), container("b", **STUCK)]},
            ("ImagePullBackOff", "no image"),
        ),
        ({"containerStatuses": [container(**STUCK)], "phase": "Failed"}, ("", "")),
        ({"containerStatuses": [container(**STUCK)], "phase": "Succeeded"}, ("", "")),
        ({"containerStatuses": [container(waiting={"reason": "PodInitializing"})]}, ("", "")),
        ({"conditions": NOWHERE, "phase": "Pending"}, ("FailedScheduling", "0/2 nodes")),
        ({"conditions": NOWHERE[:1], "phase": "Pending"}, ("", "")),
        ({"conditions": [{"type": "PodScheduled", "reason": "SchedulingGated"}]}, ("", "")),
    ],
)
def test_why_a_pod_does_not_run(status, reason):
    """Of any of its containers; what only takes a moment, and what has ended, is no reason."""
    seen = view(a_pod(**status), None)
    assert (seen.reason, seen.message) == reason


def ended(at, code=1, **more):
    return {"terminated": {"exitCode": code, "finishedAt": at, **more}}


@pytest.mark.parametrize(
    ("status", "at", "word"),
    [
        ({"containerStatuses": [{"name": "a", "state": ended(T1)}]}, T1, "a exited with code 1"),
        (
            {
                "containerStatuses": [
                    {"name": "a", "state": ended(T2, 3)},
                    {"name": "b", "state": ended(T3, 4)},
                    {"name": "c", "state": ended(T1, 5)},
                ]
            },
            T3,
            "b exited with code 4",
        ),
        (
            {
                "containerStatuses": [
                    {"name": "a", "state": {"running": {}}, "lastState": ended(T1)}
                ]
            },
            T1,
            "a exited with code 1",
        ),
        ({"initContainerStatuses": [{"name": "i", "state": ended(T1)}]}, T1, "i exited"),
        ({"containerStatuses": [{"name": "a", "state": ended(T1, 0)}]}, "", ""),
        (
            {"containerStatuses": [{"name": "a", "state": ended(T1, 137, reason="OOMKilled")}]},
            T1,
            "137 (OOMKilled)",
        ),
        (
            {"containerStatuses": [{"name": "a", "state": ended(T1, 2, reason="Error")}]},
            T1,
            "code 2",
        ),
        ({"phase": "Failed", "reason": "Evicted"}, "", "pod p: Evicted"),
        ({"phase": "Failed", "reason": "Evicted", "message": "disk"}, "", "p: Evicted: disk"),
        ({"phase": "Running", "reason": "NodeLost"}, "", ""),
    ],
)
def test_how_a_pod_failed_is_its_newest_end_with_a_code(status, at, word):
    """Of init containers and of runs before the present one too; an eviction says why instead."""
    seen = view(a_pod(**status), None)
    assert seen.failed_at == at
    assert word in seen.failure
    assert bool(seen.failure) is bool(word)


@pytest.mark.parametrize(
    ("change", "news"),
    [
        ({}, False),
        ({"phase": "Pending"}, False),
        ({"node": "n2"}, False),
        ({"reason": "CrashLoopBackOff"}, True),
        ({"message": "other words"}, True),
        ({"owner": "", "phase": "Failed"}, True),
        ({"started": T1}, True),
        ({"started": T2}, False),
        ({"started": T3}, False),
        ({"failure": "f", "failed_at": T2}, False),
        ({"failure": "f", "failed_at": T1}, False),
        ({"failure": "g", "failed_at": T3}, True),
        ({"failure": "", "failed_at": T3}, False),
        ({"failure": "f", "failed_at": T1, "epoch": 2}, True),
    ],
    ids=str,
)
def test_only_what_is_reported_of_a_job_is_news(change, news):
    """Reason and words, whether one more pod counts, an earlier start, a later failure."""
    group = JobPods()
    first = {"started": T2, "failure": "f", "failed_at": T2, "message": "words"}
    assert group.put(a_view(**first))
    assert group.put(a_view(**{**first, **change})) is news


def test_the_reason_told_does_not_change_with_the_order_of_events():
    """Of pods that are stuck alike the one of the least uid speaks, whichever came last."""
    told = []
    for order in ("ab", "ba"):
        group = JobPods()
        for uid in order:
            group.put(a_view(uid, reason="ErrImagePull", message=f"of {uid}"))
        told.append(group.stuck())
    assert told == [("ErrImagePull", "of a")] * 2


SAYS = {
    "started": T1,
    "failure": "f",
    "failed_at": T2,
    "failures": ("137/Error",),
    "reason": "ErrImagePull",
    "message": "m",
}


def said(group):
    """All that the pods of a job report beyond their number."""
    return group.stuck(), group.running_since, group.failed, group.failures.told(1)


def test_a_pod_of_another_namespace_is_no_pod_of_the_job():
    """A Job has its pods in its own namespace: elsewhere another tenant gave a pod the labels."""
    group = JobPods()
    group.put(a_view("mine", namespace="team"))
    group.put(a_view("theirs", namespace="other", made=False, owner="d-1"))
    assert group.left("", "team") == 1
    assert group.left() == 2


def test_a_pod_of_others_is_present_and_says_nothing():
    """People copied the labels onto it: the job waits for its end, and tells nothing of it."""
    group = JobPods()
    assert group.put(a_view(made=False, **SAYS))
    assert not group.put(a_view(made=False, **{**SAYS, "message": "other words"}))
    assert (group.left(), group.has_made) == (1, False)
    assert said(group) == (("", ""), "", (0, "", "", ""), [])


def test_a_pod_of_others_changes_nothing_that_the_jobs_own_say():
    """An earlier start, a later failure and a later epoch of it neither add nor replace anything."""
    group = JobPods()
    group.put(a_view(**SAYS))
    before = said(group)
    loud = {**SAYS, "started": "2025-01-01T00:00:00Z", "failed_at": T3, "failures": ("3/",)}
    group.put(a_view("a", made=False, owner="theirs", **loud))
    group.put(a_view("b", made=False, owner="theirs", **{**loud, "epoch": 2}))
    assert (group.left(), said(group)) == (3, before)


def test_what_a_pod_says_is_heard_once_its_job_is_known():
    """Pods may come into view before their Job; they are of the Job's epoch, whatever their label says."""
    group, pod = JobPods(), a_view(made=False, **{**SAYS, "epoch": 7})
    group.put(pod)
    group.put(a_view("q", made=False, owner="theirs", **SAYS))
    assert group.owned_by("m-1") == [pod]
    group.found_made(pod, 1)
    assert said(group) == (("ErrImagePull", "m"), T1, (1, T2, "f", ""), ["137/Error"])
    assert group.left() == 2
