"""Fields of an object, written by JSON pointer: in a copy, and as a merge patch. Pure."""

from collections.abc import Iterable
from typing import Any

from shared.pointers import below, steps as steps_of, with_value
from shared.wire.kind_rules import FieldValue

Object = dict[str, Any]


def written(obj: Object, fields: Iterable[FieldValue]) -> Object:
    """A copy with these values; a field of which the value is None is removed."""
    made: Any = obj
    for each in fields:
        made = with_value(made, each.path, each.value)
    return dict(made)


def patch_of(live: Object, fields: Iterable[FieldValue]) -> tuple[Object, bool]:
    """The merge patch that writes these fields, and whether it replaces a list of `live` as a whole.

    A merge patch can not name an item of a list: such a patch must name the version that it was made from.
    """
    given = list(fields)
    after, replaces = written(live, given), False
    patch: Object = {}
    for each in given:
        at: Any = after
        before: Any = live
        into = patch
        steps = steps_of(each.path)
        for step in steps[:-1]:
            if isinstance(before.get(step) if isinstance(before, dict) else None, list):
                into[step], replaces = at[step], True
                break
            at, before = below(at, step), below(before, step)
            into = into.setdefault(step, {})
        else:
            into[steps[-1]] = each.value
    return patch, replaces
