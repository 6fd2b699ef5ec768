"""What the bridge reads in an object and makes of a row, as tables: edges, emptiness, others' words."""

import datetime as dt
from typing import Any

import pytest

from hub.bridge.check_conditions import answered_outside
from hub.bridge.crds import _differs, _is_foreign, _labels
from hub.bridge.kinds import is_managed
from hub.bridge.mirror import _mark
from hub.bridge.workload_words import (
    answered,
    commanded,
    job_of,
    observed,
    reported,
    spec_patch,
    status_patch,
)
from hub.domain.workloads.states import State
from hub.services.kueue_view.workload import JOB_UID
from hub.store.records.workloads import Workload
from shared import labels
from shared.finalizers import patch
from shared.kinds.crds import OWNER
from tests.store.build import a_workload

NOW = dt.datetime(2026, 5, 1, 12, tzinfo=dt.UTC)
AT = "2026-05-01T10:00:00+00:00"


def a_row(**columns: Any) -> Workload:
    """A workload that runs on member north, with quota."""
    given = {"state": State.RUNNING, "cluster": "north", "placed_at": NOW, "admission": {}}
    return a_workload("w", **{**given, **columns})


def obj(spec: Any = None, status: Any = None, **metadata: Any) -> dict[str, Any]:
    return {"metadata": metadata, "spec": spec or {}, "status": status or {}}


# --- whose an object is ---------------------------------------------------------------------------

QUEUED = {labels.QUEUE_NAME: "q"}
OWNER_JOB = {"kind": "Job", "uid": "u-1"}


@pytest.mark.parametrize(
    ("spec", "known", "managed"),
    [
        ({"managedBy": labels.JOB_CONTROLLER}, False, True),
        ({"managedBy": labels.MULTIKUEUE_CONTROLLER}, False, True),
        ({"managedBy": "example.com/theirs", "suspend": True}, False, False),
        ({"managedBy": "example.com/theirs", "suspend": True}, True, False),
        ({"suspend": True}, False, True),
        ({"suspend": False}, False, False),
        ({}, False, False),
        ({"suspend": False}, True, True),
        ({"managedBy": "", "suspend": False}, True, False),
    ],
)
def test_whose_a_job_is(spec: dict[str, Any], known: bool, managed: bool):
    """By managedBy, which never changes; without it by queue name while suspended, or once taken."""
    assert is_managed({"metadata": {"labels": QUEUED}, "spec": spec}, known=known) is managed
    plain = {"metadata": {}, "spec": spec}
    assert is_managed(plain, known=known, among_ours=True) is managed, "so it is in its namespace"


@pytest.mark.parametrize(
    ("kind", "marks", "owners", "uid"),
    [
        ("Workload", {JOB_UID: "u-1"}, [OWNER_JOB], "u-1"),
        (None, {JOB_UID: "u-1"}, [OWNER_JOB], "u-1"),
        ("Workload", {JOB_UID: "u-2"}, [OWNER_JOB], ""),
        ("Workload", {JOB_UID: "u-1"}, [{"kind": "Pod", "uid": "u-1"}], ""),
        ("Workload", {JOB_UID: "u-1"}, [], ""),
        ("Workload", {}, [{"kind": "Job"}], ""),
        ("Workload", {JOB_UID: "u-1"}, [{"kind": "Pod", "uid": "x"}, OWNER_JOB], "u-1"),
        ("Job", {JOB_UID: "u-1"}, [OWNER_JOB], ""),
    ],
)
def test_a_workload_is_of_the_job_that_its_label_and_an_owner_name(
    kind: Any, marks: Any, owners: Any, uid: str
):
    """Either alone is anybody's to write."""
    found = {"metadata": {"labels": marks, "ownerReferences": owners}}
    assert job_of(found if kind is None else {"kind": kind, **found}) == uid


@pytest.mark.parametrize(("name", "outside"), [("kueue.x-k8s.io/multikueue", False), ("x", True)])
def test_a_check_is_answered_outside_unless_it_is_the_hubs(name: str, outside: bool):
    """One without a controller has none of ours."""
    assert answered_outside({"spec": {"controllerName": name}}) is outside
    assert answered_outside({})


BASE = {"generation": 3, "resourceVersion": "7", "labels": {"a": "1", "b": "2"}}


@pytest.mark.parametrize(
    ("change", "looks"),
    [
        ({}, False),
        ({"resourceVersion": "8"}, False),
        ({"managedFields": [1]}, False),
        ({"finalizers": ["x"]}, False),
        ({"labels": {"b": "2", "a": "1"}}, False),
        ({"generation": 4}, True),
        ({"labels": {"a": "1"}}, True),
        ({"annotations": {"n": "1"}}, True),
        ({"ownerReferences": [OWNER_JOB]}, True),
    ],
    ids=str,
)
def test_what_makes_the_hub_look_again(change: dict[str, Any], looks: bool):
    """Spec, labels, annotations, owners; neither status nor bookkeeping."""
    assert (_mark(obj(**BASE)) != _mark(obj(**{**BASE, **change}))) is looks


def test_what_counts_no_generation_is_looked_at_in_each_version():
    """As ConfigMaps and Namespaces."""
    assert _mark(obj(resourceVersion="7")) != _mark(obj(resourceVersion="8"))


def test_a_finalizer_is_put_on_the_version_that_was_looked_at():
    """Neither a namesake nor a newer state gets it, and none of others' is lost."""
    made = patch(obj(uid="u", resourceVersion="7", labels={}), ["theirs", "ours"])
    wanted = {"uid": "u", "resourceVersion": "7", "finalizers": ["theirs", "ours"]}
    assert made == {"metadata": wanted}


# --- definitions ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("marks", "conversion", "foreign"),
    [
        (OWNER, None, False),
        (OWNER, "None", False),
        (OWNER, "Webhook", True),
        ({}, None, True),
        (None, None, True),
        ({**OWNER, "more": "x"}, None, False),
        (dict.fromkeys(OWNER, "somebody"), None, True),
    ],
)
def test_whose_a_definition_is(marks: Any, conversion: str | None, foreign: bool):
    """One that converts by webhook is another program's, whatever its labels."""
    spec = {} if conversion is None else {"conversion": {"strategy": conversion}}
    assert _is_foreign({"metadata": {"labels": marks}, "spec": spec}) is foreign


def test_a_replaced_definition_keeps_the_labels_that_others_put_on():
    """Ours are put beside them."""
    assert _labels({"metadata": {"labels": {"more": "x"}}}) == {"labels": {"more": "x", **OWNER}}


@pytest.mark.parametrize(
    ("wanted", "live", "differs"),
    [
        ({"a": 1}, {"a": 1, "defaulted": 2}, False),
        ({"a": 1}, {"a": 2}, True),
        ({"a": 1}, {}, True),
        ({"a": [1]}, {"a": [1, 2]}, True),
        ({"a": [1, 2]}, {"a": [1]}, True),
        ({"a": [{"b": 1}]}, {"a": [{"b": 1, "c": 2}]}, False),
        ({"a": [{"b": 1}]}, {"a": [{"b": 2}]}, True),
        ({"a": {"b": 1}}, {"a": None}, True),
        ({"metadata": {"name": "x"}, "status": {"a": 1}}, {}, False),
        ({"properties": {"metadata": "m"}}, {"properties": {}}, True),
    ],
    ids=str,
)
def test_when_a_definition_is_brought_up_to_date(wanted: Any, live: Any, differs: bool):
    """Where it lacks something of ours: neither its defaults nor its own status are differences."""
    assert _differs(wanted, live) is differs


# --- Workload objects -----------------------------------------------------------------------------


def conditions(*generations: int | None) -> dict[str, Any]:
    return {
        "conditions": [
            {} if each is None else {"observedGeneration": each} for each in generations
        ]
    }


@pytest.mark.parametrize(
    ("generations", "latest"),
    [((), 0), ((None,), 0), ((3, 5, 4), 5), ((3, None), 3), ((0, 2), 2)],
)
def test_our_conditions_are_of_the_latest_generation_that_one_names(
    generations: tuple[int | None, ...], latest: int
):
    """What did not change is not written anew for each."""
    assert observed(obj(status=conditions(*generations))) == latest


@pytest.mark.parametrize(
    ("active", "generation", "seen", "state", "command"),
    [
        (False, 2, (1,), State.PENDING, False),
        (True, 2, (1,), State.HELD, True),
        (None, 2, (1,), State.HELD, True),
        (False, 1, (1,), State.PENDING, None),
        (False, 2, (1, 2), State.PENDING, None),
        (False, 1, (), State.PENDING, None),
        (False, 2, (1,), State.HELD, None),
        (True, 2, (1,), State.PENDING, None),
    ],
)
def test_active_is_a_command_where_it_is_newer_than_our_word(
    active: Any, generation: int, seen: Any, state: State, command: Any
):
    """Against the row, and after conditions were written: before, the object is as it was made."""
    spec = {} if active is None else {"active": active}
    live = obj(spec, conditions(*seen), generation=generation)
    assert commanded(live, a_row(state=state)) is command


@pytest.mark.parametrize(
    ("state", "at", "written", "heard"),
    [
        ("Ready", AT, {"c": "Pending"}, True),
        ("Pending", AT, {"c": "Ready"}, False),
        ("Retry", AT, {"c": "Retry"}, False),
        ("Ready", "2026-05-01T09:59:59+00:00", {"c": "Pending"}, True),
        ("Ready", "2026-05-01T09:59:59+00:00", {}, False),
        ("Ready", AT, {}, True),
        ("Ready", None, {}, False),
        ("Ready", None, {"other": "Ready"}, False),
    ],
)
def test_whose_word_the_state_of_a_check_is(state: str, at: Any, written: Any, heard: bool):
    """Neither the row's nor what was written last; after a restart nothing older than the row's."""
    row = a_row(checks={"c": {"state": "Pending", "at": AT}})
    each = {"name": "c", "state": state, "message": "m", "retryCount": 0, "extra": 1}
    live = obj(
        status={"admissionChecks": [{**each, **({"lastTransitionTime": at} if at else {})}]}
    )
    found = [{"name": "c", "state": state, "message": "m"}]
    assert answered(live, row, written) == (found if heard else [])


def test_a_check_that_the_row_does_not_have_is_not_answered():
    """Somebody else's entry is none of ours."""
    live = obj(
        status={"admissionChecks": [{"name": "x", "state": "Ready", "lastTransitionTime": AT}]}
    )
    assert answered(live, a_row(checks={"c": {"state": "Pending", "at": AT}}), {}) == []
    assert answered(live, a_row(checks=None), {}) == []


def told(kind: str, status: str) -> dict[str, Any]:
    return {"conditions": [{"type": kind, "status": status}]}


@pytest.mark.parametrize(
    ("columns", "status", "kinds"),
    [
        ({}, told("Finished", "True"), ["Finished"]),
        ({}, told("Finished", "False"), []),
        ({"finished_at": NOW}, told("Finished", "True"), []),
        ({"state": State.RESERVED}, told("Finished", "True"), []),
        ({"placed_at": None}, told("Finished", "True"), []),
        ({}, told("PodsReady", "True"), ["PodsReady"]),
        ({}, told("PodsReady", "False"), []),
        ({}, told("PodsReady", "Unknown"), []),
        ({"pods_ready_at": NOW}, told("PodsReady", "True"), []),
        ({"pods_ready_at": NOW}, told("PodsReady", "False"), ["PodsReady"]),
        ({"pods_ready_at": NOW, "pods_lost_at": NOW}, told("PodsReady", "False"), []),
        ({"pods_ready_at": NOW, "pods_lost_at": NOW}, told("PodsReady", "True"), ["PodsReady"]),
        ({}, {}, []),
    ],
)
def test_what_an_executor_says_that_the_row_does_not(columns: Any, status: Any, kinds: list[str]):
    """Of a workload that is admitted and has not ended: pods come, are lost, and come again."""
    found = reported(obj(status=status), a_row(**columns))
    assert [each["type"] for each in (found or {"conditions": []})["conditions"]] == kinds
    assert (found is None) is (not kinds)


@pytest.mark.parametrize(
    ("wanted", "live", "patch"),
    [
        ({"queueName": "q"}, {"queueName": "q", "theirs": 1}, {}),
        ({"queueName": "q"}, {"queueName": "r"}, {"queueName": "q"}),
        ({}, {"priority": 3}, {"priority": None}),
        ({}, {"theirs": 3}, {}),
        ({"active": True}, {}, {}),
        ({"active": True}, {"active": False}, {"active": True}),
        ({"active": False}, {"active": True}, {"active": False}),
        ({"active": False}, {}, {"active": False}),
        ({"priority": 0}, {}, {"priority": 0}),
    ],
)
def test_what_of_the_spec_is_written(wanted: Any, live: Any, patch: Any):
    """What differs, and null for what is ours and not wanted; true is the default of active."""
    assert spec_patch({"spec": wanted}, {"spec": live}) == patch


OURS = {"type": "Admitted", "status": "True", "lastTransitionTime": "1"}
THEIRS = {"type": "Billed", "status": "True"}


@pytest.mark.parametrize(
    ("wanted", "live", "patch"),
    [
        ({}, {}, {}),
        ({}, {"clusterName": "north"}, {"clusterName": None}),
        ({}, {"theirs": "x"}, {}),
        ({"clusterName": "north"}, {"clusterName": "north"}, {}),
        ({"clusterName": "north"}, {"clusterName": "south"}, {"clusterName": "north"}),
        ({"conditions": [OURS]}, {"conditions": [OURS, THEIRS]}, {}),
        ({"conditions": [OURS]}, {"conditions": [THEIRS]}, {"conditions": [OURS, THEIRS]}),
        ({"conditions": []}, {"conditions": [OURS, THEIRS]}, {"conditions": [THEIRS]}),
        ({"conditions": [OURS]}, {"conditions": [{**OURS, "lastTransitionTime": "2"}]}, {}),
    ],
)
def test_what_of_the_status_is_written(wanted: Any, live: Any, patch: Any):
    """What is ours and gone goes; what others said, and times alone, are left as they are."""
    assert status_patch({"status": wanted}, {"status": live}) == patch


@pytest.mark.parametrize(
    "name",
    [
        "admission",
        "requeueState",
        "reclaimablePods",
        "admissionChecks",
        "resourceRequests",
        "schedulingStats",
        "nominatedClusterNames",
        "clusterName",
        "accumulatedPastExecutionTimeSeconds",
    ],
)
def test_each_field_of_the_status_that_is_ours_goes_when_it_has_no_value(name: str):
    """A Workload that was evicted shows neither its admission nor where it ran."""
    live = {name: [1], "theirs": 1}
    assert status_patch({"status": {}}, {"status": live}) == {name: None}


@pytest.mark.parametrize(
    "name",
    [
        "active",
        "podSets",
        "priority",
        "priorityClassRef",
        "queueName",
        "maximumExecutionTimeSeconds",
    ],
)
def test_each_field_of_the_spec_is_set_back(name: str):
    """What somebody wrote into a Job's Workload is its Job's to say."""
    assert spec_patch({"spec": {name: "ours"}}, {"spec": {name: "theirs"}}) == {name: "ours"}
    assert spec_patch({"spec": {}}, {"spec": {name: "theirs"}}) == {name: None}


def test_everything_of_an_answer_is_heard():
    """Of each check that was answered: its state and all that Kueue's kinds let a controller say."""
    said = {
        "state": "Retry",
        "message": "no money",
        "requeueAfterSeconds": 30,
        "retryCount": 2,
        "podSetUpdates": [{"name": "main", "labels": {"a": "b"}}],
    }
    live = obj(
        status={
            "admissionChecks": [
                {"name": "quiet", "state": "Pending", "lastTransitionTime": AT},
                {"name": "c", "lastTransitionTime": AT, **said},
                {"name": "d", "lastTransitionTime": AT, "state": "Ready"},
            ]
        }
    )
    open_ = {"state": "Pending", "at": AT}
    row = a_row(checks={"quiet": open_, "c": open_, "d": open_})
    assert answered(live, row, {}) == [{"name": "c", **said}, {"name": "d", "state": "Ready"}]


def test_an_executor_may_say_both_at_once():
    """Pods that came and the end: each condition as it wrote it."""
    both = [
        {"type": "PodsReady", "status": "True", "reason": "R", "message": "m"},
        {"type": "Finished", "status": "True", "reason": "Succeeded", "message": "done"},
        {"type": "Billed", "status": "True"},
    ]
    found = reported(obj(status={"conditions": both}), a_row())
    assert found == {"conditions": [both[1], both[0]]}
