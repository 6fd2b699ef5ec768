"""Answers of admission checks: the one way to set states, and what an outsider sees of open ones.

`set_states` serves REST, status patches of Workloads and the bridge. Ready by all places the workload
in the scheduler's next turn; Retry evicts it and Rejected deactivates it at once, also when it is
already placed or runs (queueing 1.4).
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from hub.domain.workloads import admission_checks
from hub.domain.workloads.admission_checks import Answer
from hub.domain.workloads.states import CHARGED, State
from hub.services.check_rules import read_check
from hub.services.checks_read import read_states
from hub.services.checks_settle import requeue_span
from hub.services.evict import DEACTIVATED, evict
from hub.services.paging import Pager
from hub.services.views import stamp
from hub.store import audit, checks as stored, objects, workloads
from hub.store.unit import Unit
from shared.errors import Rejected
from shared.kinds.kueue_v1beta2 import GROUP as KUEUE

Row = dict[str, Any]
_ASKED: Final = CHARGED - {State.WITHDRAWING}


def set_states(unit: Unit, uid: str, states: Sequence[Mapping[str, Any]], by: str) -> Row:
    """Set states of a workload's checks: {name, state, message?, requeueAfterSeconds?, retryCount?,
    podSetUpdates?}; its checks as they stand now (`checks_of`).

    States that say what stands already change nothing. Raises Rejected: NotFound, NotReserved (it
    holds no quota now), UnknownCheck, AnsweredByHub, Immutable (pods exist), and faults of fields.
    """
    row = _find(unit, uid)
    if State(row["state"]) not in _ASKED:
        text = f"the workload is {row['state']}: it holds no quota, and no check is asked"
        raise Rejected("NotReserved", text)
    present: dict[str, Row] = row["checks"] or {}
    pod_sets = [p["name"] for p in (row["admission"] or {}).get("podSets") or ()]
    given = read_states(states, pod_sets)
    _refuse(unit, row, present, given)
    changed = {name: each for name, each in given.items() if _differs(present[name], each)}
    if not changed:
        return _shown(unit, row, present)
    now = {**present, **{n: _merged(unit, present[n], each) for n, each in changed.items()}}
    _say(unit, row, changed, by)
    return checks_of(unit, uid) if _follow(unit, row, now) else _shown(unit, row, now)


def checks_of(unit: Unit, uid: str) -> Row:
    """A workload's checks: {"items": [...]}. Raises Rejected: NotFound."""
    row = _find(unit, uid)
    return _shown(unit, row, row["checks"] or {})


def _shown(unit: Unit, row: Row, states: Mapping[str, Row]) -> Row:
    controllers = _controllers(unit)
    return {
        "uid": row["uid"],
        "state": row["state"],
        "cluster": row["cluster"],
        "items": [_view(name, states[name], controllers) for name in sorted(states)],
    }


def list_open(
    unit: Unit, check: str, controller: str, pager: Pager, token: str | None, limit: int
) -> Row:
    """Who waits for an answer: a page of (workload, check), by uid; of one check or controller."""
    position = pager.position(token)
    after = "" if position is None else str(position[0])
    items: list[Row] = []
    controllers = _controllers(unit)
    more = True
    while more and len(items) < limit:
        rows = stored.reserved(unit, after, limit)
        more = len(rows) == limit
        for row in rows:
            after = row["uid"]
            items += [
                _open(row, name, controllers)
                for name in admission_checks.still_open(row["checks"] or {})
                if check in ("", name) and controller in ("", controllers.get(name, ""))
            ]
            if len(items) >= limit:
                more = True
                break
    return {"items": items, "continue": pager.token([after]) if more else ""}


def set_state_by_person(unit: Unit, uid: str, state: Mapping[str, Any], principal: str) -> Row:
    """`set_states` of one check under somebody's name."""
    told = set_states(unit, uid, [state], principal)
    audit.add(
        unit, principal=principal, verb="check", object=f"{uid} {state.get('name')}",
        outcome=str(state.get("state")),
    )  # fmt: skip
    return told


def _find(unit: Unit, uid: str) -> Row:
    row = workloads.get(unit, uid)
    if row is None or (row["deleted_at"] is not None and row["live"] is None):
        raise Rejected("NotFound", f"there is no job {uid[:64]}")
    return row


def _controllers(unit: Unit) -> dict[str, str]:
    """Controllers by check; read once where many answers share a transaction."""

    def read() -> dict[str, str]:
        rows = objects.list_kind(unit, KUEUE, "AdmissionCheck")
        return {row["name"]: read_check(row).controller for row in rows}

    return unit.remembered("objects", "controllers of admission checks", read)


def _refuse(unit: Unit, row: Row, present: Mapping[str, Row], given: Mapping[str, Row]) -> None:
    """Raise where a check is none of this workload's, or not an outsider's to answer."""
    for name in given:
        if name not in present:
            asked = ", ".join(sorted(present)) or "none"
            text = f"check {name[:64]} is not asked of this workload; its checks: {asked}"
            raise Rejected("UnknownCheck", text, "name")
    controllers = _controllers(unit)
    own = [name for name in given if controllers.get(name) == admission_checks.MULTIKUEUE]
    if own:
        raise Rejected("AnsweredByHub", f"the hub answers check {own[0]} itself", "name")
    if row["state"] == State.RESERVED:
        return
    for name, each in given.items():
        if "podSetUpdates" in each and each["podSetUpdates"] != present[name].get("podSetUpdates"):
            text = f"the workload is {row['state']}: its pods can not be changed any more"
            raise Rejected("Immutable", text, "podSetUpdates")


def _differs(present: Row, given: Row) -> bool:
    return any(present.get(key) != value for key, value in given.items() if key != "name")


def _merged(unit: Unit, present: Row, given: Row) -> Row:
    """The state with its time; how often it said Retry is its controller's to count, if it does."""
    same = present["state"] == given["state"]
    merged = {
        "state": given["state"],
        "message": given.get("message", ""),
        "at": present["at"] if same else unit.now.isoformat(),
    }
    for key in ("requeueAfterSeconds", "retryCount", "podSetUpdates"):
        value = given.get(key, present.get(key) if key != "requeueAfterSeconds" else None)
        if value:
            merged[key] = value
    return merged


def _follow(unit: Unit, row: Row, states: Mapping[str, Row]) -> bool:
    """Write the states, and what they mean at once; was it evicted?"""
    uid, answer = row["uid"], admission_checks.verdict(states)
    if answer not in (Answer.RETRY, Answer.REJECTED):
        workloads.change(unit, [{"uid": uid, "checks": dict(states)}])
        return False
    also = {uid: {"checks": admission_checks.closed(states, unit.now.isoformat())}}
    said = "; ".join(
        f"{name}: {each['message']}" if each.get("message") else name
        for name, each in sorted(states.items())
        if each["state"] == answer
    )
    if answer is Answer.REJECTED:
        message = f"admission checks rejected it: {said}"
        evict(unit, [uid], admission_checks.EVICTED, message, to=DEACTIVATED, also=also)
        return True
    evict(
        unit, [uid], admission_checks.EVICTED, f"admission checks ask for a retry: {said}",
        requeue_after=requeue_span(states), later=True, also=also,
    )  # fmt: skip
    return True


def _say(unit: Unit, row: Row, changed: Mapping[str, Row], by: str) -> None:
    for name, each in sorted(changed.items()):
        said = f": {each['message']}" if each.get("message") else ""
        unit.event(
            uid=row["uid"], kind=row["kind"], namespace=row["namespace"], name=row["name"],
            type="Warning" if each["state"] == Answer.REJECTED else "Normal",
            reason="AdmissionCheckUpdated", message=f"check {name} is {each['state']}, by {by}{said}",
        )  # fmt: skip


def _view(name: str, state: Row, controllers: Mapping[str, str]) -> Row:
    return {
        "name": name,
        "controllerName": controllers.get(name, ""),
        "state": state["state"],
        "message": state.get("message") or "",
        "at": state.get("at"),
        "requeueAfterSeconds": state.get("requeueAfterSeconds"),
        "retryCount": state.get("retryCount") or 0,
        "podSetUpdates": state.get("podSetUpdates") or [],
    }


def _open(row: Row, check: str, controllers: Mapping[str, str]) -> Row:
    return {
        "uid": row["uid"],
        "kind": row["kind"],
        "namespace": row["namespace"],
        "workload": row["name"],
        "queue": row["queue"],
        "clusterQueue": row["cluster_queue"],
        "cluster": row["cluster"],
        "admission": row["admission"],
        "reservedAt": stamp(row["reserved_at"]),
        **_view(check, row["checks"][check], controllers),
    }
