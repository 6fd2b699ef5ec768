"""Jobs of a placement: they get its name, and the scheduler places them by its policy.

A Job that its queue placed is not one of them. The placement reports it and never moves it: neither when
it selects the Job, nor when it no longer does, nor when it is deleted. Nor is a waiting Job whose
ClusterQueue no placement selects: its queue chooses its cluster. A Job whose queue does not exist yet waits
for its queue. This is decided from the stored objects, in the transaction that assigns the Jobs.

With annotation roadstead.dev/per-object a policy of any type picks one cluster for each Job by itself: the
same path, one Job at a time through its queue, with what is promised to those before it counted.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from hub.domain.plan import Reason
from hub.domain.quota.placed_queues import QueueSelection, read_queue_selection
from hub.domain.workloads.placement_policy import Policy
from hub.domain.workloads.states import QUEUED, TERMINAL, WithdrawTo
from hub.services.index.catalog import DEFAULT_QUEUE
from hub.services.placements.outcome import ReconcileOutcome
from hub.services.placements.selecting import CLUSTER_SCOPED, NAMESPACE, resource_of_job
from hub.services.works.withdraw import withdraw_jobs
from hub.store import objects, placed_jobs, placements, workloads, works
from hub.store.records.objects import StoredObject
from hub.store.records.workloads import Workload
from hub.store.transaction import Transaction
from shared import labels
from shared.conditions import find
from shared.documents import Json
from shared.groups import KUEUE

NEEDS_ONE: Final = "JobNeedsOneCluster"
MOST_NAMED: Final = 100  # Jobs whose single clusters a status lists
MOST_ENDED: Final = 100  # Jobs that are gone and still stand in a status


class JobQueues(NamedTuple):
    """ClusterQueues by LocalQueue (namespace, name), and which of them a placement selects."""

    cluster_queues: Mapping[tuple[str, str], str]
    placed: frozenset[str]

    def are_placed(self, job: Workload) -> bool:
        """Does a placement select the Job's ClusterQueue, so that placements choose its cluster?"""
        return self._of(job) in self.placed

    def are_ordinary(self, job: Workload) -> bool:
        """Does its ClusterQueue exist, and does no placement select it?"""
        name = self._of(job)
        return bool(name) and name not in self.placed

    def _of(self, job: Workload) -> str:
        return self.cluster_queues.get((job.namespace, job.queue or DEFAULT_QUEUE), "")


def is_per_object(annotations: Mapping[str, str]) -> bool:
    """True if a placement with these annotations schedules each object separately."""
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
    """Give waiting Jobs of placed queues this placement; return all that its status names.

    Jobs of this placement that it no longer selects are released (`release_jobs`).
    """
    uid = outcome.row.uid
    selected = outcome.selection.jobs
    own = {row.uid: row for row in placed_jobs.jobs_of(tx, uid)}
    waiting = [job for job in selected.values() if job.state in QUEUED]
    queues = queues_of(tx, [job for job in waiting if job.placement in ("", uid)])
    given_back = _give_back(tx, [job for job in waiting if job.uid in own], queues)
    for job in given_back:
        del own[job.uid]
    left: list[Workload] = []
    if not one_cluster(policy, per_object=is_per_object(outcome.row.annotations)):
        left = [job for job in waiting if job.uid not in own and queues.are_placed(job)]
        _leave_out(tx, left)
        outcome.selection.jobs = {}
        selected = {}
    give_reasons_back(tx, outcome.row, {job.uid for job in left})
    free = [job for job in selected.values() if not job.placement]
    new = [job for job in free if job.state in QUEUED and queues.are_placed(job)]
    elsewhere = [job for job in free if job.cluster and job.state not in QUEUED]
    outcome.of_queues = [
        job
        for job in selected.values()
        if job.state in QUEUED and job.placement in ("", uid) and not queues.are_placed(job)
    ]
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


def _give_back(tx: Transaction, jobs: Sequence[Workload], queues: JobQueues) -> list[Workload]:
    """Take the placement off waiting Jobs whose queue no placement selects; those Jobs."""
    ordinary = [job for job in jobs if queues.are_ordinary(job)]
    workloads.change(tx, [{"uid": job.uid, "placement": ""} for job in ordinary])
    return ordinary


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
    """Refuse Jobs that a placement for several clusters cannot place: they wait, and say why."""
    text = (
        "its placement is not for one cluster, and a Job runs in one: use PickN with 1, or annotate the "
        f'placement with {labels.PER_OBJECT}: "true"'
    )
    workloads.refuse(
        tx,
        [
            {"uid": job.uid, "reason": NEEDS_ONE, "message": text}
            for job in jobs
            if job.reason == Reason.AWAITING_PLACEMENT
        ],
    )


def give_reasons_back(
    tx: Transaction, placement: StoredObject, left: Collection[str] = ()
) -> None:
    """Take reason JobNeedsOneCluster back once the placement that gave it changes or is deleted.

    `left`: Jobs that it leaves out still. Another placement that leaves out one of the others gives it
    again, as the change of the Job concerns it.
    """
    status = placement.status or {}
    told = find(status.get("conditions"), f"{placement.kind}Scheduled")
    if told is None:
        return  # it has said nothing yet
    if told.get("observedGeneration") == placement.generation and placement.deleted_at is None:
        return
    spaces = {placement.namespace}
    if placement.kind == CLUSTER_SCOPED:
        spaces = {
            each["name"] if each["kind"] == NAMESPACE[1] else each.get("namespace", "")
            for each in status.get("selectedResources") or ()
        }
    refused = placed_jobs.jobs_with_reason(tx, sorted(spaces - {""}), NEEDS_ONE)
    waits = str(Reason.AWAITING_PLACEMENT)
    workloads.refuse(
        tx, [{"uid": uid, "reason": waits, "message": ""} for uid in refused if uid not in left]
    )


def tell_each(status: Json, outcome: ReconcileOutcome) -> None:
    """Name the Jobs in a status that is being made."""
    if not is_per_object(outcome.row.annotations):
        return
    jobs = sorted(outcome.jobs, key=lambda job: (not _waits(job), -job.created_at.timestamp()))
    if jobs:
        status["perObject"] = [_entry(job) for job in jobs[:MOST_NAMED]]


def unheeded_of(outcome: ReconcileOutcome) -> Iterator[str]:
    """What the annotation changes nothing about, and overrides that change nothing."""
    yield from outcome.idle_overrides
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


def queues_of(tx: Transaction, jobs: Iterable[Workload]) -> JobQueues:
    """The queues of these Jobs; without Jobs nothing is read."""
    namespaces = sorted({job.namespace for job in jobs})
    if not namespaces:
        return JobQueues({}, frozenset())
    declared = tx.remembered("objects", "labels of ClusterQueues", lambda: _cluster_queues(tx))
    chosen = tx.remembered("objects", "selected ClusterQueues", lambda: _selections(tx))
    found: dict[tuple[str, str], str] = {}
    for namespace in namespaces:
        for row in objects.list_kind(tx, KUEUE, "LocalQueue", namespace=namespace):
            name = str((row.spec or {}).get("clusterQueue") or "")
            if row.deleted_at is None and name in declared:
                found[namespace, row.name] = name
    placed = {
        name for name in found.values() if any(s.selects(name, declared[name]) for s in chosen)
    }
    return JobQueues(found, frozenset(placed))


def _cluster_queues(tx: Transaction) -> dict[str, Mapping[str, str]]:
    rows = objects.list_kind(tx, KUEUE, "ClusterQueue")
    return {row.name: row.labels or {} for row in rows if row.deleted_at is None}


def _selections(tx: Transaction) -> list[QueueSelection]:
    every = [
        read_queue_selection(row.kind, row.spec or {})
        for row in placements.list_all(tx)
        if row.deleted_at is None
    ]
    return [each for each in every if not each.is_empty]
