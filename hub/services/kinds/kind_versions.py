"""Makes versions of the kinds that administrators define, as their documents are applied and deleted.

Each accepted change is a version that never changes. New objects are read by the newest one, a job to its
end by the one that it was accepted with; agents are told all of these.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from hub.services.kinds.declared_kinds import definition_of
from hub.services.kinds.definitions import (
    EXTENSION,
    KARTA,
    KIND_FIELD as _KIND_FIELD,
    GivenDefinition,
    is_definition,
    judge,
    kind_of,
)
from hub.store import kind_versions, objects, settings
from hub.store.kind_versions import KindUse, KindVersion
from hub.store.records.objects import StoredObject
from hub.store.transaction import Transaction
from shared.conditions import Status, find, is_true, remove, set_condition
from shared.errors import Rejected
from shared.kinds.parsed import Parsed
from shared.reject_codes import RejectCode
from shared.workkinds.definition import KindName
from shared.workkinds.dispatchable import lacking

ACCEPTED, DISPATCHED = "Accepted", "Dispatched"
MOST: Final = 100  # Kartas
_KEPT: Final = 20  # versions of a name that no job uses
_EXTENDED_FIELD: Final = "spec.karta"  # of a KindExtension
_NAMED: Final = 10  # jobs, in a refusal


def refresh(tx: Transaction) -> Mapping[str, Sequence[str]]:
    """Bring versions to what is declared; by uid of the Kartas and extensions, warnings about them."""
    kartas, extensions = objects.list_kind(tx, *KARTA), objects.list_kind(tx, *EXTENSION)
    before = kind_versions.all_known(tx)
    names = {row.name for row in kartas}
    reads = kind_versions.read_by(before)
    in_use = {each.name: kind for kind, each in reads.items() if each.name in names}
    given = judge((e.manifest for e in kartas), (e.manifest for e in extensions), in_use)
    newest = {each.name: each for each in before}  # in order of their numbers
    said: dict[str, list[str]] = {}
    for each in given:
        last = newest.get(each.name)
        standing = last if last is not None and last.current else None
        version = _settle(tx, each, last, standing)
        rows = [row for row in kartas if row.name == each.name]
        rows += [row for row in extensions if _extended(row) == each.name]
        told = _say(tx, rows, each, version, standing)
        said |= {row.uid: told for row in rows}
    for row in extensions:
        if row.uid not in said:
            fault = f"there is no Karta {_extended(row)} yet: apply it too"
            _set(tx, row, ACCEPTED, "False", "NoKarta", fault)
            said[row.uid] = [fault]
    for name in {each.name for each in before if each.current} - {each.name for each in given}:
        kind_versions.retire(tx, name)
    _forget_unused(tx)
    settings.put(tx, kind_versions.SETTING, {"revision": int(tx.now.timestamp() * 1000)})
    return said


def dispatched(tx: Transaction) -> set[tuple[str, str]]:
    """The kinds (apiVersion, kind) that administrators defined and of which jobs are given to members."""
    held = {
        row.name
        for row in objects.list_kind(tx, *KARTA)
        if is_true((row.status or {}).get("conditions"), DISPATCHED)
    }
    return {
        (each.api_version, each.kind)
        for each in kind_versions.all_known(tx)
        if each.current and each.name in held
    }


def require(tx: Transaction, given: Parsed, row: StoredObject | None) -> None:
    """Refuse a document that may not be kept beside what the hub has; `row`: the one that it changes.

    Raises Rejected: TooManyItems where no further Karta, or extension, is kept; KindInUse for a Karta of
    another kind than that of the jobs that are read by it, and for an extension that leaves such a Karta.
    """
    if not is_definition(given.group, given.kind):
        return
    if row is None and len(objects.list_kind(tx, given.group, given.kind)) >= MOST:
        text = f"the hub keeps at most {MOST} objects of kind {given.kind}: delete one that is not needed"
        raise Rejected(RejectCode.TOO_MANY_ITEMS, text, "kind")
    if row is not None and (given.group, given.kind) == KARTA:
        refuse_another_kind(tx, given.name, kind_of(given.raw))
    if row is not None and (given.group, given.kind) == EXTENSION:
        _refuse_another_karta(tx, given, row)


def refuse_another_kind(tx: Transaction, name: str, of: KindName) -> None:
    """Raise Rejected (KindInUse) where jobs of another kind are read by the Karta of this name."""
    if used := kind_versions.uses(tx, name, _NAMED + 1, but=(of.api_version, of.kind)):
        text = f"{_KIND_FIELD}: jobs of another kind than {of} are read by the definition {name}"
        raise Rejected(RejectCode.KIND_IN_USE, _with_jobs(text, name, used), _KIND_FIELD)


def _refuse_another_karta(tx: Transaction, given: Parsed, row: StoredObject) -> None:
    """Raise Rejected (KindInUse) for an extension that would leave a Karta by which jobs are read.

    It would end there as by its deletion.
    """
    name, other = _extended(row), (given.raw.get("spec") or {}).get("karta")
    if name != other and _is_part(tx, row) and (used := kind_versions.uses(tx, name, _NAMED + 1)):
        text = (
            f"{_EXTENDED_FIELD}: jobs are read by the definition {name}, of which this is a part"
        )
        raise Rejected(RejectCode.KIND_IN_USE, _with_jobs(text, name, used), _EXTENDED_FIELD)


def _is_part(tx: Transaction, row: StoredObject) -> bool:
    """True if objects are read by this extension: a second one of its Karta, which is not accepted, goes."""
    parts = (
        (each.extension or {}).get("metadata") or {}
        for each in kind_versions.all_known(tx)
        if each.current and each.name == _extended(row)
    )
    return any(each.get("name") == row.name for each in parts)


def refuse_if_used(tx: Transaction, row: StoredObject) -> None:
    """Raise Rejected (KindInUse), with some of the jobs, for a definition by which jobs are read."""
    kind = (row.api_group, row.kind)
    if kind not in (KARTA, EXTENSION):
        return
    if kind == EXTENSION and not _is_part(tx, row):
        return
    name = row.name if kind == KARTA else _extended(row)
    if used := kind_versions.uses(tx, name, _NAMED + 1):
        text = f"jobs are read by the definition {name}"
        raise Rejected(RejectCode.KIND_IN_USE, _with_jobs(text, name, used))


def _with_jobs(text: str, name: str, used: Sequence[KindUse]) -> str:
    shown = ", ".join(f"{each.namespace}/{each.name}" for each in used[:_NAMED])
    more = " and others" if len(used) > _NAMED else ""
    return f"{text}: {shown}{more}; let them end, or delete them first (roadstead kinds versions {name})"


def _extended(row: StoredObject) -> str:
    """The Karta that an extension names."""
    return str((row.manifest.get("spec") or {}).get("karta"))


def _settle(
    tx: Transaction,
    given: GivenDefinition,
    newest: KindVersion | None,
    standing: KindVersion | None,
) -> KindVersion | None:
    """The version by which new objects are read; None: there is none. `standing`: that of before."""
    if standing is not None and _has_rival(given, standing):
        kind_versions.retire(tx, given.name)
        return None
    if given.fault or given.definition is None:
        return standing  # what was accepted last holds on
    if standing is not None and standing.hash == given.hash:
        return standing
    of = given.definition.of
    made = KindVersion(
        name=given.name,
        version=1 if newest is None else newest.version + 1,
        api_version=of.api_version,
        kind=of.kind,
        karta=given.karta,
        extension=given.extension,
        hash=given.hash,
        current=True,
        created_at=tx.now,
    )
    kind_versions.add(tx, made)
    return made


def _has_rival(given: GivenDefinition, standing: KindVersion) -> bool:
    """True if another Karta reads the kind of this version, as a release before allowed."""
    of = None if given.definition is None or not given.fault else given.definition.of
    return of is not None and (of.api_version, of.kind) == (standing.api_version, standing.kind)


def _say(
    tx: Transaction,
    rows: list[StoredObject],
    given: GivenDefinition,
    version: KindVersion | None,
    before: KindVersion | None,
) -> list[str]:
    """Set the conditions of the documents; what there is to warn of. `before`: the version until now."""
    for row in rows:
        if given.fault:
            holds = f"; {version.key} holds on" if version is not None else ""
            _set(tx, row, ACCEPTED, "False", "Invalid", f"{given.fault}{holds}")
            if version is None:
                _take_off(tx, row, DISPATCHED)
        elif version is not None:
            _set(tx, row, ACCEPTED, "True", "Version", f"version {version.version}")
    if given.fault or given.definition is None:
        return [f"not accepted: {given.fault}"]
    missing = lacking(given.definition)
    words = "; ".join(missing) or "objects that name a queue are given to members"
    status: Status = "False" if missing else "True"
    for row in rows:
        _set(tx, row, DISPATCHED, status, "NotHeld" if missing else "Held", words)
    of = given.definition.of
    said = [
        f"objects of {of.kind} that name a queue are refused (NoAdapter): {e}" for e in missing
    ]
    if missing and before is not None and before != version and _dispatches(before, of):
        ended = f"this change ends the dispatch of {of.kind} at once"
        return [f"{ended}: jobs that were accepted keep {before.key}", *said]
    return said


def _dispatches(version: KindVersion, of: KindName) -> bool:
    same = (version.api_version, version.kind) == (of.api_version, of.kind)
    return same and not lacking(definition_of(version))


def _set(
    tx: Transaction, row: StoredObject, kind: str, status: Status, reason: str, message: str
) -> None:
    found = objects.get(tx, row.uid)
    before = (found.status if found is not None else None) or {}
    conditions = set_condition(
        before.get("conditions"), kind, status, reason, message, tx.now, row.generation
    )
    if conditions != before.get("conditions"):
        objects.set_statuses(tx, {row.uid: {**before, "conditions": conditions}})


def _take_off(tx: Transaction, row: StoredObject, kind: str) -> None:
    found = objects.get(tx, row.uid)
    before = (found.status if found is not None else None) or {}
    if find(before.get("conditions"), kind) is not None:
        conditions = remove(before.get("conditions"), kind)
        objects.set_statuses(tx, {row.uid: {**before, "conditions": conditions}})


def _forget_unused(tx: Transaction) -> None:
    """Versions that no job names, but for the last ones of each name."""
    used = kind_versions.named_by_jobs(tx)
    of_name: dict[str, list[KindVersion]] = {}
    for each in kind_versions.all_known(tx):
        if not each.current and each.key not in used:
            of_name.setdefault(each.name, []).append(each)
    kind_versions.remove(tx, [each for found in of_name.values() for each in found[:-_KEPT]])
