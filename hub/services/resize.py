"""Jobs that change their parallelism while they are on a cluster: the difference is admitted anew.

Fewer pods free quota once the member, told of them, has reported that no more run. More of them are a
wish: the job runs on in its old size, says so, and grows when quota and room in its cluster serve the whole
difference. Wishes are served after a cycle, from what it left over, and never by preemption.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from hub.domain.fleet.free_capacity import Room
from hub.domain.queueing.pending import Waiting
from hub.domain.quota import resize
from hub.domain.quota.holders import AdmittedWorkload
from hub.domain.quota.ledger import Ledger
from hub.domain.workloads.states import State
from hub.services import compose
from hub.services.charges import Charges
from hub.services.routes import DEFAULT_QUEUE, Routes
from hub.services.withdraw import withdraw_jobs
from hub.store import workloads, works
from hub.store.schedule import Standing
from hub.store.unit import Unit
from shared.resources import PodSet

RESIZED: Final = "Resized"
_NOT_STARTED: Final = frozenset({State.RESERVED, State.PLACED})
_ON_MEMBER: Final = frozenset({str(State.OFFERED), str(State.APPLIED), str(State.RUNNING)})

Row = dict[str, Any]


def follow_size(unit: Unit, row: Row, pod_set: PodSet) -> None:
    """A charged job shall have the size of `pod_set`; `row` is as it was before the new manifest.

    What no agent was told of yet goes back to its queue in order to grow: it is admitted whole.
    """
    admission = row["admission"]
    if not admission or len(admission["podSets"]) != 1:
        return
    more = pod_set.count > resize.size(admission)
    if more and State(row["state"]) in _NOT_STARTED:
        said = f"its parallelism changed to {pod_set.count} before it started"
        withdraw_jobs(unit, [row["uid"]], "Pending", RESIZED, said)
        return
    sized = resize.resized(admission, pod_set, told=State(row["state"]) not in _NOT_STARTED)
    columns: Row = {"uid": row["uid"], "admission": sized}
    if more:
        said = resize.smaller(resize.size(admission), pod_set.count)
        columns |= {"reason": resize.SMALLER, "message": said}
    workloads.change(unit, [columns])
    _tell_members(unit, row, sized)


@dataclass(frozen=True, slots=True)
class Wish:
    """A job that may grow now."""

    uid: str
    epoch: int
    admission: Row


class Wishes:
    """Charged jobs that are wanted larger than they are. Part of the scheduler's index."""

    def __init__(self, routes: Routes, charges: Charges) -> None:
        self._routes = routes
        self._charges = charges
        self._rows: dict[str, tuple[int, Row]] = {}  # uid → epoch, admission
        self.shrinking: set[str] = set()  # uids whose members have not confirmed the smaller size

    def __bool__(self) -> bool:
        return bool(self._rows)

    def follow(self, row: Standing) -> None:
        """A row was read: it is kept while it runs smaller than wanted."""
        shrinks = row.admission is not None and b'"shrinks"' in row.admission
        (self.shrinking.add if shrinks else self.shrinking.discard)(row.uid)
        if row.admission is None or b'"wanted"' not in row.admission:
            self._rows.pop(row.uid, None)
        else:
            self._rows[row.uid] = (row.epoch, orjson.loads(row.admission))

    def served(self, keep: frozenset[str], ledger: Ledger, room: Room) -> list[Wish]:
        """Those that may grow from what `ledger` and `room` (both up to date) have left, in order.

        `keep`: ClusterQueues that others wait for, so that nothing they may get is taken.
        """
        for uid in [uid for uid in self._rows if self._charges.holder(uid) is None]:
            del self._rows[uid]
        hopeful = [h for h in self._in_order() if h.queue not in keep and self._fits(h, ledger)]
        if not hopeful:
            return []
        left, free = ledger.copy(), room.copy()
        return [
            Wish(holder.uid, *self._rows[holder.uid])
            for holder in hopeful
            if self._take(holder, left, free)
        ]

    def _fits(self, holder: AdmittedWorkload, ledger: Ledger) -> bool:
        """Is there quota for it, as things stand?"""
        wanted = resize.growth(self._rows[holder.uid][1])
        return wanted is not None and all(
            ledger.available(holder.queue, of) >= amount for of, amount in wanted.charge.items()
        )

    def _in_order(self) -> Iterator[AdmittedWorkload]:
        found = (self._charges.holder(uid) for uid in self._rows)
        there = [h for h in found if h is not None and not h.evicted and not self._stopped(h)]
        yield from sorted(there, key=lambda h: (-h.priority, h.queued_at, h.uid))

    def _stopped(self, holder: AdmittedWorkload) -> bool:
        queue = self._routes.queues.get(holder.queue)
        door = self._routes.local.get((holder.namespace, holder.local_queue or DEFAULT_QUEUE))
        return queue is None or door is None or queue.stopped or door.stopped

    def _take(self, holder: AdmittedWorkload, left: Ledger, free: Room) -> bool:
        """Does all of it fit? Then it is taken."""
        wanted = resize.growth(self._rows[holder.uid][1])
        at = free.layout.position.get(holder.cluster)
        if wanted is None or at is None or len(holder.pods) != 1 or not wanted.pods:
            return False
        requests, ask, _ = holder.pods[0]
        if left.take(holder.queue, wanted.charge) != 1:
            return False
        if free.take(free.layout.need(requests, ask), wanted.pods, at):
            return True
        left.release(holder.queue, wanted.charge)
        return False


def contested(
    routes: Routes, waiting: Waiting, claims: Iterable[str], ledger: Ledger
) -> frozenset[str]:
    """ClusterQueues of trees in which somebody waits for just what becomes free.

    That is the head of a StrictFIFO queue, or a workload for which others were told to go.
    """
    queues = {name for name in waiting.queues() if name in routes.queues}
    heads = {name for name in queues if routes.queues[name].strict}
    lanes = (waiting.find(uid) for uid in claims)
    heads |= {lane.demand.queue for lane in lanes if lane is not None}
    tree = ledger.tree.queues
    roots = [tree[name].root() for name in heads & tree.keys()]
    return frozenset(heads | {node.name for root in roots for node in root.queues()})


def grow(unit: Unit, wishes: Sequence[Wish], term: int) -> list[str]:
    """Charge the difference and tell the members; those that still run and wish it. Raises StaleTerm."""
    unit.require_term(term)
    found = workloads.get_many(unit, [wish.uid for wish in wishes])
    grown = []
    for wish in wishes:
        row = found.get(wish.uid)
        if (
            row is None
            or row["epoch"] != wish.epoch
            or row["state"] not in _ON_MEMBER
            or row["admission"] != wish.admission
        ):
            continue
        sized = resize.grown(row["admission"])
        before, after = resize.size(row["admission"]), resize.size(sized)
        workloads.change(
            unit, [{"uid": wish.uid, "admission": sized, "reason": "", "message": ""}]
        )
        _tell_members(unit, row, sized)
        unit.event(
            uid=row["uid"], kind=row["kind"], namespace=row["namespace"], name=row["name"],
            reason=RESIZED, message=f"grows from {before} to {after} pods: quota is charged",
        )  # fmt: skip
        grown.append(wish.uid)
    return grown


def confirmed(unit: Unit, uids: Iterable[str]) -> list[str]:
    """Those of `uids` whose member has reported that it runs no more pods than it shall."""
    return [row["uid"] for row in _smaller(unit, uids)]


def shrink(unit: Unit, uids: Iterable[str], term: int) -> list[str]:
    """Give back what jobs that have become smaller no longer need. Raises StaleTerm."""
    unit.require_term(term)
    rows = _smaller(unit, uids)
    workloads.change(
        unit,
        [{"uid": row["uid"], "admission": resize.shrunk(row["admission"])} for row in rows],
    )
    return [row["uid"] for row in rows]


def _smaller(unit: Unit, uids: Iterable[str]) -> list[Row]:
    found = workloads.get_many(unit, uids)
    held = {(work["cluster"], work["uid"]): work for work in works.of_uids(unit, list(found))}
    return [
        row
        for row in found.values()
        if "shrinks" in (row["admission"] or {})
        and _runs_no_more(row, held.get((row["cluster"], row["uid"])))
    ]


def _runs_no_more(row: Row, work: Row | None) -> bool:
    """Has the member said so, of this epoch and this manifest?"""
    if work is None or work["epoch"] != row["epoch"] or not work["observed"]:
        return False
    job = work["observed"].get("job")
    if job is None or work["observed_generation"] < row["generation"]:
        return False
    return bool(job["active"] + job["terminating"] <= row["admission"]["shrinks"]["count"])


def _tell_members(unit: Unit, row: Row, admission: Row) -> None:
    """What its cluster is given follows the size that is admitted."""
    changed = []
    for work in works.composable(unit, row["cluster"], [row["uid"]]):
        options = {k: v for k, v in work.options.items() if k not in {"parallelism", "wanted"}}
        if admission.get("reduced"):
            options["parallelism"] = resize.size(admission)
            options["wanted"] = admission["wanted"]["count"]
        if work.epoch == row["epoch"] and options != work.options:
            told = compose.digest(work.job_hash or "", options, work.epoch) if work.offered else ""
            changed.append(
                {"cluster": work.cluster, "uid": work.uid, "options": options, "hash": told}
            )
    works.reoption(unit, changed)
