"""Typed operations on objects: field sets, comparison, merge and removal, led by a schema.

The rules are those of structured-merge-diff (sigs.k8s.io/structured-merge-diff, package typed).
Objects are not changed; results share what stayed the same.
"""

from dataclasses import dataclass
from typing import Any

from shared.kubesim.schema import fieldset
from shared.kubesim.schema.field_types import ANY, Schema
from shared.kubesim.schema.fieldset import SELF, FieldSet

_ABSENT = object()
_LEAF: FieldSet = {}  # shared: sets are not changed once made


@dataclass(frozen=True, slots=True)
class Comparison:
    """What differs between two objects."""

    added: FieldSet | None
    removed: FieldSet | None
    modified: FieldSet | None


def is_leaf(schema: Schema, value: Any) -> bool:
    """Whether a value is owned as a whole."""
    if isinstance(value, dict):
        return schema.atomic or schema.type not in ("object", "map", "any")
    if isinstance(value, list):
        return schema.type != "list" or schema.list_type == "atomic"
    return True


def field_set(schema: Schema, value: Any) -> FieldSet | None:
    """All paths of a value, as an applier of it owns them."""
    if is_leaf(schema, value):
        return {}
    children: FieldSet = {}
    if isinstance(value, list):
        for element, item in elements(schema, value).items():
            inner = field_set(schema.element or ANY, item)
            below = {} if inner is None else {k: v for k, v in inner.items() if k != SELF}
            children[element] = (
                {} if element.startswith("v:") or not below else {SELF: {}, **below}
            )
        return children or None
    for name, item in value.items():
        known = schema.fields.get(name) if schema.type == "object" else None
        inner = field_set(known or schema.field(name) or ANY, item)
        empty = isinstance(item, dict) and not item
        if empty or item is None or known is None:
            inner = {} if not inner else {SELF: {}, **inner}
        if inner is not None:
            children[f"f:{name}"] = inner
    return children or None


def elements(schema: Schema, items: list[Any]) -> dict[str, Any]:
    """Items of a keyed list or set by path element; items without keys are left out."""
    if schema.list_type == "set":
        return {fieldset.value_element(item): item for item in items}
    defaults = _key_defaults(schema)
    found: dict[str, Any] = {}
    for item in items:
        element = fieldset.key_element(item, schema.keys, defaults)
        if element is not None and element not in found:
            found[element] = item
    return found


def _key_defaults(schema: Schema) -> dict[str, Any]:
    if schema.element is None or schema.element.type != "object":
        return {}
    fields = schema.element.fields
    return {
        key: fields[key].default
        for key in schema.keys
        if key in fields and fields[key].default is not None
    }


def compare(schema: Schema, old: Any, new: Any) -> Comparison:
    """What an updater that wrote `new` over `old` has changed."""
    walk = _Compare()
    walk.visit(schema, old, new, ())
    return Comparison(walk.added, walk.removed, walk.modified)


def created_set(schema: Schema, value: dict[str, Any]) -> FieldSet:
    """What the creator of an object owns: all of it.

    Structs and lists that Go always has (`Schema.zero`) were there before, as their zero value: of
    them only what is inside is owned. On the path of every create, hence without `Comparison`.
    """
    children: FieldSet = {}
    for name, item in value.items():
        kind = type(item)
        if kind is not dict and kind is not list:
            children["f:" + name] = _LEAF
            continue
        field = schema.field(name) or ANY
        if not field.zero or not item or is_leaf(field, item):
            children["f:" + name] = _whole(field, item)
        elif kind is dict:
            children["f:" + name] = created_set(field, item)
        else:
            inner = field.element or ANY
            children["f:" + name] = {
                element: _whole(inner, one) for element, one in elements(field, item).items()
            }
    return children


class _Compare:
    """Collects differences as sets."""

    def __init__(self) -> None:
        self.added: FieldSet | None = None
        self.removed: FieldSet | None = None
        self.modified: FieldSet | None = None

    def visit(self, schema: Schema, old: Any, new: Any, path: tuple[str, ...]) -> None:
        if old is new:
            return
        if old is _ABSENT:
            self.added = _with(self.added, path, _whole(schema, new))
        elif new is _ABSENT:
            self.removed = _with(self.removed, path, _whole(schema, old))
        elif type(old) is not type(new) or is_leaf(schema, new):
            if old != new:
                self.modified = _with(self.modified, path, {})
        elif isinstance(new, list):
            self._lists(schema, old, new, path)
        else:
            self._dicts(schema, old, new, path)

    def _dicts(
        self, schema: Schema, old: dict[str, Any], new: dict[str, Any], path: tuple[str, ...]
    ) -> None:
        for name, value in new.items():
            before = old.get(name, _ABSENT)
            if before is not value:
                self.visit(schema.field(name) or ANY, before, value, (*path, f"f:{name}"))
        for name, value in old.items():
            if name not in new:
                self.visit(schema.field(name) or ANY, value, _ABSENT, (*path, f"f:{name}"))

    def _lists(
        self, schema: Schema, old: list[Any], new: list[Any], path: tuple[str, ...]
    ) -> None:
        before, after = elements(schema, old), elements(schema, new)
        inner = schema.element or ANY
        for element, item in after.items():
            self.visit(inner, before.get(element, _ABSENT), item, (*path, element))
        for element, item in before.items():
            if element not in after:
                self.visit(inner, item, _ABSENT, (*path, element))


def _whole(schema: Schema, value: Any) -> FieldSet:
    """The set of a subtree that appeared or went: every node is a member."""
    if not value or is_leaf(schema, value):
        return _LEAF
    node: FieldSet = {SELF: _LEAF}
    if isinstance(value, list):
        inner = schema.element or ANY
        for element, item in elements(schema, value).items():
            node[element] = _whole(inner, item)
        return node
    for name, item in value.items():
        if isinstance(item, dict | list):
            node["f:" + name] = _whole(schema.field(name) or ANY, item)
        else:
            node["f:" + name] = _LEAF
    return node


def _with(root: FieldSet | None, path: tuple[str, ...], node: FieldSet) -> FieldSet:
    """`root` with the set `node` put at `path`. Works in place: roots here are private."""
    root = {} if root is None else root
    if not path:
        return fieldset.union(root, node) or root
    at = root
    for element in path[:-1]:
        at = at.setdefault(element, {})
    at[path[-1]] = node
    return root


def merge(schema: Schema, live: Any, config: Any) -> Any:
    """`live` with an applied `config` laid over it."""
    if live is None or is_leaf(schema, config) or type(live) is not type(config):
        return config
    if isinstance(config, list):
        return _merged_list(schema, live, config)
    merged = dict(live)
    for name, value in config.items():
        before = merged.get(name)
        merged[name] = merge(schema.field(name) or ANY, before, value)
    return merged


def _merged_list(schema: Schema, live: list[Any], config: list[Any]) -> list[Any]:
    before, after = elements(schema, live), elements(schema, config)
    inner = schema.element or ANY
    merged = [
        merge(inner, item, after[element]) if element in after else item
        for element, item in before.items()
    ]
    merged += [item for element, item in after.items() if element not in before]
    return merged


def remove(schema: Schema, value: Any, gone: FieldSet, kept: FieldSet | None) -> Any:
    """`value` without the subtrees at the paths of `gone`, except what `kept` holds below them.

    Containers that become empty by it go too. Returns None if nothing is left.
    """
    if is_member(gone, kept):
        return None
    if isinstance(value, list) and not is_leaf(schema, value):
        return _removed_items(schema, value, gone, kept)
    if not isinstance(value, dict):
        return value
    left: dict[str, Any] = {}
    changed = False
    for name, item in value.items():
        element = f"f:{name}"
        if element not in gone:
            if fieldset.is_member(gone) and (kept is None or element not in kept):
                changed = True  # unowned, inside something that its owner took away
                continue
            left[name] = item
            continue
        below = (kept or {}).get(element)
        remaining = remove(schema.field(name) or ANY, item, gone[element], below)
        if remaining is not None:
            left[name] = remaining
        changed = changed or remaining is not item
    if not changed:
        return value
    return left or None


def is_member(gone: FieldSet, kept: FieldSet | None) -> bool:
    """Whether the whole subtree goes: its root does, and nobody keeps anything below."""
    return fieldset.is_member(gone) and kept is None


def _removed_items(
    schema: Schema, items: list[Any], gone: FieldSet, kept: FieldSet | None
) -> list[Any] | None:
    defaults = _key_defaults(schema)
    left = []
    for item in items:
        if schema.list_type == "set":
            element: str | None = fieldset.value_element(item)
        else:
            element = fieldset.key_element(item, schema.keys, defaults)
        if element is None or element not in gone:
            left.append(item)
            continue
        below = (kept or {}).get(element)
        remaining = remove(schema.element or ANY, item, gone[element], below)
        if remaining is not None:
            left.append(_with_keys(schema, item, remaining))
    return left or None


def _with_keys(schema: Schema, item: Any, remaining: Any) -> Any:
    """An item keeps its keys as long as anything of it stays."""
    if not isinstance(remaining, dict):
        return remaining
    keys = {key: item[key] for key in schema.keys if key in item and key not in remaining}
    return {**keys, **remaining} if keys else remaining
