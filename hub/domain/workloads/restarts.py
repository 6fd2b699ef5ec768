"""Guard on starting a job again after the hub's store went back to an older copy. Pure.

A member may run a Job of the lost time that the store does not know. Evidence that it does not is one of:
the member has reported all its Jobs since the restore and this is not among them, or an administrator
has fenced it. The reason on the row and what the display list holds are no evidence.
The rule and its proof: docs/explain/exactly-once.md, rule 12.
"""

import datetime as dt
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

_NAMED: Final = 10  # members that one refusal names; it counts the others


@dataclass(frozen=True, slots=True)
class RestoreEvidence:
    """Evidence in the store about each member since the store went back.

    `restored_at`: None if it never did. `unreported`: joined members that have not reported all their Jobs
    since; `overflowing`: those of them that report more earlier Jobs than the store keeps. `reported`: the
    epoch of the earlier Job that a member reports, by job and by member. `kind`: that of the job, as agents
    name it; `unread_by`: members that have read other kinds since, and not this one.
    """

    restored_at: dt.datetime | None = None
    unreported: tuple[str, ...] = ()
    overflowing: Collection[str] = ()
    reported: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    kind: str = ""
    unread_by: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class RestartedJob:
    """A job that is to start. `born_here`: the hub gave it its uid and its time of creation."""

    uid: str
    created_at: dt.datetime
    born_here: bool


def why_not_startable(job: RestartedJob, evidence: RestoreEvidence) -> str:
    """Return the reason that blocks this job, with each member and what settles it; "" if it may start.

    No report concerns a job to which the hub gave its uid after the restore. A Job of the hub cluster has uid
    and time from there, and clocks order nothing: a report of it counts whenever it was created.
    """
    is_older = evidence.restored_at is not None and job.created_at <= evidence.restored_at
    if not is_older and job.born_here:
        return ""
    reported = evidence.reported.get(job.uid, {})
    owed = [
        f"{member} still reports epoch {epoch} (an administrator adopts that Job, or has it removed "
        "and waits until it is gone: roadstead admin adopt, roadstead admin forget)"
        for member, epoch in sorted(reported.items())
    ]
    if is_older:
        owed += [
            _owes_a_report(member, evidence)
            for member in sorted(evidence.unreported)
            if member not in reported
        ]
    return (
        f"the job may still run from before the hub's store was restored: {_listed(owed)}"
        if owed
        else ""
    )


def _owes_a_report(member: str, evidence: RestoreEvidence) -> str:
    fence = f"if the cluster is destroyed: roadstead clusters fence {member} --destroyed"
    if member in evidence.overflowing:
        return (
            f"{member} reports more Jobs from before the restore than the hub keeps (remove them from that "
            f"cluster and restart its agent, or, {fence})"
        )
    if member in evidence.unread_by:
        return (
            f"{member} has not read {evidence.kind} since the restore (let its agent list that kind, or wait "
            f"for its API server, or, {fence})"
        )
    return (
        f"{member} has not reported all its Jobs since the restore (wait for its agent, of this release or a "
        f"later one, or, {fence})"
    )


def _listed(owed: Iterable[str]) -> str:
    found = list(owed)
    more = f"; and {len(found) - _NAMED} more members" if len(found) > _NAMED else ""
    return "; ".join(found[:_NAMED]) + more
