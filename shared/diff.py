"""Structural difference as data, and the paths that a manifest claims.

Pure. `diff` compares two plain values; `desired_paths`, `lookup` and `owns` serve drift detection:
what a manifest says, what a live object has there, and whether a manager's fieldsV1 entry still
holds it. Paths are JSON pointers (RFC 6901) where people read them, and steps where code walks them:
lists whose items are told apart by a key (containers by name) are walked by that key, not by place.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from shared import quantity

Op = Literal["add", "remove", "replace"]


@dataclass(frozen=True, slots=True)
class DiffItem:
    """One difference. `old` is None for an addition, `new` for a removal."""

    op: Op
    path: str
    old: Any
    new: Any


@dataclass(frozen=True, slots=True)
class ItemKey:
    """A step into a list-map: the item whose key fields have these values."""

    fields: tuple[tuple[str, Any], ...]

    def matches(self, item: object) -> bool:
        return isinstance(item, Mapping) and all(item.get(n) == v for n, v in self.fields)


class _Missing:
    def __repr__(self) -> str:
        return "MISSING"

    def __bool__(self) -> bool:
        return False


MISSING: Final = _Missing()  # what `lookup` gives where there is nothing

Step = str | int | ItemKey
Path = tuple[Step, ...]
ListKeys = Mapping[str, tuple[str, ...]]
Equal = Callable[[str, Any, Any], bool]

# Lists of Kubernetes' and our kinds that are maps by these fields, by the name of the list.
LIST_KEYS: Final[ListKeys] = {
    "conditions": ("type",),
    "containers": ("name",),
    "env": ("name",),
    "ephemeralContainers": ("name",),
    "flavors": ("name",),
    "hostAliases": ("ip",),
    "imagePullSecrets": ("name",),
    "initContainers": ("name",),
    "ownerReferences": ("uid",),
    "podSets": ("name",),
    "ports": ("containerPort", "protocol"),
    "resourceClaims": ("name",),
    "secrets": ("name",),
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
    "volumeDevices": ("devicePath",),
    "volumeMounts": ("mountPath",),
    "volumes": ("name",),
}
_DEFAULTED: Final = {"protocol": "TCP"}
_QUANTITY_PARENTS: Final = frozenset(
    {"limits", "requests", "overhead", "hard", "capacity", "allocatable"}
)
_QUANTITY_FIELDS: Final = frozenset(
    {"nominalQuota", "borrowingLimit", "lendingLimit", "sizeLimit", "storage", "weight"}
)


def escape(name: str) -> str:
    """A field name as a step of a JSON pointer."""
    return name.replace("~", "~0").replace("/", "~1")


def unescape(step: str) -> str:
    """A step of a JSON pointer as a field name."""
    return step.replace("~1", "/").replace("~0", "~")


def pointer(*steps: str | int) -> str:
    """The JSON pointer of the steps; the whole document is the empty text."""
    return "".join(f"/{escape(str(step))}" for step in steps)


def split(path: str) -> tuple[str, ...]:
    """The steps of a JSON pointer."""
    return tuple(unescape(step) for step in path.split("/")[1:])


def quantity_aware(path: str, old: Any, new: Any) -> bool:
    """Whether two values are equal, quantities by their amount where the path leads to one."""
    if old == new and isinstance(old, bool) == isinstance(new, bool):
        return True
    *_, parent, name = ("", "", *split(path))
    if parent in _QUANTITY_PARENTS or name in _QUANTITY_FIELDS:
        return quantity.equal(old, new)
    return False


def exactly(path: str, old: Any, new: Any) -> bool:
    """Whether two values are equal; true is not 1."""
    return bool(old == new) and isinstance(old, bool) == isinstance(new, bool)


def diff(
    old: Any, new: Any, *, equal: Equal = exactly, keys: ListKeys | None = None, path: str = ""
) -> tuple[DiffItem, ...]:
    """What changed from `old` to `new`, in the order of the fields' names.

    With `keys` (such as LIST_KEYS) lists of these names are compared item by item by key, whatever
    the order; the path of an item is its place in `new`, or in `old` where it is gone. Other lists
    are compared place by place.
    """
    return tuple(_diff(old, new, equal, keys or {}, path))


def _diff(old: Any, new: Any, equal: Equal, keys: ListKeys, path: str) -> Iterator[DiffItem]:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for name in sorted({*old, *new}):
            inner = f"{path}/{escape(name)}"
            yield from _pair(old.get(name, MISSING), new.get(name, MISSING), equal, keys, inner)
    elif isinstance(old, list) and isinstance(new, list):
        for place, before, after in _matched(old, new, keys.get(_last(path))):
            yield from _pair(before, after, equal, keys, f"{path}/{place}")
    elif not equal(path, old, new):
        yield DiffItem("replace", path, old, new)


def _pair(old: Any, new: Any, equal: Equal, keys: ListKeys, path: str) -> Iterator[DiffItem]:
    if old is MISSING:
        yield DiffItem("add", path, None, new)
    elif new is MISSING:
        yield DiffItem("remove", path, old, None)
    else:
        yield from _diff(old, new, equal, keys, path)


def _matched(
    old: list[Any], new: list[Any], fields: tuple[str, ...] | None
) -> Iterator[tuple[int, Any, Any]]:
    """Pairs of items with the place that names them."""
    before = _by_key(old, fields)
    after = _by_key(new, fields)
    if before is None or after is None:
        for place in range(max(len(old), len(new))):
            yield (
                place,
                old[place] if place < len(old) else MISSING,
                new[place] if place < len(new) else MISSING,
            )
        return
    for key, place in after.items():
        yield place, old[before[key]] if key in before else MISSING, new[place]
    for key, place in before.items():
        if key not in after:
            yield place, old[place], MISSING


def _by_key(items: list[Any], fields: tuple[str, ...] | None) -> dict[ItemKey, int] | None:
    """The items' places by key; None where an item has no key, or two have the same."""
    if fields is None:
        return None
    places: dict[ItemKey, int] = {}
    for place, item in enumerate(items):
        key = _key_of(item, fields)
        if key is None or key in places:
            return None
        places[key] = place
    return places


def _key_of(item: Any, fields: tuple[str, ...]) -> ItemKey | None:
    if not isinstance(item, Mapping):
        return None
    values = [item.get(name, _DEFAULTED.get(name)) for name in fields]
    if any(v is None or isinstance(v, dict | list) for v in values):
        return None
    return ItemKey(tuple(zip(fields, values, strict=True)))


def _last(path: str) -> str:
    return unescape(path.rpartition("/")[2])


def desired_paths(
    manifest: Mapping[str, Any], keys: ListKeys = LIST_KEYS
) -> Iterator[tuple[Path, Any]]:
    """Every leaf that a manifest sets, with its value: scalars, empty lists and objects, and lists
    that are no maps (owned as a whole). Left out: what identifies the object, and status.
    """
    for name, value in manifest.items():
        if name in {"apiVersion", "kind", "status"}:
            continue
        if name == "metadata":
            value = {n: v for n, v in value.items() if n in {"labels", "annotations"}}  # noqa: PLW2901 - narrowed to what a manifest may set
            if not value:
                continue
        yield from _leaves((name,), value, keys)


def _leaves(path: Path, value: Any, keys: ListKeys) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, Mapping) and value:
        for name, inner in value.items():
            if inner is not None:
                yield from _leaves((*path, name), inner, keys)
        return
    name = path[-1]
    by_key = (
        _by_key(value, keys.get(name))
        if isinstance(value, list) and isinstance(name, str)
        else None
    )
    if not by_key:
        yield path, value
        return
    for key, place in by_key.items():
        fields = {n for n, _ in key.fields}
        for inner_name, inner in value[place].items():
            if inner_name not in fields and inner is not None:
                yield from _leaves((*path, key, inner_name), inner, keys)


def lookup(value: Any, path: Path) -> Any:
    """What `value` has at `path`, or MISSING."""
    for step in path:
        value = _inner(value, step)[1]
        if value is MISSING:
            return MISSING
    return value


def locate(value: Any, path: Path) -> str:
    """The JSON pointer of `path` in `value`: keys of list items become their places there; one that
    is not there keeps its key as text.
    """
    steps: list[str | int] = []
    for step in path:
        place, value = _inner(value, step)
        steps.append(place)
    return pointer(*steps)


def _inner(value: Any, step: Step) -> tuple[str | int, Any]:
    if isinstance(step, str):
        return step, value.get(step, MISSING) if isinstance(value, Mapping) else MISSING
    if isinstance(step, int):
        inside = isinstance(value, list) and step < len(value)
        return step, value[step] if inside else MISSING
    for place, item in enumerate(value if isinstance(value, list) else ()):
        if step.matches({**_DEFAULTED, **item} if isinstance(item, Mapping) else item):
            return place, item
    return ",".join(str(v) for _, v in step.fields), MISSING


def owns(fields_v1: Mapping[str, Any], path: Path) -> bool:
    """Whether a managedFields entry (its `fieldsV1`) owns `path`, by itself or as part of a whole.

    An entry names fields `f:name` and list items `k:{"name":"x"}`; a name without anything below
    it owns all that is below (scalars, and lists and objects that are applied as one).
    """
    node: Any = fields_v1
    for depth, step in enumerate(path):
        inner = _owned_child(node, step)
        if inner is None:
            return depth > 0 and not (node.keys() - {"."})
        node = inner
    return True


def _owned_child(node: Mapping[str, Any], step: Step) -> Any:
    if isinstance(step, str):
        return node.get(f"f:{step}")
    if isinstance(step, int):
        return node.get(f"i:{step}")
    for name, inner in node.items():
        if name.startswith("k:") and _is_key(name[2:], step):
            return inner
    return None


def _is_key(text: str, step: ItemKey) -> bool:
    try:
        named = json.loads(text)
    except ValueError:
        return False
    return step.matches({**_DEFAULTED, **named} if isinstance(named, dict) else named)
