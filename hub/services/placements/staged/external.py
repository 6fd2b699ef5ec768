"""Placements whose versions staged update runs alone give: clusters keep what they have until one does.

Who is taken out by an eviction gives all up at once all the same. Jobs do not roll out, here neither.
"""

import datetime as dt
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from hub.domain.placement.plugins.consent import AWAITING_REPORT
from hub.domain.plan import Rejection
from hub.domain.rollout.rolling_update import RollingUpdate
from hub.domain.rollout.run_state import ClusterSight
from hub.services.context.settings import Rollouts
from hub.services.placements.abandon import HELD, compares
from hub.services.placements.bindings import EVICTED, FOR_A_JOB
from hub.services.placements.outcome import ReconcileOutcome
from hub.services.placements.override import Overrides
from hub.services.placements.place_objects import Held, place_objects, read_held, take_over
from hub.services.placements.roll_out import Found, closed, has_version, look_at, note_overrides
from hub.services.placements.snapshots import objects_at, objects_of
from hub.services.placements.staged.drive import ChosenClusters, Driven, drive
from hub.store.records.objects import StoredObject
from hub.store.records.placements import Binding, SelectedObject
from hub.store.records.works import Work
from hub.store.transaction import Transaction
from shared.documents import JsonView

# What is of a kind that does not tell counts as available at once, as in KubeFleet's runs.
_AT_ONCE: Final = RollingUpdate(period=dt.timedelta(0))
_REFUSED: Final = "Failed"  # phase of a work that can not be applied
Labels = Mapping[str, Mapping[str, str]]


@dataclass(slots=True)
class _Version:
    """One version of the placement, and how the chosen clusters stand to it."""

    overrides: Overrides
    found: dict[str, Found]
    taken: dict[str, str]  # by cluster: what another placement holds there, in words


class _View:
    """The state in the clusters of one placement."""

    def __init__(
        self,
        tx: Transaction,
        outcome: ReconcileOutcome,
        labels: Labels,
        overrides: Collection[str],
    ) -> None:
        self._tx = tx
        self._outcome = outcome
        self._labels = labels
        self._overrides = overrides
        self._versions: dict[int, _Version] = {}
        self.held: Held = read_held(tx, outcome.row.uid)
        self.bound: dict[str, Binding] = {
            cluster: each
            for cluster, each in outcome.before.items()
            if each.policy_snapshot != FOR_A_JOB
        }

    def version(self, index: int) -> _Version:
        """The state of the picked clusters for a version; whose objects may be taken over."""
        if index in self._versions:
            return self._versions[index]
        tx, outcome, chosen = self._tx, self._outcome, self._outcome.decisions.selected
        newest = objects_of(outcome.selection)
        entries: Sequence[SelectedObject] = newest
        if index != outcome.resource_index:
            entries = objects_at(tx, outcome.row.uid, index) or []
        overrides = Overrides(tx, outcome.row, outcome.selection, self._overrides, older=entries)
        if entries is newest:
            outcome.idle_overrides = overrides.idle({each: self._labels[each] for each in chosen})
        conflicts = take_over(tx, outcome, entries, set(chosen), self.held)
        outcome.conflicts = {**outcome.conflicts, **conflicts}
        reads_only = compares(outcome.row.spec or {})
        found: dict[str, Found] = {}
        names = {each.uid: f"{each.kind} {each.name}" for each in entries}
        for cluster in chosen:
            made = overrides.version(entries, cluster, self._labels[cluster])
            there, binding = self.held.get(cluster, {}), self.bound.get(cluster)
            taken = {uid for at, uid in conflicts if at == cluster}
            has = has_version(there, binding, made, taken, index)
            found[cluster] = look_at(
                tx,
                binding,
                cluster,
                there,
                _AT_ONCE,
                made,
                newest=has,
                taken=bool(taken) and not reads_only,
            )
            note_overrides(found[cluster], there, taken)
            if cluster in outcome.refusals:
                found[cluster] = closed(found[cluster], outcome.refusals[cluster])
        text = "another placement has placed it there"
        owned = {
            cluster: f"{names.get(uid, 'an object')}: {text}"
            for cluster, uid in ({} if reads_only else conflicts)
        }
        self._versions[index] = _Version(overrides, found, owned)
        return self._versions[index]

    def sights(self, index: int) -> dict[str, ClusterSight]:
        """The same, as runs look at it; and of clusters that are not chosen any more."""
        version = self.version(index)
        refusals = self._outcome.refusals
        seen = {
            cluster: _sight(
                each,
                self.held.get(cluster, {}),
                version.taken.get(cluster, ""),
                refusals.get(cluster),
            )
            for cluster, each in version.found.items()
        }
        return {name: ClusterSight() for name in self.held if name not in seen} | seen


def roll_out_by_runs(
    tx: Transaction,
    outcome: ReconcileOutcome,
    spec: JsonView,
    labels: Labels,
    overrides: Collection[str],
    runs: Sequence[StoredObject],
    rollouts: Rollouts,
) -> None:
    """Carry on the run that drives the placement, if one does; nobody else is given anything.

    `overrides`: uids of all that are stored. `runs`: those of this placement.
    """
    view = _View(tx, outcome, labels, overrides)
    chosen = set(outcome.decisions.selected)
    leftovers = view.held.keys() - chosen
    fleet = ChosenClusters({name: labels[name] for name in chosen}, leftovers)
    driven = drive(tx, outcome, runs, fleet, view.sights, rollouts)
    give: dict[str, Sequence[SelectedObject]] = {}
    if driven is not None:
        version = view.version(driven.index)
        for cluster in driven.step.give:
            newer = version.found[cluster].version
            if newer is not None and not newer.fault and cluster not in outcome.refusals:
                version.overrides.keep(newer, cluster, labels[cluster])
                give[cluster] = newer.objects
        give |= dict.fromkeys(driven.step.remove, ())
        outcome.again_at = driven.step.again_at
    evicted = {name for name, each in view.bound.items() if each.policy_snapshot == EVICTED}
    give |= dict.fromkeys(leftovers & evicted, ())
    _note(tx, outcome, view, driven, give)
    place_objects(tx, outcome, spec, view.held, give)


def _note(
    tx: Transaction,
    outcome: ReconcileOutcome,
    view: _View,
    driven: Driven | None,
    give: Mapping[str, Sequence[SelectedObject]],
) -> None:
    """The objects of every cluster after this step."""
    outcome.driven = driven.words if driven is not None else "no staged update run drives it"
    at = driven.index if driven is not None else outcome.resource_index
    found = view.version(at).found
    for cluster in outcome.decisions.selected:
        each = found[cluster]
        given = outcome.given[cluster] = replace(each.given, fault="")
        if driven is None or cluster not in driven.begun or each.version is None:
            continue
        given.fault = each.version.fault
        if cluster in give:
            given.settled_at = None
        if cluster in give or each.holding.current:
            given.index, given.objects = str(driven.index), each.version.objects
            given.overrides = each.version.overrides
    for cluster in sorted(view.held.keys() - found.keys()):
        left = look_at(tx, view.bound.get(cluster), cluster, view.held[cluster], _AT_ONCE)
        outcome.given[cluster] = replace(left.given, leaving=left.given.leaving or cluster in give)


def _sight(
    found: Found, there: Mapping[str, Work], taken: str, refusal: Rejection | None
) -> ClusterSight:
    """`taken`: what another placement holds there of what this one would give, in words.

    `refusal`: why the member takes nothing new: the run waits, as its people may accept the hub. While a
    report is awaited the run does not begin the cluster, so that its deadline does not run meanwhile.
    """
    version, holding = found.version, found.holding
    fault = version.fault if version is not None else ""
    refused, trouble = _trouble(there) if holding.current else (False, "")
    bad = fault or taken
    return ClusterSight(
        has=holding.current and not fault,
        ready=holding.current and holding.ready and not bad and not refused,
        refused=bool(bad) or refused,
        trouble=bad or ("" if holding.current or refusal is None else refusal.message) or trouble,
        awaited=refusal is not None
        and refusal.reason == AWAITING_REPORT
        and not holding.current
        and not bad,
    )


def _trouble(there: Mapping[str, Work]) -> tuple[bool, str]:
    """True if a cluster refuses an object, and the fault, in words."""
    kept = [work for work in there.values() if work.action in HELD]
    current = [work for work in kept if work.observed_generation >= work.generation]
    for work in current:
        if work.phase == _REFUSED:
            return True, f"{work.kind} {work.name} ({work.reason}): {work.message}"
    for work in current:
        if work.available is False:
            return False, f"{work.kind} {work.name} is not available: {work.message}"
    return False, ""
