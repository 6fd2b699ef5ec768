"""The whole Workload of a row at each stage of its life: every condition with its words and time."""

import pytest

from hub.services.kueue_view.workload import workload_object
from hub.store.records.workloads import Workload
from tests.services.kueue_view.rows import A_SHAPE, a_row, an_admitted_row, evicted, minutes

QUEUED = {"queued_at": minutes(0.5)}  # other than when it was created


def conditions(row: Workload, at: float = 10) -> list[tuple[str, str, str, str, str]]:
    """Type, status, reason, message and the minute of each."""
    made = workload_object(row, A_SHAPE, now=minutes(at))["status"]["conditions"]
    assert all(each["lastTransitionTime"].startswith("2026-05-01T12:") for each in made)
    return [
        (c["type"], c["status"], c["reason"], c["message"], c["lastTransitionTime"][14:19])
        for c in made
    ]


NO_QUOTA = ("Admitted", "False", "NoReservation", "The workload has no reservation")
RESERVED = ("QuotaReserved", "True", "QuotaReserved", "Quota reserved in ClusterQueue all")
ADMITTED = ("Admitted", "True", "Admitted", "The workload is admitted to cluster north")
NOT_LOOKED_AT = "The workload has not been considered yet"


@pytest.mark.parametrize(
    ("columns", "reason", "message"),
    [
        ({}, "PendingEvaluation", NOT_LOOKED_AT),
        ({"reason": "WaitingForQuota"}, "WaitingForQuota", NOT_LOOKED_AT),
        ({"reason": "WaitingForQuota", "message": "m"}, "WaitingForQuota", "m"),
        ({"reason": "NoClusterFits", "message": "m"}, "Pending", "NoClusterFits: m"),
        ({"reason": "Restored", "message": "m"}, "Pending", "Restored: m"),
        ({"state": "Held", "reason": "HeldByUser", "message": "held by a"}, "OnHold", "held by a"),
        ({"state": "Held"}, "OnHold", "The workload is held"),
        ({"state": "Deactivated"}, "Inadmissible", "The workload was deactivated"),
        (
            {"reason": "PodsReadyTimeout", "requeue_at": minutes(30)},
            "Pending",
            "It is not considered before 2026-05-01T12:30:00Z",
        ),
        (
            {"reason": "PodsReadyTimeout", "message": "m", "requeue_at": minutes(30)},
            "Pending",
            "m",
        ),
    ],
)
def test_what_waits_says_why_since_it_came(columns, reason, message):
    """QuotaReserved and Admitted are False since it was created, though it was queued again since."""
    told = conditions(a_row(**QUEUED, **columns))
    assert told[:2] == [
        ("QuotaReserved", "False", reason, message, "00:00"),
        (*NO_QUOTA, "00:00"),
    ]


def test_what_was_evicted_waits_since_then():
    """Why it was evicted and what it was told stay to be read beside why it waits now."""
    row = a_row(reason="WaitingForQuota", message="m", evicted=evicted("Preempted", "for b"))
    assert conditions(row) == [
        ("QuotaReserved", "False", "WaitingForQuota", "m", "05:00"),
        (*NO_QUOTA, "05:00"),
        ("Evicted", "True", "Preempted", "for b", "05:00"),
        ("Preempted", "True", "InClusterQueue", "for b", "05:00"),
        ("Requeued", "True", "Preempted", "for b", "05:00"),
    ]


@pytest.mark.parametrize(
    ("columns", "requeued"),
    [
        ({"state": "Held"}, ("False", "X", "told so", "05:00")),
        ({"requeue_at": minutes(20)}, ("False", "X", "told so", "05:00")),
        (
            {"requeue_at": minutes(9)},
            ("True", "BackoffFinished", "The back-off has ended", "09:00"),
        ),
        ({}, ("True", "X", "told so", "05:00")),
        (
            {"evicted": evicted("Deactivated")},
            ("True", "Reactivated", "The workload was activated again", "07:00"),
        ),
        (
            {"evicted": evicted("LocalQueueStopped")},
            ("True", "LocalQueueRestarted", "The queue was started again", "05:00"),
        ),
        (
            {"evicted": evicted("ClusterQueueStopped")},
            ("True", "ClusterQueueRestarted", "The queue was started again", "05:00"),
        ),
        (
            {"evicted": evicted("LocalQueueStopped"), "reason": "QueueStopped"},
            ("False", "LocalQueueStopped", "told so", "05:00"),
        ),
        (
            {"evicted": evicted("ClusterQueueStopped"), "requeue_at": minutes(20)},
            ("True", "ClusterQueueRestarted", "The queue was started again", "05:00"),
        ),
        ({"state": "Withdrawing"}, None),
        ({"state": "Deactivated"}, None),
        ({"state": "Cancelled"}, None),
    ],
)
def test_whether_it_is_back_in_line(columns, requeued):
    """Requeued with its words and the time of its own step; none for what leaves or has left."""
    row = a_row(**{"evicted": evicted("X"), "queued_at": minutes(7)} | columns)
    found = [told[1:] for told in conditions(row) if told[0] == "Requeued"]
    assert found == ([] if requeued is None else [requeued])


def test_what_is_reserved_names_its_open_checks_in_order():
    """Since it was reserved, each."""
    checks = {name: {"state": s} for name, s in (("b", "Retry"), ("a", "Pending"), ("c", "Ready"))}
    row = an_admitted_row(state="Reserved", placed_at=None, reserved_at=minutes(3), checks=checks)
    text = "The workload waits for its admission checks: a, b"
    assert conditions(row) == [
        (*RESERVED, "03:00"),
        ("Admitted", "False", "UnsatisfiedAdmissionChecks", text, "03:00"),
    ]


@pytest.mark.parametrize(
    ("columns", "ready"),
    [
        ({"ready": 1, "succeeded": 1, "parallelism": 3, "completions": 4},
         ("False", "WaitForStart", "2 of 3 pods are ready or have succeeded", "01:00")),
        ({"pods_ready_at": minutes(3)},
         ("True", "Started", "All pods were ready or succeeded since the workload was admitted", "03:00")),
        ({"pods_ready_at": minutes(3), "pods_lost_at": minutes(6)},
         ("False", "WaitForRecovery", "0 of 1 pods are ready or have succeeded", "06:00")),
        ({"kind": "Workload"}, None),
        ({"kind": "Workload", "pods_ready_at": minutes(3)},
         ("True", "Started", "All pods were ready or succeeded since the workload was admitted", "03:00")),
    ],
)  # fmt: skip
def test_what_is_admitted_says_of_its_pods(columns, ready):
    """A bare Workload says nothing until its executor has spoken of them."""
    row = an_admitted_row(reserved_at=minutes(0.5), **columns)
    pods = [] if ready is None else [("PodsReady", *ready)]
    assert conditions(row) == [(*RESERVED, "00:30"), (*ADMITTED, "01:00"), *pods]


def test_what_waits_without_a_cluster_is_admitted_to_none():
    """A bare Workload has quota alone."""
    row = an_admitted_row(kind="Workload", cluster="")
    assert conditions(row)[1] == ("Admitted", "True", "Admitted", ADMITTED[3][:24], "01:00")
    assert "clusterName" not in workload_object(row, A_SHAPE, now=minutes(10))["status"]


def test_what_leaves_holds_its_quota_until_it_has_gone():
    """Evicted with its cause, and what it will be."""
    row = an_admitted_row(
        state="Withdrawing",
        withdraw_to="Deactivated",
        message="m",
        reason="x",
        evicted=evicted("Deactivated", "told so", "MaximumExecutionTimeExceeded"),
    )
    assert [c for c in conditions(row)[2:] if c[0] != "PodsReady"] == [
        ("Evicted", "True", "DeactivatedDueToMaximumExecutionTimeExceeded", "told so", "05:00"),
        ("DeactivationTarget", "True", "MaximumExecutionTimeExceeded", "m", "05:00"),
    ]
    plain = an_admitted_row(
        state="Withdrawing", withdraw_to="Deactivated", reason="x", message="m", **QUEUED
    )
    assert [c for c in conditions(plain)[2:] if c[0] != "PodsReady"] == [
        ("Evicted", "True", "x", "m", "00:30"),
        ("DeactivationTarget", "True", "x", "m", "00:30"),
    ]


def test_what_is_admitted_again_says_what_was():
    """Evicted and Preempted are over since quota was reserved anew."""
    row = an_admitted_row(
        reserved_at=minutes(8), placed_at=minutes(9), evicted=evicted("Preempted", "for b")
    )
    over = ("False", "QuotaReserved", "Previously: for b", "08:00")
    assert conditions(row)[2:] == [
        ("Evicted", *over),
        ("Preempted", *over),
        ("Requeued", "True", "Preempted", "for b", "05:00"),
        ("PodsReady", "False", "WaitForStart", "0 of 1 pods are ready or have succeeded", "09:00"),
    ]


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("x due to prioritization in the ClusterQueue", "InClusterQueue"),
        ("x due to reclamation within the cohort", "InCohortReclamation"),
        ("x due to Fair Sharing within the cohort", "InCohortFairSharing"),
        (
            "x due to reclamation within the cohort while borrowing",
            "InCohortReclaimWhileBorrowing",
        ),
        ("x due to a lack of room on its cluster", "InClusterCapacity"),
        ("due to y due to reclamation within the cohort", "InCohortReclamation"),
    ],
)
def test_a_victim_says_what_for(said, reason):
    """By the words it was told; a cause that was written down counts first."""
    (found,) = [c for c in conditions(a_row(evicted=evicted("Preempted", said)))
                if c[0] == "Preempted"]  # fmt: skip
    assert found == ("Preempted", "True", reason, said, "05:00")
    (named,) = [c for c in conditions(a_row(evicted=evicted("Preempted", said, "Why")))
                if c[0] == "Preempted"]  # fmt: skip
    assert named[2] == "Why"


@pytest.mark.parametrize(
    ("columns", "reason", "message"),
    [
        ({"state": "Succeeded"}, "Succeeded", "Job finished successfully"),
        ({"state": "Succeeded", "reason": "r", "message": "m"}, "Succeeded", "m"),
        ({"state": "Failed"}, "Failed", "The job was failed"),
        ({"state": "Failed", "reason": "r", "message": "m"}, "Failed", "r: m"),
        (
            {"state": "Cancelled", "reason": "CancelledByUser"},
            "Failed",
            "CancelledByUser: The job was cancelled",
        ),
    ],
)
def test_what_has_ended_says_how(columns, reason, message):
    """When it did; its pods are waited for no more."""
    row = an_admitted_row(finished_at=minutes(9), **columns)
    assert conditions(row) == [
        (*RESERVED, "01:00"),
        (*ADMITTED, "01:00"),
        ("Finished", "True", reason, message, "09:00"),
    ]
