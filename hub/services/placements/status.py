"""A placement's status: the facts of its works and Jobs, put on the ladder, written when it changed."""

import datetime as dt
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from hub.domain.fleet.clusters import Cluster
from hub.domain.placement.plugins.eligibility import SUSPECT_AFTER_S
from hub.domain.placement.rungs import with_refusals
from hub.domain.placement.status import (
    Item,
    Picture,
    Resource,
    Target,
    status_of,
)
from hub.domain.workloads.states import TERMINAL, State
from hub.services.consent.namespaces import AskedNamespaces
from hub.services.consent.placed import namespaces_of_rows
from hub.services.context.settings import Rollouts
from hub.services.placements import abandon, reporting
from hub.services.placements.history import rolled_back
from hub.services.placements.manifests import status_copy
from hub.services.placements.outcome import ReconcileOutcome
from hub.services.placements.place_jobs import tell_each, unheeded_of
from hub.services.placements.reconcile import reconcile
from hub.services.placements.reported.items import ItemRules, left_out_items, object_item
from hub.services.placements.reported.reports import RolledOut, say_news, stand
from hub.services.placements.reporting import member_generation
from hub.services.placements.selecting import (
    CLUSTER_SCOPED,
    NotTakenObject,
    resource_of_job,
)
from hub.store import objects, works
from hub.store.records.objects import StoredObject
from hub.store.records.workloads import Workload
from hub.store.records.works import Work
from hub.store.transaction import Transaction
from shared.kinds import unheeded
from shared.wire.versions import COMPARES

MOST_LEFTOVERS: Final = 3  # clusters named in a message
_AS_SET: Final = Rollouts()
_ASKED: Final = AskedNamespaces()
_STARTED: Final = frozenset({State.RUNNING, State.SUCCEEDED})
_OPEN: Final = frozenset({State.PLACED, State.OFFERED, State.WITHDRAWING})


def write_status(tx: Transaction, outcome: ReconcileOutcome) -> RolledOut | None:
    """Bring the status up to date; what reports of its clusters change from here on (`RolledOut`)."""
    row = outcome.row
    before = row.status
    held = _held(tx, outcome)
    picture = _picture(tx, outcome, held)
    status = status_of(picture, before, tx.now)
    chosen = outcome.decisions.selected
    alone = {uid: work for (cluster, uid), work in held.items() if cluster in chosen}
    itself = [
        each
        for uid, each in outcome.selection.objects.items()
        if uid not in outcome.selection.inside
    ]
    reporting.copy_statuses(tx, row.spec or {}, itself, alone, row.uid)
    said = [*unheeded.of_placement(row.spec or {}), *unheeded_of(outcome)]
    status["conditions"] = unheeded.condition(status["conditions"], said, tx.now, row.generation)
    status["conditions"] = abandon.condition(
        tx, status["conditions"], outcome.abandoned, row.generation
    )
    conditions = status["conditions"]
    status["conditions"] = with_refusals(conditions, outcome.unaccepted, row.generation, tx.now)
    rolled_back.tell(tx, row, status, outcome.pin, before)
    tell_each(status, outcome)
    if row.kind == CLUSTER_SCOPED:  # whole by now
        status_copy.keep(tx, row, outcome.selection, status)
    if status != before:
        objects.set_statuses(tx, {row.uid: status})
        say_news(tx, row, before, status)
    return stand(outcome, picture, held)


_Held = Mapping[tuple[str, str], Work]  # by cluster and uid


def _held(tx: Transaction, outcome: ReconcileOutcome) -> _Held:
    uids = {
        *outcome.selection.objects,
        *(entry.uid for given in outcome.given.values() for entry in given.objects),
        *(job.uid for job in outcome.jobs),
    }
    return {(work.cluster, work.uid): work for work in works.of_uids(tx, sorted(uids))}


def _picture(tx: Transaction, outcome: ReconcileOutcome, held: _Held) -> Picture:
    row = outcome.row
    items: dict[str, list[Item]] = {}
    rules = ItemRules.of(row, outcome.selection)
    owners = objects.get_many(tx, set(outcome.conflicts.values())) if outcome.conflicts else {}
    for cluster, given in outcome.given.items():
        if not given.wanted:
            continue
        found = [
            object_item(
                each,
                held.get((cluster, each.uid)),
                rules,
                _owner(outcome.conflicts.get((cluster, each.uid)), owners),
            )
            for each in given.objects
        ]
        refused = outcome.selection.not_taken
        items[cluster] = [item for item in found if item.resource not in refused]
        items[cluster] += left_out_items(outcome.selection)
    if rules.compares:
        _name_behind(tx, items)
    for job in outcome.jobs:
        item = _job_item(job, held.get((job.cluster, job.uid)))
        if item is not None:
            if job.state not in TERMINAL:
                item = rules.unless_left_drifted(item)
            items.setdefault(job.cluster, []).append(item)
    selected = _selected(outcome)
    told = reporting.per_cluster(
        row.spec or {}, outcome.selection, held, outcome.decisions.selected, row.uid
    )
    return Picture(
        prefix=row.kind,
        generation=row.generation,
        scheduled=outcome.scheduled,
        targets=[
            replace(
                _target(cluster, outcome.words.get(cluster, ""), items[cluster], outcome),
                reported=told.get(cluster, ()),
            )
            for cluster in sorted(items)
        ],
        refused=_refused(outcome),
        selected=selected,
        resource_index=outcome.resource_index,
        left_out=outcome.overrides_of_jobs,
        compares=rules.compares,
        driven=outcome.driven,
        unaccepted=outcome.unaccepted,
        leftovers=[
            f"from {cluster}, where {each.held}" if each.held else f"from {cluster}"
            for cluster, each in outcome.given.items()
            if not each.wanted
        ][:MOST_LEFTOVERS],
    )


def _target(
    cluster: str, message: str, items: Sequence[Item], outcome: ReconcileOutcome
) -> Target:
    given = outcome.given.get(cluster)
    if given is None:  # a Job is there, and nothing else
        return Target(cluster, message, items)
    return Target(
        cluster=cluster,
        message=message,
        items=items,
        index=given.index,
        held=given.held,
        closed=given.closed,
        fault=given.fault,
        overrides=tuple(given.overrides),
    )


def _name_behind(tx: Transaction, items: dict[str, list[Item]]) -> None:
    """Say of what is not compared yet where that is for an agent of before."""
    for cluster, spoken in abandon.too_old(tx, items, COMPARES).items():
        text = (
            f"the agent of {cluster} can not (it speaks protocol {spoken}, and {COMPARES} is needed): "
            "it writes nothing, until it is upgraded and compares"
        )
        items[cluster] = [
            replace(item, message=text) if item.applied is None else item
            for item in items[cluster]
        ]


def _selected(outcome: ReconcileOutcome) -> list[Resource]:
    """The selection, and finished Jobs that were selected and are gone from the hub."""
    found = set(outcome.selection.resources()) | {resource_of_job(job) for job in outcome.jobs}
    return sorted(found, key=lambda r: (r.group, r.kind, r.namespace, r.name))


def _refused(outcome: ReconcileOutcome) -> dict[str, str]:
    """Clusters that were not picked, with reasons: of the objects' decision, else of waiting Jobs."""
    found = {
        each.cluster: each.message for each in outcome.decisions.decisions if not each.selected
    }
    for job in outcome.jobs:
        for each in (job.scores or {}).get("clusters") or () if not job.cluster else ():
            if not each.get("selected") and each.get("message"):
                found.setdefault(each["cluster"], each["message"])
    return found


def _owner(uid: str | None, rows: Mapping[str, StoredObject]) -> str:
    """The placement that placed an object first, as people name it; "" if it is this one."""
    if uid is None:
        return ""
    row = rows.get(uid)
    if row is None:
        return f"another placement (uid {uid}, which is gone)"
    return f"{row.kind} {'/'.join(part for part in (row.namespace, row.name) if part)}"


def _job_item(job: Workload, work: Work | None) -> Item | None:
    """A Job in its cluster; None while it is in none, or once it was cancelled."""
    state = job.state
    if not job.cluster or state in {State.CANCELLED, State.DEACTIVATED}:
        return None
    current = work if work is not None and work.epoch == job.epoch else None
    drifts = (current.drift or ()) if current is not None else ()
    failed = current is not None and current.phase == "Failed"
    applied: bool | None = True
    if failed and job.applied_at is None:
        applied = False
    elif state in _OPEN:
        applied = None
    elif state is State.FAILED:
        applied = job.applied_at is not None or job.started_at is not None
    started = state in _STARTED or (state is State.UNKNOWN and job.started_at is not None)
    reason = (current.reason if failed and current is not None else "") or job.reason
    return Item(
        resource_of_job(job),
        applied=applied,
        available=started,
        reason=reason,
        message=job.message or ("no pod of it has run yet" if not started else ""),
        generation=member_generation(current),
        drifts=drifts,
        observed_at=current.observed_at if current is not None else None,
    )


@dataclass(frozen=True, slots=True)
class Next:
    """When to look at a placement again. `unsettled`: it would gain from other clusters; `leaving`: it
    waits for these to release withdrawn objects; `at`: a deadline that no change announces;
    `watched`: objects that it placed what is in, or told its status beside; `namespaces`: of its objects.
    `awaits`: clusters whose agents have yet to report consent in these.
    `standing`: by which reports alone bring its status up to date; None: it has to be reconciled for them.
    """

    unsettled: bool = False
    leaving: frozenset[str] = frozenset()
    at: dt.datetime | None = None
    watched: frozenset[str] = frozenset()
    namespaces: frozenset[str] = frozenset()
    awaits: frozenset[str] = frozenset()
    standing: RolledOut | None = None


def reconcile_with_status(
    tx: Transaction,
    uid: str,
    fleet: dict[str, Cluster],
    term: int,
    overrides: Collection[str] = (),
    profile: str = "Balance",
    suspect_after_s: float = SUSPECT_AFTER_S,
    runs: Collection[str] = (),
    rollouts: Rollouts = _AS_SET,
    asked: AskedNamespaces = _ASKED,
    refused: Sequence[NotTakenObject] = (),
) -> Next:
    """Bring one placement and its status up to date.

    `overrides`: the uids of all stored ones: mostly none, and then nothing is read. `profile` and
    `suspect_after_s`: of scheduling, by the settings. `runs`: uids of its staged update runs that are
    not over. `asked`: namespaces whose consent members report. `refused`: what the hub did not take from the
    hub cluster.
    """
    compatible = profile == "KubeFleet"
    outcome = reconcile(
        tx,
        uid,
        fleet,
        term,
        compatible=compatible,
        overrides=overrides,
        suspect_after_s=suspect_after_s,
        runs=runs,
        rollouts=rollouts,
        asked=asked,
        refused=refused,
    )
    if outcome is None:
        return Next()
    standing = write_status(tx, outcome)
    unsettled = outcome.unfulfilled or bool(outcome.conflicts)
    leaving = outcome.leaving | {work.cluster for work in outcome.abandoned}
    watched = set(outcome.selection.envelopes) | status_copy.watched(
        outcome.row, outcome.selection
    )
    if abandon.compares(outcome.row.spec or {}):  # others may hold what it compares
        watched |= outcome.selection.objects.keys()
    namespaces = namespaces_of_rows(outcome.selection.objects.values())
    awaits, at = outcome.awaits, outcome.again_at
    return Next(unsettled, leaving, at, frozenset(watched), namespaces, awaits, standing)
