"""The part of a placement's status for one object in one cluster, from its work."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Self

from hub.domain.placement.status import Item, Resource
from hub.services.placements.abandon import compares
from hub.services.placements.reporting import (
    as_placed,
    is_applied,
    is_compared,
    member_generation,
    said_of,
)
from hub.services.placements.selecting import Selection
from hub.store.records.objects import StoredObject
from hub.store.records.placements import SelectedObject
from hub.store.records.works import Work

FOUND_DRIFTS: Final = "FoundDrifts"


@dataclass(frozen=True, slots=True)
class ItemRules:
    """What a placement says of itself about how its objects are told.

    `placement`: its uid; `compares`: it applies nothing; `leaves_drift`: what differs is not put back;
    `inside`: by uid of an object the envelope that it lies in.
    """

    placement: str
    compares: bool
    leaves_drift: bool
    inside: Mapping[str, str]

    @classmethod
    def of(cls, row: StoredObject, selection: Selection) -> Self:
        """By a placement's row and what it selects."""
        spec = row.spec or {}
        strategy = spec.get("strategy") or {}
        left = (strategy.get("applyStrategy") or {}).get("whenToApply") == "IfNotDrifted"
        return cls(row.uid, compares(spec), left, selection.inside)

    def unless_left_drifted(self, item: Item) -> Item:
        """Not applied, in KubeFleet's words, where it differs and the placement leaves drift alone."""
        if not (self.leaves_drift and item.applied and item.drifts):
            return item
        paths = ", ".join(str(each["path"]) for each in item.drifts[:3])
        more = f" and {len(item.drifts) - 3} more" if len(item.drifts) > 3 else ""
        text = f"drift was found and left unchanged, by whenToApply: {paths}{more}"
        return replace(item, applied=False, reason=FOUND_DRIFTS, message=text)


def object_item(entry: SelectedObject, work: Work | None, rules: ItemRules, owner: str) -> Item:
    """An object in its cluster. `owner`: who placed it there first, in words; "": this placement."""
    group, _, version = entry.api_version.rpartition("/")
    envelope = rules.inside.get(entry.uid, "")
    if work is not None and work.placed_by == rules.placement:
        envelope = work.options.envelope
    resource = Resource(group, version, entry.kind, entry.namespace, entry.name, envelope)
    if owner and not (rules.compares and work is not None):
        text = f"{owner} placed it here first"
        return Item(resource, applied=False, reason="PlacedByAnother", message=text)
    if work is None:
        return Item(resource)
    if owner:
        return as_placed(resource, work, owner)
    applied = is_compared(work) if rules.compares else is_applied(work)
    short = applied and work.available is False  # then an agent says why there
    item = Item(
        resource,
        applied=applied,
        available=work.available,
        reason=work.reason if applied is False or short else "",
        message=said_of(work),
        generation=member_generation(work),
        drifts=(work.drift or ()) if applied or not rules.compares else (),
        observed_at=work.observed_at,
    )
    return item if rules.compares else rules.unless_left_drifted(item)


def left_out_items(selection: Selection) -> list[Item]:
    """Contents of envelopes that can not be placed: the same in every cluster."""
    return [
        Item(each.resource, applied=False, reason=each.reason, message=each.message)
        for each in selection.left_out
    ]
