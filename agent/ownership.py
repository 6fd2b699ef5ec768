"""Which fields of an object a field manager owns, read from `metadata.managedFields`. Pure.

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


def _merge(into: Tree, tree: Tree) -> None:
    for key, below in tree.items():
        _merge(into.setdefault(key, {}), below)


def is_leaf(tree: Tree) -> bool:
    """Whether a node is owned whole: nothing below it is named."""
    return not any(key != "." for key in tree)


def child(tree: Tree, name: str) -> Tree | None:
    """The node of a map's key or a field; None where it is not owned."""
    below: Tree | None = tree.get(f"f:{name}")
    return below


def item(tree: Tree, value: Any, index: int) -> Tree | None:
    """The node of a list item with this value; None where it is not owned."""
    if not isinstance(value, dict):
        for key in tree:
            if key.startswith("v:") and orjson.loads(key[2:]) == value:
                return tree[key]  # type: ignore[no-any-return] - trees nest without a type
        return tree.get(f"i:{index}")
    for key in tree:
        if key.startswith("k:") and _has_keys(value, orjson.loads(key[2:])):
            return tree[key]  # type: ignore[no-any-return] - trees nest without a type
    return tree.get(f"i:{index}")


def key_names(tree: Tree) -> tuple[str, ...]:
    """The fields that tell the items of an associative list apart, where the tree shows them."""
    for key in tree:
        if key.startswith("k:"):
            return tuple(orjson.loads(key[2:]))
    return ()


def _has_keys(value: Object, keys: Object) -> bool:
    # A key that the manifest leaves out was filled in by the server (`protocol: TCP`).
    return all(name not in value or value[name] == wanted for name, wanted in keys.items())
