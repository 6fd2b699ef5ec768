"""Audit details of a queue edit: the verb, and each value before and after."""

from collections.abc import Iterator, Sequence
from typing import Final

from shared.documents import JsonView

AUDITED: Final = frozenset({"ClusterQueue", "LocalQueue", "Cohort"})
MOST: Final = 20  # changes told one by one
ON: Final = "None"  # the stopPolicy of a queue that admits

_AMOUNTS: Final = ("nominalQuota", "borrowingLimit", "lendingLimit")
_POLICY: Final = "stopPolicy"
_GROUPS: Final = "resourceGroups"


def stopping(before: str, after: str) -> tuple[str, str]:
    """Verb and words of a change of `stopPolicy`."""
    return "resume" if after == ON else "stop", f"{before or ON} -> {after or ON}"


def edits(before: JsonView, after: JsonView) -> Sequence[tuple[str, str]]:
    """From one specification to the next: (verb, words), at most `MOST` of them and a rest."""
    found = [*_edits(before, after)]
    rest = len(found) - MOST
    return found if rest <= 0 else [*found[:MOST], ("set", f"and {rest} more changes")]


def _edits(before: JsonView, after: JsonView) -> Iterator[tuple[str, str]]:
    was, now = before.get(_POLICY) or ON, after.get(_POLICY) or ON
    if was != now:
        yield stopping(was, now)
    had, has = _amounts(before), _amounts(after)
    for where in sorted(had.keys() | has.keys()):
        if had.get(where) != has.get(where):
            flavor, resource, field = where
            yield "set", f"{flavor}/{resource} {field} {_change(had.get(where), has.get(where))}"
    for key in sorted((before.keys() | after.keys()) - {_POLICY, _GROUPS}):
        if before.get(key) != after.get(key):
            yield "set", f"{key} {_change(before.get(key), after.get(key))}"


def _amounts(spec: JsonView) -> dict[tuple[str, str, str], object]:
    return {
        (str(flavor.get("name")), str(amount.get("name")), field): amount[field]
        for group in spec.get(_GROUPS) or ()
        for flavor in group.get("flavors") or ()
        for amount in flavor.get("resources") or ()
        for field in _AMOUNTS
        if amount.get(field) is not None
    }


def _change(before: object, after: object) -> str:
    return f"{_text(before)} -> {_text(after)}"


def _text(value: object) -> str:
    if value in (None, "", {}, []):
        return "none"
    return "other" if isinstance(value, dict | list) else str(value)
