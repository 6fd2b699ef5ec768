"""The availability verdict of an object, and the fields of a status that each kind's rule reads. Pure."""

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

Object = dict[str, Any]
# What a condition's reason may be, by Kubernetes' own schema, though not as long.
_REASON: Final = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]{0,126}[A-Za-z0-9_])?")
_LONGEST_MESSAGE: Final = 512


class Verdict(NamedTuple):
    """`available` None: nobody can tell. `reason`, `message`: why not; "" where it is available."""

    available: bool | None
    reason: str = ""
    message: str = ""


AVAILABLE: Final = Verdict(available=True)
UNKNOWN: Final = Verdict(available=None)


def no(reason: str, message: str) -> Verdict:
    """Not available, and why: a word and a sentence, both bounded, whoever wrote them."""
    word = reason if _REASON.fullmatch(reason) else "NotAvailable"
    return Verdict(False, word, message[:_LONGEST_MESSAGE])


def condition(obj: Object, kind: str) -> Mapping[str, Any]:
    """The condition of a type; {} where there is none."""
    for each in (obj.get("status") or {}).get("conditions") or ():
        if isinstance(each, dict) and each.get("type") == kind:
            return each
    return {}


def observed(obj: Object, *, optional: bool = False) -> Verdict | None:
    """Why the status is not of the present spec; None: it is. `optional`: the kind need not say."""
    seen = (obj.get("status") or {}).get("observedGeneration")
    if seen is None and optional:
        return None
    generation = obj["metadata"].get("generation") or 0
    if (seen or 0) >= generation:
        return None
    return no("NotObserved", f"its controller has not seen generation {generation} yet")
