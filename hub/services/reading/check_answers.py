"""Reading what an admission check's controller sends: every fault is found and named. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from hub.domain.workloads.admission_checks import Answer
from shared.errors import FieldError, Rejected
from shared.quantity import shown
from shared.reject_codes import RejectCode

Row = dict[str, Any]
MESSAGE_CHARS: Final = 32_768  # Kueue's limit
MOST_SECONDS: Final = 2**31 - 1
_STATE_FIELDS: Final = frozenset(
    {
        "name",
        "state",
        "message",
        "requeueAfterSeconds",
        "retryCount",
        "podSetUpdates",
        "lastTransitionTime",
    }
)
_MAPS: Final = ("labels", "annotations", "nodeSelector")
_UPDATE_FIELDS: Final = frozenset({"name", "tolerations", *_MAPS})
_TOLERATION_FIELDS: Final = frozenset({"key", "operator", "value", "effect", "tolerationSeconds"})


class _Faults(list[FieldError]):
    def add(self, field: str, code: RejectCode, message: str) -> None:
        self.append(FieldError(field, code, message))

    def unknown(self, path: str, given: Mapping[str, Any], known: frozenset[str]) -> None:
        for name in sorted(set(given) - known):
            text = f"is unknown; expected one of {', '.join(sorted(known))}"
            self.add(f"{path}{shown(name)}", RejectCode.UNKNOWN_FIELD, text)


def read_states(
    given: Sequence[Mapping[str, Any]], pod_sets: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """States by check name, only with fields that were sent. `pod_sets`: names that there are.

    Raises Rejected with every fault.
    """
    faults = _Faults()
    found: dict[str, Row] = {}
    for index, each in enumerate(given):
        path = "" if len(given) == 1 else f"[{index}]."
        state = _state(path, each, pod_sets, faults)
        if state["name"] in found:
            faults.add(f"{path}name", RejectCode.DUPLICATE, "is given twice")
        found[state["name"]] = state
    if faults:
        first = faults[0]
        raise Rejected(first.code, f"{first.field}: {first.message}", errors=tuple(faults))
    return found


def _state(path: str, each: Mapping[str, Any], pod_sets: Sequence[str], faults: _Faults) -> Row:
    faults.unknown(path, each, _STATE_FIELDS)
    read: Row = {"name": str(each.get("name") or ""), "state": each.get("state")}
    if not read["name"]:
        faults.add(f"{path}name", RejectCode.REQUIRED, "is required")
    if read["state"] not in list(Answer):
        faults.add(f"{path}state", RejectCode.INVALID_STATE, f"must be one of {', '.join(Answer)}")
    if (message := each.get("message")) is not None:
        if not isinstance(message, str):
            faults.add(f"{path}message", RejectCode.INVALID_TYPE, "must be a text")
        elif len(message) > MESSAGE_CHARS:
            faults.add(
                f"{path}message", RejectCode.TOO_LONG, f"has more than {MESSAGE_CHARS} characters"
            )
        read["message"] = message
    _read_numbers(path, each, read, faults)
    if each.get("podSetUpdates") is not None:
        read["podSetUpdates"] = _updates(
            f"{path}podSetUpdates", each["podSetUpdates"], pod_sets, faults
        )
    return read


def _read_numbers(path: str, each: Mapping[str, Any], read: Row, faults: _Faults) -> None:
    for name in ("requeueAfterSeconds", "retryCount"):
        number = each.get(name)
        if number is None:
            continue
        if isinstance(number, bool) or not isinstance(number, int):
            faults.add(path + name, RejectCode.INVALID_TYPE, "must be a whole number")
        elif not 0 <= number <= MOST_SECONDS:
            faults.add(path + name, RejectCode.OUT_OF_RANGE, f"must be from 0 to {MOST_SECONDS}")
        else:
            read[name] = number


def _updates(path: str, given: Any, pod_sets: Sequence[str], faults: _Faults) -> list[Row]:
    if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
        faults.add(path, RejectCode.INVALID_TYPE, "must be a list of objects")
        return []
    read: list[Row] = []
    for index, each in enumerate(given):
        at = f"{path}[{index}]"
        faults.unknown(f"{at}.", each, _UPDATE_FIELDS)
        name = each.get("name")
        if name not in pod_sets:
            text = f"names no pod set of this workload; there are {', '.join(pod_sets)}"
            faults.add(f"{at}.name", RejectCode.UNKNOWN_POD_SET, text)
        elif name in (one["name"] for one in read):
            faults.add(f"{at}.name", RejectCode.DUPLICATE, "is given twice")
        update: Row = {"name": name}
        for part in _MAPS:
            if each.get(part):
                update[part] = _texts(f"{at}.{part}", each[part], faults)
        if each.get("tolerations"):
            update["tolerations"] = _tolerations(f"{at}.tolerations", each["tolerations"], faults)
        read.append(update)
    return read


def _texts(path: str, given: Any, faults: _Faults) -> dict[str, str]:
    if not isinstance(given, dict) or not all(isinstance(v, str) for v in given.values()):
        faults.add(path, RejectCode.INVALID_TYPE, "must map texts to texts")
        return {}
    return dict(given)


def _tolerations(path: str, given: Any, faults: _Faults) -> list[Row]:
    if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
        faults.add(path, RejectCode.INVALID_TYPE, "must be a list of objects")
        return []
    for index, each in enumerate(given):
        faults.unknown(f"{path}[{index}].", each, _TOLERATION_FIELDS)
    return [dict(each) for each in given]
