"""Jobs that change their number of pods while they are on a cluster: admits the difference.

Fewer pods free quota once the member, told of them, has reported that no more run. More of them are a
wish: the job runs on in its old size, says so, and grows when quota and room in its cluster serve the whole
difference. Wishes are served after a cycle, from what it left over, and never by preemption.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from hub.domain.quota import resize
from hub.domain.quota.declared import Usage
from hub.domain.workloads.reclaimable_pods import pods_left
from hub.domain.workloads.states import State, WithdrawTo
from hub.services.index.pending_growth import GrowthPlace, Wish
from hub.services.works import compose
from hub.services.works.withdraw import withdraw_jobs
from hub.store import workloads, works
from hub.store.records.workloads import Workload, WorkloadChange
from hub.store.records.works import OptionedWork, Work
from hub.store.transaction import Transaction
from shared import quantity
from shared.documents import Json, JsonView
from shared.resources import PodSet

RESIZED: Final = "Resized"
_NOT_STARTED: Final = frozenset({State.RESERVED, State.PLACED})
# Of jobs, by uid, those that may not grow as was decided.
FindLapsed = Callable[[Transaction, Mapping[str, GrowthPlace]], set[str]]
_ON_MEMBER: Final = frozenset({State.OFFERED, State.APPLIED, State.RUNNING})


def follow_size(tx: Transaction, row: Workload, pod_set: PodSet, completions: int | None) -> None:
    """A charged job shall have the size of `pod_set`; `row` is as it was before the new manifest.

    A job that was not offered yet goes back to its queue in order to grow: it is admitted whole.
    """
    admission = row.admission
    if not admission or len(admission["podSets"]) != 1:
        return
    if pod_set.count > resize.size(admission) and row.state in _NOT_STARTED:
        said = f"its parallelism changed to {pod_set.count} before it started"
        withdraw_jobs(tx, [row.uid], WithdrawTo.PENDING, RESIZED, said)
        return
    at_once = max(pod_set.count, resize.size(admission))
    left = pods_left(at_once, completions, row.succeeded)
    sized = resize.resized(admission, pod_set, left=left, told=row.state not in _NOT_STARTED)
    _keep(tx, row, sized, pod_set.count)


def follow_scale(tx: Transaction, row: Workload, pod_sets: Sequence[PodSet]) -> None:
    """The same of an object of another kind: all `pod_sets` are multiplied by one number."""
    admission, wanted = row.admission, sum(each.count for each in pod_sets)
    if not admission:
        return
    if wanted > resize.size(admission) and row.state in _NOT_STARTED:
        said = f"its number of pods changed to {wanted} before it started"
        withdraw_jobs(tx, [row.uid], WithdrawTo.PENDING, RESIZED, said)
        return
    sized = resize.rescaled(admission, pod_sets, told=row.state not in _NOT_STARTED)
    _keep(tx, row, sized, wanted)


def _keep(tx: Transaction, row: Workload, sized: Json, wanted: int) -> None:
    """Store the admission of another size, and tell the member, and what is missing."""
    admitted = resize.size(row.admission or {})
    columns: WorkloadChange = {"uid": row.uid, "admission": sized}
    if wanted > admitted:
        said = resize.smaller(admitted, wanted)
        columns["reason"], columns["message"] = resize.SMALLER, said
        missing = resize.growth(sized)
        needs = "" if missing is None else f"; it needs {_amounts(missing.charge)} more"
        tx.say(row, resize.SMALLER, said + needs)
    workloads.change(tx, [columns])
    _tell_members(tx, row, sized)


def _amounts(charge: Usage) -> str:
    return ", ".join(
        f"{quantity.canonical(each.resource, amount)} {each.resource} of flavor {each.flavor}"
        for each, amount in sorted(charge.items())
        if amount
    )


def grow(tx: Transaction, wishes: Sequence[Wish], term: int, find_lapsed: FindLapsed) -> list[str]:
    """Charge the difference and tell the members; those that still run and wish it. Raises StaleTerm."""
    tx.require_term(term)
    found = workloads.get_many(tx, [wish.uid for wish in wishes])
    where = {
        uid: GrowthPlace(row.namespace, row.queue, row.cluster_queue, row.cluster)
        for uid, row in found.items()
    }
    lapsed = find_lapsed(tx, where)
    grown = []
    for wish in wishes:
        row = found.get(wish.uid)
        if (
            row is None
            or wish.uid in lapsed
            or row.epoch != wish.epoch
            or row.state not in _ON_MEMBER
            or row.admission != wish.admission
        ):
            continue
        sized = resize.grown(row.admission)
        before, after = resize.size(row.admission), resize.size(sized)
        workloads.change(tx, [{"uid": wish.uid, "admission": sized, "reason": "", "message": ""}])
        _tell_members(tx, row, sized)
        tx.say(row, RESIZED, f"grows from {before} to {after} pods: quota is charged")
        grown.append(wish.uid)
    return grown


def confirmed(tx: Transaction, uids: Iterable[str]) -> list[str]:
    """Those of `uids` whose member has reported that it runs no more pods than it shall."""
    return [row.uid for row in _smaller(tx, uids)]


def shrink(tx: Transaction, uids: Iterable[str], term: int) -> list[str]:
    """Give back what jobs that have become smaller no longer need. Raises StaleTerm."""
    tx.require_term(term)
    rows = _smaller(tx, uids)
    workloads.change(
        tx,
        [{"uid": row.uid, "admission": resize.shrunk(row.admission or {})} for row in rows],
    )
    return [row.uid for row in rows]


def _smaller(tx: Transaction, uids: Iterable[str]) -> list[Workload]:
    found = workloads.get_many(tx, uids)
    held = {(work.cluster, work.uid): work for work in works.of_uids(tx, list(found))}
    return [
        row
        for row in found.values()
        if row.admission is not None
        and "shrinks" in row.admission
        and _runs_no_more(row, row.admission["shrinks"], held.get((row.cluster, row.uid)))
    ]


def _runs_no_more(row: Workload, shrinks: JsonView, work: Work | None) -> bool:
    """Has the member said so, of this epoch and this manifest?"""
    if work is None or work.epoch != row.epoch or not work.observed:
        return False
    job = work.observed.get("job")
    if job is None or work.observed_generation < row.generation:
        return False
    return bool(job["active"] + job["terminating"] <= shrinks["count"])


def _tell_members(tx: Transaction, row: Workload, admission: Json) -> None:
    """The work of its cluster follows the admitted size."""
    changed: list[OptionedWork] = []
    for work in works.composable(tx, row.cluster, [row.uid]):
        reduced = bool(admission.get("reduced"))
        options = replace(
            work.options,
            parallelism=resize.size(admission) if reduced else None,
            wanted=admission["wanted"]["count"] if reduced else None,
        )
        if work.epoch == row.epoch and options != work.options:
            told = compose.digest(work.job_hash or "", options, work.epoch) if work.offered else ""
            changed.append(
                {"cluster": work.cluster, "uid": work.uid, "options": options, "hash": told}
            )
    works.reoption(tx, changed)
