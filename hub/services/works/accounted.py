"""Accounting of members for their Jobs since the store was restored; it guards the start of jobs.

A member has, once a session that began after the restore has reported all that it sees, later than any
earlier session of that cluster can have started a Job. Every way in which a held, deactivated or
withdrawn job becomes startable asks `blocked` in the transaction that moves it
(docs/explain/exactly-once.md, rule 12).
"""

import datetime as dt
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from hub.domain.workloads.origin import Origin
from hub.domain.workloads.restarts import RestartedJob, RestoreEvidence, why_not_startable
from hub.store import clusters, doubts, leftovers, settings, workloads
from hub.store.leftovers import Leftover
from hub.store.records.members import Member
from hub.store.records.workloads import Workload
from hub.store.transaction import Transaction
from hub.store.workloads import BARE
from shared.wire.agent_v1 import Observed, SyncRequest
from shared.wire.left_objects import CRON_JOB
from shared.wire.versions import KINDS, OLDEST

ACCEPTED_AT: Final = "accepted_at"  # a setting: when a store that went back was last accepted
MEMBERS: Final = "accounted_members"  # a setting: uid of the cluster, by name of the member
# A setting: the session that reported more earlier Jobs than the store keeps, by name of the member.
OVERFLOWING: Final = "accounted_overflowing"
# A setting, as MEMBERS: those whose agents see other kinds than Job too.
OF_KINDS: Final = "accounted_kinds"
# A setting: uid of the cluster and the kinds of jobs that its agent has not read, by name of a member of
# MEMBERS that is not in OF_KINDS. Of the other kinds it has accounted.
UNREAD: Final = "accounted_unread"
# A setting, as MEMBERS: those whose agents have read CronJobs; each with the restore that it was read after.
CRON_JOBS: Final = "accounted_cron_jobs"
_SETTINGS: Final = (ACCEPTED_AT, MEMBERS, OF_KINDS, UNREAD, OVERFLOWING, CRON_JOBS)
JOB: Final = "batch/v1/Job"


def begin(tx: Transaction) -> None:
    """The store went back: every member owes a report of all its Jobs from now on."""
    newest = doubts.newest_creation(tx)  # the clock of this machine may be behind the store's
    at = tx.now if newest is None else max(tx.now, newest)
    settings.put(tx, ACCEPTED_AT, at.isoformat())
    settings.put(tx, MEMBERS, {})
    settings.put(tx, OF_KINDS, {})
    settings.put(tx, UNREAD, {})
    settings.put(tx, OVERFLOWING, {})
    settings.put(tx, CRON_JOBS, {})


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
    reported = _by_job(leftovers.of_jobs(tx, [row.uid for row in ours]))
    overflowing = _overflowing(tx)
    unread = settings.get(tx, UNREAD) or {}
    evidence = {  # an agent proves nothing of kinds that it has not read
        kind: RestoreEvidence(
            at,
            tuple(_unreported(tx, kind)),
            overflowing,
            reported,
            kind,
            _not_reading(unread, kind),
        )
        for kind in {_kind_of(row) for row in ours}
    }
    told = {row.uid: why_not_startable(_candidate(row), evidence[_kind_of(row)]) for row in ours}
    return {uid: why for uid, why in told.items() if why}


def _not_reading(unread: Mapping[str, Sequence[str]], kind: str) -> list[str]:
    return [member for member, (_uid, *kinds) in unread.items() if kind in kinds]


def _kind_of(row: Workload) -> str:
    """As `SyncRequest.kinds_unread` names it."""
    return JOB if row.kind == "Job" else f"{row.api_version}/{row.kind}"


def _candidate(row: Workload) -> RestartedJob:
    return RestartedJob(row.uid, row.created_at, born_here=row.origin == Origin.REST)


def reported(tx: Transaction, uids: Collection[str]) -> set[str]:
    """Those of these jobs of which a member reports an earlier epoch."""
    return {each.uid for each in leftovers.of_jobs(tx, uids)}


def _by_job(found: Sequence[Leftover]) -> dict[str, dict[str, int]]:
    reported: dict[str, dict[str, int]] = {}
    for each in found:
        reported.setdefault(each.uid, {})[each.cluster] = each.epoch
    return reported


def _unreported(tx: Transaction, kind: str = JOB) -> list[str]:
    """Members that have not accounted for their jobs of this kind."""
    done: Mapping[str, str] = settings.get(tx, MEMBERS if kind == JOB else OF_KINDS) or {}
    owing = [each for each in clusters.list_all(tx) if _owes(each, done)]
    if not owing or kind == JOB:
        return [each.name for each in owing]
    unread = settings.get(tx, UNREAD) or {}
    return [each.name for each in owing if not _has_read(unread.get(each.name), each, kind)]


def _has_read(unread: Sequence[str] | None, member: Member, kind: str) -> bool:
    return unread is not None and unread[0] == member.cluster_uid and kind not in unread[1:]


def owing(tx: Transaction) -> list[str]:
    """Members that have not reported all their Jobs since the store went back; none if it never did."""
    return [] if restored_at(tx) is None else sorted(_owing(tx))


def _owing(tx: Transaction) -> set[str]:
    """With those whose agents have not read a kind, while the store has a job of it."""
    done: Mapping[str, str] = settings.get(tx, OF_KINDS) or {}
    found = set(_unreported(tx))
    if any(_owes(each, done) for each in clusters.list_all(tx) if each.name not in found):
        for kind in workloads.other_kinds(tx):
            found |= set(_unreported(tx, kind))
    return found


def _owes(member: Member, done: Mapping[str, str]) -> bool:
    """A member that never joined, or was fenced, runs nothing of this hub."""
    joined = member.joined_at is not None
    return joined and done.get(member.name) != member.cluster_uid


def unread_cron_jobs(tx: Transaction) -> list[str]:
    """Members that have not read their CronJobs since the store went back; none if it never did."""
    at = settings.get(tx, ACCEPTED_AT)
    if at is None:
        return []
    done: Mapping[str, Sequence[str]] = settings.get(tx, CRON_JOBS) or {}
    joined = [each for each in clusters.list_all(tx) if each.joined_at is not None]
    return [m.name for m in joined if list(done.get(m.name, ())) != [m.cluster_uid, at]]


def _overflowing(tx: Transaction) -> dict[str, str]:
    return dict(settings.get(tx, OVERFLOWING) or {})


def note(tx: Transaction, cluster: str, session: str, entries: Iterable[Observed]) -> None:
    """Store the earlier Jobs that a member reports.

    If they are more than the store keeps, the member has not accounted for its Jobs, and no report of this
    session changes that: a job that is not listed is guarded like a job of a silent member.
    """
    if restored_at(tx) is None:
        return  # every member reports again once the store is accepted
    told = list(entries)
    if not told:
        return
    member = clusters.get(tx, cluster)
    # An earlier report, judged again (session ""), may be that of another agent than the present one.
    is_job = bool(session) and not _sees_kinds(member)
    found = {each.uid: Leftover(each.uid, cluster, _epoch(each), is_job) for each in told}
    if leftovers.note(tx, cluster, found.values()):
        return
    if not session and member is not None:  # the hub judges an earlier report again
        session = member.session or ""
    settings.put(tx, OVERFLOWING, {**_overflowing(tx), cluster: session})
    _owes_again(tx, cluster)


def _owes_again(tx: Transaction, cluster: str) -> None:
    for setting in (MEMBERS, OF_KINDS, UNREAD):
        _drop(tx, setting, cluster)


def _drop(tx: Transaction, setting: str, cluster: str) -> None:
    done = dict(settings.get(tx, setting) or {})
    if done.pop(cluster, None) is not None:
        settings.put(tx, setting, done)


def _epoch(entry: Observed) -> int:
    return max(0, min(entry.epoch, 2**63 - 1))


class Accounts:
    """In-memory copy of the accounting: skips the transaction where a complete report settles nothing."""

    def __init__(self) -> None:
        self._restored_at: str | None = None
        self._done: Mapping[str, str] = {}
        self._of_kinds: Mapping[str, str] = {}
        self._unread: Mapping[str, Sequence[str]] = {}
        self._overflowing: Mapping[str, str] = {}
        self._cron_jobs: Mapping[str, Sequence[str]] = {}
        self._left: dict[str, set[str]] = {}

    def take(self, told: "Accounting") -> None:
        """Replace the cached rows by those that `standing` read."""
        self._restored_at, self._done = told.restored_at, told.done
        self._of_kinds, self._unread = told.of_kinds, told.unread
        self._overflowing, self._cron_jobs = told.overflowing, told.cron_jobs
        self._left = {}
        for each in told.left:
            self._left.setdefault(each.cluster, set()).add(each.uid)

    def is_news(
        self,
        cluster: str,
        cluster_uid: str,
        session: str,
        reported: Collection[str],
        protocol: int = OLDEST,
        unread: Sequence[str] | None = None,
    ) -> bool:
        """True if this complete report changes what the session's member owes.

        `unread`: kinds that it has not read; None: its agent does not name them.
        """
        if self._restored_at is None:
            return False
        if has_read_cron_jobs(unread) and list(self._cron_jobs.get(cluster, ())) != [
            cluster_uid,
            self._restored_at,
        ]:
            return True
        unread = _of_jobs(unread)
        left = self._left.get(cluster)
        gone = left is not None and any(uid not in reported for uid in left)
        owes = self._done.get(cluster) != cluster_uid
        if self._of_kinds.get(cluster) != cluster_uid:
            whole = protocol >= KINDS if unread is None else not unread
            told = [cluster_uid, *(unread or ())]
            owes |= whole or (bool(unread) and list(self._unread.get(cluster, ())) != told)
        return gone or (owes and self._overflowing.get(cluster) != session)


class Accounting(NamedTuple):
    """The rows that `Accounts` caches."""

    restored_at: str | None = None
    done: Mapping[str, str] = MappingProxyType({})
    overflowing: Mapping[str, str] = MappingProxyType({})
    left: Sequence[Leftover] = ()
    of_kinds: Mapping[str, str] = MappingProxyType({})
    unread: Mapping[str, Sequence[str]] = MappingProxyType({})
    cron_jobs: Mapping[str, Sequence[str]] = MappingProxyType({})


def standing(tx: Transaction) -> Accounting:
    """Read it from the store."""
    at = settings.get(tx, ACCEPTED_AT)
    if at is None:
        return Accounting()
    done = settings.get(tx, MEMBERS) or {}
    of_kinds = settings.get(tx, OF_KINDS) or {}
    unread = settings.get(tx, UNREAD) or {}
    read = settings.get(tx, CRON_JOBS) or {}
    return Accounting(at, done, _overflowing(tx), leftovers.list_all(tx), of_kinds, unread, read)


def is_about(names: Collection[str]) -> bool:
    """True if a change of these settings changes what `standing` reads."""
    return any(n in _SETTINGS or n.startswith(leftovers.PREFIX) for n in names)


def is_accounting(request: SyncRequest) -> bool:
    """True if a session has read all its Jobs, and reports all that it sees."""
    unread = request.kinds_unread
    read = request.jobs_read if unread is None else JOB not in unread
    return read and not request.observed.more


def has_read_cron_jobs(unread: Collection[str] | None) -> bool:
    """True if a session has read all CronJobs; `unread`: the kinds that it has not; None: not told."""
    return unread is not None and CRON_JOB not in unread


def _of_jobs(unread: Collection[str] | None) -> list[str] | None:
    """Those of the kinds that are kinds of jobs."""
    return None if unread is None else sorted(set(unread) - {CRON_JOB})


def settle(
    tx: Transaction,
    cluster: str,
    session: str,
    seq: int,
    reported: Collection[str],
    incarnation: str,
    unread: Sequence[str] | None = None,
) -> bool:
    """A session has reported all its Jobs, those of `reported`; False if that proves nothing (yet).

    It proves nothing of the kinds that it has not read (`unread`), nor, if its agent does not name them
    (None), of other kinds than Job before protocol 7.

    It does not where a later session or a later request was stored meanwhile, or where the session reported
    more earlier Jobs than the store keeps. It does not either for a session of an earlier `incarnation` than
    the store's: that may have begun before the restore. What the process knows of it may be late.
    """
    member = clusters.get(tx, cluster)
    if member is None or restored_at(tx) is None or member.joined_at is None:
        return False
    if settings.get(tx, "incarnation") != incarnation:
        return False
    if member.session != session or member.session_seq > seq:
        return False
    if has_read_cron_jobs(unread):
        _put(tx, CRON_JOBS, cluster, [member.cluster_uid, settings.get(tx, ACCEPTED_AT)])
    unread = _of_jobs(unread)
    whole = _sees_kinds(member) if unread is None else not unread
    absent = [e for e in leftovers.of_cluster(tx, cluster) if e.uid not in reported]
    leftovers.drop(tx, absent if whole else _of_kinds_read(tx, absent, unread))
    if _overflowing(tx).get(cluster) == session:
        return False
    _fits(tx, cluster)
    _put(tx, MEMBERS, cluster, member.cluster_uid)
    if whole:
        _put(tx, OF_KINDS, cluster, member.cluster_uid)
    elif unread:
        _put(tx, UNREAD, cluster, [member.cluster_uid, *unread])
    return True


def _put(tx: Transaction, setting: str, cluster: str, value: object) -> None:
    done = dict(settings.get(tx, setting) or {})
    if done.get(cluster) != value:
        settings.put(tx, setting, {**done, cluster: value})


def _of_kinds_read(
    tx: Transaction, found: Sequence[Leftover], unread: Sequence[str] | None
) -> list[Leftover]:
    """Without those that may be of kinds that the agent has not read; `unread`: None: all but Job."""
    rows = workloads.get_many(tx, [each.uid for each in found]) if found else {}
    kinds = {uid: _kind_of(row) for uid, row in rows.items()}

    def is_read(kind: str) -> bool:
        return kind == JOB or (unread is not None and kind not in unread)

    return [e for e in found if (is_read(kinds[e.uid]) if e.uid in kinds else e.is_job)]


def _sees_kinds(member: Member | None) -> bool:
    """Tell if the member's agent sees other kinds than Job."""
    agent = (member.agent if member is not None else None) or {}
    return int(agent.get("protocol") or OLDEST) >= KINDS


def _fits(tx: Transaction, cluster: str) -> None:
    overflowing = _overflowing(tx)
    if overflowing.pop(cluster, None) is not None:
        settings.put(tx, OVERFLOWING, overflowing)


def fence(tx: Transaction, cluster: str) -> None:
    """An administrator says that the cluster is destroyed, or it left: no earlier Job runs there.

    One that joins under this name later owes a report again.
    """
    if restored_at(tx) is None:
        return
    leftovers.drop(tx, leftovers.of_cluster(tx, cluster))
    _fits(tx, cluster)
    _owes_again(tx, cluster)
    _drop(tx, CRON_JOBS, cluster)


def adopted(tx: Transaction, uid: str, cluster: str) -> None:
    """The earlier Job in this member is the job's present one: it no longer blocks a start."""
    found = leftovers.of_jobs(tx, [uid])
    leftovers.drop(tx, [each for each in found if each.cluster == cluster])


def owed_by_member(tx: Transaction, cluster: str) -> str:
    """Return what a member still owes since a restore, which blocks its removal; "" for nothing."""
    if restored_at(tx) is None:
        return ""
    if left := leftovers.of_cluster(tx, cluster):
        return f"reports {len(left)} Jobs from before the hub's store was restored"
    if cluster in _owing(tx):
        return "has not reported all its Jobs since the hub's store was restored"
    return ""
