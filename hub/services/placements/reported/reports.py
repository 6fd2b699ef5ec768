"""Reports of agents, taken into the status of a placement without reconciling it.

A placement stands while every cluster that it chose has its newest version and no other has anything of
it: then whatever agents report changes its status alone, and since when each cluster is settled. So only
clusters are read of which something was reported. What decides (the placement itself, what it selects,
members, other placements) has it reconciled; so has all that `stand` does not take for standing. The result
is that of `reconcile_with_status`, held by a property (tests/services/placements/test_reported.py).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, Self

from hub.domain.placement.status import Item, Picture, became_true, status_of
from hub.services.placements import abandon, reporting
from hub.services.placements.history.rolled_back import read_pin
from hub.services.placements.manifests import status_copy
from hub.services.placements.outcome import ReconcileOutcome
from hub.services.placements.reported.items import ItemRules, left_out_items, object_item
from hub.services.placements.roll_out import settled_since
from hub.store import objects, settled as stored, works
from hub.store.records.objects import StoredObject
from hub.store.records.placements import Binding, SelectedObject
from hub.store.records.works import Work
from hub.store.transaction import Transaction
from shared.conditions import find
from shared.consent import NOT_ACCEPTED
from shared.documents import JsonView

# Events for a rung that turns True, in KubeFleet's words; of overrides its own message.
_EVENTS: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "RolloutStarted": (("PlacementRolloutStarted", "Started rolling out the latest resources"),),
    "WorkSynchronized": (
        (
            "PlacementWorkSynchronized",
            "Work(s) have been created or updated successfully for the selected cluster(s)",
        ),
    ),
    "Applied": (("PlacementApplied", "Resources have been applied to the selected cluster(s)"),),
    "DiffReported": (
        (
            "PlacementDiffReported",
            "Configuration differences have been reported on the selected cluster(s)",
        ),
    ),
    "Available": (
        ("PlacementAvailable", "Resources are available on the selected cluster(s)"),
        (
            "PlacementRolloutCompleted",
            "Placement has finished the rollout process and reached the desired status",
        ),
    ),
}


class Mark(NamedTuple):
    """Identifies a work: a cluster holds the same object, in the same version, by the same placement."""

    uid: str
    generation: int
    action: str
    hash: str
    placed_by: str

    @classmethod
    def of(cls, work: Work) -> Self:
        """The mark of a work."""
        return cls(work.uid, work.generation, work.action, work.hash, work.placed_by)


@dataclass(frozen=True, slots=True)
class InCluster:
    """One cluster of a placement: its binding, the objects that it was given, and their works."""

    binding: Binding
    objects: Sequence[SelectedObject]
    marks: frozenset[Mark]


@dataclass(frozen=True, slots=True)
class RolledOut:
    """A placement that stands. Immutable; `picture` without the items of its clusters.

    `generation`, `hash`: of the placement as it was reconciled; `left_out`: items of every cluster.
    """

    uid: str
    generation: int
    hash: str
    rules: ItemRules
    picture: Picture
    clusters: Mapping[str, InCluster]
    left_out: Sequence[Item]
    takes_all: bool  # every cluster that may be picked

    def rests(self, names: Collection[str]) -> bool:
        """Does it stay as it is though these clusters may be picked again?

        It does where it has as many as it wants: those that are chosen stay, silent or not.
        """
        return not self.takes_all or self.clusters.keys() >= set(names)

    def __len__(self) -> int:
        """Clusters, by which what is remembered is bounded."""
        return len(self.clusters)


def stand(
    outcome: ReconcileOutcome, picture: Picture, held: Mapping[tuple[str, str], Work]
) -> RolledOut | None:
    """The placement that was reconciled, if it stands; None if reports may change more than its status.

    `held`: works by cluster and uid, of which `picture` was made.
    """
    row, chosen = outcome.row, outcome.decisions.selected
    if not (outcome.rests and _is_alone(outcome)) or _is_told_elsewhere(row):
        return None
    if not outcome.given.keys() == outcome.bound.keys() == set(chosen):
        return None
    found: dict[str, InCluster] = {}
    for cluster in chosen:
        given = outcome.given[cluster].objects
        there = [held.get((cluster, each.uid)) for each in given]
        marks = frozenset(Mark.of(work) for work in there if work is not None)
        found[cluster] = InCluster(outcome.bound[cluster], given, marks)
        if len(marks) < len(given) or any(each.placed_by != row.uid for each in marks):
            return None
    return RolledOut(
        row.uid,
        row.generation,
        row.hash,
        ItemRules.of(row, outcome.selection),
        replace(picture, targets=[replace(each, items=()) for each in picture.targets]),
        found,
        left_out_items(outcome.selection),
        outcome.decisions.wanted is None,
    )


def _is_alone(outcome: ReconcileOutcome) -> bool:
    """Is nothing awaited, and nothing but its own objects concerned?"""
    decided = outcome.decisions
    waits = outcome.again_at or outcome.unfulfilled or outcome.refusals or outcome.unaccepted
    others = outcome.conflicts or outcome.jobs or outcome.selection.jobs or outcome.abandoned
    refused = outcome.selection.not_taken  # of which the hub cluster may bring another version
    replaced = any(each.leaves for each in decided.decisions)
    return not (
        waits or others or refused or replaced or outcome.driven is not None or outcome.pin
    )


def _is_told_elsewhere(row: StoredObject) -> bool:
    """Do reports change more than the placement's own status, or is that told in two places?"""
    spec = row.spec or {}
    asked = abandon.compares(spec) or reporting.is_asked(spec) or status_copy.is_asked(spec)
    return asked or read_pin(row.status) is not None


def take_reports(
    tx: Transaction, standing: RolledOut, clusters: Collection[str], term: int
) -> RolledOut | None:
    """Bring the status level with what was reported of `clusters`; the placement as it stands then.

    None, and nothing is written, where it stands no longer: it has to be reconciled.
    """
    tx.require_term(term)
    row = objects.get(tx, standing.uid)
    if row is None or not _is_the_same(standing, row):
        return None
    news = [name for name in clusters if name in standing.clusters]
    there = _works(tx, standing, news)
    bound = stored.bindings_in(tx, standing.uid, news)
    found: dict[str, InCluster] = {}
    for name in news:
        one = standing.clusters[name]
        held = there.get(name, {})
        if frozenset(map(Mark.of, held.values())) != one.marks or bound.get(name) != one.binding:
            return None  # something else was decided: an eviction, a rebalance
        settled_at = settled_since(tx, one.binding, held.values())
        found[name] = replace(one, binding=one.binding._replace(settled_at=settled_at))
    changed = [
        each.binding
        for name, each in found.items()
        if each.binding != standing.clusters[name].binding
    ]
    stored.settle(tx, changed)
    _tell(tx, standing, row, there)
    return replace(standing, clusters={**standing.clusters, **found})


def _is_the_same(standing: RolledOut, row: StoredObject) -> bool:
    same = (row.generation, row.hash) == (standing.generation, standing.hash)
    return same and row.deleted_at is None and read_pin(row.status) is None


def _works(
    tx: Transaction, standing: RolledOut, names: Collection[str]
) -> dict[str, dict[str, Work]]:
    keys = [(name, each.uid) for name in names for each in standing.clusters[name].objects]
    found: dict[str, dict[str, Work]] = {}
    for work in works.of_keys(tx, keys):
        found.setdefault(work.cluster, {})[work.uid] = work
    return found


def _tell(
    tx: Transaction,
    standing: RolledOut,
    row: StoredObject,
    there: Mapping[str, Mapping[str, Work]],
) -> None:
    """Write the status, if what was reported changes it."""
    targets = [
        each
        if each.cluster not in there
        else replace(each, items=_items(standing, each.cluster, there[each.cluster]))
        for each in standing.picture.targets
    ]
    before = row.status or {}
    made = status_of(replace(standing.picture, targets=targets), before, tx.now, there.keys())
    status = {**before, **made}
    if status != before:
        objects.set_statuses(tx, {row.uid: status})
        say_news(tx, row, before, status)


def _items(standing: RolledOut, cluster: str, held: Mapping[str, Work]) -> list[Item]:
    given = standing.clusters[cluster].objects
    own = [object_item(each, held.get(each.uid), standing.rules, "") for each in given]
    return [*own, *standing.left_out]


def say_news(
    tx: Transaction, row: StoredObject, before: JsonView | None, status: JsonView
) -> None:
    """Events for what a status says that it did not say before."""
    for rung in became_true(row.kind, before, status):
        for reason, message in _EVENTS.get(rung, ()):
            tx.say(row, reason, message)
        if rung == "Overridden":
            tx.say(row, "PlacementOverriddenSucceeded", _message(row.kind, rung, status))
    now = find(status["conditions"], f"{row.kind}Overridden")
    was = find((before or {}).get("conditions"), f"{row.kind}Overridden")
    news = now is not None and (was is None or was["message"] != now["message"])
    if news and now is not None and now["status"] != "True":
        tx.say(row, now["reason"], now["message"], warning=True)
    refused = find(status["conditions"], NOT_ACCEPTED)
    if refused is not None and find((before or {}).get("conditions"), NOT_ACCEPTED) is None:
        tx.say(row, refused["reason"], refused["message"], warning=True)


def _message(prefix: str, rung: str, status: JsonView) -> str:
    condition = find(status["conditions"], prefix + rung)
    return str(condition["message"]) if condition is not None else ""
