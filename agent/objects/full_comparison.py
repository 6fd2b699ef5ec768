"""Additions to an object: fields that its manifest does not set and that another manager owns.

Pure. For placements that ask for a full comparison. What an API server defaults belongs to nobody and is
no addition, unless a client wrote it out; labels and annotations of Kubernetes' own, and of Roadstead,
never are.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from agent.objects import managed_fields
from agent.objects.drift import ABSENT, HIDDEN, Difference, Object, Path, comparable, keys_of, same
from shared import labels

_SYSTEM = ("k8s.io", "kubernetes.io", "kubernetes-fleet.io", labels.PREFIX.rstrip("/"))


def additions(manifest: Object, live: Object, manager: str) -> list[Difference]:
    """Every field of a live object that the manifest lacks and somebody but `manager` owns.

    Without any managed fields all that is there counts. `hub` of each is ABSENT.
    """
    tree: managed_fields.Tree | None = None  # everything: nothing tells who owns what
    if live["metadata"].get("managedFields"):
        tree = managed_fields.owned_by_others(live, manager)
    return list(_walk((), comparable(manifest), _users_part(live), tree))


def hidden(found: Iterable[Difference]) -> list[Difference]:
    """The same paths of an object that this hub did not create, without values that it never had.

    Told are only plain values at paths that the manifest sets: a map or a list may hold more than the
    manifest names.
    """
    return [
        replace(each, member=HIDDEN) if each.hub is ABSENT or _is_composite(each.member) else each
        for each in found
    ]


def _is_composite(value: Any) -> bool:
    return isinstance(value, dict | list)


def _users_part(live: Object) -> Object:
    """What users write of an object: neither identity nor status nor what systems note on it."""
    held = comparable({**live, "metadata": {}})
    metadata = {
        part: {key: value for key, value in found.items() if not _is_systems(key)}
        for part in ("labels", "annotations")
        if (found := live["metadata"].get(part))
    }
    return {**held, "metadata": metadata}


def _is_systems(key: str) -> bool:
    domain, slash, _ = key.partition("/")
    return bool(slash) and any(domain == one or domain.endswith(f".{one}") for one in _SYSTEM)


def _walk(
    path: Path, wanted: Any, live: Any, tree: managed_fields.Tree | None
) -> Iterator[Difference]:
    if isinstance(wanted, dict) and isinstance(live, dict):
        for name, value in live.items():
            if tree is not None and managed_fields.child(tree, name) is None:
                continue
            below = _below(tree, name)
            if name in wanted:
                yield from _walk((*path, name), wanted[name], value, below)
            elif value not in (None, {}, []):
                yield from _added((*path, name), value)
    elif isinstance(wanted, list) and isinstance(live, list):
        yield from _walk_list(path, wanted, live, tree)


def _below(tree: managed_fields.Tree | None, name: str) -> managed_fields.Tree | None:
    """What is owned below a field: all of it where it is owned whole."""
    return (managed_fields.child(tree, name) if tree else None) or None


def _added(path: Path, value: Any) -> Iterator[Difference]:
    """One addition; of labels and annotations each by itself, so that each can be ignored."""
    if path in {("metadata", "labels"), ("metadata", "annotations"), ("metadata",)}:
        for key, below in value.items():
            yield from _added((*path, key), below)
    else:
        yield Difference(path, ABSENT, value)


def _walk_list(
    path: Path, wanted: list[Any], live: list[Any], tree: managed_fields.Tree | None
) -> Iterator[Difference]:
    keys = managed_fields.key_names(tree or {}) or keys_of(wanted) or keys_of(live)
    is_set = tree is not None and any(key.startswith("v:") for key in tree)
    if not keys and not is_set:
        return  # one value: what differs in it is a difference of the manifest's own
    for index, value in enumerate(live):
        owned = tree if tree is None else managed_fields.item(tree, value, index)
        if tree is not None and owned is None:
            continue
        place = _place_of(value, wanted, keys)
        if place is None:
            yield Difference((*path, str(index)), ABSENT, value)
        else:
            yield from _walk((*path, str(place)), wanted[place], value, owned or None)


def _place_of(value: Any, wanted: list[Any], keys: tuple[str, ...]) -> int | None:
    """Where the manifest has this item; a key that it leaves out was filled in by the server."""
    for place, candidate in enumerate(wanted):
        if isinstance(candidate, dict) and isinstance(value, dict):
            if all(key not in candidate or candidate[key] == value.get(key) for key in keys):
                return place
        elif same(candidate, value):
            return place
    return None
