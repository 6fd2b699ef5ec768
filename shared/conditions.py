"""Kubernetes conditions as plain dicts: read one, set one, and when its time changes.

Pure: `now` is passed in. `lastTransitionTime` moves only when the status does, so that writing the
same condition again changes nothing; then the very list given is returned, and the caller knows
that there is nothing to write.
"""

import datetime as dt
import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal

Status = Literal["True", "False", "Unknown"]
Condition = dict[str, Any]

LONGEST_MESSAGE: Final = 32768
TRUE: Final = "True"


@functools.lru_cache(maxsize=256)  # one instant is written for each cluster of a placement
def rfc3339(moment: dt.datetime) -> str:
    """A time as Kubernetes writes it: UTC, whole seconds, `Z`."""
    return moment.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def find(conditions: Iterable[Mapping[str, Any]] | None, kind: str) -> Mapping[str, Any] | None:
    """The condition of this type, or None."""
    return next((c for c in conditions or () if c.get("type") == kind), None)


def is_true(conditions: Iterable[Mapping[str, Any]] | None, kind: str) -> bool:
    """True if there is a condition of this type with status True."""
    found = find(conditions, kind)
    return found is not None and found.get("status") == TRUE


def set_condition(
    conditions: Sequence[Condition] | None,
    kind: str,
    status: Status,
    reason: str,
    message: str,
    now: dt.datetime,
    observed_generation: int | None = None,
) -> list[Condition]:
    """The conditions with this one set; in place if it was there, else at the end.

    An equal condition leaves the list as it was (the same object, if it was a list).
    """
    present = list(conditions or ())
    made: Condition = {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message[:LONGEST_MESSAGE],
    }
    if observed_generation is not None:
        made["observedGeneration"] = observed_generation
    for place, old in enumerate(present):
        if old.get("type") != kind:
            continue
        if {k: v for k, v in old.items() if k != "lastTransitionTime"} == made:
            return conditions if isinstance(conditions, list) else present
        same = old.get("status") == status
        made["lastTransitionTime"] = old.get("lastTransitionTime") if same else rfc3339(now)
        present[place] = made
        return present
    made["lastTransitionTime"] = rfc3339(now)
    return [*present, made]


def remove(conditions: Sequence[Condition] | None, *kinds: str) -> list[Condition]:
    """The conditions without those of these types."""
    return [c for c in conditions or () if c.get("type") not in kinds]
