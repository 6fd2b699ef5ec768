"""Everything a person asks about one job: where it is, why, its position, the numbers, the decision.

Answered from the row, its events, and, while it waits, from the scheduler's index on the leader or the
stored explanation of its class elsewhere.
"""

import datetime as dt
from collections.abc import Sequence
from typing import Final

from hub.domain.access import UNKNOWN
from hub.domain.instants import stamp
from hub.domain.plan import Reason
from hub.domain.workloads.demand import SAID_BY_MEMBER
from hub.domain.workloads.states import ON_CLUSTER, TERMINAL, State, WithdrawTo
from hub.services.chains import settle, shown
from hub.services.context import timeline
from hub.services.context.decisions import refusal_view
from hub.services.explain import avoided, candidates
from hub.services.explain.as_it_is_now import Position, QuotaView, WaitingView
from hub.services.index.fleet import state_of
from hub.services.kueue_view.open_checks import checks_of
from hub.services.works import accounted, cluster_loss, restored
from hub.store import clusters, events, schedule, scoping, workloads
from hub.store.records.history import StoredEvent
from hub.store.records.lists import JobOnPage
from hub.store.records.workloads import Workload
from hub.store.transaction import Transaction
from shared.documents import Json
from shared.errors import Rejected
from shared.reject_codes import RejectCode
from shared.wire.agent_v1 import SUSPECT_AFTER_S

TIMELINE: Final = 50  # events shown


_WORDS: Final = {
    State.HELD: "held by its user or its queue",
    State.PENDING: "has not been considered yet",
    State.RESERVED: "quota is charged; admission checks are open",
    State.PLACED: "placed; not offered to its agent yet",
    State.OFFERED: "offered to its agent; the {kind} has not been observed in the cluster yet",
    State.APPLIED: "the {kind} is in the cluster; no pod has run yet",
    State.RUNNING: "runs",
    State.WITHDRAWING: "is being withdrawn from its cluster",
    State.SUCCEEDED: "finished",
    State.FAILED: "failed",
    State.CANCELLED: "cancelled",
    State.DEACTIVATED: "deactivated",
    State.UNKNOWN: "its cluster does not answer: it waits, quota stays charged",
}


_FOLLOWS: Final = {
    WithdrawTo.PENDING: "waits again",
    WithdrawTo.HELD: "is held",
    WithdrawTo.FAILED: "has failed",
    WithdrawTo.DEACTIVATED: "is deactivated",
    WithdrawTo.CANCELLED: "is cancelled",
    WithdrawTo.DELETED: "is deleted",
}


def _said_of(row: Workload) -> str:
    """The meaning of its state."""
    if row.state == State.WITHDRAWING and row.withdraw_to in _FOLLOWS:
        follows = _FOLLOWS[row.withdraw_to]
        return f"{_WORDS[State.WITHDRAWING]}; it {follows} once nothing of it is left there"
    if row.kind == workloads.BARE and row.state == State.PLACED:
        return "admitted; its executor runs it"
    return _WORDS[row.state].format(kind=row.kind)


def explain_job(
    tx: Transaction,
    uid: str,
    waiting: WaitingView | None = None,
    quota: QuotaView | None = None,
    suspect_after_s: float = SUSPECT_AFTER_S,
) -> Json:
    """The whole story of one job; `waiting` and `quota`: of one that waits, from the index.

    Raises Rejected: NotFound.
    """
    row = workloads.get(tx, uid)
    if row is None or not tx.scope.shows(row.namespace, row.queue, row.owner):
        raise Rejected(RejectCode.NOT_FOUND, f"there is no job {uid[:64]}")
    if row.deleted_at is not None and row.live is None:
        raise Rejected(
            RejectCode.NOT_FOUND, f"there is no job {row.namespace}/{row.name}: it was deleted"
        )
    history = events.list_events(tx, uid=uid, limit=TIMELINE, newest_first=True, of_found=True)
    told: Json = {
        "uid": row.uid,
        "namespace": row.namespace,
        "name": row.name,
        "queue": row.queue,
        "owner": row.owner or UNKNOWN,
        "clusterQueue": row.cluster_queue,
        "priority": row.priority,
        "state": row.state,
        "reason": row.reason,
        "message": (row.message or _said_of(row)) + _silence(tx, row, suspect_after_s),
        "cluster": row.cluster,
        "epoch": row.epoch,
        "placement": row.placement,
        "position": None,
        "waiting": None,
        "admission": row.admission,
        "decision": row.scores if row.epoch else None,
        "setAside": avoided.until(row),
        "setAsideBecause": avoided.because(row, history),
        "nomination": _nomination(tx, row),
        "checks": checks_of(tx, uid)["items"] if row.checks else [],
        "timeline": _timeline(row, history),
        **cluster_loss.view(tx, row),
        **shown.view(tx, row),
    }
    if _waits_for_release(row) and (why := accounted.blocked(tx, [row]).get(uid)):
        told["message"] = why if row.reason == restored.REASON else f"{told['message']}; {why}"
    if settle.is_held_for_others(row) and (how := shown.in_words(told)):
        told["message"] += f": {how}"
    stopped = bool(timeline.stopped(tx)) and row.state not in TERMINAL
    if stopped and row.state == State.PENDING:
        told |= {"reason": timeline.CODE, "message": timeline.BRIEFLY}
    elif row.state == State.PENDING:
        told |= _quota(tx, quota) | explain_waiting(tx, row, waiting)
        if told["waiting"]:
            told["waiting"] = avoided.with_causes(told["waiting"], told["setAsideBecause"])
    elif stopped:
        told["message"] += f"; {timeline.CODE}: {timeline.BRIEFLY}"
    return told


def _waits_for_release(row: Workload) -> bool:
    return row.state in {State.HELD, State.DEACTIVATED} or row.withdraw_to == WithdrawTo.HELD


def _nomination(tx: Transaction, row: Workload) -> Json | None:
    """For whom room was made and where; of victims that whoever asks may not see, that they are."""
    if row.nomination is None:
        return None
    told = {name: value for name, value in row.nomination.items() if name != "preempted"}
    if tx.scope.is_everything or not told:
        return told or None
    uids: Sequence[str] = told.get("victims") or ()
    seen = scoping.seen_keys(tx, "workloads", uids)
    return {**told, "victims": [uid if uid in seen else "" for uid in uids]}


def _silence(tx: Transaction, row: Workload, suspect_after_s: float) -> str:
    """What is to be added of a job whose cluster is silent: what its state says is of before."""
    if row.state not in ON_CLUSTER or row.state == State.UNKNOWN:
        return ""
    member = clusters.get(tx, row.cluster)
    if member is None or member.heartbeat_at is None:
        return ""
    if state_of(member, tx.now, suspect_after_s) != "Suspect":
        return ""
    at = stamp(member.heartbeat_at.replace(microsecond=0))
    heard = f"; {row.cluster} has been silent since {at}"
    if row.state == State.WITHDRAWING:
        return (
            f"{heard}: no agent can confirm that nothing of it is left there, so it stays "
            "Withdrawing until the cluster answers or is fenced (roadstead clusters fence)"
        )
    return f"{heard}: this is its last known state"


def _quota(tx: Transaction, view: QuotaView | None) -> Json:
    """What its queue has, and what preemption could do: as much work as its tree has holders."""
    if view is None:
        return {}
    return {"quota": candidates.quota_of(view), "preemption": candidates.outlook(tx, view)}


def explain_waiting(
    tx: Transaction, row: Workload | JobOnPage, waiting: WaitingView | None
) -> Json:
    """Why a pending job waits: its own reason if it can not be in line, else that of its class."""
    if waiting is None:
        return {}
    if waiting.held is not None:
        if row.reason and waiting.held.reason == Reason.AWAITING_PLACEMENT:
            return {}  # its placement may have said why it is left out
        return {"reason": waiting.held.reason, "message": waiting.held.message}
    found: Json = {"clusterQueue": waiting.queue, "position": _position(waiting.position)}
    if waiting.nominated:
        return found | _of_when_it_was_nominated(row)  # its row says for whom it waits
    refusal, when = waiting.refusal, ""
    if refusal is not None:
        view = refusal_view(refusal)
    else:
        stored = schedule.explanation(tx, waiting.demand)
        if stored is None:
            return found
        view, when = stored[0], _as_of(stored[1])
    refused = row.reason in SAID_BY_MEMBER
    if refused and view["reason"] == Reason.NO_CLUSTER_MATCHES:
        return {**found, "waiting": view}  # its row has the member's words
    head = workloads.get(tx, view["head"]) if view.get("head") else None
    message = view["message"]
    shown = head is not None and tx.scope.shows(head.namespace, head.queue, head.owner)
    if not shown and not tx.scope.is_everything:
        view = {**view, "head": ""}
    if head is not None and shown:
        message += f": {head.namespace}/{head.name}"
        message += f" ({head.reason})" if head.reason else ""
    return {**found, "reason": view["reason"], "message": message + when, "waiting": view}


def _of_when_it_was_nominated(row: Workload | JobOnPage) -> Json:
    """The sentence of a preemptor that waits for its victims; its figures are of the time of the eviction."""
    nomination = row.nomination if isinstance(row, Workload) else None  # a page does without
    at = (nomination or {}).get("at")
    if not at:
        return {}
    return {"message": row.message + _as_of(dt.datetime.fromisoformat(at))}


def _as_of(at: dt.datetime) -> str:
    return f" (as of {at:%Y-%m-%d %H:%M} UTC)"


def _position(position: Position | None) -> Json | None:
    if position is None:
        return None
    return {
        "inQueue": position.in_queue,
        "ofQueue": position.of_queue,
        "overall": position.overall,
        "ofOverall": position.of_overall,
    }


def _timeline(row: Workload, newest_first: Sequence[StoredEvent]) -> list[Json]:
    """What happened to it, oldest first; its submission stands in its row, not among the events."""
    submitted = {
        "at": stamp(row.created_at),
        "type": "Normal",
        "reason": "Submitted",
        "message": f"waits in queue {row.queue}" if row.queue else "waits for a queue",
    }
    told = [
        {
            "at": stamp(each.at),
            "type": each.type,
            "reason": each.reason,
            "message": each.message,
        }
        for each in reversed(newest_first)
    ]
    return told if any(t["reason"] == "Submitted" for t in told) else [submitted, *told]
