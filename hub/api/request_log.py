"""One line of the log for each request that may change something, with the id that its answer carries.

Requests that only read, and those of agents, have none: metrics count them.
"""

from typing import Final

import structlog
from fastapi import Request

from hub.services.access.credentials import Principal
from shared.clock import Clock
from shared.documents import JsonView
from shared.errors import Rejected

_READING: Final = frozenset({"GET", "HEAD", "OPTIONS"})
MOST: Final = 200  # lines a second: each costs as much as a third of a request
_LONGEST: Final = 500  # characters of a path
log = structlog.get_logger(__name__)


def may_change(scope: JsonView) -> bool:
    """Is this a request of people that does more than read?"""
    return scope["method"] not in _READING and scope["path"].startswith("/v1/")


def is_about(request: Request, uid: str) -> None:
    """Name the created object for the audit; for others the path names it."""
    request.state.about = uid


def was_refused(request: Request, error: Rejected) -> None:
    """Name why nothing came of it."""
    request.state.refusal = error.code


class RequestLog:
    """Writes the lines, once answers are known: at most `MOST` a second, and how many were left out."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._second = 0  # the one that is counted
        self._lines = 0
        self._left_out = 0

    def tell(self, scope: JsonView, status: int, seconds: float) -> None:
        """Write one line; the path as it was sent, for it may hold anything."""
        if not may_change(scope):
            return
        if not self._has_room():
            self._left_out += 1
            return
        state = scope["state"]
        principal = state.get("principal")
        known = {
            "by": principal.name if isinstance(principal, Principal) else "",
            "about": state.get("about", ""),
            "code": state.get("refusal", ""),
            "left_out": self._left_out,
        }
        self._left_out = 0
        log.info(
            "request",
            request_id=state["request_id"],
            method=scope["method"],
            path=scope.get("raw_path", b"").decode("ascii", "backslashreplace")[:_LONGEST],
            status=status,
            took_s=round(seconds, 4),
            **{name: value for name, value in known.items() if value},
        )

    def _has_room(self) -> bool:
        second = int(self._clock.monotonic())
        if second != self._second:
            self._second, self._lines = second, 0
        self._lines += 1
        return self._lines <= MOST
