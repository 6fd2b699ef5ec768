"""JSON pointers (RFC 6901) into plain JSON values. Pure."""

from collections.abc import Mapping
from typing import Any


def steps(pointer: str) -> list[str]:
    """The steps of a pointer; [] is the whole value."""
    return [each.replace("~1", "/").replace("~0", "~") for each in pointer.split("/")[1:]]


def path_of(pointer: str) -> str:
    """A pointer as the path of a field, `spec.parts[0].template`; of a step at most 80 characters."""
    told = (f"[{step}]" if is_position(step) else f".{step[:80]}" for step in steps(pointer))
    return "".join(told).removeprefix(".")


def is_position(step: str) -> bool:
    """True for a position of a list as RFC 6901 writes it: each has one text, and texts are compared."""
    return step.isascii() and step.isdecimal() and (step == "0" or not step.startswith("0"))


def value_at(value: Any, pointer: str) -> Any:
    """The value at a pointer; None where there is none."""
    for step in steps(pointer):
        value = below(value, step)
    return value


def with_value(value: Any, pointer: str, given: Any) -> Any:
    """A copy with this value at the pointer, and the objects that lead to it; None removes what is there.

    Only what lies on the way is copied. A pointer through something that is neither object nor list, or to an
    item that a list does not have, changes nothing.
    """
    return _with(value, steps(pointer), given)


def below(value: Any, step: str) -> Any:
    """What is one step below a value; None where nothing is."""
    if isinstance(value, Mapping):
        return value.get(step)
    if isinstance(value, list) and _within(value, step):
        return value[int(step)]
    return None


def _within(items: list[Any], step: str) -> bool:
    return is_position(step) and len(step) < 20 and int(step) < len(items)


def _with(at: Any, way: list[str], given: Any) -> Any:
    if not way:
        return given
    step, rest = way[0], way[1:]
    if at is None and given is not None:
        at = {}
    if isinstance(at, Mapping):
        if given is None and (not rest or at.get(step) is None):
            return {name: each for name, each in at.items() if rest or name != step}
        return {**at, step: _with(at.get(step), rest, given)}
    if isinstance(at, list) and _within(at, step):
        if given is None and not rest:
            return at
        index = int(step)
        return [*at[:index], _with(at[index], rest, given), *at[index + 1 :]]
    return at
