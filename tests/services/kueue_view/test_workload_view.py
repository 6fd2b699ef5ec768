"""Every workload as Kueue's Workload: names, spec, conditions, admission."""

from typing import Any

import pytest

from hub.domain.workloads.states import State, WithdrawTo
from hub.services.kueue_view.workload import workload_name, workload_object
from hub.store.records.workloads import Workload
from tests.services.kueue_view.rows import A_SHAPE, a_row, an_admitted_row, evicted, minutes


def view(row: Workload, at: float = 10) -> dict[str, Any]:
    return workload_object(row, A_SHAPE, now=minutes(at))


def said(row: Workload, at: float = 10) -> dict[str, str]:
    """Conditions as type → "status reason"."""
    conditions = view(row, at)["status"]["conditions"]
    return {each["type"]: f"{each['status']} {each['reason']}" for each in conditions}


def message(row: Workload, kind: str) -> str:
    (found,) = [c for c in view(row)["status"]["conditions"] if c["type"] == kind]
    return str(found["message"])


def test_a_jobs_workload_is_called_as_kueue_calls_it():
    """job-<name>-<5 hexadecimal digits of SHA-1 over kind, group, name and uid>."""
    row = a_row(name="sample-job", uid="4a4f4a5e-0000-4000-8000-000000000001")
    assert workload_name(row) == "job-sample-job-90b46"


def test_a_bare_workload_keeps_its_name():
    """What was sent as a Workload is shown under its own name, without owner."""
    shown = view(a_row(kind="Workload", name="wl"))
    assert shown["metadata"]["name"] == "wl"
    assert "ownerReferences" not in shown["metadata"]


def test_the_job_owns_its_workload():
    """A controller reference, by which a cluster removes the one with the other."""
    (owner,) = view(a_row())["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["uid"]) == ("Job", "train", "u-1")
    assert owner["controller"] is True


def test_the_spec_says_what_is_asked():
    """Queue, priority and its class, pod sets with the template as it was sent, longest run."""
    job: dict[str, Any] = {"spec": {"template": {"spec": {"containers": []}}}}
    row = a_row(priority=7, priority_class="high", max_runtime_s=60)
    spec = workload_object(row, A_SHAPE, job, now=minutes(0))["spec"]
    assert spec["queueName"] == "gpu"
    assert (spec["priority"], spec["priorityClassRef"]["name"]) == (7, "high")
    assert spec["maximumExecutionTimeSeconds"] == 60
    (pod_set,) = spec["podSets"]
    assert (pod_set["name"], pod_set["count"]) == ("main", 1)
    assert pod_set["template"] == {"spec": {"containers": []}}


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("", "PendingEvaluation"),
        ("NoMatchingFlavor", "NoMatchingFlavor"),
        ("ExceedsMaxQuota", "ExceedsMaxQuota"),
        ("WaitingForQuota", "WaitingForQuota"),
        ("NoClusterFits", "Pending"),
        ("BehindHead", "PendingEvaluation"),
        ("AwaitingPlacement", "AdmissionGated"),
        ("QueueNotFound", "Misconfigured"),
        ("QueueStopped", "Suspended"),
        ("WaitingForPreemptedWorkloads", "WaitingForPreemptedWorkloads"),
        ("WaitingForPodsReady", "WaitingForPodsReady"),
        ("Unreadable", "Misconfigured"),
    ],
)
def test_a_waiting_workload_says_why_in_kueues_words(reason: str, expected: str):
    """QuotaReserved is False with the fine-grained reason; nothing is admitted."""
    row = a_row(reason=reason, message="because")
    assert said(row) == {"QuotaReserved": f"False {expected}", "Admitted": "False NoReservation"}


def test_a_reason_kueue_has_no_word_for_stands_in_the_message():
    """A fleet without room is Pending, and the hub's own reason is told."""
    row = a_row(reason="NoClusterFits", message="cluster a has room for 0 of 1 pods")
    assert message(row, "QuotaReserved").startswith("NoClusterFits: cluster a has room")


def test_a_held_workload_is_inactive_and_on_hold():
    """Held by its user: spec.active is false."""
    row = a_row(state="Held")
    assert view(row)["spec"]["active"] is False
    assert said(row)["QuotaReserved"] == "False OnHold"


def test_a_reserved_workload_waits_for_its_checks():
    """Quota is reserved, Admitted is False and names the open checks, whose states are shown."""
    checks = {
        "budget": {"state": "Pending", "message": "", "at": minutes(1).isoformat()},
        "capacity": {"state": "Ready", "message": "ok", "at": minutes(2).isoformat()},
    }
    row = an_admitted_row(
        state="Reserved", placed_at=None, started_at=None, reserved_at=minutes(1), checks=checks
    )
    assert said(row)["QuotaReserved"] == "True QuotaReserved"
    assert said(row)["Admitted"] == "False UnsatisfiedAdmissionChecks"
    assert message(row, "Admitted").endswith("budget")
    states = view(row)["status"]["admissionChecks"]
    assert [(s["name"], s["state"]) for s in states] == [
        ("budget", "Pending"),
        ("capacity", "Ready"),
    ]
    assert states[1]["lastTransitionTime"] == "2026-05-01T12:02:00Z"


def test_a_reserved_workload_names_the_cluster_in_question():
    """It is nominated, not yet the cluster's."""
    status = view(an_admitted_row(state="Reserved", placed_at=None))["status"]
    assert status["nominatedClusterNames"] == ["north"]
    assert "clusterName" not in status


def test_an_admitted_workload_shows_flavors_usage_and_cluster():
    """status.admission is what was charged, in canonical quantities."""
    row = an_admitted_row(ready=1, pods_ready_at=minutes(3))
    status = view(row)["status"]
    assert said(row) == {
        "QuotaReserved": "True QuotaReserved",
        "Admitted": "True Admitted",
        "PodsReady": "True Started",
    }
    assert status["clusterName"] == "north"
    assert status["admission"] == {
        "clusterQueue": "all",
        "podSetAssignments": [
            {"name": "main", "flavors": {"cpu": "spot"}, "resourceUsage": {"cpu": "1"}, "count": 1}
        ],
    }


def test_pods_that_are_not_ready_are_waited_for():
    """PodsReady is False, WaitForStart, until all are ready or have succeeded."""
    row = an_admitted_row(parallelism=2, completions=2, ready=1)
    assert said(row)["PodsReady"] == "False WaitForStart"


def test_pods_that_are_lost_are_waited_for_again():
    """PodsReady is False, WaitForRecovery, since one of them is not ready any more."""
    row = an_admitted_row(pods_ready_at=minutes(3), pods_lost_at=minutes(6))
    assert said(row)["PodsReady"] == "False WaitForRecovery"


def test_times_of_conditions_are_those_of_the_steps():
    """lastTransitionTime is when quota was reserved, when it was admitted, when it ended."""
    row = an_admitted_row(
        state="Succeeded", reserved_at=minutes(1), placed_at=minutes(2), finished_at=minutes(9)
    )
    times = {c["type"]: c["lastTransitionTime"] for c in view(row)["status"]["conditions"]}
    assert times == {
        "QuotaReserved": "2026-05-01T12:01:00Z",
        "Admitted": "2026-05-01T12:02:00Z",
        "Finished": "2026-05-01T12:09:00Z",
    }


@pytest.mark.parametrize(
    ("state", "reason"),
    [("Succeeded", "Succeeded"), ("Failed", "Failed"), ("Cancelled", "Failed")],
)
def test_an_ended_workload_is_finished(state: str, reason: str):
    """Finished is True; what it had stays to be seen."""
    row = an_admitted_row(state=state, finished_at=minutes(9))
    assert said(row)["Finished"] == f"True {reason}"
    assert said(row)["Admitted"] == "True Admitted"


def test_a_victim_is_evicted_and_preempted_while_it_leaves():
    """Both conditions are True; quota is held until nothing of it is left."""
    told = "preempted to accommodate b/urgent due to reclamation within the cohort"
    row = an_admitted_row(state="Withdrawing", evicted=evicted("Preempted", told))
    assert said(row)["Evicted"] == "True Preempted"
    assert said(row)["Preempted"] == "True InCohortReclamation"
    assert said(row)["QuotaReserved"] == "True QuotaReserved"


def test_an_evicted_workload_that_waits_is_requeued():
    """Evicted stays True, Requeued is True, and it has no reservation."""
    row = a_row(evicted=evicted("Preempted"), evictions={"Preempted": 2})
    assert said(row)["Evicted"] == "True Preempted"
    assert said(row)["Requeued"] == "True Preempted"
    assert said(row)["Admitted"] == "False NoReservation"
    stats = view(row)["status"]["schedulingStats"]["evictions"]
    assert stats == [{"reason": "Preempted", "underlyingCause": "", "count": 2}]


def test_a_back_off_keeps_it_out_of_line_and_ends():
    """Requeued is False with the eviction's reason until requeueAt, then BackoffFinished."""
    row = a_row(evicted=evicted("PodsReadyTimeout"), requeue_at=minutes(20), requeues=1)
    assert said(row, at=10)["Requeued"] == "False PodsReadyTimeout"
    assert said(row, at=21)["Requeued"] == "True BackoffFinished"
    assert view(row)["status"]["requeueState"] == {"count": 1, "requeueAt": "2026-05-01T12:20:00Z"}


def test_a_stopped_queue_keeps_it_out_of_line_and_lets_it_in_again():
    """ClusterQueueStopped, then ClusterQueueRestarted."""
    stopped = a_row(evicted=evicted("ClusterQueueStopped"), reason="QueueStopped")
    again = a_row(evicted=evicted("ClusterQueueStopped"))
    assert said(stopped)["Requeued"] == "False ClusterQueueStopped"
    assert said(again)["Requeued"] == "True ClusterQueueRestarted"


def test_readmission_ends_the_eviction():
    """Evicted and Preempted are False, with what was said before."""
    row = an_admitted_row(evicted=evicted("Preempted", "gone for b"), placed_at=minutes(8))
    assert said(row)["Evicted"] == "False QuotaReserved"
    assert said(row)["Preempted"] == "False QuotaReserved"
    assert message(row, "Evicted") == "Previously: gone for b"


def test_a_deactivated_workload_says_what_for():
    """Evicted with the cause in its reason, inactive, nothing reserved."""
    row = a_row(
        state="Deactivated", evicted=evicted("Deactivated", cause="RequeuingLimitExceeded")
    )
    assert view(row)["spec"]["active"] is False
    assert said(row)["Evicted"] == "True DeactivatedDueToRequeuingLimitExceeded"
    assert said(row)["QuotaReserved"] == "False Inadmissible"


def test_what_is_deactivated_after_it_ran_holds_nothing_any_more():
    """Its row keeps where it was; its Workload says that quota and cluster were given back."""
    ran = an_admitted_row(
        state="Deactivated", evicted=evicted("Deactivated", cause="MaximumExecutionTimeExceeded")
    )
    told = said(ran)
    assert told["QuotaReserved"].startswith("False")
    assert told["Evicted"].startswith("True")
    status = view(ran)["status"]
    assert "admission" not in status
    assert "clusterName" not in status
    assert "nominatedClusterNames" not in status


def test_one_that_is_about_to_be_deactivated_says_so():
    """DeactivationTarget, while its pods are taken back."""
    row = an_admitted_row(
        state="Withdrawing",
        withdraw_to="Deactivated",
        reason="MaximumExecutionTimeExceeded",
        evicted=evicted("Deactivated", cause="MaximumExecutionTimeExceeded"),
    )
    assert said(row)["DeactivationTarget"] == "True MaximumExecutionTimeExceeded"


@pytest.mark.parametrize(
    ("to", "active"), [("Pending", True), ("Held", False), ("Deactivated", False)]
)
def test_what_is_on_its_way_out_of_line_is_inactive(to: str, active: bool):
    """`spec.active` is false from the wish on, not only once the member has let the job go."""
    row = an_admitted_row(state=State.WITHDRAWING, withdraw_to=WithdrawTo(to))
    assert view(row)["spec"]["active"] is active


def test_pods_that_will_not_be_needed_any_more_are_reclaimable():
    """A Job shows the pods that its admission has given back, as a bare Workload does."""
    given_back = {"name": "main", "count": 4, "usage": {"cpu": 1}, "reclaimed": 3}
    row = an_admitted_row(parallelism=4, admission={"podSets": [given_back]})
    assert view(row)["status"]["reclaimablePods"] == [{"name": "main", "count": 3}]


def test_what_a_waiting_workload_asks_for_is_shown():
    """resourceRequests, of all pods of a set, until quota is reserved."""
    shape = [A_SHAPE[0] | {"count": 3}]
    shown = workload_object(a_row(), shape, now=minutes(0))
    assert shown["status"]["resourceRequests"] == [{"name": "main", "resources": {"cpu": "3"}}]
