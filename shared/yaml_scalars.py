"""One scalar of YAML, resolved as sigs.k8s.io/yaml does: YAML 1.1 with Go's numbers."""

import re
from typing import Any, Final

from shared.errors import Rejected
from shared.nesting import check_text
from shared.quantity import shown
from shared.reject_codes import RejectCode

_TAG: Final = "tag:yaml.org,2002:"
_PLAIN_TAGS: Final = frozenset(
    _TAG + t for t in ("str", "int", "float", "bool", "null", "map", "seq")
)
_TYPES: Final[dict[str, tuple[type, ...]]] = {
    _TAG + "int": (int,),
    _TAG + "float": (float, int),
    _TAG + "bool": (bool,),
    _TAG + "null": (type(None),),
}

_WORDS: Final[dict[str, bool | None]] = {
    **dict.fromkeys(
        ("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True
    ),
    **dict.fromkeys(
        ("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False
    ),
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
}
_NON_FINITE: Final = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_WHOLE: Final = re.compile(
    r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))"
)
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_EXACT_BELOW: Final = 2**53


def check_tag(event: Any) -> None:
    if event.tag not in (None, "!") and event.tag not in _PLAIN_TAGS:
        raise Rejected(
            RejectCode.UNSAFE_TAG, f"{place_of(event)}: tag {shown(event.tag)} is not accepted"
        )


def scalar(event: Any) -> Any:
    text = str(event.value)
    if "\x00" in text or not text.isascii():
        check_text(text, "")
    if event.tag is None and event.implicit[0] and not event.style:
        return _resolve(text, event)
    if event.tag in _TYPES:
        value = _resolve(text, event)
        if not isinstance(value, _TYPES[event.tag]):
            rule = f"{place_of(event)}: {shown(text)} is no {event.tag.removeprefix(_TAG)}"
            raise Rejected(RejectCode.MALFORMED_YAML, rule)
        return value
    return text


def _resolve(text: str, event: Any) -> Any:
    """A plain scalar's value, by its first character as Go's resolver goes about it."""
    first = text[:1]
    if first in "yYnNtTfFoO~" and text in _WORDS:  # the empty text is among them
        return _WORDS[text]
    if not first or first not in "+-.0123456789":
        return text
    if _NON_FINITE.fullmatch(text):
        raise Rejected(
            RejectCode.NON_FINITE_NUMBER, f"{place_of(event)}: {shown(text)} is no finite number"
        )
    plain = text if first == "." else text.replace("_", "")
    whole = _WHOLE.fullmatch(plain)
    if whole is not None and len(plain) <= 66:
        minus, in_16, in_2, in_8, in_10 = whole.groups()
        number = int(
            in_16 or in_2 or in_8 or in_10, 16 if in_16 else 2 if in_2 else 8 if in_8 else 10
        )
        if number < 2**64:
            return -number if minus == "-" else number
    if _FLOAT.fullmatch(plain) is None:
        return text
    value = float(plain)
    if value in (float("inf"), float("-inf")):
        return text  # as Go does with what a float cannot hold
    # Go prints 1.0 and 1e3 as 1 and 1000 when it turns YAML into JSON.
    return int(value) if value.is_integer() and abs(value) < _EXACT_BELOW else value


def place_of(event: Any) -> str:
    return f"line {event.start_mark.line + 1}, column {event.start_mark.column + 1}"
