"""Backoff after a refused step. Pure."""

from typing import Final

from agent.decide.decision import NOT_EMPTY, PODS_LEFT
from shared.consent import CREATE_FORBIDDEN

_FIRST_RETRY_S: Final = 0.5
_LONGEST_RETRY_S: Final = 300.0
_QUICK: Final = frozenset({"NameTaken", "Retrying", PODS_LEFT})
_RECHECK_S: Final = 10.0  # of a name that a stranger holds, a missing kind or namespace
_RECHECKED: Final = frozenset(
    {
        "NameConflict",
        "KindNotServed",
        "ApplyConflict",
        "OwnedByOthers",
        "NotAccepted",
        CREATE_FORBIDDEN,
        "KindForbidden",
    }
)
# A namespace that is placed mostly comes a moment after the jobs in it.
_LONGEST: Final = {"Unavailable": 8.0, "NamespaceMissing": _RECHECK_S, NOT_EMPTY: _RECHECK_S}


def wait_after(reason: str, tries: int) -> float:
    """Seconds until the next try, after this number of refusals in a row, the last for this reason."""
    if reason in _RECHECKED:
        return _RECHECK_S
    if reason in _QUICK:
        return min(2.0, _FIRST_RETRY_S * tries)
    cap = _LONGEST.get(reason, _LONGEST_RETRY_S)
    return min(cap, _FIRST_RETRY_S * 2.0 ** min(tries - 1, 12))
