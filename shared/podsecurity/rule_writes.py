"""Judges the fields that the rule of a kind writes to hold an object and to run it. Pure.

A rule writes beside what was judged as a manifest, and past every gate that sees creations alone: so it
writes the spec only, and nothing of pods. The object as it is held, and as it runs, is judged too.
"""

from collections.abc import Collection, Iterable
from typing import Any, Final

from shared.errors import FieldError
from shared.podsecurity.pods import LISTS, ONES, VIOLATION, Found, Json
from shared.podsecurity.templates import mappings_of, templates_of
from shared.pointers import is_position, path_of, steps as steps_of

_CONTAINERS: Final = frozenset({*LISTS, *ONES, "containerSet"})
_SPEC: Final = "spec"


def check_writes(
    manifest: Json, templates: Iterable[str], writes: Iterable[tuple[str, Any]]
) -> Found:
    """List the faults of what a rule writes: beyond the spec, into a pod template or around one, containers.

    `templates`: JSON pointers of those that the rule names. `writes`: JSON pointers with their values.
    """
    places = {_plain(path_of(each)) for each in templates}
    places |= {_plain(each.path) for each in templates_of(manifest) if not each.is_part}
    found = (_fault(pointer, value, places) for pointer, value in writes)
    return [each for each in found if each is not None]


def _fault(pointer: str, value: Any, templates: Collection[str]) -> FieldError | None:
    steps, at = steps_of(pointer), path_of(pointer)
    if len(steps) < 2 or steps[0] != _SPEC:
        text = "the rule of the kind writes here, and it may write the object's spec alone"
    elif any(step.isdecimal() and not is_position(step) for step in steps):
        text = "a position of a list is written in ASCII digits, without zeros before it"
    elif any(_overlap(_plain(at), one) for one in templates):
        text = "the rule of the kind writes into a pod template, and it may write none"
    elif _CONTAINERS & set(steps[:-1]) or _brings_containers(steps[-1], value):
        text = "the rule of the kind writes containers, and it may write none"
    else:
        return None
    return FieldError(at, VIOLATION, text)


def _plain(path: str) -> str:
    """A path with one sign between its steps, as a list and an object may have the same keys."""
    return path.replace("[", ".").replace("]", "") + "."


def _overlap(one: str, other: str) -> bool:
    """Tell if one of two places is within the other."""
    return one.startswith(other) or other.startswith(one)


def _brings_containers(name: str, value: Any) -> bool:
    if not isinstance(value, dict | list):
        return False
    return any(_CONTAINERS & each.keys() for _, _, each in mappings_of({_SPEC: {name: value}}))
