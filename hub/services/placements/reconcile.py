"""Placements: bring clusters, works and Jobs to what one placement declares. Level-based.

`reconcile` may be called any number of times; it decides clusters by the pure rules of
`hub.domain.placement`, keeps its decisions as bindings, and writes works for what is to be there or
taken back. Jobs are the scheduler's to place: here they only get their placement's name.
"""

import datetime as dt
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from hub.domain.fleet.clusters import Cluster
from hub.domain.placement import registry
from hub.domain.placement.framework import Filter
from hub.domain.placement.pick import Decisions, Scores, pick
from hub.domain.placement.plugins.affinity import satisfies
from hub.domain.placement.plugins.consent import AWAITING_REPORT, NamespacesAccepted
from hub.domain.placement.plugins.eligibility import SUSPECT_AFTER_S, Standing
from hub.domain.placement.rungs import Rung, left_to_queue, placed_by_queue, scheduled, unscheduled
from hub.domain.plan import Rejection
from hub.domain.workloads.placement_policy import Policy, read_policy
from hub.domain.workloads.states import TERMINAL
from hub.services.consent.namespaces import AskedNamespaces
from hub.services.consent.placed import acceptance, namespaces_of_rows
from hub.services.context.settings import Rollouts
from hub.services.placements.abandon import (
    abandons,
    being_abandoned,
    compares,
    give_up,
    is_external,
    tell,
)
from hub.services.placements.bindings import (
    EVICTED,
    FOR_A_JOB,
    LEAVING,
    REBALANCED,
    bind,
    placed_by_its_queue,
)
from hub.services.placements.history.rolled_back import Pin, go_back, read_pin
from hub.services.placements.manifests import status_copy
from hub.services.placements.outcome import ReconcileOutcome
from hub.services.placements.override import Overrides
from hub.services.placements.place_jobs import (
    NEEDS_ONE,
    give_reasons_back,
    is_per_object,
    one_cluster,
    place_jobs,
    release_jobs,
)
from hub.services.placements.place_objects import read_held
from hub.services.placements.roll_out import hold, roll_out
from hub.services.placements.selecting import (
    CLUSTER_SCOPED,
    NotTakenObject,
    Selection,
    read_rules,
    select,
)
from hub.services.placements.snapshots import policy_hashes, snapshot_policy, snapshot_resources
from hub.services.placements.staged.drive import index_of, refuse_all
from hub.services.placements.staged.external import roll_out_by_runs
from hub.store import clusters, objects, placed_jobs, placements, works
from hub.store.records.objects import StoredObject
from hub.store.records.placements import Binding
from hub.store.transaction import Transaction
from shared import labels
from shared.consent import NOT_ACCEPTED
from shared.documents import JsonView

_AS_SET: Final = Rollouts()
_ASKED: Final = AskedNamespaces()
MOST_NAMED: Final = 3  # selectors, in a message


def reconcile(
    tx: Transaction,
    uid: str,
    fleet: Mapping[str, Cluster],
    term: int,
    *,
    compatible: bool = False,
    overrides: Collection[str] = (),
    suspect_after_s: float = SUSPECT_AFTER_S,
    runs: Collection[str] = (),
    rollouts: Rollouts = _AS_SET,
    asked: AskedNamespaces = _ASKED,
    refused: Sequence[NotTakenObject] = (),
) -> ReconcileOutcome | None:
    """Bring the world to what placement `uid` declares; None once nothing of it is left.

    `compatible`: clusters for objects are scored exactly as KubeFleet scores them. `overrides`: uids of all
    that are stored. A cluster silent for `suspect_after_s` is not picked. `runs`: uids of the staged update
    runs of this placement that are not over, which `rollouts` are for. `asked`: namespaces whose consent
    members report. `refused`: what the hub did not take from the hub cluster.
    """
    tx.require_term(term)
    row = objects.get(tx, uid)
    staged = list(objects.get_many(tx, runs).values()) if runs else []
    if row is None or row.deleted_at is not None:
        refuse_all(tx, staged, "its placement is deleted", final=False)
        _take_back(tx, uid, row)
        return None
    spec = row.spec or {}
    policy = read_policy(spec.get("policy"))
    rules = read_rules(row.kind, row.namespace, spec)
    selection = select(tx, rules)
    before = {each.cluster: each for each in placements.bindings_of(tx, uid)}
    index, pin = _version(tx, row, selection, _used(row, before.values(), staged))
    selection.leave_out(uid, rules, refused)
    per_object = is_per_object(row.annotations)
    fault = _unsupported(policy, selection, only_compares=compares(spec), per_object=per_object)
    if fault is not None:
        _refuse(tx, row, staged, fault.message)
        return ReconcileOutcome(
            row, selection, fault, jobs=placed_jobs.jobs_of(tx, uid), resource_index=index, pin=pin
        )
    version, versions = snapshot_policy(tx, uid, spec), policy_hashes(spec)
    outcome = ReconcileOutcome(
        row, selection, scheduled(0, 0), resource_index=index, before=before, pin=pin
    )
    if selection.objects:
        accepts = acceptance(
            asked,
            namespaces_of_rows(selection.objects.values()),
            tx.now,
            _holding(before.values()),
        )
        filters = (*registry.filters(suspect_after_s), *_letting_go(tx, outcome), accepts)
        outcome.decisions = _decide(
            tx, outcome, policy, fleet, versions, filters, compatible=compatible
        )
        outcome.refusals = _refusals(outcome, accepts, fleet, tx.now)
    if compares(spec):  # no Job is begun; one that is its own already goes on
        own = {u: job for u, job in selection.jobs.items() if job.placement == uid}
        selection.jobs = own
    labels = {name: cluster.labels for name, cluster in fleet.items()}
    if is_external(spec):
        roll_out_by_runs(tx, outcome, spec, labels, overrides, staged, rollouts)
    else:
        text = (
            f"{row.kind} {row.name} rolls out without runs: only strategy.type External uses them"
        )
        refuse_all(tx, staged, text, final=True)
        roll_out(tx, outcome, spec, policy, Overrides(tx, row, selection, overrides), labels)
    outcome.await_reports()
    outcome.jobs = place_jobs(tx, outcome, policy)
    outcome.abandoned = being_abandoned(works.of_placement(tx, uid))
    bind(tx, outcome, version, index)
    outcome.scheduled = _first_rung(outcome)
    return outcome


def _version(
    tx: Transaction, row: StoredObject, selection: Selection, used: Collection[int]
) -> tuple[int, Pin | None]:
    """The number of what is selected, which is what it was rolled back to while that holds."""
    index = snapshot_resources(tx, row.uid, selection, row.spec or {}, used)
    pin = go_back(tx, row, selection)
    return (index if pin is None else pin.number), pin


def _refuse(tx: Transaction, row: StoredObject, runs: Sequence[StoredObject], why: str) -> None:
    """Runs of a placement that can not be carried out wait, and Jobs that it left out are as any others."""
    refuse_all(tx, runs, why, final=False)
    give_reasons_back(tx, row)


def _used(row: StoredObject, bound: Iterable[Binding], runs: Iterable[StoredObject]) -> set[int]:
    """Versions that clusters have, runs bring, or a rollback uses: they are kept."""
    used = {int(each.resource_snapshot) for each in bound if each.resource_snapshot}
    used |= {index for each in runs if (index := index_of(each)) is not None}
    asked = read_pin(row.status)
    return used if asked is None else used | {asked.number}


def _unsupported(
    policy: Policy, selection: Selection, *, only_compares: bool, per_object: bool
) -> Rung | None:
    """The reason why the placement can not be executed in this form."""
    if selection.refused:
        text = f"namespaces {', '.join(sorted(selection.refused))} can not be placed"
        return unscheduled("InvalidResourceSelectors", text)
    if selection.left_out and not selection.objects and not selection.jobs:
        first = selection.left_out[0].message
        what = "is selected" if selection.not_taken else "the selected envelopes hold"
        text = f"nothing of what {what} can be placed: {first}"
        return unscheduled("InvalidResourceSelectors", text)
    if selection.jobs_by_name and only_compares:
        text = "a Job runs or does not: applyStrategy.type ReportDiff is for other objects"
        return unscheduled("JobsNotCompared", text)
    if selection.jobs_by_name and not one_cluster(policy, per_object=per_object):
        text = (
            "a Job runs in one cluster: PickN with numberOfClusters 1, PickFixed with one name, or "
            f'annotation {labels.PER_OBJECT}: "true"'
        )
        return unscheduled(NEEDS_ONE, text)
    return None


def _decide(
    tx: Transaction,
    outcome: ReconcileOutcome,
    policy: Policy,
    fleet: Mapping[str, Cluster],
    versions: Collection[str],
    filters: Sequence[Filter],
    *,
    compatible: bool,
) -> Decisions:
    """Clusters for the objects; those chosen under this policy stay, with the scores of their pick.

    `fleet` was read a while ago: a member that has gone since would keep its works for ever.
    """
    bound = [b for b in outcome.before.values() if b.selected and b.policy_snapshot != FOR_A_JOB]
    scores = {b.cluster: Scores(b.affinity_score, b.topology_score) for b in bound}
    there = clusters.names(tx)
    found = {name: cluster for name, cluster in fleet.items() if name in there}
    kept = {b.cluster for b in bound if b.policy_snapshot in versions}
    kept -= _closed_before_begun(outcome, bound, found, filters)
    decisions = pick(
        policy,
        list(found.values()),
        tx.now,
        chosen={cluster: scores[cluster] for cluster in kept},
        obsolete=[b.cluster for b in bound if b.policy_snapshot not in {*versions, LEAVING}],
        unbound=[b.cluster for b in bound if not b.resource_snapshot],
        filters=filters,
        compatible=compatible,
    )
    leaving = {
        b.cluster: scores[b.cluster]
        for b in bound
        if b.policy_snapshot in {*versions, LEAVING, REBALANCED}
        and b.cluster in found
        and b.cluster not in decisions.selected
        and (b.policy_snapshot not in versions or not satisfies(policy.enduring, found[b.cluster]))
    }
    return hold(tx, outcome, decisions, leaving)


def _closed_before_begun(
    outcome: ReconcileOutcome,
    bound: Iterable[Binding],
    fleet: Mapping[str, Cluster],
    filters: Iterable[Filter],
) -> set[str]:
    """Clusters that were picked, were given nothing yet, and whose people do not accept the hub now.

    They are picked again once they do; under runs they stay, as a run is worked out for them.
    """
    if is_external(outcome.row.spec or {}):
        return set()
    rules = [each for each in filters if isinstance(each, NamespacesAccepted)]
    return {
        each.cluster
        for each in bound
        if not each.resource_snapshot and each.cluster in fleet
        for rule in rules
        if (no := rule.verdict(fleet[each.cluster])) is not None and no.reason == NOT_ACCEPTED
    }


def _holding(bound: Iterable[Binding]) -> frozenset[str]:
    """Clusters that were given something of the objects and are to keep it."""
    return frozenset(
        each.cluster
        for each in bound
        if each.selected and each.resource_snapshot and each.policy_snapshot != FOR_A_JOB
    )


def _refusals(
    outcome: ReconcileOutcome,
    accepts: NamespacesAccepted,
    fleet: Mapping[str, Cluster],
    now: dt.datetime,
) -> dict[str, Rejection]:
    """Chosen clusters that are given nothing new: their people withdrew consent, or a report is due."""
    found = {name: accepts.verdict(fleet[name]) for name in outcome.decisions.selected}
    return {
        name: each
        for name, each in found.items()
        if each is not None and (each.reason != AWAITING_REPORT or (each.hold_until or now) > now)
    }


def _letting_go(tx: Transaction, outcome: ReconcileOutcome) -> tuple[Filter, ...]:
    """A cluster that was evicted releases its objects before it may be picked again."""
    evicted = [b.cluster for b in outcome.before.values() if b.policy_snapshot == EVICTED]
    held = read_held(tx, outcome.row.uid) if evicted else {}
    why = (
        "an eviction withdrew this placement from it: it is picked again once the objects are gone"
    )
    left = {cluster: why for cluster in evicted if cluster in held}
    return (Standing(left),) if left else ()


def _first_rung(outcome: ReconcileOutcome) -> Rung:
    """Scheduled, from the decisions and from the Jobs that still wait."""
    waiting = [job for job in outcome.jobs if not job.cluster and job.state not in TERMINAL]
    found = set(outcome.decisions.picked) | {j.cluster for j in outcome.jobs if j.cluster}
    if waiting:
        first = waiting[0]
        why = f"Job {first.name} waits: {first.message or first.reason or 'queued'}"
        return scheduled(len(found), max(1, len(found) + 1), why)
    if outcome.decisions.awaited:
        return unscheduled(AWAITING_REPORT, outcome.decisions.message)
    if not outcome.decisions.fulfilled:
        picked = len(outcome.decisions.picked)  # clusters of queue Jobs do not count
        return scheduled(picked, outcome.decisions.wanted, outcome.decisions.message)
    before = sorted(j.name for j in outcome.jobs if j.cluster and placed_by_its_queue(j))
    if before:
        return placed_by_queue(len(found), before)
    if outcome.of_queues:
        return left_to_queue(len(found), sorted(job.name for job in outcome.of_queues))
    selects = outcome.selection.objects or outcome.jobs
    return scheduled(len(found), None, "" if selects else _nothing(outcome.row.spec or {}))


def _nothing(spec: JsonView) -> str:
    """The reason why no cluster is searched, with the names of the selectors."""
    rules = spec.get("resourceSelectors") or ()
    named = [
        " ".join(part for part in (each.get("kind"), each.get("name") or "by labels") if part)
        for each in rules[:MOST_NAMED]
    ]
    more = f" and {len(rules) - MOST_NAMED} more" if len(rules) > MOST_NAMED else ""
    return f"nothing on the hub is selected yet by {', '.join(named)}{more}"


def _take_back(tx: Transaction, uid: str, row: StoredObject | None) -> None:
    """Withdraw or abandon what a deleted placement placed, except Jobs that finished; then its record."""
    jobs = [j for j in placed_jobs.jobs_of(tx, uid) if j.state not in TERMINAL]
    release_jobs(tx, uid, jobs, "PlacementDeleted", "its placement was deleted")
    left = [w for w in works.of_placement(tx, uid) if w.action != "Keep" or w.epoch == 0]
    give_up(tx, left, None if row is None else row.spec or {})
    if row is not None:
        give_reasons_back(tx, row)
        tell(tx, row, being_abandoned(works.of_placement(tx, uid)))
    if left:
        return
    placements.forget(tx, uid)
    if row is None:
        return
    objects.remove(tx, uid)
    if row.kind == CLUSTER_SCOPED:
        status_copy.remove(tx, row)
    tx.event(
        uid=uid,
        kind=row.kind,
        namespace=row.namespace,
        name=row.name,
        reason="Deleted",
        message=(
            "all its objects have been abandoned in the members"
            if abandons(row.spec or {})
            else "all its objects have been withdrawn"
        ),
    )
