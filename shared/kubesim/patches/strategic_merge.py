"""Strategic merge patch: merge patch that knows the keys of lists (apimachinery, strategicpatch).

Directives: `$patch` (replace, delete, merge), `$retainKeys`, `$deleteFromPrimitiveList/FIELD`,
`$setElementOrder/FIELD`. Lists without a merge strategy are replaced.
"""

from typing import Any

from shared.kubesim.apimachinery import errors
from shared.kubesim.schema.field_types import ANY, Schema

_PATCH = "$patch"
_RETAIN = "$retainKeys"
_DELETE_FROM = "$deleteFromPrimitiveList/"
_ORDER = "$setElementOrder/"


def strategic_merge(schema: Schema, target: Any, patch: dict[str, Any]) -> Any:
    """`target` with a strategic merge patch applied. ApiError 400 on a malformed patch."""
    if not isinstance(target, dict):
        target = {}
    directive = patch.get(_PATCH)
    if directive == "replace":
        return {name: value for name, value in patch.items() if name != _PATCH}
    if directive == "delete":
        return {}
    if directive not in (None, "merge"):
        raise errors.bad_request(f"Wrong {_PATCH} value {directive!r}: replace, delete or merge")
    merged = dict(target)
    retained = patch.get(_RETAIN)
    if retained is not None:
        merged = {name: value for name, value in merged.items() if name in retained}
    for name, change in patch.items():
        if name.startswith("$"):
            continue
        if change is None:
            merged.pop(name, None)
        else:
            merged[name] = _changed(schema.field(name) or ANY, merged.get(name), change)
    return _arranged(schema, merged, patch)


def _changed(field: Schema, before: Any, change: Any) -> Any:
    if isinstance(change, dict):
        return strategic_merge(field, before, change)
    if isinstance(change, list) and field.strategy == "merge":
        return _merged_list(field, before if isinstance(before, list) else [], change)
    return change


def _merged_list(field: Schema, before: list[Any], change: list[Any]) -> list[Any]:
    if not field.merge_key:
        return [*before, *(value for value in change if value not in before)]
    if any(isinstance(item, dict) and item.get(_PATCH) == "replace" for item in change):
        return [item for item in change if item.get(_PATCH) != "replace"]
    merged = list(before)
    for item in change:
        if not isinstance(item, dict):
            raise errors.bad_request("a list of objects is merged by objects")
        place = _place(field, merged, item)
        if item.get(_PATCH) == "delete":
            merged = [one for one in merged if _key(field, one) != _key(field, item)]
        elif place is None:
            merged.append(strategic_merge(field.element or ANY, {}, item))
        else:
            merged[place] = strategic_merge(field.element or ANY, merged[place], item)
    return merged


def _key(field: Schema, item: Any) -> Any:
    return item.get(field.merge_key) if isinstance(item, dict) else None


def _place(field: Schema, items: list[Any], wanted: dict[str, Any]) -> int | None:
    key = _key(field, wanted)
    if key is None:
        raise errors.bad_request(
            f"map: {wanted} does not contain declared merge key: {field.merge_key}"
        )
    for index, item in enumerate(items):
        if _key(field, item) == key:
            return index
    return None


def _arranged(schema: Schema, merged: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """Carry out the directives that stand beside a list field."""
    for name, argument in patch.items():
        if name.startswith(_DELETE_FROM):
            field = name[len(_DELETE_FROM) :]
            merged[field] = [one for one in merged.get(field) or () if one not in argument]
        elif name.startswith(_ORDER):
            field = name[len(_ORDER) :]
            if isinstance(merged.get(field), list):
                merged[field] = _ordered(schema.field(field) or ANY, merged[field], argument)
    return merged


def _ordered(field: Schema, items: list[Any], order: list[Any]) -> list[Any]:
    """Items named in `order` in that order; each other one stays behind its predecessor."""
    if field.merge_key:
        wanted = [one.get(field.merge_key) if isinstance(one, dict) else one for one in order]
        keys = [_key(field, item) for item in items]
    else:
        wanted, keys = list(order), list(items)
    named = sorted(
        (index for index, key in enumerate(keys) if key in wanted),
        key=lambda index: wanted.index(keys[index]),
    )
    arranged: list[Any] = []
    waiting = iter(named)
    for index, key in enumerate(keys):
        arranged.append(items[next(waiting)] if key in wanted else items[index])
    return arranged
