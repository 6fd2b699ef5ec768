"""Sets of field paths, in the very form of `fieldsV1`.

A set is a nested dict. A key is a path element: `f:name`, `k:{"key":"value"}`, `v:value`. An empty
dict is a member; a dict with children is one only if it also holds `.`. Sets are not changed once
made; None is the empty set.
"""

from collections.abc import Iterator
from typing import Any

import orjson

FieldSet = dict[str, Any]
Path = tuple[str, ...]
SELF = "."


def is_member(node: FieldSet) -> bool:
    """Whether the path that leads to this node is in the set."""
    return not node or SELF in node


def node_of(member: bool, children: FieldSet) -> FieldSet | None:
    if member:
        return {SELF: {}, **children} if children else {}
    return children or None


def union(first: FieldSet | None, second: FieldSet | None) -> FieldSet | None:
    """Paths in either set."""
    if first is None or second is None:
        return first if second is None else second
    if first is second:
        return first
    children: FieldSet = {}
    for element in (*first, *(one for one in second if one not in first)):
        if element != SELF:
            joined = union(first.get(element), second.get(element))
            if joined is not None:
                children[element] = joined
    return node_of(is_member(first) or is_member(second), children)


def difference(first: FieldSet | None, second: FieldSet | None) -> FieldSet | None:
    """Paths in the first set that are not in the second."""
    if first is None or second is None:
        return first
    children: FieldSet = {}
    for element, child in first.items():
        if element != SELF:
            left = difference(child, second.get(element))
            if left is not None:
                children[element] = left
    return node_of(is_member(first) and not is_member(second), children)


def intersection(first: FieldSet | None, second: FieldSet | None) -> FieldSet | None:
    """Paths in both sets."""
    if first is None or second is None:
        return None
    children: FieldSet = {}
    for element, child in first.items():
        if element != SELF and element in second:
            common = intersection(child, second[element])
            if common is not None:
                children[element] = common
    return node_of(is_member(first) and is_member(second), children)


def without_trees(first: FieldSet | None, trees: FieldSet) -> FieldSet | None:
    """Paths of the first set that are neither in `trees` nor below a path that is."""
    if first is None:
        return None
    if is_member(trees):
        return None
    children: FieldSet = {}
    for element, child in first.items():
        if element == SELF:
            continue
        left = without_trees(child, trees[element]) if element in trees else child
        if left is not None:
            children[element] = left
    return node_of(is_member(first), children)


def paths(root: FieldSet | None, prefix: Path = ()) -> Iterator[Path]:
    """Every path in the set, outer ones first."""
    if root is None:
        return
    if prefix and is_member(root):
        yield prefix
    for element, child in root.items():
        if element != SELF:
            yield from paths(child, (*prefix, element))


def contains(root: FieldSet | None, path: Path) -> bool:
    node = root
    for element in path:
        if node is None or element not in node:
            return False
        node = node[element]
    return node is not None and is_member(node)


def key_element(item: Any, keys: tuple[str, ...], defaults: dict[str, Any]) -> str | None:
    """`k:{…}` of an item of a keyed list; None if it lacks a key."""
    if not isinstance(item, dict):
        return None
    values = {}
    for key in sorted(keys):
        value = item.get(key, defaults.get(key))
        if value is not None:
            values[key] = value
    return "k:" + orjson.dumps(values).decode() if values else None


def value_element(value: Any) -> str:
    return "v:" + orjson.dumps(value).decode()


def text_of(path: Path) -> str:
    """A path as messages show it: `.spec.containers[name="c"].image`."""
    parts = []
    for element in path:
        kind, body = element[:2], element[2:]
        if kind == "f:":
            parts.append(f".{body}")
        elif kind == "k:":
            keys = orjson.loads(body)
            inner = ",".join(
                f"{key}={orjson.dumps(value).decode()}" for key, value in keys.items()
            )
            parts.append(f"[{inner}]")
        else:
            parts.append(f"[={body}]")
    return "".join(parts)
