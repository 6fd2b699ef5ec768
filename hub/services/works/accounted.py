"""Which members have accounted for their Jobs since the store was restored, and which jobs may start.

A member has, once a session that began after the restore has reported all that it sees, later than any
earlier session of that cluster can have started a Job. Every way in which a held, deactivated or
withdrawn job becomes startable asks `blocked` in the transaction that moves it
(docs/explain/exactly-once.md, rule 12).
"""

import datetime as dt
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from hub.domain.workloads.restarts import RestoreEvidence, why_not_startable
from hub.store import clusters, leftovers, settings
from hub.store.leftovers import Leftover
from hub.store.records.members import Member
from hub.store.records.workloads import Workload
from hub.store.transaction import Transaction
from hub.store.workloads import BARE
from shared.wire.agent_v1 import LEASE_MARGIN, LEASE_S, Observed

ACCEPTED_AT: Final = "accepted_at"  # a setting: when a store that went back was last accepted
MEMBERS: Final = "accounted_members"  # a setting: uid of the cluster, by name of the member
# An earlier session of the same cluster may start Jobs for so long after a later one began.
_LEASES_END: Final = dt.timedelta(seconds=LEASE_S * LEASE_MARGIN)


def begin(tx: Transaction) -> None:
    """The store went back: every member owes a report of all its Jobs from now on."""
    settings.put(tx, ACCEPTED_AT, tx.now.isoformat())
    settings.put(tx, MEMBERS, {})


def restored_at(tx: Transaction) -> dt.datetime | None:
    """When the store last went back; None if it never did."""
    found = settings.get(tx, ACCEPTED_AT)
    return None if found is None else dt.datetime.fromisoformat(found)


def blocked(tx: Transaction, rows: Iterable[Workload]) -> dict[str, str]:
    """Those of these jobs that may not start, and why, by uid.

    One query if the store never went back, else a few, whatever the number of jobs. Bare Workloads are
    left out: an executor outside the hub runs them.
    """
    at = restored_at(tx)
    if at is None:
        return {}
    ours = [row for row in rows if row.kind != BARE]
    if not ours:
        return {}
    evidence = RestoreEvidence(
        at, tuple(_unreported(tx)), _by_job(leftovers.of_jobs(tx, [row.uid for row in ours]))
    )
    told = {row.uid: why_not_startable(row.uid, row.created_at, evidence) for row in ours}
    return {uid: why for uid, why in told.items() if why}


def _by_job(found: Sequence[Leftover]) -> dict[str, dict[str, int]]:
    reported: dict[str, dict[str, int]] = {}
    for each in found:
        reported.setdefault(each.uid, {})[each.cluster] = each.epoch
    return reported


def _unreported(tx: Transaction) -> list[str]:
    done: Mapping[str, str] = settings.get(tx, MEMBERS) or {}
    return [each.name for each in clusters.list_all(tx) if _owes(each, done)]


def _owes(member: Member, done: Mapping[str, str]) -> bool:
    """A member that never joined, or was fenced, runs nothing of this hub."""
    joined = member.joined_at is not None
    return joined and done.get(member.name) != member.cluster_uid


def note(tx: Transaction, cluster: str, entries: Iterable[Observed]) -> None:
    """A member reports these Jobs of before."""
    leftovers.note(
        tx,
        {each.uid: Leftover(each.uid, cluster, _epoch(each)) for each in entries}.values(),
    )


def _epoch(entry: Observed) -> int:
    return max(0, min(entry.epoch, 2**63 - 1))


class Accounts:
    """What a process knows of them: whether a report that is complete is worth a transaction."""

    def __init__(self) -> None:
        self._restored_at: str | None = None
        self._done: Mapping[str, str] = {}
        self._left: dict[str, set[str]] = {}

    def take(self, told: tuple[str | None, Mapping[str, str], Sequence[Leftover]]) -> None:
        """What the store says now, as `standing` reads it."""
        self._restored_at, self._done, found = told
        self._left = {}
        for each in found:
            self._left.setdefault(each.cluster, set()).add(each.uid)

    def is_news(self, cluster: str, cluster_uid: str, reported: Collection[str]) -> bool:
        """Whether a complete report of these jobs settles anything."""
        if self._restored_at is None:
            return False
        left = self._left.get(cluster)
        gone = left is not None and any(uid not in reported for uid in left)
        return gone or self._done.get(cluster) != cluster_uid


def standing(tx: Transaction) -> tuple[str | None, Mapping[str, str], Sequence[Leftover]]:
    """What `Accounts` keeps."""
    at = settings.get(tx, ACCEPTED_AT)
    if at is None:
        return None, {}, ()
    return at, settings.get(tx, MEMBERS) or {}, leftovers.list_all(tx)


def is_about(names: Collection[str]) -> bool:
    """Whether a change of these settings changes what `standing` reads."""
    return any(n in (ACCEPTED_AT, MEMBERS) or n.startswith(leftovers.PREFIX) for n in names)


def settle(
    tx: Transaction, cluster: str, session: str, seq: int, reported: Collection[str]
) -> bool:
    """A session has reported all its Jobs, those of `reported`; False if that proves nothing (yet).

    It does not where a later session or a later request was stored meanwhile, where the session began
    before the restore, and while an earlier session of the cluster may still start Jobs.
    """
    member, at = clusters.get(tx, cluster), restored_at(tx)
    if member is None or at is None or member.session_at is None or member.joined_at is None:
        return False
    if member.session != session or member.session_seq > seq or member.session_at <= at:
        return False
    if tx.now - member.session_at < _LEASES_END:
        return False
    leftovers.drop(tx, [e for e in leftovers.of_cluster(tx, cluster) if e.uid not in reported])
    done = dict(settings.get(tx, MEMBERS) or {})
    if done.get(cluster) != member.cluster_uid:
        settings.put(tx, MEMBERS, {**done, cluster: member.cluster_uid})
    return True


def fence(tx: Transaction, cluster: str) -> None:
    """An administrator says that the cluster is destroyed, or it left: nothing of before runs there.

    One that joins under this name later owes a report again.
    """
    if restored_at(tx) is None:
        return
    leftovers.drop(tx, leftovers.of_cluster(tx, cluster))
    done = dict(settings.get(tx, MEMBERS) or {})
    if done.pop(cluster, None) is not None:
        settings.put(tx, MEMBERS, done)


def adopted(tx: Transaction, uid: str, cluster: str) -> None:
    """The Job of before in this member is the job's present one."""
    found = leftovers.of_jobs(tx, [uid])
    leftovers.drop(tx, [each for each in found if each.cluster == cluster])


def owed_by_member(tx: Transaction, cluster: str) -> str:
    """What a member owes since a restore, for who wants to remove it; "" for nothing."""
    if restored_at(tx) is None:
        return ""
    if left := leftovers.of_cluster(tx, cluster):
        return f"reports {len(left)} Jobs from before the hub's store was restored"
    if cluster in _unreported(tx):
        return "has not reported all its Jobs since the hub's store was restored"
    return ""
