"""A double run that its job allows, detected: what an earlier epoch ran beside the present one.

An epoch is left behind when its cluster is lost and the job may start elsewhere all the same
(`roadstead.dev/on-cluster-loss: RescheduleAfter(d)`). What the cluster says of it when it is back moves
nothing; it is looked at for what it says about this (invariant R-05).
"""

import datetime as dt
from typing import Final

from hub.domain.instants import read_instant
from hub.domain.workloads.states import ON_CLUSTER, TERMINAL, State
from hub.store.records.works import StandingWork
from shared.documents import JsonView
from shared.wire.agent_v1 import Observed

_GIVEN: Final = ON_CLUSTER - {State.PLACED}


def overlap_of(entry: Observed, work: StandingWork, state: State, cluster: str) -> str:
    """Words for what `entry` says of an earlier epoch in `cluster`; "" where nothing overlapped.

    Told once: not of a work that it was told of already. Until the present epoch is known to have
    started it is said that it may; of one that is gone by then, nothing.
    """
    started = work.started_at
    if work.workload_epoch == work.epoch or work.action != "Withdraw":
        return ""
    if work.overlapped() or (state not in _GIVEN and not (state in TERMINAL and started)):
        return ""
    job: JsonView = work.previous() if entry.job is None else entry.job.model_dump()
    gone = entry.phase == "Gone"
    if not (job.get("running_since") or job.get("active") or job.get("result")):
        return ""
    if job.get("result"):
        if started is None or not _is_after(str(job.get("completion_time") or ""), started):
            return ""
        how = f"has ended ({job['result']})"
    elif gone:
        if started is None:
            return ""
        how = "has ended"
    else:
        how = "still runs"
    beside = "ran" if started else "may run"
    where = work.workload_cluster or "another cluster"
    return (
        f"epoch {work.epoch} {how} in {cluster} and {beside} beside epoch {work.workload_epoch} in {where}, "
        f"as on-cluster-loss allows: {cluster} is to withdraw it, and what it came to does not count"
    )


def _is_after(ended: str, started_at: dt.datetime) -> bool:
    """Whether it may have gone on after that start: clocks of two clusters are compared, to tell people.

    Also of one that does not say when it ended.
    """
    at = read_instant(ended)
    return at is None or at > started_at
