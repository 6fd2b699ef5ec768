"""Answers of admission checks: the one way to set states, and what an outsider sees of open ones.

`set_states` serves REST, status patches of Workloads and the bridge. Ready by all places the workload
in the scheduler's next turn; Retry evicts it and Rejected deactivates it at once, also when it is
already placed or runs (docs/howto/admission-checks.md).
"""

from collections.abc import Mapping, Sequence
from typing import Final

from hub.domain.workloads import admission_checks
from hub.domain.workloads.admission_checks import Answer, States, requeue_span
from hub.domain.workloads.states import CHARGED, State, WithdrawTo
from hub.services.kueue_view.open_checks import checks_of, controllers_by_check, find_job, shown
from hub.services.reading.check_answers import read_states
from hub.services.works.evict import Requeue, evict
from hub.store import audit, workloads
from hub.store.records.workloads import Workload, WorkloadColumns
from hub.store.transaction import Transaction
from shared.documents import Json, JsonView
from shared.errors import Rejected
from shared.reject_codes import RejectCode

_ASKED: Final = CHARGED - {State.WITHDRAWING}


def set_states(tx: Transaction, uid: str, states: Sequence[JsonView], by: str) -> Json:
    """Set states of a workload's checks: {name, state, message?, requeueAfterSeconds?, retryCount?,
    podSetUpdates?}; its checks as they stand now (`checks_of`).

    States that say what stands already change nothing. Raises Rejected: NotFound, NotReserved (it
    holds no quota now), UnknownCheck, AnsweredByHub, Immutable (pods exist), and faults of fields.
    """
    row = find_job(tx, uid)
    if row.state not in _ASKED:
        text = f"the workload is {row.state}: it holds no quota, and requires no check"
        raise Rejected(RejectCode.NOT_RESERVED, text)
    present = row.checks or {}
    pod_sets = [p["name"] for p in (row.admission or {}).get("podSets") or ()]
    given = read_states(states, pod_sets)
    _refuse(tx, row, present, given)
    changed = {name: each for name, each in given.items() if _differs(present[name], each)}
    if not changed:
        return shown(tx, row, present)
    now = {**present, **{n: _merged(tx, present[n], each) for n, each in changed.items()}}
    _say(tx, row, changed, by)
    return checks_of(tx, uid) if _follow(tx, row, now) else shown(tx, row, now)


def set_state_by_person(tx: Transaction, uid: str, state: JsonView, principal: str) -> Json:
    """`set_states` of one check under a given name."""
    told = set_states(tx, uid, [state], principal)
    audit.add(
        tx, principal, "check", f"{uid} {state.get('name')}",
        str(state.get("state")),
    )  # fmt: skip
    return told


def _refuse(tx: Transaction, row: Workload, present: States, given: Mapping[str, Json]) -> None:
    """Raise if a check does not belong to this workload, or an outsider may not answer it."""
    for name in given:
        if name not in present:
            asked = ", ".join(sorted(present)) or "none"
            text = f"check {name[:64]} is not required by this workload; its checks: {asked}"
            raise Rejected(RejectCode.UNKNOWN_CHECK, text, "name")
    controllers = controllers_by_check(tx)
    own = [name for name in given if controllers.get(name) == admission_checks.MULTIKUEUE]
    if own:
        raise Rejected(
            RejectCode.ANSWERED_BY_HUB, f"the hub answers check {own[0]} itself", "name"
        )
    if row.state == State.RESERVED:
        return
    for name, each in given.items():
        if "podSetUpdates" in each and each["podSetUpdates"] != present[name].get("podSetUpdates"):
            text = f"the workload is {row.state}: its pods can not be changed any more"
            raise Rejected(RejectCode.IMMUTABLE, text, "podSetUpdates")


def _differs(present: JsonView, given: Json) -> bool:
    return any(present.get(key) != value for key, value in given.items() if key != "name")


def _merged(tx: Transaction, present: JsonView, given: Json) -> Json:
    """The state with its time; how often it said Retry is its controller's to count, if it does."""
    same = present["state"] == given["state"]
    merged = {
        "state": given["state"],
        "message": given.get("message", ""),
        "at": present["at"] if same else tx.now.isoformat(),
    }
    for key in ("requeueAfterSeconds", "retryCount", "podSetUpdates"):
        value = given.get(key, present.get(key) if key != "requeueAfterSeconds" else None)
        if value:
            merged[key] = value
    return merged


def _follow(tx: Transaction, row: Workload, states: States) -> bool:
    """Write the states, and what they mean at once; was it evicted?"""
    uid, answer = row.uid, admission_checks.verdict(states)
    if answer not in (Answer.RETRY, Answer.REJECTED):
        workloads.change(tx, [{"uid": uid, "checks": dict(states)}])
        return False
    also: dict[str, WorkloadColumns] = {
        uid: {"checks": admission_checks.closed(states, tx.now.isoformat())}
    }
    said = "; ".join(
        f"{name}: {each['message']}" if each.get("message") else name
        for name, each in sorted(states.items())
        if each["state"] == answer
    )
    if answer is Answer.REJECTED:
        message = f"admission checks rejected it: {said}"
        evict(tx, [uid], admission_checks.EVICTED, message, to=WithdrawTo.DEACTIVATED, also=also)
        return True
    again = Requeue(after=requeue_span(states), later=True)
    message = f"admission checks ask for a retry: {said}"
    evict(tx, [uid], admission_checks.EVICTED, message, requeue=again, also=also)
    return True


def _say(tx: Transaction, row: Workload, changed: States, by: str) -> None:
    for name, each in sorted(changed.items()):
        said = f": {each['message']}" if each.get("message") else ""
        told = f"check {name} is {each['state']}, by {by}{said}"
        rejected = each["state"] == Answer.REJECTED
        tx.say(row, "AdmissionCheckUpdated", told, warning=rejected)
