"""Edges of a Workload's conditions: which of two times, from which instant on, and of how many pods."""

from typing import Any

import pytest

from hub.services.kueue_view.workload import workload_object
from hub.store.records.workloads import Workload
from tests.services.kueue_view.rows import A_SHAPE, a_row, an_admitted_row, evicted, minutes


def status(row: Workload, at: float = 10) -> dict[str, Any]:
    told = workload_object(row, A_SHAPE, now=minutes(at))["status"]
    assert isinstance(told, dict)
    return told


def condition(row: Workload, kind: str, at: float = 10) -> dict[str, Any]:
    (found,) = [each for each in status(row, at)["conditions"] if each["type"] == kind]
    assert isinstance(found, dict)
    return found


def minute(row: Workload, kind: str) -> str:
    """When a condition turned, as minutes past noon."""
    return str(condition(row, kind)["lastTransitionTime"])[14:16]


AGAIN = {"created_at": minutes(0), "queued_at": minutes(7)}
RESERVED_FIRST = {"reserved_at": minutes(3), "placed_at": minutes(4)}


@pytest.mark.parametrize(
    ("row", "kind", "expected"),
    [
        (an_admitted_row(**RESERVED_FIRST), "QuotaReserved", "03"),
        (an_admitted_row(placed_at=minutes(4)), "QuotaReserved", "04"),
        (a_row(state="Reserved", reserved_at=minutes(3)), "Admitted", "03"),
        (an_admitted_row(**RESERVED_FIRST, evicted=evicted("Preempted")), "Evicted", "03"),
        (an_admitted_row(**RESERVED_FIRST, evicted=evicted("Preempted")), "Preempted", "03"),
        (an_admitted_row(pods_ready_at=minutes(5)), "PodsReady", "05"),
        (
            an_admitted_row(pods_ready_at=minutes(5), pods_lost_at=minutes(8)),
            "PodsReady",
            "08",
        ),
        (an_admitted_row(placed_at=minutes(4)), "PodsReady", "04"),
        (a_row(**AGAIN), "QuotaReserved", "00"),
        (a_row(**AGAIN), "Admitted", "00"),
        (a_row(**AGAIN, evicted=evicted("Preempted", at=5)), "QuotaReserved", "05"),
    ],
)
def test_a_condition_has_the_time_of_its_own_step(row: Workload, kind: str, expected: str):
    """Reserving, admitting, losing pods and being evicted have a time each; one waits since it came."""
    assert minute(row, kind) == expected


@pytest.mark.parametrize(("at", "reason"), [(19.99, "False"), (20, "True"), (20.01, "True")])
def test_a_back_off_ends_at_its_instant(at: float, reason: str):
    """At requeueAt itself it is back in line, as the scheduler has it."""
    row = a_row(evicted=evicted("PodsReadyTimeout"), requeue_at=minutes(20), requeues=1)
    assert condition(row, "Requeued", at)["status"] == reason


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"parallelism": 2, "completions": 5, "ready": 1}, "1 of 2 pods"),
        ({"parallelism": 5, "completions": 2, "ready": 1}, "1 of 2 pods"),
        ({"parallelism": 3, "completions": None, "ready": 1}, "1 of 3 pods"),
        ({"parallelism": 3, "completions": 3, "ready": 1, "succeeded": 1}, "2 of 3 pods"),
        ({"parallelism": 1, "completions": 1}, "0 of 1 pods"),
    ],
)
def test_pods_are_counted_against_those_that_run_at_once(columns: dict[str, Any], expected: str):
    """No more pods are waited for than run at once, nor than are to complete; done ones count."""
    assert condition(an_admitted_row(**columns), "PodsReady")["message"].startswith(expected)


def test_the_reason_of_the_last_look_outlasts_a_back_off():
    """A job that was looked at since says why it waits, though its requeueAt is still written down."""
    row = a_row(requeue_at=minutes(5), reason="WaitingForQuota", message="1 more needed")
    found = condition(row, "QuotaReserved")
    assert (found["reason"], found["message"]) == ("WaitingForQuota", "1 more needed")
    resting = condition(a_row(requeue_at=minutes(20)), "QuotaReserved")
    assert resting["message"] == "It is not considered before 2026-05-01T12:20:00Z"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (("Deactivated", "", ""), "Deactivated"),
        (("Deactivated", "", "X"), "DeactivatedDueToX"),
        (("Preempted", "", ""), "DeactivatedDueToPreempted"),
        (("AdmissionCheck", "", "Rejected"), "DeactivatedDueToAdmissionCheck"),
    ],
)
def test_a_deactivated_workload_names_its_cause_once(given: tuple[str, ...], expected: str):
    """Evicted says Deactivated, due to what it was evicted for if that was something else."""
    reason, message, cause = given
    row = a_row(state="Deactivated", evicted=evicted(reason, message, cause))
    assert condition(row, "Evicted")["reason"] == expected


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({}, None),
        ({"requeues": 2}, {"count": 2}),
        ({"requeue_at": minutes(3)}, {"count": 0, "requeueAt": "2026-05-01T12:03:00Z"}),
        (
            {"requeues": 1, "requeue_at": minutes(3)},
            {"count": 1, "requeueAt": "2026-05-01T12:03:00Z"},
        ),
    ],
)
def test_the_requeue_state_is_told_where_there_is_one(columns: dict[str, Any], expected: object):
    """A delay without a count, and a count without a delay, are told as they are."""
    assert status(a_row(**columns)).get("requeueState") == expected


def test_a_check_that_nobody_has_answered_is_asked_since_the_job_was_queued():
    """Its time is that of the present turn in the line, not of the job's first day."""
    row = a_row(**AGAIN, state="Reserved", checks={"budget": {}})
    (found,) = status(row)["admissionChecks"]
    assert (found["state"], found["lastTransitionTime"]) == ("Pending", "2026-05-01T12:07:00Z")


def test_the_admission_tells_what_was_charged():
    """A pod set that was admitted in part has its own count and its whole usage, not what was asked."""
    charged = {"name": "main", "count": 2, "usage": {"cpu": 1000}, "whole": {"cpu": 2000}}
    shape = [A_SHAPE[0] | {"count": 5}]
    row = an_admitted_row(admission={"podSets": [charged]})
    (told,) = workload_object(row, shape, now=minutes(10))["status"]["admission"][
        "podSetAssignments"
    ]
    assert (told["count"], told["resourceUsage"]) == (2, {"cpu": "2"})
    row = an_admitted_row(admission={"podSets": [{"name": "main", "usage": {"cpu": 1000}}]})
    (told,) = workload_object(row, shape, now=minutes(10))["status"]["admission"][
        "podSetAssignments"
    ]
    assert (told["count"], told["resourceUsage"]) == (5, {"cpu": "1"})


def test_the_cluster_it_makes_room_on_is_named_first():
    """A reserved workload's clusters in question: where it was nominated, then where it is; each once."""
    row = a_row(state="Reserved", cluster="south", nomination={"cluster": "north"})
    assert status(row)["nominatedClusterNames"] == ["north", "south"]
    same = a_row(state="Reserved", cluster="south", nomination={"cluster": "south"})
    assert status(same)["nominatedClusterNames"] == ["south"]
