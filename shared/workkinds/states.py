"""In which states an object is, by the status mappings of its Karta. Pure.

Several states may hold at once; none means *unknown*, which is neither finished nor failed. An expression
that is at fault does not match.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from shared.workkinds.definition import STATES, Condition, Definition, Matcher, StatusDefinition
from shared.workkinds.language import EvaluationFault, Language, Object

UNKNOWN: Final = "unknown"
_MOST_CONDITIONS: Final = 200  # are looked through


def states_of(definition: Definition, obj: Object, language: Language) -> tuple[str, ...]:
    """The states that hold, in the order of `STATES`; empty: unknown."""
    status = definition.karta.status
    return tuple(
        state
        for state in STATES
        if any(_matches(each, status, obj, language) for each in status.mappings.get(state, ()))
    )


@dataclass(frozen=True, slots=True)
class StateMatch:
    """Why a state holds: reason, message and instant of the condition that says so, or the phase."""

    reason: str = ""
    message: str = ""
    at: str = ""  # RFC 3339, as the condition's lastTransitionTime has it; "" where nothing tells


def match_of(
    definition: Definition, state: str, obj: Object, language: Language
) -> StateMatch | None:
    """What says that the object is in this state; None: it is not, or nothing says so."""
    status = definition.karta.status
    for each in status.mappings.get(state, ()):
        if _matches(each, status, obj, language):
            return _why(each, status, obj, language)
    return None


def _why(
    matcher: Matcher, status: StatusDefinition, obj: Object, language: Language
) -> StateMatch:
    if not matcher.conditions:
        return StateMatch(reason=matcher.phase)
    for condition, raw in _told(status, obj, language):
        if _is(matcher.conditions[0], condition):
            at = raw.get("lastTransitionTime")
            told = condition.reason or condition.type
            return StateMatch(told, condition.message, at if isinstance(at, str) else "")
    return StateMatch()


def is_true(expression: str, obj: Object, language: Language) -> bool | None:
    """Of a predicate of the extension; None where it is at fault, or says neither true nor false."""
    found = _values(expression, obj, language)
    return found[0] if len(found) == 1 and isinstance(found[0], bool) else None


def _matches(matcher: Matcher, status: StatusDefinition, obj: Object, language: Language) -> bool:
    if matcher.phase and matcher.phase not in _values(status.phase_path, obj, language):
        return False
    if matcher.conditions:
        held = list(_conditions(status, obj, language))
        if not all(any(_is(each, one) for one in held) for each in matcher.conditions):
            return False
    if matcher.expression:
        found = _values(matcher.expression, obj, language)
        return len(found) == 1 and _shown(found[0]) == matcher.expected
    return True


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _conditions(status: StatusDefinition, obj: Object, language: Language) -> Iterator[Condition]:
    for condition, _ in _told(status, obj, language):
        yield condition


def _told(
    status: StatusDefinition, obj: Object, language: Language
) -> Iterator[tuple[Condition, Mapping[str, Any]]]:
    """Each condition as the definition names its fields, and as it stands in the object."""
    path = status.conditions_path or ".status.conditions"
    for listed in _values(path, obj, language):
        for each in listed[:_MOST_CONDITIONS] if isinstance(listed, list) else ():
            if isinstance(each, dict):
                named = (_field(each, status, name) for name in Condition.__slots__)
                yield Condition(*named), each


def _field(condition: Mapping[str, Any], status: StatusDefinition, name: str) -> str:
    value = condition.get(status.fields.get(name, name))
    return "" if value is None else _shown(value) if not isinstance(value, bool) else str(value)


def _is(wanted: Condition, held: Condition) -> bool:
    return wanted.type == held.type and all(
        not getattr(wanted, name) or getattr(wanted, name) == getattr(held, name)
        for name in ("status", "reason", "message")
    )


def _values(expression: str, obj: Object, language: Language) -> list[Any]:
    if not expression:
        return []
    try:
        return language.values(expression, obj)
    except EvaluationFault:
        return []
