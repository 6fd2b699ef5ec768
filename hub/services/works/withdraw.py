"""Taking jobs back: at once where they were never offered (S1), else through the member's word (S2).

`withdraw_jobs` serves cancel, delete, and every rule that moves a job; what follows the member's
confirmation stands in `withdraw_to` and is carried out by `hub.services.members.judge`.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from hub.domain.workloads.states import QUEUED, TERMINAL, State
from hub.store import workloads, works
from hub.store.unit import Unit
from shared.failpoints import failpoint

# What follows a withdrawal; a later wish replaces an earlier one only if it is stronger.
_STRENGTH: Final = {
    "": 0,
    "Pending": 1,
    "Held": 2,
    "Failed": 3,
    "Deactivated": 4,
    "Cancelled": 5,
    "Deleted": 6,
}
_AT_ONCE: Final = {
    "Pending": "unreserve",
    "Held": "hold",
    "Failed": "fail",
    "Cancelled": "cancel",
    "Deleted": "cancel",
    "Deactivated": "deactivate",
}


def withdraw_jobs(
    unit: Unit, uids: Iterable[str], to: str, reason: str = "", message: str = ""
) -> list[str]:
    """Take jobs back, to become `to`; those affected.

    `to`: Pending, Held, Failed, Cancelled, Deactivated or Deleted. Jobs that wait end at once, as do
    placed ones that no agent was told of; a reserved one gives its quota back. Of the others the
    member is told to delete them; they are Withdrawing until it says that nothing is left. A
    finished job is affected by Deleted only: its copy in the member goes, its record stays for the
    retention.
    """
    if to not in _STRENGTH or not to:
        raise ValueError(f"nothing withdraws to {to!r}")
    found = workloads.get_many(unit, uids)
    why = {"reason": reason, "message": message}
    waiting = [w for w in found.values() if State(w["state"]) in QUEUED | {State.RESERVED}]
    placed = [w for w in found.values() if w["state"] == State.PLACED]
    ended = [w for w in found.values() if State(w["state"]) in TERMINAL]
    going = [w for w in found.values() if w["state"] == State.WITHDRAWING]
    rest = [
        w
        for w in found.values()
        if State(w["state"]) in {State.OFFERED, State.APPLIED, State.RUNNING, State.UNKNOWN}
    ]
    affected = _end(unit, waiting, to, why)
    affected += _unplace(unit, placed, to, why)
    failpoint("H14")
    affected += _take_back(unit, rest, to, why)
    affected += _strengthen(unit, going, to, why)
    if to == "Deleted":
        affected += _clear(unit, ended)
        purge_deleted(unit, [uid for uid in affected if found[uid]["state"] in _DONE])
    return affected


_DONE: Final = frozenset({*QUEUED, State.RESERVED, State.PLACED, *TERMINAL})


def purge_deleted(unit: Unit, uids: Sequence[str]) -> None:
    """Deleted jobs of which no member holds anything: they give their names back."""
    workloads.change(unit, [{"uid": uid, "live": None, "deleted_at": unit.now} for uid in uids])


def _end(unit: Unit, rows: Sequence[dict[str, Any]], to: str, why: dict[str, str]) -> list[str]:
    """End jobs that hold nothing of a cluster."""
    if to == "Failed":  # only a Pending one may fail
        held = [w for w in rows if w["state"] == State.HELD]
        workloads.transition(unit, "release", [_mine(w) for w in held])
        reserved = [w for w in rows if w["state"] == State.RESERVED]
        workloads.transition(unit, "unreserve", [_mine(w) for w in reserved])
    return workloads.transition(unit, _AT_ONCE[to], [_mine(w) | why for w in rows])


def _unplace(
    unit: Unit, rows: Sequence[dict[str, Any]], to: str, why: dict[str, str]
) -> list[str]:
    """Placed and never offered: nobody outside knows of it."""
    moved = workloads.transition(unit, "unplace", [_mine(w) | why for w in rows])
    taken = set(moved)
    works.remove(unit, [(w["cluster"], w["uid"]) for w in rows if w["uid"] in taken])
    if to != "Pending":
        workloads.transition(
            unit, _AT_ONCE[to], [_mine(w) | why for w in rows if w["uid"] in taken]
        )
    return moved


def _take_back(
    unit: Unit, rows: Sequence[dict[str, Any]], to: str, why: dict[str, str]
) -> list[str]:
    wish = {"withdraw_to": to, **why}
    if to == "Deleted":
        wish["deleted_at"] = unit.now  # type: ignore[assignment]  # a column of another type
    moved = workloads.transition(unit, "withdraw", [_mine(w) | wish for w in rows])
    taken = set(moved)
    works.act(unit, "Withdraw", [(w["cluster"], w["uid"]) for w in rows if w["uid"] in taken])
    return moved


def _strengthen(
    unit: Unit, rows: Sequence[dict[str, Any]], to: str, why: dict[str, str]
) -> list[str]:
    """On its way back already: a stronger wish decides what follows."""
    weaker = [w for w in rows if _STRENGTH[w["withdraw_to"]] < _STRENGTH[to]]
    workloads.change(unit, [{"uid": w["uid"], "withdraw_to": to, **why} for w in weaker])
    return [w["uid"] for w in weaker]


def _clear(unit: Unit, rows: Sequence[dict[str, Any]]) -> list[str]:
    """Finished: what a member still keeps of it goes."""
    uids = [w["uid"] for w in rows]
    kept = works.of_uids(unit, uids)
    works.act(
        unit, "Withdraw", [(w["cluster"], w["uid"]) for w in kept if w["action"] != "Withdraw"]
    )
    return uids


def _mine(row: dict[str, Any]) -> dict[str, Any]:
    return {"uid": row["uid"], "epoch": row["epoch"]}
