"""The status of a hub Job, within the API server's rules for Jobs with managedBy. Pure.

startTime, once written, never moves, counters never fall, a terminal write carries
times, counts and both conditions at once (Kubernetes 1.36, pkg/apis/batch/validation).
A managed Job whose status says that it has ended is never written again. So a Deactivated Job that a
person may still release is shown as suspended: it has not ended, and its time to live does not begin.

Without managedBy the hub cluster's own Job controller keeps counts, times and Suspended of a suspended
Job: what is written there it writes back, and from counts it concludes that the Job has ended. Until it
has, one condition of our own says where it is; its end stops that controller, and is written as always.
"""

import datetime as dt
from typing import Final

from hub.domain.workloads.states import QUEUED, TERMINAL, State
from hub.store.records.workloads import Workload
from shared import labels
from shared.conditions import Condition, is_true, remove, rfc3339, set_condition
from shared.documents import Json, JsonView

Status = Json
DISPATCHED: Final = f"{labels.PREFIX}Dispatched"  # of a Job without managedBy
DOUBLE_RUN: Final = "DoubleRun"
_COMPLETED: Final = ("CompletionsReached", "Reached expected number of succeeded pods")
# The member's own Job is suspended, by somebody there or by the member's own queue.
_SUSPENDED_THERE: Final = frozenset({"HeldByMember", "WaitsInMemberQueue"})
_WAITING: Final = frozenset({*QUEUED, State.RESERVED, State.DEACTIVATED})


def is_finished(status: JsonView | None) -> bool:
    """Does a Job's status say that it has ended?"""
    conditions = (status or {}).get("conditions")
    return is_true(conditions, "Complete") or is_true(conditions, "Failed")


def has_ended(row: Workload) -> bool:
    """True for a job that never runs again: one that is Deactivated may be released while it has its name."""
    return row.state in TERMINAL and not (row.state is State.DEACTIVATED and row.live)


def job_status(
    spec: JsonView,
    live: JsonView | None,
    row: Workload,
    observed: JsonView | None,
    now: dt.datetime,
    *,
    keeps_mark: bool = True,
) -> Status | None:
    """What the status should be, given the Job's `spec`, its `live` status, its workload `row` and what
    the member last said (`observed`, an agent_v1.JobStatus); None where `live` must stay as it is.

    `keeps_mark`: the API server knows spec.managedBy, and so demands SuccessCriteriaMet of every
    Complete Job; before (1.30, 1.31) it refuses that without a successPolicy.
    """
    live = live or {}
    if is_finished(live):
        return None
    state, ended = row.state, has_ended(row)
    if not spec.get("managedBy") and not ended:
        return {"conditions": _whereabouts(live.get("conditions"), row, now)}
    status: Status = {
        "active": 0 if ended else row.active,
        "succeeded": max(row.succeeded, live.get("succeeded") or 0),
        "failed": max(row.failed, live.get("failed") or 0),
    }
    status["ready"] = min(row.ready, status["active"])
    status["terminating"] = 0 if ended else (observed or {}).get("terminating") or 0
    started = live.get("startTime") or _stamp(row.started_at)
    if started or ended:
        status["startTime"] = started or rfc3339(row.placed_at or row.created_at)
    _indexes(status, spec, observed)
    if ended:
        criteria = keeps_mark or bool(spec.get("successPolicy"))
        _end(status, criteria, live.get("conditions"), row, observed, now)
    else:
        status["conditions"] = _suspension(live.get("conditions"), state, row, now)
    return status


def with_double_run(
    status: Status, live: JsonView | None, beside: str, now: dt.datetime
) -> Status:
    """The status, saying that an earlier epoch ran `beside` the present one while that may be so."""
    conditions = status.get("conditions", (live or {}).get("conditions"))
    if beside:
        told = set_condition(conditions, DOUBLE_RUN, "True", "EarlierEpoch", beside, now)
    elif is_true(conditions, DOUBLE_RUN):
        text = "nothing of an earlier epoch is left"
        told = set_condition(conditions, DOUBLE_RUN, "False", "EarlierEpochGone", text, now)
    else:
        return status
    return {**status, "conditions": told}


def refused_status(
    spec: JsonView, live: JsonView | None, code: str, detail: str, now: dt.datetime
) -> Status:
    """The status of a Job that the hub does not take: it is suspended, and its condition says why."""
    live = live or {}
    if is_finished(live):
        return {}
    conditions = live.get("conditions")
    if spec.get("managedBy"):
        told = set_condition(conditions, "Suspended", "True", code, detail, now)
    else:
        told = set_condition(conditions, DISPATCHED, "False", code, detail, now)
    return {"conditions": told}


def differs(wanted: Status, live: JsonView | None) -> bool:
    """Is there anything to write? A count that is absent is zero."""
    live = live or {}
    return any((live.get(name) or None) != (value or None) for name, value in wanted.items())


def _suspension(
    conditions: list[Condition] | None, state: State, row: Workload, now: dt.datetime
) -> list[Condition]:
    """Suspended says whether the Job waits, in its queue or in the member, and why."""
    if state in _WAITING or (row.reason in _SUSPENDED_THERE and not row.active):
        reason, message = row.reason or "Queued", row.message or "waits in its queue"
        return set_condition(conditions, "Suspended", "True", reason, message, now)
    where = _where(row)
    if row.reason:
        where = f"{where}: {row.reason}: {row.message}"
    return set_condition(conditions, "Suspended", "False", "JobResumed", where, now)


def _where(row: Workload) -> str:
    """Where its pods are, and what reads their logs: `kubectl logs` finds none here."""
    where = f"{row.state.value} in {row.cluster}"
    if row.state is State.RUNNING:
        where += f" (roadstead logs {row.namespace}/{row.name})"
    return where


def _whereabouts(
    conditions: list[Condition] | None, row: Workload, now: dt.datetime
) -> list[Condition]:
    """Where a Job is that has no status of its own here."""
    if row.state in _WAITING:
        reason, message = row.reason or "Queued", row.message or "waits in its queue"
        return set_condition(conditions, DISPATCHED, "False", reason, message, now)
    counts = f"{row.active} active, {row.succeeded} succeeded, {row.failed} failed"
    where = f"{_where(row)}: {counts}"
    if row.reason:
        where = f"{where}: {row.reason}: {row.message}"
    return set_condition(conditions, DISPATCHED, "True", row.state.value, where, now)


def _end(
    status: Status,
    criteria: bool,
    conditions: list[Condition] | None,
    row: Workload,
    observed: JsonView | None,
    now: dt.datetime,
) -> None:
    ended = rfc3339(row.finished_at or now)
    state = row.state
    if state is State.SUCCEEDED:
        reason, message = _COMPLETED
        kinds = ("SuccessCriteriaMet", "Complete") if criteria else ("Complete",)
        completed = (observed or {}).get("completion_time") or ended
        status["completionTime"] = max(str(completed), status["startTime"])
    else:
        reason = row.reason or state.value
        message = row.message or f"the job was {state.value.lower()}"
        kinds = ("FailureTarget", "Failed")
    made = remove(conditions, "Suspended", DISPATCHED)
    for kind in kinds:
        made = set_condition(made, kind, "True", reason, message, row.finished_at or now)
    status["conditions"] = made


def _indexes(status: Status, spec: JsonView, observed: JsonView | None) -> None:
    if spec.get("completionMode") != "Indexed" or observed is None:
        return
    if observed.get("completed_indexes"):
        status["completedIndexes"] = observed["completed_indexes"]
    if spec.get("backoffLimitPerIndex") is not None and observed.get("failed_indexes"):
        status["failedIndexes"] = observed["failed_indexes"]


def _stamp(instant: dt.datetime | None) -> str | None:
    return None if instant is None else rfc3339(instant)
