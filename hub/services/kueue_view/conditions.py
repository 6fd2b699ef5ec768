"""The conditions of a Workload in Kueue's words, from one row of `workloads`. Pure.

Nothing is remembered from one look to the next: each condition, its reason and its time follow from
the columns alone, so that every replica, REST and the hub cluster say the same
(docs/howto/kueue-views.md).
"""

import datetime as dt
from collections.abc import Mapping
from typing import Final

from hub.domain.plan import Reason
from hub.domain.workloads.chains import waits_for_others
from hub.domain.workloads.states import CHARGED, TERMINAL, State, WithdrawTo
from hub.store.records.workloads import Workload
from shared.conditions import LONGEST_MESSAGE, rfc3339
from shared.documents import Json

Condition = Json

CONDITIONS: Final = (
    "QuotaReserved",
    "Admitted",
    "Evicted",
    "Preempted",
    "Requeued",
    "PodsReady",
    "Finished",
    "DeactivationTarget",
)
PREEMPTED: Final = "Preempted"
# Why quota is not reserved. Kueue has no word for a fleet without room: that is its generic Pending.
_WAITS: Final[Mapping[str, str]] = {
    Reason.NO_MATCHING_FLAVOR: "NoMatchingFlavor",
    Reason.EXCEEDS_MAX_QUOTA: "ExceedsMaxQuota",
    Reason.WAITING_FOR_QUOTA: "WaitingForQuota",
    Reason.NO_CLUSTER_MATCHES: "Pending",
    Reason.NO_CLUSTER_FITS: "Pending",
    Reason.BEHIND_HEAD: "PendingEvaluation",
    Reason.AWAITING_PLACEMENT: "AdmissionGated",
    Reason.QUEUE_NOT_FOUND: "Misconfigured",
    Reason.QUEUE_STOPPED: "Suspended",
    Reason.NAMESPACE_MISMATCH: "Misconfigured",
    Reason.UNREADABLE: "Misconfigured",
    Reason.PENDING_EVALUATION: "PendingEvaluation",
    Reason.WAITING_FOR_VICTIMS: "WaitingForPreemptedWorkloads",
    Reason.WAITING_FOR_PODS_READY: "WaitingForPodsReady",
    Reason.PREEMPTION_GATED: "AdmissionGated",
    Reason.SUSPENDED: "Suspended",
    Reason.MISCONFIGURED: "Misconfigured",
    Reason.NOT_CONSIDERED: "PendingEvaluation",
}
# Why one workload was preempted: the end of the message that its victims get → Kueue's reason.
_CAUSES: Final[Mapping[str, str]] = {
    "prioritization in the ClusterQueue": "InClusterQueue",
    "reclamation within the cohort": "InCohortReclamation",
    "Fair Sharing within the cohort": "InCohortFairSharing",
    "reclamation within the cohort while borrowing": "InCohortReclaimWhileBorrowing",
    "a lack of room on its cluster": "InClusterCapacity",  # ours: Kueue knows quota alone
}
_RESTARTED: Final[Mapping[str, str]] = {
    "ClusterQueueStopped": "ClusterQueueRestarted",
    "LocalQueueStopped": "LocalQueueRestarted",
}
_CHARGED: Final = CHARGED
_TERMINAL: Final = TERMINAL
_INACTIVE: Final = frozenset({State.HELD, State.DEACTIVATED})
_LEAVES: Final = frozenset({WithdrawTo.HELD, WithdrawTo.DEACTIVATED})


def reserves(row: Workload) -> bool:
    """Does it hold quota, or did it until it finished?"""
    finished = row.state in _TERMINAL - _INACTIVE  # what is deactivated was evicted first
    return row.state in _CHARGED or (finished and row.admission is not None)


def admitted(row: Workload) -> bool:
    """May it run, or might it until it finished?"""
    return reserves(row) and row.state != State.RESERVED and row.placed_at is not None


def active(row: Workload) -> bool:
    """`spec.active`: neither held by its user nor deactivated. A job with dependencies is active."""
    if waits_for_others(row.state, row.held_for, row.reason):
        return True
    return row.state not in _INACTIVE and row.withdraw_to not in _LEAVES


def conditions(row: Workload, now: dt.datetime) -> list[Condition]:
    """All conditions that Kueue would show, in the order of its documentation."""
    made = [_quota_reserved(row), _admitted(row)]
    evicted = row.evicted
    if evicted or row.state in {State.WITHDRAWING, State.DEACTIVATED}:
        made += _evicted(row, evicted or {})
    if evicted:
        made += _requeued(row, evicted, now)
    counts_pods = row.kind != "Workload" or row.pods_ready_at is not None
    if admitted(row) and row.state not in _TERMINAL and counts_pods:
        made.append(_pods_ready(row))
    if row.state in _TERMINAL - _INACTIVE:
        made.append(_finished(row))
    if row.state == State.WITHDRAWING and row.withdraw_to == WithdrawTo.DEACTIVATED:
        cause = (evicted or {}).get("cause") or row.reason or "Deactivated"
        made.append(_one("DeactivationTarget", True, cause, row.message, _at(evicted, row)))
    at = rfc3339(row.queued_at)  # of a step whose time is not known
    return [{"lastTransitionTime": at, **each} for each in made]


def _quota_reserved(row: Workload) -> Condition:
    if reserves(row):
        text = f"Quota reserved in ClusterQueue {row.cluster_queue}"
        at = row.reserved_at or row.placed_at or row.queued_at
        return _one("QuotaReserved", True, "QuotaReserved", text, at)
    return _one("QuotaReserved", False, *why_waiting(row), _since(row))


def why_waiting(row: Workload) -> tuple[str, str]:
    """Reason and message of QuotaReserved=False for a row that holds no quota."""
    reason, message = row.reason, row.message
    if waits_for_others(row.state, row.held_for, reason):
        return "AdmissionGated", f"{reason}: {message}"
    if row.state == State.HELD:
        return "OnHold", message or "The workload is held"
    if row.state in _TERMINAL:
        return "Inadmissible", message or f"The workload was {row.state.lower()}"
    if row.requeue_at is not None and reason not in _WAITS:
        text = f"It is not considered before {rfc3339(row.requeue_at)}"
        return "Pending", message or text
    said = _WAITS.get(reason, "Pending" if reason else "PendingEvaluation")
    if said == "Pending" and reason:
        message = f"{reason}: {message}"
    return said, message or "The workload has not been considered yet"


def _admitted(row: Workload) -> Condition:
    if admitted(row):
        where = f" to cluster {row.cluster}" if row.cluster else ""
        text = f"The workload is admitted{where}"
        return _one("Admitted", True, "Admitted", text, row.placed_at)
    if row.state == State.RESERVED:
        open_ = sorted(name for name, c in (row.checks or {}).items() if c.get("state") != "Ready")
        text = f"The workload waits for its admission checks: {', '.join(open_)}"
        at = row.reserved_at or row.queued_at
        return _one("Admitted", False, "UnsatisfiedAdmissionChecks", text, at)
    text = "The workload has no reservation"
    return _one("Admitted", False, "NoReservation", text, _since(row))


def _evicted(row: Workload, evicted: Mapping[str, str]) -> list[Condition]:
    """Evicted, and Preempted where that was it; both are False once it has quota again."""
    holds_anew = reserves(row) and row.state != State.WITHDRAWING
    reason, message = (
        evicted.get("reason") or row.reason,
        evicted.get("message", row.message),
    )
    cause = evicted.get("cause") or ""
    if row.state == State.DEACTIVATED and reason != "Deactivated":
        reason, cause = "Deactivated", reason
    named = f"{reason}DueTo{cause}" if cause else reason or "Evicted"
    pairs = [("Evicted", named)]
    if reason == PREEMPTED:
        pairs.append((PREEMPTED, cause or preempted_because(message)))
    if holds_anew:
        at = row.reserved_at or row.placed_at
        text = f"Previously: {message}"
        return [_one(kind, False, "QuotaReserved", text, at) for kind, _ in pairs]
    return [_one(kind, True, said, message, _at(evicted, row)) for kind, said in pairs]


def preempted_because(message: str) -> str:
    """Kueue's reason of condition Preempted, by the victim's message."""
    return _CAUSES.get(message.rpartition(" due to ")[2], "InClusterQueue")


def _requeued(row: Workload, evicted: Mapping[str, str], now: dt.datetime) -> list[Condition]:
    """True if an evicted workload is back in line; False keeps it out."""
    reason, message = evicted.get("reason", ""), evicted.get("message", "")
    until = row.requeue_at
    if row.state in {State.WITHDRAWING, *_TERMINAL}:
        return []
    if row.state == State.HELD:
        return [_one("Requeued", False, reason, message, _at(evicted, row))]
    if reason in _RESTARTED:
        if row.state == State.PENDING and row.reason == Reason.QUEUE_STOPPED:
            return [_one("Requeued", False, reason, message, _at(evicted, row))]
        text = "The queue was started again"
        return [_one("Requeued", True, _RESTARTED[reason], text, _at(evicted, row))]
    if until is not None and until > now:
        return [_one("Requeued", False, reason, message, _at(evicted, row))]
    if until is not None:
        text = "The back-off has ended"
        return [_one("Requeued", True, "BackoffFinished", text, until)]
    if reason == "Deactivated":
        text = "The workload was activated again"
        return [_one("Requeued", True, "Reactivated", text, row.queued_at)]
    return [_one("Requeued", True, reason, message, _at(evicted, row))]


def _pods_ready(row: Workload) -> Condition:
    needed = row.parallelism
    if row.completions is not None:
        needed = min(needed, row.completions)
    ready, lost = row.pods_ready_at, row.pods_lost_at
    if ready is not None and lost is None:
        text = "All pods were ready or succeeded since the workload was admitted"
        return _one("PodsReady", True, "Started", text, ready)
    text = f"{row.ready + row.succeeded} of {needed} pods are ready or have succeeded"
    if lost is not None:
        return _one("PodsReady", False, "WaitForRecovery", text, lost)
    return _one("PodsReady", False, "WaitForStart", text, row.placed_at)


def _finished(row: Workload) -> Condition:
    if row.state == State.SUCCEEDED:
        text = row.message or "Job finished successfully"
        return _one("Finished", True, "Succeeded", text, row.finished_at)
    text = row.message or f"The job was {row.state.lower()}"
    if row.reason:
        text = f"{row.reason}: {text}"
    return _one("Finished", True, "Failed", text, row.finished_at)


def _at(evicted: Mapping[str, str] | None, row: Workload) -> dt.datetime:
    """When it was last evicted."""
    said = (evicted or {}).get("at")
    return dt.datetime.fromisoformat(said) if said else row.queued_at


def _since(row: Workload) -> dt.datetime:
    """Since when it has waited."""
    return _at(row.evicted, row) if row.evicted else row.created_at


def _one(
    kind: str,
    holds: bool,
    reason: str,
    message: str,
    at: dt.datetime | None,
) -> Condition:
    made: Condition = {
        "type": kind,
        "status": "True" if holds else "False",
        "reason": reason,
        "message": message[:LONGEST_MESSAGE],
    }
    return made | ({"lastTransitionTime": rfc3339(at)} if at is not None else {})
