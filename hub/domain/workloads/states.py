"""A workload, the unit of admission: its states and the one table of transitions between them,
carried out by `hub.store.workloads.transition` alone.

Each transition has a name; the store refuses a change that the table does not hold, so a stale
report or a second verdict on a finished epoch can not move a job backwards (invariants R-06, R-07).
"""

import datetime as dt
from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class State(StrEnum):
    """States of a workload (docs/reference/states.md)."""

    HELD = "Held"  # held by its user or its queue; not considered
    PENDING = "Pending"  # waits for quota, a cluster or a placement: see its reason
    RESERVED = "Reserved"  # quota charged, cluster tentative, admission checks open
    PLACED = "Placed"  # cluster fixed, epoch raised, not yet told to the agent
    OFFERED = "Offered"  # the work may have left the hub
    APPLIED = "Applied"  # the Job exists in the member and has no pods that run
    RUNNING = "Running"  # a pod of it has run, and the member does not keep it suspended
    WITHDRAWING = "Withdrawing"  # being withdrawn; `withdraw_to` has the next state
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    CANCELLED = "Cancelled"
    DEACTIVATED = "Deactivated"
    UNKNOWN = "Unknown"  # its cluster is unreachable: it waits, quota stays charged


TERMINAL = frozenset({State.SUCCEEDED, State.FAILED, State.CANCELLED, State.DEACTIVATED})
# A cluster may hold pods of it: quota stays charged and its room stays reserved.
ON_CLUSTER = frozenset(
    {
        State.PLACED,
        State.OFFERED,
        State.APPLIED,
        State.RUNNING,
        State.WITHDRAWING,
        State.UNKNOWN,
    }
)
CHARGED = ON_CLUSTER | {State.RESERVED}
QUEUED = frozenset({State.PENDING, State.HELD})


class Transition(StrEnum):
    """Transitions of a workload; `TRANSITIONS` says from which states and to which."""

    HOLD = "hold"
    RELEASE = "release"
    RESERVE = "reserve"
    UNRESERVE = "unreserve"
    PLACE = "place"
    UNPLACE = "unplace"
    OFFER = "offer"
    APPLY = "apply"
    START = "start"
    SUSPEND = "suspend"
    LOSE = "lose"
    WITHDRAW = "withdraw"
    REQUEUE = "requeue"
    SUCCEED = "succeed"
    FAIL = "fail"
    CONCLUDE = "conclude"
    ABORT = "abort"
    CANCEL = "cancel"
    DEACTIVATE = "deactivate"


class WithdrawTo(StrEnum):
    """The next state of a workload once its member has confirmed that nothing of it is left."""

    NOTHING = ""  # it is not being withdrawn
    PENDING = "Pending"
    HELD = "Held"
    FAILED = "Failed"
    DEACTIVATED = "Deactivated"
    CANCELLED = "Cancelled"
    DELETED = "Deleted"


class HeldFor(StrEnum):
    """The holder of a Held workload: rules read this, and never the words of its reason."""

    NOBODY = ""  # it is not held, or a hub of the releases before holds it
    PERSON = "Person"
    JOBS = "Jobs"  # only its dependencies
    RESTORE = "Restore"  # the store was restored: a member may run it


_S, _T = State, Transition
TRANSITIONS: Final[Mapping[Transition, tuple[frozenset[State], State]]] = {
    # name: (states it may start from, state it ends in)
    _T.HOLD: (frozenset({_S.PENDING, _S.RESERVED, _S.WITHDRAWING}), _S.HELD),
    _T.RELEASE: (frozenset({_S.HELD, _S.DEACTIVATED}), _S.PENDING),
    _T.RESERVE: (frozenset({_S.PENDING}), _S.RESERVED),
    _T.UNRESERVE: (frozenset({_S.RESERVED}), _S.PENDING),
    _T.PLACE: (frozenset({_S.PENDING, _S.RESERVED}), _S.PLACED),
    _T.UNPLACE: (frozenset({_S.PLACED}), _S.PENDING),  # never offered: safe at once
    _T.OFFER: (frozenset({_S.PLACED}), _S.OFFERED),
    _T.APPLY: (frozenset({_S.OFFERED, _S.UNKNOWN}), _S.APPLIED),
    _T.START: (frozenset({_S.OFFERED, _S.APPLIED, _S.UNKNOWN}), _S.RUNNING),
    # It ran, and its member keeps it suspended: it waits there, and may start there again.
    _T.SUSPEND: (frozenset({_S.OFFERED, _S.APPLIED, _S.RUNNING, _S.UNKNOWN}), _S.APPLIED),
    _T.LOSE: (frozenset({_S.OFFERED, _S.APPLIED, _S.RUNNING}), _S.UNKNOWN),
    _T.WITHDRAW: (
        frozenset({_S.OFFERED, _S.APPLIED, _S.RUNNING, _S.UNKNOWN}),
        _S.WITHDRAWING,
    ),
    # Confirmed gone: a new epoch may follow.
    _T.REQUEUE: (frozenset({_S.WITHDRAWING}), _S.PENDING),
    _T.SUCCEED: (
        frozenset({_S.OFFERED, _S.APPLIED, _S.RUNNING, _S.UNKNOWN, _S.WITHDRAWING}),
        _S.SUCCEEDED,
    ),
    _T.FAIL: (
        frozenset({_S.PENDING, _S.OFFERED, _S.APPLIED, _S.RUNNING, _S.UNKNOWN, _S.WITHDRAWING}),
        _S.FAILED,
    ),
    # Bare Workloads: who runs them outside says that they are done, wherever the hub had them.
    _T.CONCLUDE: (frozenset({_S.HELD, _S.PENDING, _S.RESERVED, _S.PLACED}), _S.SUCCEEDED),
    _T.ABORT: (frozenset({_S.HELD, _S.PENDING, _S.RESERVED, _S.PLACED}), _S.FAILED),
    _T.CANCEL: (
        frozenset({_S.HELD, _S.PENDING, _S.RESERVED, _S.PLACED, _S.WITHDRAWING}),
        _S.CANCELLED,
    ),
    _T.DEACTIVATE: (
        frozenset({_S.HELD, _S.PENDING, _S.RESERVED, _S.WITHDRAWING}),
        _S.DEACTIVATED,
    ),
}


# Epochs that follow each other count attempts; when a store that went back is accepted, the next one
# leaves behind whatever was given in the time that is lost.
_ATTEMPTS: Final = 100_000
_FIRST_DAY: Final = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


def beyond(epoch: int, now: dt.datetime) -> int:
    """An epoch that follows any that can have been given until now, of the same attempt at the job.

    It grows by 100 000 a second: no job is placed that often.
    """
    at = int((now - _FIRST_DAY).total_seconds()) * _ATTEMPTS
    return max(at, epoch // _ATTEMPTS * _ATTEMPTS + _ATTEMPTS) + attempt(epoch)


def attempt(epoch: int) -> int:
    """The number of epochs of its job up to this one: attempts, and those that never started."""
    return epoch % _ATTEMPTS


def sources(transition: Transition) -> tuple[State, ...]:
    """States `transition` may start from, in a stable order: the WHERE clause of its update."""
    return tuple(sorted(TRANSITIONS[transition][0]))


def target(transition: Transition) -> State:
    """The state `transition` ends in."""
    return TRANSITIONS[transition][1]
