"""PriorityClass of pods: carried like any other kind; the rule on priority numbers reads its value."""

from typing import Final

from shared.errors import Rejected
from shared.kinds.parsed import Parsed
from shared.kinds.problems import type_name
from shared.reject_codes import RejectCode

GROUP: Final = "scheduling.k8s.io"
KIND: Final = "PriorityClass"
_LEAST, _MOST = -(2**31), 2**31 - 1
_RULE: Final = f"must be an integer from {_LEAST} to {_MOST}"


def refuse_value(parsed: Parsed) -> None:
    """Raise Rejected (InvalidType, OutOfRange) for a PriorityClass whose value is no number of Kubernetes."""
    if (parsed.group, parsed.kind) != (GROUP, KIND):
        return
    value = parsed.raw.get("value")
    if value is None:
        return
    if not isinstance(value, int) or isinstance(value, bool):
        text = f"value {_RULE}, not {type_name(value)}"
        raise Rejected(RejectCode.INVALID_TYPE, text, "value")
    if not _LEAST <= value <= _MOST:
        raise Rejected(RejectCode.OUT_OF_RANGE, f"value {_RULE}", "value")
