"""Which clusters of a placement get its newest version now: the pure rule asked of what stands there.

A cluster is compared by what it holds: where the newest version would change nothing, it has it. Options of
applying are no part of a version: a change of those goes to every cluster at once.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from hub.domain.rollout.rolling_update import Holding, RollingUpdate, Step, next_step
from hub.domain.workloads.placement_policy import Policy
from hub.services.placements.abandon import HELD
from hub.services.placements.bindings import FOR_A_JOB
from hub.services.placements.outcome import Given, ReconcileOutcome
from hub.services.placements.place_objects import place_objects, read_held, take_over
from hub.services.placements.snapshots import entries_of
from hub.services.works import compose
from hub.store import placements
from hub.store.records.placements import Binding, SelectedObject
from hub.store.records.works import Work
from hub.store.transaction import Transaction
from shared.documents import JsonView

_APPLIED: Final = "Applied"
_FAILED: Final = frozenset({"Failed", "Missing"})


@dataclass(frozen=True, slots=True)
class _Found:
    """One cluster as it stands, by its binding and what it holds."""

    given: Given
    holding: Holding


def roll_out(tx: Transaction, outcome: ReconcileOutcome, spec: JsonView, policy: Policy) -> None:
    """Give clusters the newest version as the strategy lets it, and take back from those not chosen."""
    uid, chosen = outcome.row.uid, outcome.decisions.selected
    budget = RollingUpdate.read(spec.get("strategy") or {})
    bound = {
        each.cluster: each
        for each in placements.bindings_of(tx, uid)
        if each.policy_snapshot != FOR_A_JOB
    }
    held = read_held(tx, uid)
    entries = entries_of(outcome.selection)
    outcome.conflicts = take_over(tx, uid, entries, set(chosen), held)
    found: dict[str, _Found] = {}
    for cluster in chosen:
        taken = {of for at, of in outcome.conflicts if at == cluster}
        there = held.get(cluster, {})
        newest = _is(there, [each for each in entries if each.uid not in taken])
        found[cluster] = _look(
            tx, bound.get(cluster), cluster, there, budget, newest=newest, taken=bool(taken)
        )
    for cluster in sorted(held.keys() - set(chosen)):
        found[cluster] = _look(tx, bound.get(cluster), cluster, held[cluster], budget)
    step = _step(
        [each.holding for each in found.values()], _target(policy, chosen), budget, outcome
    )
    give: dict[str, Sequence[SelectedObject]] = dict.fromkeys((*step.begin, *step.update), entries)
    _note(outcome, found, step, entries, give)
    place_objects(tx, outcome, spec, held, {**give, **dict.fromkeys(step.remove, ())})
    if step.held:
        due = [
            each.given.settled_at + budget.period
            for each in found.values()
            if each.holding.untold and each.given.settled_at is not None
        ]
        outcome.again_at = min(due, default=None)


def _is(there: Mapping[str, Work], entries: Sequence[SelectedObject]) -> bool:
    """Does a cluster hold just these, whatever revision it was given them by?"""
    kept = {uid: work for uid, work in there.items() if work.action in HELD}
    return kept.keys() == {each.uid for each in entries} and all(
        kept[each.uid].hash == compose.digest(each.hash, kept[each.uid].options, 0)
        for each in entries
    )


def _look(
    tx: Transaction,
    binding: Binding | None,
    cluster: str,
    there: Mapping[str, Work],
    budget: RollingUpdate,
    *,
    newest: bool | None = None,
    taken: bool = False,
) -> _Found:
    """`newest`: whether it holds the newest version; None: it is not chosen. `taken`: others hold some."""
    kept = [work for work in there.values() if work.action in HELD]
    index = binding.resource_snapshot if binding is not None else ""
    settled_at = None
    if all(_is_applied(work) and work.available is not False for work in kept):
        since = binding.settled_at if binding is not None else None
        settled_at = since or tx.now
    young = settled_at is not None and settled_at + budget.period > tx.now
    untold = young and any(work.available is None and work.action == "Apply" for work in kept)
    given = bool(kept or (index and newest))  # where all has gone meanwhile it begins anew
    holding = Holding(
        cluster,
        wanted=newest is not None,
        given=given,
        current=bool(newest),
        ready=settled_at is not None and not untold,
        untold=untold,
        failed=taken or any(work.phase in _FAILED for work in kept),
        leaving=newest is None and not kept,
    )
    entries = [_entry(work) for work in kept]
    leaving = any(work.action not in HELD for work in there.values())
    return _Found(Given(newest is not None, index, entries, settled_at, leaving=leaving), holding)


def _is_applied(work: Work) -> bool:
    return work.phase == _APPLIED and work.observed_generation >= work.generation


def _entry(work: Work) -> SelectedObject:
    return SelectedObject(
        work.uid,
        work.content,
        work.generation,
        work.api_version,
        work.kind,
        work.namespace,
        work.name,
    )


def _step(
    holdings: Sequence[Holding], target: int, budget: RollingUpdate, outcome: ReconcileOutcome
) -> Step:
    """By the strategy; where nothing is selected any more, there is nothing to keep available."""
    if outcome.selection.objects:
        return next_step(holdings, target, budget)
    return Step(remove=tuple(each.cluster for each in holdings))


def _target(policy: Policy, chosen: Collection[str]) -> int:
    """How many clusters the policy wants."""
    if policy.type == "PickN":
        return policy.count or 0
    return len(policy.cluster_names) if policy.type == "PickFixed" else len(chosen)


def _note(
    outcome: ReconcileOutcome,
    found: Mapping[str, _Found],
    step: Step,
    entries: Sequence[SelectedObject],
    give: Collection[str],
) -> None:
    """What every cluster has been given after this step."""
    for cluster, each in found.items():
        given = outcome.given[cluster] = each.given
        if cluster in step.held:
            given.held = step.why
        if cluster in give:
            given.settled_at = None
        if cluster in give or each.holding.current:
            given.index, given.entries = str(outcome.resource_index), entries
        if cluster in step.remove:
            given.leaving = True
