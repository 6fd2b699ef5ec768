"""Whatever a row says, its Workload can be shown, and its conditions never contradict each other."""

import datetime as dt
from typing import Any

from hypothesis import given, strategies as st

from hub.domain.plan import Reason
from hub.domain.workloads.states import TERMINAL, State
from hub.services.kueue_view.conditions import CONDITIONS
from hub.services.kueue_view.workload import workload_object
from tests.services.kueue_view.rows import A_SHAPE, NOW, a_row

# Reasons of QuotaReserved=False, those of before included (docs/howto/kueue-views.md).
WAITING = {
    "NoMatchingFlavor", "ExceedsMaxQuota", "WaitingForQuota", "TopologyPlacementFailed",
    "WaitingForPreemptedWorkloads", "Misconfigured", "Suspended", "PendingEvaluation",
    "WaitingForPodsReady", "AdmissionGated", "OnHold", "Pending", "Inadmissible", "Waiting",
}  # fmt: skip
times = st.none() | st.integers(0, 600).map(lambda s: NOW + dt.timedelta(seconds=s))
reasons = st.sampled_from(["", *map(str, Reason), "HeldByUser", "PodsPending"])
evictions = st.none() | st.fixed_dictionaries(
    {
        "reason": st.sampled_from(
            [
                "Preempted",
                "PodsReadyTimeout",
                "AdmissionCheck",
                "ClusterQueueStopped",
                "Deactivated",
            ]
        ),
        "message": st.sampled_from(["", "x due to reclamation within the cohort"]),
        "at": times.filter(bool).map(lambda t: t.isoformat()),
    },
    optional={"cause": st.sampled_from(["RequeuingLimitExceeded", "AdmissionCheck"])},
)
admissions = st.none() | st.just(
    {"podSets": [{"name": "main", "count": 1, "flavors": {"cpu": "f"}, "usage": {"cpu": 1}}]}
)
checks = st.none() | st.dictionaries(
    st.sampled_from(["a", "b"]),
    st.fixed_dictionaries({"state": st.sampled_from(["Pending", "Ready", "Retry", "Rejected"])}),
)
rows = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["Job", "Workload"]),
        "state": st.sampled_from([str(s) for s in State]),
        "reason": reasons,
        "withdraw_to": st.sampled_from(["", "Pending", "Held", "Deactivated", "Cancelled"]),
        "cluster": st.sampled_from(["", "north"]),
        "admission": admissions,
        "nomination": st.none() | st.just({"cluster": "south"}),
        "checks": checks,
        "evicted": evictions,
        "evictions": st.none() | st.just({"Preempted": 1, "Deactivated/AdmissionCheck": 2}),
        "requeue_at": times,
        "requeues": st.integers(0, 3),
        "reserved_at": times,
        "placed_at": times,
        "started_at": times,
        "finished_at": times,
        "pods_ready_at": times,
        "pods_lost_at": times,
        "parallelism": st.integers(0, 4),
        "completions": st.none() | st.integers(0, 6),
        "succeeded": st.integers(0, 6),
        "ready": st.integers(0, 4),
    }
)


def view(columns: dict[str, Any]) -> tuple[dict[str, str], dict[str, Any]]:
    """Conditions as type → status, and the status."""
    row = a_row(**columns)
    if row.state in TERMINAL:
        row = row._replace(finished_at=row.finished_at or NOW)
    status = workload_object(row, A_SHAPE, now=NOW)["status"]
    conditions = status["conditions"]
    for each in conditions:
        assert each["type"] in CONDITIONS
        assert each["reason"], each
        assert each["lastTransitionTime"], each
    types = [each["type"] for each in conditions]
    assert len(types) == len(set(types))
    return {each["type"]: each["status"] for each in conditions}, status


@given(rows)
def test_admitted_means_reserved(columns: dict[str, Any]) -> None:
    """Nothing is admitted without quota; status.admission is there exactly while quota is."""
    said, status = view(columns)
    assert said["QuotaReserved"] == "True" or said["Admitted"] == "False"
    assert ("admission" in status) == (said["QuotaReserved"] == "True")


@given(rows)
def test_a_cluster_is_nominated_or_the_workloads_never_both(columns: dict[str, Any]) -> None:
    """clusterName only of what is admitted; nominatedClusterNames only before."""
    said, status = view(columns)
    assert not {"clusterName", "nominatedClusterNames"} <= status.keys()
    if "clusterName" in status:
        assert said["Admitted"] == "True"


@given(rows)
def test_what_finished_is_in_no_line(columns: dict[str, Any]) -> None:
    """Finished and Requeued exclude each other."""
    said, _ = view(columns)
    assert not {"Finished", "Requeued"} <= said.keys()


@given(rows)
def test_preempted_is_evicted(columns: dict[str, Any]) -> None:
    """Condition Preempted has the status of Evicted."""
    said, _ = view(columns)
    assert "Preempted" not in said or said["Preempted"] == said["Evicted"]


@given(rows)
def test_why_it_waits_is_said_in_kueues_words(columns: dict[str, Any]) -> None:
    """Whatever reason the hub has, that of QuotaReserved=False is one that Kueue knows."""
    row = a_row(**columns)
    (said, *_) = workload_object(row, A_SHAPE, now=NOW)["status"]["conditions"]
    assert said["status"] == "True" or said["reason"] in WAITING
