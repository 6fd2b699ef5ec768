"""Jobs of a placement: they get its name, and the scheduler places them by its policy.

A Job that its queue placed is not one of them. The placement reports it and never moves it: neither when
it selects the Job, nor when it no longer does, nor when it is deleted.

With annotation roadstead.dev/per-object a policy of any type picks one cluster for each Job by itself: the
same path, one Job at a time through its queue, with what is promised to those before it counted.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from hub.domain.workloads.placement_policy import Policy
from hub.domain.workloads.states import QUEUED, TERMINAL, WithdrawTo
from hub.services.placements.outcome import ReconcileOutcome
from hub.services.placements.selecting import NAMESPACE, resource_of_job
from hub.services.works.withdraw import withdraw_jobs
from hub.store import placements, workloads, works
from hub.store.records.workloads import Workload
from hub.store.transaction import Transaction
from shared import labels
from shared.documents import Json

NEEDS_ONE: Final = "JobNeedsOneCluster"
MOST_NAMED: Final = 100  # Jobs of which a status says where each was put by itself
MOST_ENDED: Final = 100  # Jobs that are gone and still stand in a status


def is_per_object(annotations: Mapping[str, str]) -> bool:
    """Does a placement with these annotations schedule each object by itself?"""
    return annotations.get(labels.PER_OBJECT) == "true"


def one_cluster(policy: Policy, *, per_object: bool = False) -> bool:
    """Does the placement choose a single cluster for a Job, as a Job needs it?

    `per_object`: it does so for each by itself, unless it is scaled to no cluster at all.
    """
    if per_object:
        none = {"PickN": policy.count == 0, "PickFixed": not policy.cluster_names}
        return not none.get(policy.type, False)
    if policy.type == "PickFixed":
        return len(set(policy.cluster_names)) == 1
    return policy.type == "PickN" and policy.count == 1


def place_jobs(tx: Transaction, outcome: ReconcileOutcome, policy: Policy) -> list[Workload]:
    """Give waiting Jobs this placement; return all that its status names.

    Jobs of this placement that it no longer selects are released (`release_jobs`).
    """
    uid = outcome.row.uid
    selected = outcome.selection.jobs
    own = {row.uid: row for row in placements.jobs_of(tx, uid)}
    if not one_cluster(policy, per_object=is_per_object(outcome.row.annotations)):
        _leave_out(tx, [job for job in selected.values() if job.uid not in own])
        outcome.selection.jobs = {}
        selected = {}
    free = [job for job in selected.values() if not job.placement]
    new = [job for job in free if job.state in QUEUED]
    elsewhere = [job for job in free if job.cluster and job.state not in QUEUED]
    workloads.change(tx, [{"uid": job.uid, "placement": uid} for job in new])
    for job in selected.values():
        if job.placement not in ("", uid):
            outcome.conflicts[("", job.uid)] = job.placement
    lost = [
        job
        for job in own.values()
        if job.uid not in selected and job.live and job.state not in TERMINAL
    ]
    release_jobs(tx, uid, lost, "PlacementChanged", "its placement no longer selects it")
    kept = [job for job in own.values() if job.uid in selected]
    if kept or new or elsewhere:
        return [*kept, *(job._replace(placement=uid) for job in new), *elsewhere]
    gone = {job.uid for job in lost}
    ended = [job for job in own.values() if job.uid not in gone]
    return ended[:MOST_ENDED]  # the record of Jobs that finished and were deleted since


def release_jobs(
    tx: Transaction, placement: str, jobs: Sequence[Workload], reason: str, message: str
) -> None:
    """Take the placement off Jobs, and withdraw those that it placed: they wait again."""
    workloads.change(tx, [{"uid": job.uid, "placement": ""} for job in jobs])
    mine = [job.uid for job in without_placed_by_others(tx, placement, jobs)]
    withdraw_jobs(tx, mine, WithdrawTo.PENDING, reason, message)


def without_placed_by_others(
    tx: Transaction, placement: str, jobs: Sequence[Workload]
) -> list[Workload]:
    """Leave out Jobs whose work another placement or a queue placed.

    Jobs without a work (waiting, or reserved) stay in.
    """
    foreign = {
        (work.cluster, work.uid, work.epoch)
        for work in works.of_uids(tx, [job.uid for job in jobs])
        if work.placed_by != placement
    }
    return [job for job in jobs if (job.cluster, job.uid, job.epoch) not in foreign]


def _leave_out(tx: Transaction, jobs: Sequence[Workload]) -> None:
    """Jobs that a placement for several clusters can not place wait, and say so."""
    text = (
        "its placement is not for one cluster, and a Job runs in one: use PickN with 1, or annotate the "
        f'placement with {labels.PER_OBJECT}: "true"'
    )
    workloads.refuse(
        tx,
        [
            {"uid": job.uid, "reason": NEEDS_ONE, "message": text}
            for job in jobs
            if job.reason == "AwaitingPlacement"
        ],
    )


def tell_each(status: Json, outcome: ReconcileOutcome) -> None:
    """Name the Jobs in a status that is being made."""
    if not is_per_object(outcome.row.annotations):
        return
    jobs = sorted(outcome.jobs, key=lambda job: (not _waits(job), -job.created_at.timestamp()))
    if jobs:
        status["perObject"] = [_entry(job) for job in jobs[:MOST_NAMED]]


def unheeded_of(outcome: ReconcileOutcome) -> Iterator[str]:
    """What the annotation changes nothing about."""
    others = [row for row in outcome.selection.objects.values() if row.kind != NAMESPACE[1]]
    if is_per_object(outcome.row.annotations) and others:
        yield (
            f"metadata.annotations[{labels.PER_OBJECT}]: counts for Jobs, each of which gets its own "
            f"cluster; the other objects go together, to all clusters of the policy ({len(others)} here)"
        )


def _waits(job: Workload) -> bool:
    return not job.cluster and job.state not in TERMINAL


def _entry(job: Workload) -> Json:
    told: Json = resource_of_job(job).named()
    if job.cluster:
        told["clusterName"] = job.cluster
    reason = job.reason or ("Scheduled" if job.cluster else "Waiting")
    return told | {"reason": reason} | ({"message": job.message} if job.message else {})
