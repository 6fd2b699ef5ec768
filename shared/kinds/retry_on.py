"""Annotation `roadstead.dev/retry-on`: after which failures a job is tried again.

`137, 139, 250-255, OOMKilled, Evicted`: exit codes, spans of them, and reasons of a container, of a pod or of
the Job. Agents tell how a job's pods failed as `CODE/REASON` each, either part may be empty.
"""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

MOST: Final = 64  # codes, spans and reasons
_CODES: Final = re.compile(r"([1-9][0-9]{0,2})(?:-([1-9][0-9]{0,2}))?")
_REASON: Final = re.compile(r"[A-Z][A-Za-z0-9]{1,62}")
_LARGEST: Final = 255


class RetryOn(NamedTuple):
    """Retried failures: those with one of these codes or reasons."""

    codes: tuple[tuple[int, int], ...]  # first and last of each span
    reasons: frozenset[str]

    def takes(self, failures: Iterable[str]) -> bool:
        """True if one of them is among these failures, as agents report them."""
        return any(self._takes(*each.split("/", 1)) for each in failures)

    def _takes(self, code: str, reason: str = "") -> bool:
        if reason in self.reasons:
            return True
        number = int(code) if code.isascii() and code.isdecimal() and len(code) < 6 else 0
        return any(first <= number <= last for first, last in self.codes)


def read(text: str) -> RetryOn | None:
    """The retries of the annotation; None for what can not be read."""
    parts = [part.strip() for part in text.split(",", MOST)]
    codes: list[tuple[int, int]] = []
    reasons: set[str] = set()
    for part in parts:
        if match := _CODES.fullmatch(part):
            codes.append((int(match[1]), int(match[2] or match[1])))
        elif _REASON.fullmatch(part):
            reasons.add(part)
        else:
            return None
    if len(parts) > MOST or any(not first <= last <= _LARGEST for first, last in codes):
        return None
    return RetryOn(tuple(codes), frozenset(reasons))
