"""A workload, the unit of admission: its states and the one table of transitions between them.

Each transition has a name; the store refuses a change that the table does not hold, so a stale
report or a second verdict on a finished epoch can not move a job backwards (agents R-06, R-07).
"""

import datetime as dt
from enum import StrEnum
from typing import Final


class State(StrEnum):
    """Where a workload is in its life (architecture, section 6)."""

    HELD = "Held"  # held by its user or its queue; not considered
    PENDING = "Pending"  # waits for quota, a cluster or a placement: see its reason
    RESERVED = "Reserved"  # quota charged, cluster tentative, admission checks open
    PLACED = "Placed"  # cluster fixed, epoch raised, not yet told to the agent
    OFFERED = "Offered"  # the work may have left the hub
    APPLIED = "Applied"  # the Job exists in the member
    RUNNING = "Running"  # a pod of it has run
    WITHDRAWING = "Withdrawing"  # being taken back; what follows stands in `withdraw_to`
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

_S = State
TRANSITIONS: dict[str, tuple[frozenset[State], State]] = {
    # name: (states it may start from, state it ends in)
    "hold": (frozenset({_S.PENDING, _S.RESERVED, _S.WITHDRAWING}), _S.HELD),
    "release": (frozenset({_S.HELD, _S.DEACTIVATED}), _S.PENDING),
    "reserve": (frozenset({_S.PENDING}), _S.RESERVED),
    "unreserve": (frozenset({_S.RESERVED}), _S.PENDING),
    "place": (frozenset({_S.PENDING, _S.RESERVED}), _S.PLACED),
    "unplace": (frozenset({_S.PLACED}), _S.PENDING),  # never offered: safe at once (S1)
    "offer": (frozenset({_S.PLACED}), _S.OFFERED),
    "apply": (frozenset({_S.OFFERED, _S.UNKNOWN}), _S.APPLIED),
    "start": (frozenset({_S.OFFERED, _S.APPLIED, _S.UNKNOWN}), _S.RUNNING),
    "lose": (frozenset({_S.OFFERED, _S.APPLIED, _S.RUNNING}), _S.UNKNOWN),
    "withdraw": (
        frozenset({_S.OFFERED, _S.APPLIED, _S.RUNNING, _S.UNKNOWN}),
        _S.WITHDRAWING,
    ),
    "requeue": (frozenset({_S.WITHDRAWING}), _S.PENDING),  # confirmed gone: a new epoch may follow
    "succeed": (
        frozenset({_S.OFFERED, _S.APPLIED, _S.RUNNING, _S.UNKNOWN, _S.WITHDRAWING}),
        _S.SUCCEEDED,
    ),
    "fail": (
        frozenset({_S.PENDING, _S.OFFERED, _S.APPLIED, _S.RUNNING, _S.UNKNOWN, _S.WITHDRAWING}),
        _S.FAILED,
    ),
    # Bare Workloads: who runs them outside says that they are done, wherever the hub had them.
    "conclude": (frozenset({_S.HELD, _S.PENDING, _S.RESERVED, _S.PLACED}), _S.SUCCEEDED),
    "abort": (frozenset({_S.HELD, _S.PENDING, _S.RESERVED, _S.PLACED}), _S.FAILED),
    "cancel": (
        frozenset({_S.HELD, _S.PENDING, _S.RESERVED, _S.PLACED, _S.WITHDRAWING}),
        _S.CANCELLED,
    ),
    "deactivate": (
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
    """Which attempt at its job an epoch is."""
    return epoch % _ATTEMPTS


def may(transition: str, state: State) -> bool:
    """Can `transition` start from `state`? Raises KeyError for a name the table does not hold."""
    return state in TRANSITIONS[transition][0]


def sources(transition: str) -> tuple[State, ...]:
    """States `transition` may start from, in a stable order: the WHERE clause of its update."""
    return tuple(sorted(TRANSITIONS[transition][0]))


def target(transition: str) -> State:
    """The state `transition` ends in."""
    return TRANSITIONS[transition][1]
