"""Compose the write that replaces a forced apply which the API server refuses over our own object. Pure.

An apply leaves what others added. With it the object may be invalid: a probe with two handlers, a volume
with two sources, two ports of one name. So the manifest is laid over the live object, and of what others
added those entries go that the API server names in its refusal, or that stand beside what it names.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import orjson

from agent.objects import managed_fields
from agent.objects.drift import ABSENT, Path, at, index_of, keys_of, same
from agent.objects.facts import Object
from shared.documents import Json

_PART: Final = re.compile(r"([^.\[\]]+)|\[([^\]]*)\]")
_LONGEST_FIELD: Final = 1_000
_KEPT: Final = ("apiVersion", "kind", "metadata", "status")


def laid_over(manifest: Object, live: Object, manager: str) -> Json:
    """The live object with every value that the manifest sets; entries that others added stay.

    Lists are merged where their items have keys, as the record of managed fields or their usual names say.
    Of the metadata labels and annotations alone are laid over.
    """
    owned = managed_fields.owned_by(live, manager) or {}
    made: Json = orjson.loads(orjson.dumps(live))
    for name, value in manifest.items():
        if name not in _KEPT and value is not None:
            below = managed_fields.child(owned, name) or {}
            made[name] = _over(value, made.get(name, ABSENT), below)
    for part in ("labels", "annotations"):
        given = manifest["metadata"].get(part) or {}
        wanted = {name: value for name, value in given.items() if value is not None}
        if wanted:
            made["metadata"][part] = {**(made["metadata"].get(part) or {}), **wanted}
    return made


def _over(wanted: Any, live: Any, owned: managed_fields.Tree) -> Any:
    if isinstance(wanted, dict) and isinstance(live, dict):
        merged = dict(live)
        for name, value in wanted.items():
            if value is not None:
                below = managed_fields.child(owned, name) or {}
                merged[name] = _over(value, live.get(name, ABSENT), below)
        return merged
    if isinstance(wanted, list) and isinstance(live, list):
        return _list_over(wanted, live, owned)
    return live if live is not ABSENT and same(wanted, live) else wanted


def _list_over(wanted: list[Any], live: list[Any], owned: managed_fields.Tree) -> list[Any]:
    keys = managed_fields.key_names(owned) or keys_of(wanted)
    if not keys:
        if any(key.startswith("v:") for key in owned):  # a set
            return [*live, *(each for each in wanted if each not in live)]
        return wanted
    merged = list(live)
    for index, value in enumerate(wanted):
        found = index_of(live, value, keys)
        below = managed_fields.item(owned, value, index) or {}
        if found is None:
            merged.append(value)
        else:
            merged[found] = _over(value, live[found], below)
    return merged


def blamed(causes: Sequence[Mapping[str, Any]]) -> list[str]:
    """Fields that a refusal (422) names, in its order, each once."""
    found = [str(each.get("field") or "")[:_LONGEST_FIELD] for each in causes]
    return list(dict.fromkeys(field for field in found if field))


def suspects(field: str, made: Json, manifest: Object) -> Iterator[Path]:
    """Entries of `made` that others added and for which the server may refuse `field`, likeliest first.

    `field`: as the server writes it, `spec.ports[1].name`, of `made`. The entry itself, where the
    manifest lacks it; else equal items of the same list, what stands in it and beside it, and its key in
    another map.
    """
    path = _path_of(field, made)
    foreign = list(_foreign_above(path, made, manifest))
    if foreign:
        yield from foreign
        return
    yield from _equal_items(path, made, manifest)
    yield from _foreign_in(path, made, manifest)
    yield from (each for each in _foreign_in(path[:-1], made, manifest) if each != path)
    yield from _same_key(path, made, manifest)


def _path_of(field: str, made: Json) -> Path:
    """The longest part of a field's path that is there."""
    path: Path = ()
    for name, index in _PART.findall(field):
        step = (*path, name or index)
        if at(made, step) is ABSENT:
            break
        path = step
    return path


def _foreign_above(path: Path, made: Json, manifest: Object) -> Iterator[Path]:
    """Entries of others that a path goes through, the smallest first.

    Never a whole part of the object (`data`), nor a list of which only an item is named: others are in it.
    """
    for length in range(len(path), 1, -1):
        place = path[:length]
        if _in_manifest(place, made, manifest) is not ABSENT:
            return
        if place == path or not isinstance(at(made, place), list):
            yield place


def _in_manifest(path: Path, made: Json, manifest: Object) -> Any:
    """What the manifest has at a path of `made`: items of a list find each other by their keys."""
    wanted: Any = manifest
    held: Any = made
    for part in path:
        if isinstance(held, list):
            item = held[int(part)]
            wanted = _partner(item, wanted) if isinstance(wanted, list) else ABSENT
            held = item
        else:
            held = held[part]
            wanted = wanted.get(part, ABSENT) if isinstance(wanted, dict) else ABSENT
        if wanted is ABSENT:
            return ABSENT
    return wanted


def _partner(item: Any, wanted: list[Any]) -> Any:
    """The manifest's own item that this one is; every value of it was laid over."""
    return next((each for each in wanted if same(each, item)), ABSENT)


def _equal_items(path: Path, made: Json, manifest: Object) -> Iterator[Path]:
    """Foreign items of the nearest list above a path that have there what the named item has."""
    for length in range(len(path) - 1, 0, -1):
        items = at(made, path[:length])
        if not isinstance(items, list):
            continue
        rest, value = path[length + 1 :], at(made, path)
        for index, item in enumerate(items):
            place = (*path[:length], str(index))
            if place == path[: length + 1] or at(item, rest) != value:
                continue
            if _in_manifest(place, made, manifest) is ABSENT:
                yield place
        return


def _foreign_in(path: Path, made: Json, manifest: Object) -> Iterator[Path]:
    """Foreign entries of a map: first maps, as the members of a union mostly are, and lists last."""
    above = at(made, path)
    if not path or not isinstance(above, dict):
        return
    places = [(*path, name) for name in above]
    foreign = [each for each in places if _in_manifest(each, made, manifest) is ABSENT]

    def order(place: Path) -> int:
        value = at(made, place)
        return 0 if isinstance(value, dict) else 2 if isinstance(value, list) else 1

    yield from sorted(foreign, key=order)


def _same_key(path: Path, made: Json, manifest: Object) -> Iterator[Path]:
    """The key of an entry in a map beside its own, as `binaryData` beside `data`."""
    above = at(made, path[:-2])
    if len(path) < 2 or not isinstance(above, dict):
        return
    for name, beside in above.items():
        place = (*path[:-2], name, path[-1])
        has_it = name != path[-2] and isinstance(beside, dict) and path[-1] in beside
        if has_it and _in_manifest(place, made, manifest) is ABSENT:
            yield place


def patch_to(made: Json, live: Object) -> Json:
    """The merge patch (RFC 7396) from this very version of the live object to `made`."""
    patch = _merge_patch(
        {name: value for name, value in live.items() if name not in _KEPT},
        {name: value for name, value in made.items() if name not in _KEPT},
    )
    metadata = live["metadata"]
    held: Json = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
    for part in ("labels", "annotations"):
        changed = _merge_patch(metadata.get(part) or {}, made["metadata"].get(part) or {})
        if changed:
            held[part] = changed
    return {**patch, "metadata": held}


def _merge_patch(before: Mapping[str, Any], after: Mapping[str, Any]) -> Json:
    patch: Json = {name: None for name in before if name not in after}
    for name, value in after.items():
        had = before.get(name, ABSENT)
        if isinstance(value, dict) and isinstance(had, dict):
            below = _merge_patch(had, value)
            if below:
                patch[name] = below
        elif had is ABSENT or had != value:
            patch[name] = value
    return patch


def taken_in(live: Object, manager: str) -> Json | None:
    """The merge patch after which all that a manager owns by updates it owns by its apply; None: it is so.

    Else a later apply that leaves such a field out would not take it away.
    """
    metadata = live["metadata"]
    entries = metadata.get("managedFields") or []
    ours = [e for e in entries if e.get("manager") == manager and not e.get("subresource")]
    updates = [entry for entry in ours if entry.get("operation") != "Apply"]
    if not updates:
        return None
    applied = next((entry for entry in ours if entry.get("operation") == "Apply"), updates[0])
    tree = managed_fields.owned_by(live, manager)
    union = {**applied, "operation": "Apply", "fieldsV1": tree}
    others = [entry for entry in entries if entry not in ours]
    held = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
    return {"metadata": {**held, "managedFields": [*others, union]}}
