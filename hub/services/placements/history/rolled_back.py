"""A placement that was rolled back: its clusters have an older revision until what is selected changes.

That it is so stands in the placement's status (`rollback`): which revision clusters have, and which objects
were selected when somebody asked. Other objects than those end it, as does a strategy External, whose
runs say by themselves what clusters get. Jobs are no part of it, though revisions list them: a Job is what
it was when it was given.
"""

import hashlib
from collections.abc import Iterable
from typing import Final, NamedTuple

from hub.services.placements.selecting import Selection
from hub.services.placements.snapshots import RESOURCES, objects_of
from hub.store import objects, placements
from hub.store.records.objects import StoredObject
from hub.store.records.placements import SelectedObject
from hub.store.transaction import Transaction
from shared.conditions import Condition, remove, set_condition
from shared.documents import Json, JsonView

FIELD: Final = "rollback"
CONDITION: Final = "RolledBack"
ENDED: Final = "PlacementRollbackEnded"


class Pin(NamedTuple):
    """The revision of clusters, and the newest one then, with the objects of that one."""

    number: int
    newest: int
    left: str  # mark of the newest one's objects
    by: str
    at: str  # RFC 3339

    def as_json(self) -> Json:
        """As the status has it."""
        return {
            "resourceSnapshotIndex": str(self.number),
            "newestResourceSnapshotIndex": str(self.newest),
            "left": self.left,
            "by": self.by,
            "time": self.at,
        }


def is_external(spec: JsonView) -> bool:
    """Do staged runs say what clusters get?"""
    return bool((spec.get("strategy") or {}).get("type") == "External")


def read_pin(status: JsonView | None) -> Pin | None:
    """The status of a rollback, whether it still holds or not.

    One that can not be read is none: nothing that this hub has written is so, and no placement waits for it.
    """
    found = (status or {}).get(FIELD)
    if not found:
        return None
    try:
        return Pin(
            int(found["resourceSnapshotIndex"]),
            int(found["newestResourceSnapshotIndex"]),
            str(found.get("left") or ""),
            str(found.get("by") or ""),
            str(found.get("time") or ""),
        )
    except (AttributeError, KeyError, TypeError, ValueError):
        return None


def mark_of(entries: Iterable[SelectedObject]) -> str:
    """A mark of objects as they are in a revision, in its order."""
    told = "\n".join(f"{each.uid} {each.hash}" for each in entries)
    return hashlib.blake2b(told.encode(), digest_size=8).hexdigest()


def holding(row: StoredObject, mark: str) -> Pin | None:
    """The rollback of a placement that holds while objects of this mark are selected."""
    pin = read_pin(row.status)
    holds = pin is not None and pin.left == mark and not is_external(row.spec or {})
    return pin if holds else None


def objects_as_of(tx: Transaction, uid: str, index: int) -> dict[str, StoredObject] | None:
    """The objects of a revision as they were then, by uid; None where not all of it is kept.

    Those that were deleted since are given as they were.
    """
    content = next((c for n, c, _ in placements.history(tx, uid, RESOURCES) if n == index), None)
    if content is None or "objects" not in content:
        return None
    entries = [SelectedObject._make(each) for each in content["objects"]]
    present = objects.get_many(tx, [each.uid for each in entries])
    kept = placements.get_contents(tx, uid, {each.hash for each in entries})
    found: dict[str, StoredObject] = {}
    for each in entries:
        row = present.get(each.uid)
        if row is not None and row.hash == each.hash:
            found[each.uid] = row
        elif each.hash in kept:
            found[each.uid] = _as_it_was(tx, each, kept[each.hash], row)
        else:
            return None
    return found


def _as_it_was(
    tx: Transaction, entry: SelectedObject, manifest: Json, now: StoredObject | None
) -> StoredObject:
    metadata = manifest.get("metadata") or {}
    return StoredObject(
        uid=entry.uid,
        api_group=entry.api_version.rpartition("/")[0],
        api_version=entry.api_version,
        kind=entry.kind,
        namespace=entry.namespace,
        name=entry.name,
        origin="" if now is None else now.origin,
        generation=entry.generation,
        labels=metadata.get("labels") or {},
        annotations=metadata.get("annotations") or {},
        spec=None,
        manifest=manifest,
        hash=entry.hash,
        status=None if now is None else now.status,
        created_at=tx.now if now is None else now.created_at,
        updated_at=tx.now if now is None else now.updated_at,
        deleted_at=None,
    )


def go_back(tx: Transaction, row: StoredObject, selection: Selection) -> Pin | None:
    """While a rollback holds, `selection` has the objects of its revision; else None, and it is as it was."""
    if read_pin(row.status) is None:
        return None
    pin = holding(row, mark_of(objects_of(selection)))
    if pin is None:
        return None
    found = objects_as_of(tx, row.uid, pin.number)
    if found is None:
        return None
    selection.objects = found
    selection.inside = _inside_as_of(tx, row.uid, pin.number)
    selection.left_out = []
    return pin


def _inside_as_of(tx: Transaction, uid: str, index: int) -> dict[str, str]:
    """In which envelopes objects of a revision lay, by their uids."""
    content = next((c for n, c, _ in placements.history(tx, uid, RESOURCES) if n == index), {})
    found: dict[str, str] = dict(content.get("inside") or {})
    return found


def tell(
    tx: Transaction, row: StoredObject, status: Json, pin: Pin | None, before: JsonView | None
) -> None:
    """Write the state of a rollback into a new status; an Event once it has ended."""
    if pin is not None:
        status[FIELD] = pin.as_json()
        status["conditions"] = condition(tx, status["conditions"], pin, row)
        return
    status["conditions"] = remove(status["conditions"], CONDITION)
    past = read_pin(before)
    if past is not None:
        text = (
            f"clusters had revision {past.number}; the selected objects or the strategy have changed since, "
            f"and revision {status['observedResourceIndex']} rolls out"
        )
        tx.say(row, ENDED, text)


def condition(
    tx: Transaction, conditions: list[Condition], pin: Pin, row: StoredObject
) -> list[Condition]:
    """Conditions with `RolledBack`."""
    name = "/".join(each for each in (row.namespace, row.name) if each)
    text = (
        f"clusters get revision {pin.number}, as {pin.by} asked; the newest is {pin.newest}. That ends with "
        f"any change of what is selected, or with roadstead placements rollback {name} --release"
    )
    return set_condition(conditions, CONDITION, "True", CONDITION, text, tx.now, row.generation)
