"""A user's settlement of an object that has drifted in one member: accept, restore or ignore it.

Accepting and ignoring change the hub's object, as an apply would; what kubectl made is changed by kubectl,
and the refusal says how. Restoring has the member's agent write over what has drifted, once.
"""

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import orjson

from hub.domain.workloads.origin import Origin
from hub.services.context.settings import Intake
from hub.services.objects.apply import apply_documents
from hub.services.placements.abandon import too_old
from hub.services.reading.draft import draft
from hub.services.works import compose
from hub.services.works.offer import ignored_paths
from hub.store import audit, objects, placements, works
from hub.store.records.objects import StoredObject
from hub.store.records.works import Work
from hub.store.transaction import Transaction
from shared import labels as keys
from shared.documents import Json, JsonView
from shared.errors import Rejected
from shared.groups import PLACEMENT
from shared.kinds.envelope_v1 import open_envelope
from shared.kinds.registry import parse
from shared.pointers import steps
from shared.reject_codes import RejectCode
from shared.secrecy import HIDDEN, places_at
from shared.wire.versions import APPLY_RULES

IGNORE: Final = f"{keys.PREFIX}ignore-drift"
_REDACTED: Final = "<redacted>"
_CHANGED: Final = "the hub's object has changed meanwhile: list its drift again"


@dataclass(frozen=True, slots=True)
class DriftedObject:
    """An object in a member. `path`: the one field, as a JSON pointer; "": all drifted fields."""

    cluster: str
    kind: str
    namespace: str
    name: str
    path: str = ""


def settle_drift(
    tx: Transaction, how: str, asked: DriftedObject, principal: str, intake: Intake
) -> Json:
    """`how`: accept, restore or ignore. {"cluster", "uid", "kind", "namespace", "name", "paths", "result"}.

    Raises Rejected: NotFound where nothing of it has drifted there, OwnedElsewhere with kubectl's command,
    InvalidState for what is secret, for Jobs and for what can not be done, and what an apply is refused for.
    """
    work = _find(tx, asked)
    drifts = [each for each in work.drift or () if asked.path in ("", each["path"])]
    if not drifts:
        raise Rejected(RejectCode.NOT_FOUND, f"{asked.path} has not drifted there", "path")
    settle = _HOW[how]
    settle(tx, work, drifts, intake)
    paths = [str(each["path"]) for each in drifts]
    place = "/".join(part for part in (work.namespace, work.name) if part)
    audit.add(
        tx, principal, f"drift {how}", f"{work.kind} {place} in {work.cluster}", " ".join(paths)
    )
    return {
        "cluster": work.cluster,
        "uid": work.uid,
        "kind": work.kind,
        "namespace": work.namespace,
        "name": work.name,
        "paths": paths,
        "result": how,
    }


def _find(tx: Transaction, asked: DriftedObject) -> Work:
    for work in works.named(tx, asked.cluster, asked.namespace, asked.name):
        if work.kind.lower() != asked.kind.lower() or work.action == "Compare" or not work.drift:
            continue
        if work.epoch:
            text = "a Job is not applied again: change it, or cancel it and submit another"
            raise Rejected(RejectCode.INVALID_STATE, text, "kind")
        return work
    place = "/".join(part for part in (asked.namespace, asked.name) if part)
    text = (
        f"nothing of {asked.kind} {place} has drifted in {asked.cluster}: see `roadstead drift ls`"
    )
    raise Rejected(RejectCode.NOT_FOUND, text)


def _restore(tx: Transaction, work: Work, _drifts: Sequence[JsonView], _intake: Intake) -> None:
    """The next offering says so, for the version that it carries: a later one has its own rule."""
    if too_old(tx, [work.cluster], APPLY_RULES):
        text = f"the agent of {work.cluster} does not support this: upgrade it, or set whenToApply to Always"
        raise Rejected(RejectCode.INVALID_STATE, text, "cluster")
    _, _, times = work.options.restore.partition(":")
    options = replace(work.options, restore=f"{work.content}:{int(times or 0) + 1}")
    hashed = compose.digest(work.content, options, 0) if work.content else ""
    works.reoption(
        tx, [{"cluster": work.cluster, "uid": work.uid, "options": options, "hash": hashed}]
    )


def _accept(tx: Transaction, work: Work, drifts: Sequence[JsonView], intake: Intake) -> None:
    row, inside = _row(tx, work)
    if work.kind == "Secret":
        text = (
            "the hub does not receive a member's Secrets: apply the Secret with that value, or restore "
            "the hub's"
        )
        raise Rejected(RejectCode.INVALID_STATE, text, "name")
    operations = [_operation(each) for each in drifts]
    for each in operations:
        each["path"] = inside + each["path"]
    if row.origin == Origin.HUB_CLUSTER:
        text = orjson.dumps(operations).decode()
        raise _elsewhere(row, f"patch {_named(row)} --type json -p {shlex.quote(text)}")
    manifest: Json = orjson.loads(orjson.dumps(row.manifest))
    if not _is_overridden(tx, work):  # then what the member was given is not what stands here
        for drift, each in zip(drifts, operations, strict=True):
            _refuse_changed(manifest, each["path"], drift.get("hub"))
    for each in operations:
        _put(manifest, each)
    if _identity(manifest) != _identity(row.manifest):
        text = "this field identifies the object: the hub does not copy it from a member"
        raise Rejected(RejectCode.INVALID_STATE, text, "path")
    _apply(tx, row, manifest, intake)


def _is_overridden(tx: Transaction, work: Work) -> bool:
    bound = placements.bindings_of(tx, work.placed_by)
    return any(each.overrides for each in bound if each.cluster == work.cluster)


def _refuse_changed(manifest: Json, path: str, told: object) -> None:
    """Raise Rejected where the hub's value is not the one that the member was held against."""
    if told is not None:
        try:
            told = orjson.loads(str(told))
        except orjson.JSONDecodeError:
            return  # cut: the rest is unknown
    if _value(manifest, path) != told:
        raise Rejected(RejectCode.INVALID_STATE, f"{path}: {_CHANGED}", "path")


def _identity(manifest: JsonView) -> list[object]:
    metadata = manifest.get("metadata")
    named = metadata if isinstance(metadata, dict) else {}
    return [
        manifest.get("apiVersion"),
        manifest.get("kind"),
        named.get("namespace"),
        named.get("name"),
    ]


def _ignore(tx: Transaction, work: Work, drifts: Sequence[JsonView], intake: Intake) -> None:
    row, inside = _row(tx, work)
    manifest: Json = orjson.loads(orjson.dumps(row.manifest))
    metadata = _at(manifest, inside).setdefault("metadata", {})
    noted: Json = metadata.get("annotations") or {}
    paths = dict.fromkeys(ignored_paths(noted))
    paths |= dict.fromkeys(str(each["path"]) for each in drifts)
    if any(each != "".join(each.replace(",", " ").split()) for each in paths):
        text = "the annotation cannot contain a path with a comma or a blank"
        raise Rejected(RejectCode.INVALID_STATE, text, "path")
    told = ",".join(paths)
    if row.origin == Origin.HUB_CLUSTER and inside:
        changed = {
            "op": "add",
            "path": f"{inside}/metadata/annotations",
            "value": {**noted, IGNORE: told},
        }
        text = orjson.dumps([changed]).decode()
        raise _elsewhere(row, f"patch {_named(row)} --type json -p {shlex.quote(text)}")
    if row.origin == Origin.HUB_CLUSTER:
        raise _elsewhere(
            row, f"annotate {_named(row)} --overwrite {shlex.quote(f'{IGNORE}={told}')}"
        )
    metadata["annotations"] = {**noted, IGNORE: told}
    _apply(tx, row, manifest, intake)


_Settle = Callable[[Transaction, Work, Sequence[JsonView], Intake], None]
_HOW: Final[Mapping[str, _Settle]] = {"accept": _accept, "restore": _restore, "ignore": _ignore}


def _row(tx: Transaction, work: Work) -> tuple[StoredObject, str]:
    """What the hub keeps it in, and the JSON pointer to it there: of an object by itself ""."""
    if not work.options.envelope:
        row = objects.get(tx, work.uid)
        if row is not None:
            return row, ""
        raise Rejected(RejectCode.NOT_FOUND, "the hub no longer has the object")
    kind, namespace, name = work.options.envelope.split("/")
    row = objects.find(tx, PLACEMENT, kind, namespace, name)
    lies = (work.kind, work.namespace, work.name)
    for each in [] if row is None else open_envelope(row.manifest, kind, namespace, parse):
        if row is not None and (each.kind, each.namespace, each.name) == lies and not each.faults:
            key = each.key.replace("~", "~0").replace("/", "~1")
            return row, f"/data/{key}"
    raise Rejected(RejectCode.NOT_FOUND, f"{kind} {name} of the hub no longer has the object")


def _at(manifest: Json, pointer: str) -> Json:
    found = manifest
    for part in pointer.split("/")[1:]:
        found = found[part.replace("~1", "/").replace("~0", "~")]
    return found


def _value(manifest: JsonView, pointer: str) -> object:
    """The value at a pointer; None where nothing does."""
    found: object = manifest
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict):
            found = found.get(name)
        elif isinstance(found, list) and name.isdecimal() and int(name) < len(found):
            found = found[int(name)]
        else:
            return None
    return found


def _elsewhere(row: StoredObject, command: str) -> Rejected:
    text = f"{row.kind} {row.name} came from {row.origin}; there: kubectl {command}"
    return Rejected(RejectCode.OWNED_ELSEWHERE, text)


def _named(row: StoredObject) -> str:
    where = f" -n {row.namespace}" if row.namespace else ""
    return f"{row.kind.lower()} {row.name}{where}"


def _apply(tx: Transaction, row: StoredObject, manifest: Json, intake: Intake) -> None:
    """Change the hub's object; who decided so is written down for the drift, once."""
    given = draft(parse(manifest), tx.now, origin=row.origin)
    (applied,) = apply_documents(tx, [given], intake)
    if applied.error is not None:
        raise applied.error


def _operation(drift: JsonView) -> Json:
    """A JSON patch operation that makes the hub's value the member's. Raises Rejected."""
    path, member = str(drift["path"]), drift.get("member")
    if member is None:
        return {"op": "remove", "path": path}
    if _REDACTED in member:
        raise Rejected(RejectCode.INVALID_STATE, _secret(path), "path")
    try:
        value = orjson.loads(member)
    except orjson.JSONDecodeError:
        text = f"the value of {path} is too long to be reported whole: take it over by hand"
        raise Rejected(RejectCode.INVALID_STATE, text, "path") from None
    if any(each.value == HIDDEN for each in places_at(steps(path), value, {})):
        raise Rejected(RejectCode.INVALID_STATE, _secret(path), "path")
    return {"op": "add" if drift.get("hub") is None else "replace", "path": path, "value": value}


def _secret(path: str) -> str:
    return (
        f"the value of {path} is secret, and the hub has no copy: apply the object with that value"
    )


def _put(manifest: Json, operation: JsonView) -> None:
    """Carry one operation out; what has left the hub's manifest meanwhile is made again."""
    *above, last = [
        part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")[1:]
    ] or [""]
    at: Any = manifest
    for part in above:
        at = _item(at, part) if isinstance(at, list) else _inner(at, part)
    if not isinstance(at, dict | list) or not operation["path"]:
        raise Rejected(RejectCode.INVALID_STATE, f"{operation['path']}: {_CHANGED}", "path")
    if isinstance(at, list):
        index = int(last) if last.isdecimal() else len(at)
        at[index : index + 1] = [operation["value"]] if "value" in operation else []
    elif "value" in operation:
        at[last] = operation["value"]
    else:
        at.pop(last, None)


def _item(items: list[object], part: str) -> object:
    if not part.isdecimal() or int(part) >= len(items):
        raise Rejected(RejectCode.INVALID_STATE, _CHANGED, "path")
    return items[int(part)]


def _inner(at: object, part: str) -> object:
    if not isinstance(at, dict):
        raise Rejected(RejectCode.INVALID_STATE, _CHANGED, "path")
    return at.setdefault(part, {})
