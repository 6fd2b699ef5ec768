"""Reads from an object, by the definition of its kind, if it has completed or failed, why and when. Pure.

No state that matches is *unknown*: the object has neither ended nor failed, and its quota stays.
"""

import datetime as dt
from dataclasses import dataclass, replace
from typing import Any, Literal

from shared.conditions import rfc3339
from shared.workkinds.definition import Definition
from shared.workkinds.language import Language, StoppedEvaluation
from shared.workkinds.states import StateMatch, match_of

Object = dict[str, Any]
COMPLETED, FAILED = "completed", "failed"


@dataclass(frozen=True, slots=True)
class Reading:
    """Of one version of the object with this uid. `result` None: nothing says that it has ended.

    `ended_at`: where nothing tells when, the instant at which it was first read so. `fault`: why the
    definition could not be evaluated.
    """

    object_uid: str
    version: str = ""
    result: Literal["Succeeded", "Failed"] | None = None
    reason: str = ""
    message: str = ""
    ended_at: dt.datetime | None = None
    fault: str = ""
    revision: int = 0  # of the definitions that it was read by


def read(
    definition: Definition | None,
    obj: Object,
    language: Language,
    earlier: Reading | None,
    now: dt.datetime,
) -> Reading:
    """Read an object anew. `definition`: None where none is known. `earlier`: what was read of it last.

    A failure that came with or after its deletion is the deletion's doing, and no result: what was read
    before it stands.
    """
    blank = Reading(*version_of(obj))
    if earlier is not None and earlier.object_uid != blank.object_uid:
        earlier = None
    stands = blank if earlier is None else replace(earlier, version=blank.version)
    if definition is None:
        return replace(stands, fault="no definition of its kind is known here")
    if definition.extended.work_class == "service":
        return blank  # it never ends: what its states say of a failure passes
    seen = {**obj, "metadata": {k: v for k, v in obj["metadata"].items() if k != "managedFields"}}
    try:
        language.begin(seen)
        failed = match_of(definition, FAILED, seen, language)
        completed = None if failed else match_of(definition, COMPLETED, seen, language)
    except StoppedEvaluation as why:
        return replace(stands, fault=str(why))
    if failed is not None and _is_of_deletion(failed, obj):
        return stands
    match = failed or completed
    if match is None:
        return blank
    before = earlier.ended_at if earlier is not None else None
    ended_at = _time(match.at) or _status_time(obj) or before or now
    result: Literal["Succeeded", "Failed"] = "Failed" if failed else "Succeeded"
    return replace(
        blank, result=result, reason=match.reason, message=match.message, ended_at=ended_at
    )


def version_of(obj: Object) -> tuple[str, str]:
    """Uid and version of an object, as a reading names them."""
    metadata = obj["metadata"]
    return str(metadata.get("uid") or ""), str(metadata.get("resourceVersion") or "")


def told_end(reading: Reading) -> str | None:
    """When it ended, as it is reported."""
    return rfc3339(reading.ended_at) if reading.ended_at is not None else None


def _is_of_deletion(failed: StateMatch, obj: Object) -> bool:
    deleted_at = _time(obj["metadata"].get("deletionTimestamp"))
    if deleted_at is None:
        return False
    at = _time(failed.at)
    return at is None or at >= deleted_at


def _status_time(obj: Object) -> dt.datetime | None:
    """The end as many kinds write it."""
    status = obj.get("status")
    if not isinstance(status, dict):
        return None
    return _time(status.get("completionTime")) or _time(status.get("endTime"))


def _time(text: Any) -> dt.datetime | None:
    if not isinstance(text, str) or not text:
        return None
    try:
        at = dt.datetime.fromisoformat(text)
    except ValueError:
        return None
    return at if at.tzinfo is not None else None
