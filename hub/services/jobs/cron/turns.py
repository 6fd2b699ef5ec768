"""The runs of CronJobs: each scheduled time becomes at most one Job, whichever hub decides it and how often.

One transaction of the leader reads a CronJob's decided times, creates the child and writes the time down;
the child's name and uid follow from the CronJob and the time. The rule and its proof:
docs/explain/exactly-once.md#runs-of-cronjobs.
"""

import datetime as dt
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from hub.domain.workloads.cron_runs import (
    MOST_COUNTED,
    Concurrency,
    CronRules,
    Decided,
    NextRun,
    child_uid,
    next_run,
    rules_of,
)
from hub.domain.workloads.cron_schedule import BadSchedule
from hub.domain.workloads.states import WithdrawTo
from hub.services.context import timeline
from hub.services.context.settings import Intake
from hub.services.jobs.accept import resolve_queues, submit_jobs
from hub.services.jobs.cron.beside import may_run
from hub.services.jobs.cron.status import (
    Child,
    CronStatus,
    beyond_limits,
    held,
    read_status,
    settled,
    since,
    told,
)
from hub.services.questions.jobs import refusal_within
from hub.services.reading.cron_jobs import GROUP, KIND, read_cron_job
from hub.services.reading.draft import Draft, draft
from hub.services.works.withdraw import withdraw_jobs
from hub.store import objects, workloads
from hub.store.records.objects import StoredObject
from hub.store.records.workloads import Workload
from hub.store.transaction import Transaction
from shared import labels
from shared.errors import Rejected
from shared.kinds.registry import parse

MOST_ACTIVE: Final = 1000  # children of one CronJob that have not ended
_HELD_AGAIN: Final = dt.timedelta(seconds=10)  # until one that is held is looked at again
_HISTORY: Final = "beyond the history limits of its CronJob"
_MOST_NAMED: Final = 3  # Jobs that one event names


class AfterTurn(NamedTuple):
    """The state of a CronJob after a turn. `look_at`: when its next time comes; None: never, or it is
    suspended. `children`: those that have not ended.
    """

    look_at: dt.datetime | None
    children: frozenset[str]


@dataclass(slots=True)
class _CronTurn:
    """One CronJob within one transaction."""

    row: StoredObject
    rules: CronRules
    status: CronStatus
    run: NextRun
    child: Draft | None = None


def scheduled(tx: Transaction, among: Collection[str] | None = None) -> list[str]:
    """The uids of the CronJobs whose schedule the hub keeps; `among`: of those alone."""
    return objects.uids_of_kind(tx, GROUP, KIND, among)


def take_turns(
    tx: Transaction, uids: Sequence[str], intake: Intake, term: int
) -> dict[str, AfterTurn]:
    """Note which children have ended, and create those that are due. Absent: CronJobs that are gone.

    Raises StaleTerm. While the hub is stopped it creates nothing.
    """
    tx.require_term(term)
    if timeline.stopped(tx):
        return {}
    rows = [row for row in objects.get_many(tx, uids).values() if row.is_scheduled]
    statuses = {row.uid: read_status(row.status) for row in rows if row.deleted_at is None}
    children = [uid for each in statuses.values() for uid in each.children]
    known = workloads.get_many(tx, children) if children else {}
    begun = [_begun(tx, row, statuses[row.uid], known) for row in rows if row.uid in statuses]
    turns = [each for each in begun if each is not None]
    _hold(tx, turns)
    _create(tx, [each for each in turns if each.run.decided is Decided.START], intake)
    for each in turns:
        _forget_oldest(tx, each)
    after = {each.row.uid: told(each.status, each.row.namespace) for each in turns}
    before = {each.row.uid: each.row.status or {} for each in turns}
    objects.set_statuses(tx, {uid: new for uid, new in after.items() if new != before[uid]})
    return {each.row.uid: _looked(each) for each in turns}


def _hold(tx: Transaction, turns: Sequence[_CronTurn]) -> None:
    """Create no run of those that members may run themselves: their time waits, as for an earlier run."""
    asked = [each for each in turns if each.run.decided is Decided.START or each.status.held]
    found = may_run(tx, {(each.row.namespace, each.row.name) for each in asked})
    for each in asked:
        kept = found.get((each.row.namespace, each.row.name))
        why = "" if kept is None else f"{kept.why}: {kept.remedy}"
        if why and why != each.status.held:
            tx.say(each.row, "MayRunInMember", f"no run is created: {why}"[:1000], warning=True)
        each.status = held(each.status, why, tx.now)
        if kept is not None:
            look_at = min(each.run.look_at or tx.now + _HELD_AGAIN, tx.now + _HELD_AGAIN)
            decided = each.run.decided
            waits = Decided.BLOCKED if decided is Decided.START else decided
            each.run = replace(each.run, decided=waits, look_at=look_at)


def _looked(turn: _CronTurn) -> AfterTurn:
    return AfterTurn(turn.run.look_at, frozenset(each.uid for each in turn.status.active))


def _begun(
    tx: Transaction, row: StoredObject, status: CronStatus, known: dict[str, Workload]
) -> _CronTurn | None:
    """The turn of one CronJob as far as nothing is created: ends noted, the next run decided and said.

    None for one that can no longer be read, such as after its time zone has left the database of zones.
    """
    try:
        rules = rules_of(row.spec or {})
    except BadSchedule as fault:
        tx.say(row, "UnparseableSchedule", str(fault), warning=True)
        return None
    status, ended = settled(status, known)
    for child, job in ended:
        state = "deleted" if job is None or job.live is None else job.state
        tx.say(row, "SawCompletedJob", f"Job {child.name} has ended: {state}")
    run = next_run(rules, since(row, status), tx.now, is_active=bool(status.active))
    is_full = len(status.active) >= MOST_ACTIVE and rules.concurrency is not Concurrency.REPLACE
    if run.decided is Decided.START and is_full:
        run = replace(run, decided=Decided.BLOCKED)
    if run.late is not None:
        said = f"{_time(run.late)}: its starting deadline passed before it could start"
        tx.say(row, "MissSchedule", said, warning=True)
        status = replace(status, decided_until=run.late, blocked_at=None)
    if run.decided is Decided.BLOCKED and status.blocked_at != run.at and run.at is not None:
        tx.say(row, "JobAlreadyActive", f"{_time(run.at)}: {_waits_for(status, known)}")
        status = replace(status, blocked_at=run.at)
    return _CronTurn(row, rules, replace(status, next_at=run.look_at), run)


def _waits_for(status: CronStatus, known: dict[str, Workload]) -> str:
    """The Jobs whose end a run waits for, with their states."""
    named = [f"{each.name} ({known[each.uid].state})" for each in status.active[:_MOST_NAMED]]
    more = len(status.active) - len(named)
    others = f" and {more} more" if more else ""
    return f"this run waits until earlier ones have ended: {', '.join(named)}{others}"


def _create(tx: Transaction, turns: Sequence[_CronTurn], intake: Intake) -> None:
    """Create the children that are due.

    One that is refused, or whose LocalQueue does not exist, counts as decided, as a missed one does; it
    replaces nothing.
    """
    for each in turns:
        assert each.run.at is not None
        if each.run.missed:
            _say_missed(tx, each)
        try:
            each.child = child_of(each.row, each.run.at, tx.now)
        except Rejected as refusal:
            _say_refused(tx, each, refusal)
    drafts = [each.child for each in turns if each.child is not None]
    there = workloads.get_many(tx, [given.uid for given in drafts])
    new = [given for given in drafts if given.uid not in there]
    queues = resolve_queues(tx, new, intake) if new else {}
    absent = {uid: q.message for uid, q in queues.items() if q.is_absent}
    new = [given for given in new if given.uid not in absent]
    for each in turns:
        if each.child is not None and (why := absent.get(each.child.uid)):
            _say_no_queue(tx, each, why)
            each.child = None
    taken = submit_jobs(tx, new, intake, strict=False) if new else []
    answers = {given.uid: answer for given, answer in zip(new, taken, strict=True)}
    for each in turns:
        if each.child is not None:
            _note(tx, each, each.child, answers.get(each.child.uid))
        each.status = replace(each.status, decided_until=each.run.at, blocked_at=None)


def _note(
    tx: Transaction, turn: _CronTurn, child: Draft, answer: Workload | Rejected | None
) -> None:
    """Record the child, which with `Replace` replaces the others that run; None: it was there before."""
    if isinstance(answer, Rejected):
        _say_refused(tx, turn, answer)
        return
    if turn.rules.concurrency is Concurrency.REPLACE:
        _replace(tx, turn, child.uid)
    status = turn.status
    if answer is not None:
        tx.say(turn.row, "SuccessfulCreate", f"created Job {child.name}")
    known = child.uid in status.children
    added = status.active if known else (*status.active, Child(child.name, child.uid))
    turn.status = replace(status, active=added, last_scheduled=turn.run.at)


def _replace(tx: Transaction, turn: _CronTurn, by: str) -> None:
    """Delete the children that run, without `by`: the Job of a time that is created again."""
    gone = [each for each in turn.status.active if each.uid != by]
    if not gone:
        return
    why = f"CronJob {turn.row.name} starts its next run"
    withdraw_jobs(tx, [each.uid for each in gone], WithdrawTo.DELETED, "Replaced", why)
    for each in gone:
        tx.say(turn.row, "SuccessfulDelete", f"deleted Job {each.name}: the next run replaces it")
    kept = tuple(each for each in turn.status.active if each.uid == by)
    turn.status = replace(turn.status, active=kept)


def _forget_oldest(tx: Transaction, turn: _CronTurn) -> None:
    turn.status, gone = beyond_limits(turn.status, turn.rules)
    if gone:
        uids = [each.uid for each in gone]
        withdraw_jobs(tx, uids, WithdrawTo.DELETED, "HistoryLimit", _HISTORY)


def _say_missed(tx: Transaction, turn: _CronTurn) -> None:
    many = turn.run.missed > MOST_COUNTED
    count = f"more than {MOST_COUNTED}" if many else str(turn.run.missed)
    said = f"{count} scheduled times passed without a run, and the newest alone runs now"
    if many:
        said += ": set or decrease spec.startingDeadlineSeconds, or check the hub's clock"
    tx.say(turn.row, "TooManyMissedTimes" if many else "MissSchedule", said, warning=True)


def _say_refused(tx: Transaction, turn: _CronTurn, refusal: Rejected) -> None:
    assert turn.run.at is not None
    runs = turn.rules.concurrency is Concurrency.REPLACE and turn.status.active
    what = "this time does not run" + (", and replaces no Job" if runs else "")
    said = f"{_time(turn.run.at)}: its Job was refused, and {what}: {refusal.detail}"
    tx.say(turn.row, "FailedCreate", said[:1000], warning=True)


def _say_no_queue(tx: Transaction, turn: _CronTurn, why: str) -> None:
    assert turn.run.at is not None
    said = f"{_time(turn.run.at)}: {why}, and this time does not run"
    tx.say(turn.row, "MissSchedule", said, warning=True)


def child_of(row: StoredObject, at: dt.datetime, now: dt.datetime) -> Draft:
    """The Job of the run of `at`. Raises Rejected where the stored CronJob cannot be read any more."""
    parsed = parse(row.manifest, strict=False)
    read = read_cron_job(parsed, at, strict=False)
    assert read is not None
    given = draft(
        read.child,
        now,
        uid=child_uid(row.uid, at),
        submitted_by=row.annotations.get(labels.SUBMITTED_BY, ""),
    )
    # Who applied the CronJob was allowed to name its priority.
    return replace(given, may_set_priority=True)


def active(row: StoredObject) -> list[str]:
    """The uids of the children of a CronJob that had not ended at its last turn."""
    return [each.uid for each in read_status(row.status).active]


def deleted_with(tx: Transaction, row: StoredObject) -> str:
    """The Jobs that go with a CronJob, by their states; "" without any."""
    known = workloads.get_many(tx, read_status(row.status).children)
    states = Counter(str(each.state) for each in known.values() if each.live)
    counts = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
    return f"deletes its {states.total()} Jobs too: {counts}" if states else ""


def refusal_of(tx: Transaction, row: StoredObject) -> Rejected | None:
    """The reason why the caller may not change a CronJob, or None: it is as one of its Jobs."""
    return refusal_within(tx, row.namespace, row.name, *_queue_and_owner(tx, row))


def is_shown(tx: Transaction, row: StoredObject) -> bool:
    """True if a CronJob exists for the caller, as one of its Jobs would."""
    return tx.scope.is_everything or tx.scope.shows(row.namespace, *_queue_and_owner(tx, row))


def _queue_and_owner(tx: Transaction, row: StoredObject) -> tuple[str, str]:
    try:
        queue = child_of(row, tx.now, tx.now).queue
    except Rejected:
        queue = ""  # it can no longer be read: who manages its namespace may
    return queue, row.annotations.get(labels.SUBMITTED_BY, "")


def end_children(tx: Transaction, row: StoredObject) -> None:
    """Delete the children of a CronJob that has been deleted, as Kubernetes' garbage collector does."""
    uids = read_status(row.status).children
    why = f"CronJob {row.namespace}/{row.name} was deleted"
    withdraw_jobs(tx, uids, WithdrawTo.DELETED, "CronJobDeleted", why)


def _time(at: dt.datetime) -> str:
    return at.isoformat(timespec="minutes").replace("+00:00", "Z")
