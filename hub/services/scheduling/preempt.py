"""Executes preemption: withdraws victims gracefully and nominates their preemptors."""

import datetime as dt
from collections.abc import Mapping, Sequence

from hub.domain.plan import Eviction, Nominated, Reason
from hub.domain.workloads.states import State
from hub.services.scheduling import lapses
from hub.services.scheduling.grounds import Grounds
from hub.services.scheduling.lapses import Stopped
from hub.services.works.evict import evict
from hub.store import workloads
from hub.store.records.workloads import WorkloadChange
from hub.store.transaction import Transaction
from shared.documents import Json

PREEMPTED = "Preempted"
_CAUSES: Mapping[str, str] = {
    "InClusterQueue": "prioritization in the ClusterQueue",
    "InCohortReclamation": "reclamation within the cohort",
    "InCohortFairSharing": "Fair Sharing within the cohort",
    "InCohortReclaimWhileBorrowing": "reclamation within the cohort while borrowing",
    "InClusterCapacity": "a lack of room on its cluster",
}


def drain(tx: Transaction, drained: Stopped, term: int, grounds: Grounds) -> None:
    """Take back what stopped queues admitted, by (reason, message). Raises StaleTerm.

    Jobs that a queue admitted stay if it was resumed meanwhile.
    """
    tx.require_term(term)
    for (reason, message), uids in lapses.still_drained(tx, grounds, drained).items():
        evict(tx, uids, reason, message)


def preempt(
    tx: Transaction, evictions: Mapping[str, Sequence[Eviction]], nominations: Sequence[Nominated]
) -> None:
    """Evict victims, and record the preemptor and place; preemptors that no longer wait get nothing."""
    going = {each.uid for those in evictions.values() for each in those}
    concerned = {*evictions, *(n.uid for n in nominations), *going}
    known = workloads.get_many(tx, concerned)
    for uid, those in evictions.items():
        who = known.get(uid)
        if who is None or who.state != State.PENDING:
            continue
        for cause in dict.fromkeys(e.cause for e in those):
            victims = [e.uid for e in those if e.cause == cause]
            own = {v for v in victims if v in known and known[v].namespace == who.namespace}
            # In other namespaces people may not see the preemptor: the message does not name it.
            for whom, uids in (
                (f"{who.namespace}/{who.name}", [v for v in victims if v in own]),
                ("a job of another namespace", [v for v in victims if v not in own]),
            ):
                if uids:
                    said = f"preempted to accommodate {whom} due to {_CAUSES[cause]}"
                    evict(tx, uids, PREEMPTED, said)
            told = f"{len(victims)} workload(s) preempted for it due to {_CAUSES[cause]}"
            tx.say(who, "Preempting", told)
    rows: list[WorkloadChange] = []
    for nominated in nominations:
        who = known.get(nominated.uid)
        if who is None or who.state != State.PENDING:
            continue
        earlier: Json = who.nomination or {}
        awaited: Sequence[str] = earlier.get("victims") or ()
        had = _preempted(earlier)
        before = awaited if earlier.get("cluster") == nominated.cluster else ()
        more = [e.uid for e in evictions.get(nominated.uid, ())]
        rows.append(
            {
                "uid": nominated.uid,
                "nomination": {
                    "cluster": nominated.cluster,
                    "nodes": list(nominated.nodes),
                    "at": tx.now.isoformat(),
                    "admission": nominated.assignment.admission(),
                    "victims": sorted({*before, *nominated.victims}),
                    "preempted": sorted({*had, *more}),
                },
                "reason": str(Reason.WAITING_FOR_VICTIMS),
                "message": nominated.message[:1024],
            }
        )
    workloads.change(tx, rows)


def note_gone(tx: Transaction, gone: Mapping[str, dt.datetime], term: int) -> None:
    """Write since when the victims of these claims are gone. Raises StaleTerm.

    From then on each leader keeps the room for five minutes. One that waits no longer has no claim.
    """
    tx.require_term(term)
    rows: list[WorkloadChange] = [
        {"uid": who.uid, "nomination": {**who.nomination, "gone_at": gone[who.uid].isoformat()}}
        for who in workloads.get_many(tx, gone).values()
        if who.state == State.PENDING and who.nomination and "cluster" in who.nomination
    ]
    workloads.change(tx, rows)


def end_claims(tx: Transaction, ended: Mapping[str, str], term: int) -> None:
    """Take claims that have ended out of their rows: when each was decided, by uid. Raises StaleTerm.

    The lists of victims stay. A newer claim of the same workload is not changed.
    """
    tx.require_term(term)
    rows: list[WorkloadChange] = [
        {"uid": who.uid, "nomination": {"preempted": list(_preempted(who.nomination))}}
        for who in workloads.get_many(tx, ended).values()
        if who.nomination and who.nomination.get("at", "") == ended[who.uid]
    ]
    workloads.change(tx, rows)


def _preempted(nomination: Json) -> Sequence[str]:
    found: Sequence[str] | None = nomination.get("preempted")
    return nomination.get("victims") or () if found is None else found
