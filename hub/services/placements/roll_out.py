"""Clusters of a placement that get its newest version now: applies the pure rule to the current versions.

A cluster is compared by what it holds: where the newest version would change nothing, it has it. Options of
applying are no part of a version: a change of those goes to every cluster at once.
"""

import datetime as dt
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from hub.domain.placement.pick import SCHEDULED, Decision, Decisions, Scores
from hub.domain.plan import Rejection
from hub.domain.rollout.rolling_update import Holding, RollingUpdate, Step, next_step
from hub.domain.workloads.placement_policy import Policy
from hub.services.placements.abandon import HELD, compares, is_external
from hub.services.placements.bindings import EVICTED, FOR_A_JOB
from hub.services.placements.outcome import Given, ReconcileOutcome
from hub.services.placements.override import Overrides, Version, tied_of
from hub.services.placements.place_objects import place_objects, read_held, take_over
from hub.services.placements.snapshots import objects_of
from hub.services.works import compose
from hub.store import works
from hub.store.records.placements import Binding, SelectedObject
from hub.store.records.works import Work
from hub.store.transaction import Transaction
from shared.consent import NOT_ACCEPTED
from shared.documents import JsonView

_APPLIED: Final = "Applied"
_FAILED: Final = frozenset({"Failed", "Missing"})


@dataclass(frozen=True, slots=True)
class Found:
    """One cluster as it stands, by its binding and what it holds."""

    given: Given
    holding: Holding
    version: Version | None  # that it is to have

    @property
    def stays_away(self) -> bool:
        """It has nothing, and can not be given anything."""
        return self.version is not None and bool(self.version.fault) and not self.holding.given

    def has_all(self, *, given: bool) -> bool:
        """Is what it holds what it is to hold, `given` now or before? Then reports no longer give it."""
        if self.version is None or self.version.fault or self.given.leaving:
            return False
        return given or (self.holding.given and self.holding.current)


def roll_out(
    tx: Transaction,
    outcome: ReconcileOutcome,
    spec: JsonView,
    policy: Policy,
    overrides: Overrides,
    labels: Mapping[str, Mapping[str, str]],
) -> None:
    """Give clusters the newest version as the strategy lets it, and take back from those not chosen.

    `labels`: of clusters, by which overrides choose.
    """
    uid, chosen = outcome.row.uid, outcome.decisions.selected
    rolling = RollingUpdate.read(spec.get("strategy") or {})
    outcome.overrides_of_jobs = overrides.of_jobs
    outcome.idle_overrides = overrides.idle({each: labels[each] for each in chosen})
    bound = {
        cluster: each
        for cluster, each in outcome.before.items()
        if each.policy_snapshot != FOR_A_JOB
    }
    held = read_held(tx, uid)
    selected = objects_of(outcome.selection)
    outcome.conflicts = take_over(tx, outcome, selected, set(chosen), held)
    found: dict[str, Found] = {}
    for cluster in chosen:
        version = overrides.version(selected, cluster, labels[cluster])
        taken = {of for at, of in outcome.conflicts if at == cluster}
        there, binding = held.get(cluster, {}), bound.get(cluster)
        newest = has_version(there, binding, version, taken, outcome.resource_index)
        found[cluster] = look_at(
            tx,
            binding,
            cluster,
            there,
            rolling,
            version,
            newest=newest,
            taken=bool(taken) and not compares(spec),
        )
        note_overrides(found[cluster], there, taken)
        if cluster in outcome.refusals:
            found[cluster] = closed(found[cluster], outcome.refusals[cluster])
    for cluster in sorted(held.keys() - set(chosen)):
        found[cluster] = look_at(tx, bound.get(cluster), cluster, held[cluster], rolling)
    able = [each.holding for each in found.values() if not each.stays_away]
    step = _step(able, _target(policy, chosen), rolling, outcome)
    give: dict[str, Sequence[SelectedObject]] = {}
    for cluster in (*step.begin, *step.update):
        newer = found[cluster].version
        assert newer is not None, "it is chosen"
        overrides.keep(newer, cluster, labels[cluster])
        give[cluster] = newer.objects
    _note(outcome, found, step, give)
    outcome.rests = not (step.remove or step.held) and all(
        each.has_all(given=cluster in give) for cluster, each in found.items()
    )
    place_objects(tx, outcome, spec, held, {**give, **dict.fromkeys(step.remove, ())})
    if step.held:
        due = [
            each.given.settled_at + rolling.period
            for each in found.values()
            if each.holding.untold and each.given.settled_at is not None
        ]
        outcome.again_at = min(due, default=None)


def note_overrides(each: Found, there: Mapping[str, Work], taken: Collection[str]) -> None:
    """What is held to the letter is what overrides make now, whatever it was made by before."""
    version = each.version
    if version is None or list(each.given.overrides) == version.overrides:
        return
    if _is_version(there, version, taken):
        each.given.overrides = version.overrides


def _is_version(there: Mapping[str, Work], version: Version, taken: Collection[str]) -> bool:
    """Is what a cluster holds this version, to the letter?"""
    if version.fault:
        return False
    kept = {uid: work for uid, work in there.items() if work.action in HELD}
    wanted = {each.uid: each for each in version.objects if each.uid not in taken}
    return kept.keys() == wanted.keys() and all(
        work.hash == compose.digest(wanted[uid].hash, work.options, 0)
        for uid, work in kept.items()
    )


def has_version(
    there: Mapping[str, Work],
    binding: Binding | None,
    version: Version,
    taken: Collection[str],
    index: int,
) -> bool:
    """Does a cluster have this version, whatever revision it was given it by?

    Overrides that are not for this placement alone count with its next version: until then it has what
    they made before. An object that can not be rendered is not sent.
    """
    kept = any(work.action in HELD for work in there.values())
    if version.fault:
        return kept
    if _is_version(there, version, taken):
        return True
    if binding is None or not kept or taken or binding.resource_snapshot != str(index):
        return False
    return list(binding.overrides or ()) != version.overrides and (
        tied_of(binding.overrides) == tied_of(version.overrides)
    )


def look_at(
    tx: Transaction,
    binding: Binding | None,
    cluster: str,
    there: Mapping[str, Work],
    rolling: RollingUpdate,
    version: Version | None = None,
    *,
    newest: bool = False,
    taken: bool = False,
) -> Found:
    """`version`: that it is to have; None: it is not chosen. `taken`: others hold some of it."""
    kept = [work for work in there.values() if work.action in HELD]
    index = binding.resource_snapshot if binding is not None else ""
    settled_at = settled_since(tx, binding, there.values())
    evicted = version is None and binding is not None and binding.policy_snapshot == EVICTED
    young = settled_at is not None and settled_at + rolling.period > tx.now
    untold = young and any(work.available is None and work.action == "Apply" for work in kept)
    holding = Holding(
        cluster,
        wanted=version is not None,
        given=bool(kept or (index and newest)),  # where all has gone meanwhile it begins anew
        current=newest,
        ready=settled_at is not None and not untold and not evicted,
        untold=untold and not evicted,
        failed=taken or any(work.phase in _FAILED for work in kept),
        leaving=version is None and not kept,
    )
    given = Given(
        wanted=version is not None,
        index=index,
        objects=[_as_given(work) for work in kept],
        settled_at=settled_at,
        leaving=any(work.action not in HELD for work in there.values()),
        overrides=(binding.overrides if binding is not None else None) or (),
        fault=version.fault if version is not None else "",
    )
    return Found(given, holding, version)


def settled_since(
    tx: Transaction, binding: Binding | None, there: Collection[Work]
) -> dt.datetime | None:
    """Since when all of it is there, and nothing not available; None while that is not so."""
    kept = [work for work in there if work.action in HELD]
    leaving = any(work.action == "Withdraw" for work in there)
    if leaving or not all(_is_applied(work) and work.available is not False for work in kept):
        return None
    since = binding.settled_at if binding is not None else None
    return since or tx.now


def closed(found: Found, refusal: Rejection) -> Found:
    """The same of a cluster whose member takes nothing new."""
    if refusal.reason == NOT_ACCEPTED:
        found.given.closed = refusal.message
    return replace(found, holding=replace(found.holding, closed=True))


def _is_applied(work: Work) -> bool:
    return work.phase == _APPLIED and work.observed_generation >= work.generation


def _as_given(work: Work) -> SelectedObject:
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
    holdings: Sequence[Holding], target: int, rolling: RollingUpdate, outcome: ReconcileOutcome
) -> Step:
    """By the strategy; where nothing is selected any more, there is nothing to keep available."""
    if outcome.selection.objects:
        return next_step(holdings, target, rolling)
    return Step(remove=tuple(each.cluster for each in holdings))


def _target(policy: Policy, chosen: Collection[str]) -> int:
    """The policy's number of clusters."""
    if policy.type == "PickN":
        return policy.count or 0
    return len(policy.cluster_names) if policy.type == "PickFixed" else len(chosen)


def _note(
    outcome: ReconcileOutcome,
    found: Mapping[str, Found],
    step: Step,
    give: Mapping[str, Sequence[SelectedObject]],
) -> None:
    """The objects of every cluster after this step."""
    for cluster, each in found.items():
        given = outcome.given[cluster] = each.given
        version = each.version
        if cluster in step.held:
            given.held = step.why
        elif version is not None and cluster in outcome.refusals and not each.holding.current:
            given.held = outcome.refusals[cluster].message
        if cluster in step.remove:
            given.leaving = True
        if version is None or version.fault:
            continue
        if cluster in give:
            given.settled_at = None
            given.overrides = version.overrides
            wanted = {
                entry.uid for entry in version.objects
            }  # it lets go of the rest, and says so
            given.leaving = given.leaving or any(e.uid not in wanted for e in given.objects)
        if cluster in give or each.holding.current:
            given.index, given.objects = str(outcome.resource_index), version.objects


def hold(
    tx: Transaction, outcome: ReconcileOutcome, decisions: Decisions, leaving: Mapping[str, Scores]
) -> Decisions:
    """The decisions, with as many of those `leaving` kept as clusters are wanted and not available yet.

    `leaving`: clusters that hold the objects and were not picked again, with the scores of their pick.
    Where the strategy allows no more clusters than are wanted, none is kept: who goes first is its own rule;
    nor where runs say who gives what up.
    """
    spec = outcome.row.spec or {}
    if not leaving or not decisions.wanted or is_external(spec) or _never_more(spec):
        return decisions
    ready = _available(tx, outcome, decisions.selected)
    most = decisions.wanted - len(ready)
    best = sorted(leaving, key=lambda name: (leaving[name], name), reverse=True)
    held = set(best[: max(0, most)])
    return replace(
        decisions,
        decisions=tuple(
            _kept_there(each, leaving[each.cluster]) if each.cluster in held else each
            for each in decisions.decisions
        ),
    )


def _never_more(spec: JsonView) -> bool:
    surge = RollingUpdate.read(spec.get("strategy") or {}).max_surge
    return str(surge).removesuffix("%").strip("0") == ""


def _available(
    tx: Transaction, outcome: ReconcileOutcome, clusters: Collection[str]
) -> frozenset[str]:
    """Clusters where every object is applied as it is now, and available as far as that can be told."""
    wanted = outcome.selection.objects
    there: dict[str, set[str]] = {}
    for work in works.of_uids(tx, list(wanted)):
        current = work.observed_generation >= wanted[work.uid].generation
        if work.phase == "Applied" and current and work.available is not False:
            there.setdefault(work.cluster, set()).add(work.uid)
    return frozenset(name for name in clusters if there.get(name, set()) >= wanted.keys())


def _kept_there(decision: Decision, scores: Scores) -> Decision:
    message = (
        f'Cluster "{decision.cluster}" holds it until another is available '
        f"(affinity score: {scores.affinity}, topology spread score: {scores.topology})"
    )
    return Decision(
        decision.cluster, True, scores.affinity, scores.topology, SCHEDULED, message, leaves=True
    )
