"""Label selectors: Kubernetes' own semantics, read from objects and from kubectl's notation. Pure.

The one parser: for the hub's queues and lists, and for the API server of a simulated cluster.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from shared import quantity
from shared.errors import Rejected
from shared.reject_codes import RejectCode
from shared.resources import Expression, expressions

MOST_TERMS: Final = 100  # of one selector
MOST_VALUES: Final = 1000  # … of `in` and `notin`, all requirements together


_MARKS: Final = re.compile(r"[(),]")


_SET_BASED: Final = re.compile(r"^(\S+)\s+(in|notin)\s*\(([^()]*)\)$")


_EQUALITY: Final = re.compile(r"^([^\s=!<>(),]+)\s*(==|=|!=)\s*([^\s=!<>(),]*)$")
_COMPARISON: Final = re.compile(r"^([^\s=!<>(),]+)\s*([<>])\s*([^\s=!<>(),]*)$")
_WHOLE: Final = re.compile(r"^[-+]?[0-9]{1,18}$")


_KEY: Final = re.compile(r"^(!?)\s*([A-Za-z0-9][-A-Za-z0-9_./]*)$")


def holds(expression: Expression, labels: Mapping[str, str]) -> bool:
    """Does one requirement hold? NotIn and DoesNotExist hold where the key is absent."""
    value = labels.get(expression.key)
    match expression.operator:
        case "In":
            return value is not None and value in expression.values
        case "NotIn":
            return value is None or value not in expression.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt":
            return _compares(expression, value)
        case _:
            return False


def _compares(expression: Expression, value: str | None) -> bool:
    """Gt and Lt compare whole numbers; what is none never holds."""
    try:
        here, bound = int(value or ""), int(expression.values[0])
    except (ValueError, IndexError):
        return False
    return here > bound if expression.operator == "Gt" else here < bound


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """matchLabels and matchExpressions, all of which must hold; the empty one matches everything."""

    labels: tuple[tuple[str, str], ...] = ()
    expressions: tuple[Expression, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        return all(labels.get(k) == v for k, v in self.labels) and all(
            holds(e, labels) for e in self.expressions
        )


def read_selector(spec: Mapping[str, Any] | None) -> LabelSelector | None:
    """A metav1.LabelSelector; None stays None, whose meaning is the caller's."""
    if spec is None:
        return None
    return LabelSelector(
        labels=tuple(sorted((spec.get("matchLabels") or {}).items())),
        expressions=expressions(spec.get("matchExpressions")),
    )


def parse_selector(text: str, field: str = "", most: int | None = MOST_TERMS) -> LabelSelector:
    """Kubectl's notation: `a=b,c!=d,e in (f,g),h notin (i),j,!k,l>1,m<2`.

    The empty text selects everything; commas and blanks alone are refused.

    Raises `Rejected`: InvalidSelector, or TooManyTerms beyond `most` requirements, and beyond
    `MOST_VALUES` where there is a `most`. Both are counted before anything is parsed.
    """
    if most is not None and text.count(",") >= MOST_VALUES:
        rule = f"lists more than {MOST_VALUES} requirements and values together, which is the most"
        raise Rejected(RejectCode.TOO_MANY_TERMS, rule, field)
    parts: list[str] = []
    start = depth = 0
    for mark in _MARKS.finditer(text):
        match mark[0]:
            case "(":
                depth += 1
            case ")":
                depth -= 1
            case _ if depth <= 0:
                parts.append(text[start : mark.start()].strip())
                start = mark.end()
        if most is not None and len(parts) >= most:
            rule = f"has more than {most} requirements, which is the most"
            raise Rejected(RejectCode.TOO_MANY_TERMS, rule, field)
    parts.append(text[start:].strip())
    if text and not any(parts):
        rule = (
            f"{quantity.shown(text)} has no requirement: write one, or leave it out to select all"
        )
        raise Rejected(RejectCode.INVALID_SELECTOR, rule, field)
    return LabelSelector(expressions=tuple(_requirement(p, field) for p in parts if p))


def _requirement(part: str, field: str) -> Expression:
    if found := _SET_BASED.match(part):
        values = tuple(v.strip() for v in found[3].split(","))
        return Expression(found[1], "In" if found[2] == "in" else "NotIn", values)
    if found := _EQUALITY.match(part):
        return Expression(found[1], "NotIn" if found[2] == "!=" else "In", (found[3],))
    if found := _COMPARISON.match(part):
        if not _WHOLE.match(found[3]):
            rule = f"{quantity.shown(part)}: for > and < the value must be an integer"
            raise Rejected(RejectCode.INVALID_SELECTOR, rule, field)
        return Expression(found[1], "Gt" if found[2] == ">" else "Lt", (found[3],))
    if found := _KEY.match(part):
        return Expression(found[2], "DoesNotExist" if found[1] else "Exists")
    raise Rejected(
        RejectCode.INVALID_SELECTOR, f"{quantity.shown(part)} is no label requirement", field
    )
