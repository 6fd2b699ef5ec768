"""Placements: bring clusters, works and Jobs to what one placement declares. Level-based.

`reconcile` may be called any number of times; it decides clusters by the pure rules of
`hub.domain.placement`, keeps its decisions as bindings, and writes works for what is to be there or
taken back. Jobs are the scheduler's to place: here they only get their placement's name.
"""

import datetime as dt
import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import orjson

from hub.domain.fleet.clusters import Cluster
from hub.domain.placement.pick import Decisions, Scores, pick
from hub.domain.placement.scoring.balance import LABEL_POINT
from hub.domain.placement.status import Rung, placed_by_queue, scheduled, unscheduled
from hub.domain.workloads.apply_options import ApplyOptions
from hub.domain.workloads.placement_policy import Policy, read_policy
from hub.domain.workloads.states import TERMINAL, WithdrawTo
from hub.services.index.fleet import is_fenced, read_member
from hub.services.placements.selecting import Selection, read_rules, select
from hub.services.works import compose
from hub.services.works.withdraw import withdraw_jobs
from hub.store import clusters, objects, placements, schedule, workloads, works
from hub.store.records.objects import StoredObject
from hub.store.records.workloads import Workload
from hub.store.records.works import WantedWork, Work
from hub.store.transaction import Transaction
from shared.documents import Json, JsonView

NEEDS_ONE: Final = "JobNeedsOneCluster"
FOR_A_JOB: Final = "job"  # policy snapshot of a binding that a Job's own placing made
MOST_ENDED: Final = 100  # Jobs that are gone and still stand in a status
_NEVER_ASKED = Decisions((), None, fulfilled=True, message="")


@dataclass(slots=True)
class ReconcileOutcome:
    """How a placement stands after `reconcile`: what its status is made of."""

    row: StoredObject
    selection: Selection
    scheduled: Rung
    decisions: Decisions = _NEVER_ASKED
    jobs: list[Workload] = field(default_factory=list)  # those it chose or chooses a cluster for
    conflicts: dict[tuple[str, str], str] = field(default_factory=dict)  # (cluster, uid) → owner
    resource_index: int = 0

    @property
    def unfulfilled(self) -> bool:
        """Would another cluster, or another state of one, change the decision for the objects?"""
        return bool(self.selection.objects) and not self.decisions.fulfilled


def read_fleet(tx: Transaction, names: Collection[str] | None = None) -> dict[str, Cluster]:
    """Members as decisions see them; all of them, or those named. One that is fenced is none."""
    capacities = clusters.get_capacities(tx, names)
    return {
        member.name: read_member(member, capacities.get(member.name, (None,))[0])[1]
        for member in clusters.list_all(tx)
        if (names is None or member.name in names) and not is_fenced(member)
    }


def read_heartbeats(tx: Transaction) -> dict[str, dt.datetime | None]:
    """When each member's agent was last heard: it changes without entering the feed."""
    return schedule.heartbeats(tx)


def reconcile(
    tx: Transaction, uid: str, fleet: Mapping[str, Cluster], term: int
) -> ReconcileOutcome | None:
    """Bring the world to what placement `uid` declares; None once nothing of it is left."""
    tx.require_term(term)
    row = objects.get(tx, uid)
    if row is None or row.deleted_at is not None:
        _take_back(tx, uid, row)
        return None
    spec = row.spec or {}
    policy = read_policy(spec.get("policy"))
    selection = select(tx, read_rules(row.kind, row.namespace, spec))
    index = _snapshot_resources(tx, uid, selection, spec)
    fault = _unsupported(policy, selection)
    if fault is not None:
        return ReconcileOutcome(
            row, selection, fault, jobs=_own_jobs(tx, uid), resource_index=index
        )
    version = _snapshot_policy(tx, uid, spec)
    outcome = ReconcileOutcome(row, selection, fault or scheduled(0, 0), resource_index=index)
    if selection.objects:
        outcome.decisions = _decide(tx, uid, policy, fleet, version)
    _place_objects(tx, outcome, spec)
    outcome.jobs = _place_jobs(tx, outcome, policy)
    _bind(tx, outcome, version, index)
    outcome.scheduled = _first_rung(outcome)
    return outcome


def _unsupported(policy: Policy, selection: Selection) -> Rung | None:
    """Why the placement can not be carried out as it is written."""
    if policy.type == "PickFixed":
        text = "placementType PickFixed is accepted and kept, and not carried out yet"
        return unscheduled("NotYetSupported", text)
    if selection.refused:
        text = f"namespaces {', '.join(sorted(selection.refused))} can not be placed"
        return unscheduled("InvalidResourceSelectors", text)
    if selection.jobs_by_name and not _one_cluster(policy):
        text = "a Job runs in one cluster: choose it with PickN and numberOfClusters 1"
        return unscheduled(NEEDS_ONE, text)
    return None


def _one_cluster(policy: Policy) -> bool:
    return policy.type == "PickN" and policy.count == 1


def _decide(
    tx: Transaction, uid: str, policy: Policy, fleet: Mapping[str, Cluster], version: str
) -> Decisions:
    """Clusters for the objects; those chosen under this policy stay, with the scores of their pick."""
    bound = [b for b in placements.bindings_of(tx, uid) if b["policy_snapshot"] != FOR_A_JOB]
    chosen = {
        b["cluster"]: Scores(b["affinity_score"], b["topology_score"])
        for b in bound
        if b["policy_snapshot"] == version
    }
    obsolete = [b["cluster"] for b in bound if b["policy_snapshot"] != version]
    return pick(policy, list(fleet.values()), tx.now, chosen=chosen, obsolete=obsolete)


def _place_objects(tx: Transaction, outcome: ReconcileOutcome, spec: JsonView) -> None:
    """Works for every selected object in every chosen cluster; what is no longer desired goes."""
    placement = outcome.row
    uid = placement.uid
    chosen = outcome.decisions.selected
    options = _options(placement, spec)
    present = {
        (work.cluster, work.uid): work
        for work in works.of_uids(tx, list(outcome.selection.objects))
    }
    fresh: list[WantedWork] = []
    changed: list[WantedWork] = []
    for cluster in chosen:
        for row in outcome.selection.objects.values():
            old = present.get((cluster, row.uid))
            if old is not None and old.placed_by != uid and old.action != "Withdraw":
                outcome.conflicts[(cluster, row.uid)] = old.placed_by
                continue
            wanted = _work(cluster, row, options, uid)
            if old is None:
                fresh.append(wanted)
            elif _differs(old, wanted):
                changed.append(wanted)
    works.upsert(tx, fresh)
    works.renew(tx, changed)
    wanted_keys = {(c, o) for c in chosen for o in outcome.selection.objects}
    works.act(
        tx,
        "Withdraw",
        [
            (work.cluster, work.uid)
            for work in works.of_placement(tx, uid)
            if work.epoch == 0
            and work.action != "Withdraw"
            and (work.cluster, work.uid) not in wanted_keys
        ],
    )


def _options(placement: StoredObject, spec: JsonView) -> ApplyOptions:
    apply = (spec.get("strategy") or {}).get("applyStrategy") or {}
    return ApplyOptions(
        when_to_apply=apply.get("whenToApply") or "Always",
        when_to_take_over=apply.get("whenToTakeOver") or "",
        placed_by=f"{placement.kind}/{placement.name}",
    )


def _work(cluster: str, row: StoredObject, options: ApplyOptions, placement: str) -> WantedWork:
    return {
        "cluster": cluster,
        "uid": row.uid,
        "epoch": 0,
        "generation": row.generation,
        "api_version": row.api_version,
        "kind": row.kind,
        "namespace": row.namespace,
        "name": row.name,
        "options": options,
        "placed_by": placement,
        "hash": compose.digest(row.hash, options, 0),
        "action": "Apply",
    }


def _differs(old: Work, wanted: WantedWork) -> bool:
    return (
        old.generation != wanted["generation"]
        or old.hash != wanted["hash"]
        or old.action != wanted["action"]
        or old.placed_by != wanted["placed_by"]
        or old.options != wanted["options"]
    )


def _place_jobs(tx: Transaction, outcome: ReconcileOutcome, policy: Policy) -> list[Workload]:
    """Give selected Jobs this placement; those that it no longer selects wait again or come back."""
    uid = outcome.row.uid
    selected = outcome.selection.jobs
    own = {row.uid: row for row in _own_jobs(tx, uid)}
    if not _one_cluster(policy):
        _leave_out(tx, [job for job in selected.values() if job.uid not in own])
        outcome.selection.jobs = {}
        selected = {}
    new = [job for job in selected.values() if not job.placement]
    workloads.change(tx, [{"uid": job.uid, "placement": uid} for job in new])
    for job in selected.values():
        if job.placement not in ("", uid):
            outcome.conflicts[("", job.uid)] = job.placement
    lost = [
        job
        for job in own.values()
        if job.uid not in selected and job.live and job.state not in TERMINAL
    ]
    _release_jobs(tx, lost, "PlacementChanged", "its placement no longer selects it")
    kept = [job for job in own.values() if job.uid in selected]
    if kept or new:
        return [*kept, *(job._replace(placement=uid) for job in new)]
    gone = {job.uid for job in lost}
    ended = [job for job in own.values() if job.uid not in gone]
    return ended[:MOST_ENDED]  # the record of Jobs that finished and were deleted since


def _leave_out(tx: Transaction, jobs: Sequence[Workload]) -> None:
    """Jobs that a placement for several clusters can not place wait, and say so."""
    text = "its placement is for several clusters, and a Job runs in one: use PickN with 1"
    workloads.refuse(
        tx,
        [
            {"uid": job.uid, "reason": NEEDS_ONE, "message": text}
            for job in jobs
            if job.reason == "AwaitingPlacement"
        ],
    )


def _release_jobs(tx: Transaction, jobs: Sequence[Workload], reason: str, message: str) -> None:
    workloads.change(tx, [{"uid": job.uid, "placement": ""} for job in jobs])
    withdraw_jobs(tx, [job.uid for job in jobs], WithdrawTo.PENDING, reason, message)


def _own_jobs(tx: Transaction, uid: str) -> list[Workload]:
    return placements.jobs_of(tx, uid)


def _bind(tx: Transaction, outcome: ReconcileOutcome, version: str, index: int) -> None:
    """Write the decisions down; a Job's own placing is one too."""
    uid = outcome.row.uid
    present = {row["cluster"]: row for row in placements.bindings_of(tx, uid)}
    wanted: dict[str, Json] = {
        job.cluster: _job_binding(uid, job, index) for job in outcome.jobs if job.cluster
    }
    for decision in outcome.decisions.decisions:
        if decision.selected:
            wanted[decision.cluster] = {
                "placement": uid,
                "cluster": decision.cluster,
                "selected": True,
                "affinity_score": decision.affinity_score,
                "topology_score": decision.topology_score,
                "reason": decision.reason,
                "message": decision.message,
                "policy_snapshot": version,
                "resource_snapshot": str(index),
            }
    changed = [
        row
        for cluster, row in wanted.items()
        if any(present.get(cluster, {}).get(name) != value for name, value in row.items())
    ]
    placements.bind(tx, changed)
    placements.unbind(tx, uid, [cluster for cluster in present if cluster not in wanted])


def _job_binding(uid: str, job: Workload, index: int) -> Json:
    scores = (job.scores or {}).get("clusters") or ()
    chosen: JsonView = next((each for each in scores if each.get("cluster") == job.cluster), {})
    affinity, topology = _affinity(chosen), int(chosen.get("topologyScore") or 0)
    return {
        "placement": uid,
        "cluster": job.cluster,
        "selected": True,
        "affinity_score": affinity,
        "topology_score": topology,
        "reason": "Scheduled",
        "message": _why_there(job, chosen, affinity, topology),
        "policy_snapshot": FOR_A_JOB,
        "resource_snapshot": str(index),
    }


def _first_rung(outcome: ReconcileOutcome) -> Rung:
    """Scheduled, from the decisions and from the Jobs that still wait."""
    waiting = [job for job in outcome.jobs if not job.cluster and job.state not in TERMINAL]
    found = set(outcome.decisions.selected) | {j.cluster for j in outcome.jobs if j.cluster}
    if waiting:
        first = waiting[0]
        why = f"Job {first.name} waits: {first.message or first.reason or 'queued'}"
        return scheduled(len(found), max(1, len(found) + 1), why)
    if not outcome.decisions.fulfilled:
        return scheduled(len(found), outcome.decisions.wanted, outcome.decisions.message)
    before = sorted(j.name for j in outcome.jobs if j.cluster and _by_its_queue(j))
    return placed_by_queue(len(found), before) if before else scheduled(len(found), None)


def _why_there(job: Workload, chosen: JsonView, affinity: int, topology: int) -> str:
    """As the decision says it; of a Job that its queue had placed before, that it was so."""
    whose = "picked by scheduling policy"
    if _by_its_queue(job):
        whose = "placed there by its queue before this placement selected it"
    elif chosen.get("message") and "running" not in chosen:
        return str(chosen["message"])
    return (
        f'Successfully scheduled resources for placement in "{job.cluster}" '
        f"(affinity score: {affinity}, topology spread score: {topology}): {whose}"
    )


def _affinity(chosen: JsonView) -> int:
    """KubeFleet's affinity score; of a balanced decision what label preferences gave it."""
    if "running" not in chosen:
        return int(chosen.get("score") or 0)
    return sum(int(t["score"]) for t in chosen["terms"] if t["name"] == "labels") // LABEL_POINT


def _by_its_queue(job: Workload) -> bool:
    """Did its queue's profile choose its cluster, before any placement selected it?"""
    return (job.scores or {}).get("profile") == "queue"


def _take_back(tx: Transaction, uid: str, row: StoredObject | None) -> None:
    """A placement goes: what it placed is withdrawn, save Jobs that finished; then its record."""
    jobs = [j for j in _own_jobs(tx, uid) if j.state not in TERMINAL]
    _release_jobs(tx, jobs, "PlacementDeleted", "its placement was deleted")
    left = [w for w in works.of_placement(tx, uid) if w.action != "Keep"]
    works.act(
        tx,
        "Withdraw",
        [(w.cluster, w.uid) for w in left if w.action != "Withdraw" and w.epoch == 0],
    )
    if left:
        return
    placements.forget(tx, uid)
    if row is None:
        return
    objects.remove(tx, uid)
    tx.event(
        uid=uid,
        kind=row.kind,
        namespace=row.namespace,
        name=row.name,
        reason="Deleted",
        message="everything it placed has been taken back",
    )


def _snapshot_resources(tx: Transaction, uid: str, selection: Selection, spec: JsonView) -> int:
    """The index of what is selected now; a new one when it has changed."""
    told = [[r.group, r.version, r.kind, r.namespace, r.name] for r in selection.resources()]
    hashes = sorted(row.hash for row in selection.objects.values())
    return _snapshot(tx, uid, "resources", {"selected": told, "hashes": hashes}, spec)[0]


def _snapshot_policy(tx: Transaction, uid: str, spec: JsonView) -> str:
    """The hash of the policy, by which bindings know whether they are of this one."""
    return _snapshot(tx, uid, "policy", spec.get("policy") or {}, spec)[1]


def _snapshot(
    tx: Transaction, uid: str, part: str, content: object, spec: JsonView
) -> tuple[int, str]:
    hashed = hashlib.sha256(orjson.dumps(content, option=orjson.OPT_SORT_KEYS)).hexdigest()
    latest = placements.latest_snapshot(tx, uid, part)
    if latest is not None and latest[1] == hashed:
        return latest
    index = 0 if latest is None else latest[0] + 1
    keep = int(spec.get("revisionHistoryLimit") or 10)
    placements.add_snapshot(tx, uid, part, index, hashed, content, keep)
    return index, hashed
