"""Data for records of placements, for some placements at a time: one query for each table."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from hub.services.placements.snapshots import POLICY, RESOURCES
from hub.store import objects, placements, works
from hub.store.records.objects import StoredObject
from hub.store.records.placements import BoundBinding, StoredRevision
from hub.store.records.works import Work
from hub.store.transaction import Transaction
from shared.documents import Json


@dataclass(slots=True)
class PlacementFacts:
    """One placement and all that is kept of it. Revisions newest first."""

    row: StoredObject
    bound: Sequence[BoundBinding] = ()
    policies: Sequence[StoredRevision] = ()
    resources: Sequence[StoredRevision] = ()
    works: Sequence[Work] = ()
    contents: Mapping[str, Json] = field(
        default_factory=dict
    )  # manifests by hash, where asked for


def placement_facts(
    tx: Transaction, uids: Collection[str], known: Collection[tuple[str, int]] = ()
) -> dict[str, PlacementFacts]:
    """Those of `uids` that are placements. `known`: revisions of resources that need no contents."""
    rows = {
        uid: row
        for uid, row in objects.get_many(tx, uids).items()
        if row.api_group == placements.GROUP and row.kind in placements.KINDS
    }
    found = {uid: PlacementFacts(row, [], [], [], []) for uid, row in rows.items()}
    for bound in placements.bound_of(tx, list(rows)):
        _add(found[bound.binding.placement].bound, bound)
    for uid, part, revision in placements.revisions_of(tx, list(rows), (POLICY, RESOURCES)):
        facts = found[uid]
        _add(facts.policies if part == POLICY else facts.resources, revision)
    for work in works.of_placements(tx, list(rows)):
        _add(found[work.placed_by].works, work)
    for uid, facts in found.items():
        wanted = {
            each[1]
            for revision in facts.resources
            if (uid, revision.number) not in known
            for each in revision.content.get("objects") or ()
        }
        if wanted:
            facts.contents = placements.get_contents(tx, uid, wanted)
    return found


def _add(to: Sequence[object], one: object) -> None:
    assert isinstance(to, list)
    to.append(one)


def all_placements(tx: Transaction) -> list[str]:
    """Uids of all placements, the oldest first."""
    rows = sorted(placements.list_all(tx), key=lambda row: (row.created_at, row.uid))
    return [row.uid for row in rows]


def concerned(tx: Transaction, uids: Collection[str], works_: Collection[str]) -> set[str]:
    """Placements among objects, and those behind works (feed keys)."""
    found = placements.among(tx, list(uids)) if uids else set()
    return found | (placements.behind_works(tx, works_).keys() if works_ else set())
