"""Drifted paths of a live object. Pure.

A path has drifted when no entry of our field manager owns it any more and its live value differs,
quantity-aware, from the manifest (docs/explain/drift.md): what the server normalises or defaults is still
ours and so never drift. Jobs are created once and not applied, so for them only the fields that
their API lets change are compared, by value.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from agent.objects import managed_fields
from agent.objects.holds import JOB
from agent.objects.manifests import encoded, mutable_fields
from shared import labels, quantity, secrecy

Object = dict[str, Any]
Path = tuple[str, ...]

ABSENT: Any = object()
REDACTED = '"<redacted>"'
HIDDEN: Any = object()  # there is a value, which is not told
_LONGEST_VALUE = 1024
# Names and associative keys by which list items find each other when no ownership tells.
_USUAL_KEYS = (("name",), ("key",), ("containerPort", "protocol"), ("port", "protocol"), ("ip",))
_OWN_ANNOTATIONS = frozenset(
    {labels.GENERATION, labels.SPEC_HASH, labels.INCARNATION, labels.PLACED_BY}
)
_NOT_COMPARED = frozenset({"apiVersion", "kind", "status"})
_AMOUNTS = frozenset({"requests", "limits", "hard", "overhead", "capacity", "sizeLimit"})


@dataclass(frozen=True, slots=True)
class Difference:
    """One path that differs. `hub` and `member` are values, ABSENT where there is none."""

    path: Path
    hub: Any
    member: Any

    @property
    def pointer(self) -> str:
        """The path as a JSON pointer (RFC 6901); "/" of an object as a whole."""
        parts = (part.replace("~", "~0").replace("/", "~1") for part in self.path)
        return "".join(f"/{part}" for part in parts) or "/"


def differences(manifest: Object, live: Object, manager: str) -> list[Difference] | None:
    """Every drifted path; None when our entries were wiped, so that only a dry run can tell."""
    if (manifest.get("apiVersion"), manifest.get("kind")) == JOB:
        return list(_job_differences(manifest, live))
    owned = managed_fields.owned_by(live, manager)
    if owned is None:
        return None
    return list(_walk((), comparable(manifest), live, owned))


def contested(manifest: Object, live: Object, manager: str) -> list[Difference]:
    """Drift of a live object that was applied from an older manifest which is not known any more.

    Only what somebody else owns counts: a path that is new in this manifest is nobody's yet.
    """
    others = managed_fields.owned_by_others(live, manager)
    found = differences(manifest, live, manager)
    if found is None:
        found = compared(manifest, live)
    return [d for d in found if d.member is not ABSENT and managed_fields.covers(others, d.path)]


def compared(manifest: Object, live: Object) -> list[Difference]:
    """Every desired path whose live value differs, whoever owns it; our own marks left out."""
    wanted = comparable(manifest)
    metadata = {k: v for k, v in (wanted.get("metadata") or {}).items() if v}
    marks = {
        k: v for k, v in (metadata.get("labels") or {}).items() if k not in labels.RESERVED_LABELS
    }
    notes = {
        k: v for k, v in (metadata.get("annotations") or {}).items() if k not in _OWN_ANNOTATIONS
    }
    wanted["metadata"] = {"labels": marks, "annotations": notes}
    return list(_walk((), wanted, live, {}))


def comparable(manifest: Object) -> Object:
    """What of a manifest is compared: no identity, no status; a Secret's stringData as data."""
    wanted = {k: v for k, v in manifest.items() if k not in _NOT_COMPARED}
    metadata = manifest.get("metadata") or {}
    wanted["metadata"] = {k: metadata[k] for k in ("labels", "annotations") if metadata.get(k)}
    return encoded(manifest, wanted)


def worded_as(wanted: Any, live: Any, *, amounts: bool = False) -> Any:
    """The manifest, with amounts as the live object writes them: `cpu: 2` as "2", 1000m as "1".

    An unforced apply of another text for the same amount is a conflict with whoever wrote it. `amounts`: the
    values are amounts, as those of maps that Kubernetes has for them (`_AMOUNTS`).
    """
    if isinstance(wanted, dict) and isinstance(live, dict):
        return {
            name: worded_as(value, live[name], amounts=amounts or name in _AMOUNTS)
            if name in live
            else value
            for name, value in wanted.items()
        }
    if isinstance(wanted, list) and isinstance(live, list):
        keys = keys_of(wanted)
        held = [_find(live, each, keys) if keys else ABSENT for each in wanted]
        return [
            each if there is ABSENT else worded_as(each, there)
            for each, there in zip(wanted, held, strict=True)
        ]
    alike = amounts and _scalar(wanted) and _scalar(live) and quantity.equal(wanted, live)
    return live if alike else wanted


def ignored(path: Path, pointers: Sequence[str]) -> bool:
    """Whether a pointer names this path or one above it; a part `*` stands for any."""
    return any(_covers(_parts(pointer), path) for pointer in pointers)


def without(manifest: Object, paths: Sequence[Path]) -> Object:
    """A copy of the manifest that lacks these paths: an apply of it leaves them as they are."""
    copy: Object = orjson.loads(orjson.dumps(manifest))
    for path in sorted(paths, reverse=True):
        _remove(copy, path)
    return copy


def shown(value: Any, secret: bool) -> str | None:
    """A value as JSON text for the report, bounded; `<redacted>` where it is secret."""
    if value is ABSENT:
        return None
    if secret or value is HIDDEN:
        return REDACTED
    text = orjson.dumps(secrecy.without_env(value), default=str).decode()
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 1] + "…"


def at(obj: Any, path: Path) -> Any:
    """The value at a path, ABSENT where there is none."""
    for part in path:
        if isinstance(obj, list):
            if not part.isdecimal() or int(part) >= len(obj):
                return ABSENT
            obj = obj[int(part)]
        elif isinstance(obj, dict) and part in obj:
            obj = obj[part]
        else:
            return ABSENT
    return obj


def is_secret(manifest: Object, path: Path, value: Any) -> bool:
    """True if `value`, at this path, is a Secret's, its labels apart, or an environment variable's."""
    if manifest.get("kind") == "Secret":
        return path[:2] != ("metadata", "labels")
    return secrecy.is_hidden_at(path, value, manifest)


# --- walking -------------------------------------------------------------------------------------


def _walk(path: Path, wanted: Any, live: Any, owned: managed_fields.Tree) -> Iterator[Difference]:
    """Differences at or below a node of which `owned` is what we own; not itself owned whole."""
    if isinstance(wanted, dict) and isinstance(live, dict):
        for name, value in wanted.items():
            below = managed_fields.child(owned, name)
            yield from _below((*path, name), value, live.get(name, ABSENT), below)
    elif isinstance(wanted, list) and isinstance(live, list):
        yield from _walk_list(path, wanted, live, owned)
    elif not same(wanted, live):
        yield Difference(path, wanted, live)


def _below(
    path: Path, wanted: Any, live: Any, owned: managed_fields.Tree | None
) -> Iterator[Difference]:
    if wanted is None or (owned is not None and managed_fields.is_leaf(owned)):
        return  # left to the server, as a null is; or ours, whole
    if live is ABSENT:
        if not _is_nothing(wanted):
            yield Difference(path, wanted, ABSENT)
        return
    yield from _walk(path, wanted, live, owned or {})


def _walk_list(
    path: Path, wanted: list[Any], live: list[Any], owned: managed_fields.Tree
) -> Iterator[Difference]:
    keys = managed_fields.key_names(owned) or keys_of(wanted)
    if not keys and not any(key.startswith("v:") for key in owned):
        if not same(wanted, live):
            yield Difference(path, wanted, live)  # atomic, and no longer ours
        return
    for index, value in enumerate(wanted):
        held = _find(live, value, keys)
        below = managed_fields.item(owned, value, index) if owned else None
        yield from _below((*path, str(index)), value, held, below)


def keys_of(items: list[Any]) -> tuple[str, ...]:
    """The fields that most likely tell the items of a list apart; () for plain values."""
    if not items or not all(isinstance(item, dict) for item in items):
        return ()
    for keys in _USUAL_KEYS:
        if all(keys[0] in item for item in items):
            return keys
    return ()


def index_of(live: list[Any], value: Any, keys: Sequence[str]) -> int | None:
    """The place of the live item with the same keys, or the same plain value.

    A key that the value leaves out was filled in by the server (`protocol: TCP`).
    """
    for index, candidate in enumerate(live):
        if not isinstance(value, dict):
            if same(value, candidate):
                return index
        elif isinstance(candidate, dict) and all(
            key not in value or candidate.get(key) == value[key] for key in keys
        ):
            return index
    return None


def _find(live: list[Any], value: Any, keys: Sequence[str]) -> Any:
    found = index_of(live, value, keys)
    return ABSENT if found is None else live[found]


def same(wanted: Any, live: Any) -> bool:
    """Whether a live value is what was asked for: quantities by amount, absent fields by default."""
    if isinstance(wanted, dict) and isinstance(live, dict):
        return all(
            _is_nothing(value) if name not in live else value is None or same(value, live[name])
            for name, value in wanted.items()
        )
    if isinstance(wanted, list) and isinstance(live, list):
        return len(wanted) == len(live) and all(map(same, wanted, live))
    return wanted == live or (_scalar(wanted) and _scalar(live) and quantity.equal(wanted, live))


def _scalar(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _is_nothing(value: Any) -> bool:
    """What the server drops or never stores: nulls and empty maps and lists."""
    return value is None or value in ({}, [])


def _job_differences(manifest: Object, live: Object) -> Iterator[Difference]:
    spec, held = manifest.get("spec") or {}, live.get("spec") or {}
    for name in mutable_fields(manifest):
        if name in spec and not same(spec[name], held.get(name)):
            yield Difference(("spec", name), spec[name], held.get(name, ABSENT))
    for part in ("labels", "annotations"):
        have = live["metadata"].get(part) or {}
        for key, value in (manifest["metadata"].get(part) or {}).items():
            if key not in _OWN_ANNOTATIONS and have.get(key) != value:
                yield Difference(("metadata", part, key), value, have.get(key, ABSENT))


# --- pointers ------------------------------------------------------------------------------------


def _parts(pointer: str) -> Path:
    return tuple(
        part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:] if part
    )


def _covers(above: Path, path: Path) -> bool:
    return (
        bool(above)
        and len(above) <= len(path)
        and all(a in {"*", b} for a, b in zip(above, path, strict=False))
    )


def _remove(obj: Any, path: Path) -> None:
    for part in path[:-1]:
        obj = obj[int(part)] if isinstance(obj, list) else obj.get(part)
        if obj is None:
            return
    if isinstance(obj, list):
        del obj[int(path[-1])]
    else:
        obj.pop(path[-1], None)
