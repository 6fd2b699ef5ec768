"""Reading what an executor or a controller writes into a Workload's status. Pure; every fault is named.

Of conditions, Finished and PodsReady are an executor's to say; all others are the hub's own, and are
passed over, since a merge patch repeats the whole list.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from shared.documents import JsonView
from shared.errors import FieldError, Rejected
from shared.reject_codes import RejectCode

REASON_CHARS: Final = 64
MESSAGE_CHARS: Final = 1024
MOST: Final = 64  # conditions of one status
_FIELDS: Final = frozenset({"conditions", "admissionChecks", "reclaimablePods"})
# Kueue's reasons of Finished; anything else an executor may say counts as done.
_FAILURES: Final = frozenset({"Failed", "OutOfSync", "OwnerNotFound"})


@dataclass(frozen=True, slots=True)
class Finished:
    """The way it ended."""

    failed: bool
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Said:
    """The content of a status. None, or nothing: not mentioned."""

    finished: Finished | None = None
    ready: bool | None = None
    checks: Sequence[JsonView] = ()
    reclaimable: Mapping[str, int] | None = None

    @property
    def is_simple(self) -> bool:
        """Is there nothing in it that might be refused after a part of it was done?"""
        return not self.checks and not self.reclaimable


def read_status(status: object, path: str = "status") -> Said:
    """Read a status, or a merge patch of one. Raises Rejected."""
    if not isinstance(status, dict):
        raise Rejected(RejectCode.INVALID_TYPE, "must be an object", path)
    wrong = [
        FieldError(f"{path}.{name}", RejectCode.FORBIDDEN_FIELD, "is the hub's to write")
        for name in sorted(set(status) - _FIELDS)
    ]
    if wrong:
        detail = f"{wrong[0].field[:200]}: only {', '.join(sorted(_FIELDS))} may be written"
        raise Rejected(wrong[0].code, detail, wrong[0].field[:200], tuple(wrong[:MOST]))
    given = {
        name: _objects(status[name], f"{path}.{name}")
        for name in sorted(_FIELDS)
        if status.get(name) is not None
    }
    finished, ready = _conditions(given.get("conditions", ()), f"{path}.conditions")
    pods = given.get("reclaimablePods")
    return Said(
        finished,
        ready,
        given.get("admissionChecks", ()),
        None if pods is None else _reclaimable(pods, f"{path}.reclaimablePods"),
    )


def _objects(value: object, path: str) -> Sequence[JsonView]:
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise Rejected(RejectCode.INVALID_TYPE, "must be a list of objects", path)
    if len(value) > MOST:
        raise Rejected(RejectCode.OUT_OF_RANGE, f"holds more than {MOST}", path)
    return value


def _conditions(conditions: Sequence[JsonView], path: str) -> tuple[Finished | None, bool | None]:
    finished, ready = None, None
    for index, each in enumerate(conditions):
        where, status = f"{path}[{index}]", each.get("status")
        if status not in ("True", "False", "Unknown"):
            raise Rejected(
                RejectCode.UNSUPPORTED_VALUE, "must be True, False or Unknown", f"{where}.status"
            )
        if each.get("type") == "Finished" and status == "True":
            reason, message = _text(each, "reason", where), _text(each, "message", where)
            finished = Finished(
                reason in _FAILURES, reason[:REASON_CHARS], message[:MESSAGE_CHARS]
            )
        elif each.get("type") == "PodsReady" and status != "Unknown":
            ready = status == "True"
    return finished, ready


def _reclaimable(pods: Sequence[JsonView], path: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for index, each in enumerate(pods):
        name, count = _text(each, "name", f"{path}[{index}]"), each.get("count")
        if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count < 2**31:
            raise Rejected(
                RejectCode.OUT_OF_RANGE, "must be a whole number", f"{path}[{index}].count"
            )
        found[name] = count
    return found


def _text(given: JsonView, name: str, where: str) -> str:
    value = given.get(name, "")
    if not isinstance(value, str):
        raise Rejected(RejectCode.INVALID_TYPE, "must be a string", f"{where}.{name}")
    return value
