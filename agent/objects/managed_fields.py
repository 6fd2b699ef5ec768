"""Fields that a field manager owns, read from `metadata.managedFields`. Pure.

`fieldsV1` is a tree: `f:NAME` a field, `k:{…}` the item of an associative list with those keys,
`v:…` an item of a set, `i:N` an item by index, `.` the thing itself; an empty tree is a leaf, owned
whole (structured-merge-diff's format, KEP-555).
"""

from typing import Any

import orjson

Object = dict[str, Any]
Tree = dict[str, Any]


def owned_by(obj: Object, manager: str) -> Tree | None:
    """The union of a manager's entries for the main resource; None where it has none."""
    trees = [
        entry.get("fieldsV1") or {}
        for entry in obj["metadata"].get("managedFields") or ()
        if entry.get("manager") == manager and not entry.get("subresource")
    ]
    if not trees:
        return None
    union: Tree = {}
    for tree in trees:
        _merge(union, tree)
    return union


def is_written_by(obj: Object, manager: str) -> bool:
    """Whether a manager has an entry for the main resource: asked of each event, so no tree is built."""
    return any(
        entry.get("manager") == manager and not entry.get("subresource")
        for entry in obj["metadata"].get("managedFields") or ()
    )


def owned_by_others(obj: Object, manager: str) -> Tree:
    """The union of everybody else's entries for the main resource."""
    union: Tree = {}
    for entry in obj["metadata"].get("managedFields") or ():
        if entry.get("manager") != manager and not entry.get("subresource"):
            _merge(union, entry.get("fieldsV1") or {})
    return union


def covers(tree: Tree, path: tuple[str, ...]) -> bool:
    """Whether the tree owns something at this path; below a list item, whatever item it is."""
    for index, part in enumerate(path):
        if index and is_leaf(tree):
            return True  # owned whole above this path
        below = child(tree, part)
        if below is None:
            return any(key[:2] in {"k:", "v:", "i:"} for key in tree)
        tree = below
    return True


def _merge(into: Tree, tree: Tree) -> None:
    for key, below in tree.items():
        _merge(into.setdefault(key, {}), below)


def is_leaf(tree: Tree) -> bool:
    """Whether a node is owned whole. (`.` alone owns the map or item itself, nothing in it.)"""
    return not tree


def child(tree: Tree, name: str) -> Tree | None:
    """The node of a map's key or a field; None where it is not owned."""
    below: Tree | None = tree.get(f"f:{name}")
    return below


def item(tree: Tree, value: Any, index: int) -> Tree | None:
    """The node of a list item with this value; None where it is not owned."""
    found: Tree | None = tree.get(f"i:{index}")
    for key, below in tree.items():
        if isinstance(value, dict):
            if key.startswith("k:") and _has_keys(value, orjson.loads(key[2:])):
                found = below
        elif key.startswith("v:") and orjson.loads(key[2:]) == value:
            found = below
    return found


def key_names(tree: Tree) -> tuple[str, ...]:
    """The fields that tell the items of an associative list apart, where the tree shows them."""
    for key in tree:
        if key.startswith("k:"):
            return tuple(orjson.loads(key[2:]))
    return ()


def _has_keys(value: Object, keys: Object) -> bool:
    # A key that the manifest leaves out was filled in by the server (`protocol: TCP`).
    return all(name not in value or value[name] == wanted for name, wanted in keys.items())
