"""Taking in what agents observe, states and drift: judged, then written to `hub.store.works` and
`hub.store.workloads` by one transaction of bulk statements, whatever their number.

`take_reports` is what syncs share: entries of all agents whose requests fall into one commit are
judged one by one (`hub.services.members.judge`, pure) and written together.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

import orjson

from hub.domain.workloads.states import State, Transition
from hub.services.consent.refusals import store_capacity
from hub.services.leftovers import left_objects
from hub.services.members import deadlines, forgotten
from hub.services.members.faults import note_fault
from hub.services.members.judge import judge
from hub.services.members.report_order import ReportOrder, ReportPlace, last_words
from hub.services.members.terms import BLIND, TOO_OLD, is_blind
from hub.services.members.verdicts.api_server import down_view
from hub.services.members.verdicts.judgement import Judgement
from hub.services.members.verdicts.plain_text import REASON_CHARS, bounded_drift, drift_text, plain
from hub.services.works import accounted, counters, restored
from hub.services.works.later_epochs import NEWER_EPOCH, at_epoch, go_on_in, later_epoch
from hub.services.works.retries import RETRYING
from hub.store import clusters, on_members, workloads, works
from hub.store.records.history import EventFacts
from hub.store.records.workloads import (
    CountsRow,
    WorkloadChange,
    WorkloadMove,
    change_of,
    counts_of,
    move_of,
)
from hub.store.records.works import LastObserved, ObservedWork, StandingWork
from hub.store.transaction import Transaction
from shared.documents import Json
from shared.errors import Rejected
from shared.failpoints import failpoint
from shared.wire.agent_v1 import ApiServerDown, Observed, Order, Refused
from shared.wire.namespaces import NAMESPACE_STAYS
from shared.wire.versions import NEWEST

MOST_STATUS_BYTES: Final = 32 * 1024
NOT_YOURS = "NotYours"
DOUBLE_RUN: Final = "DoubleRun"
MOST_DRIFTS = 100  # of one object, as in KubeFleet's status
SUBJECT_CHARS: Final = 253  # of an event
_ENDS = frozenset({Transition.SUCCEED, Transition.FAIL, Transition.CONCLUDE})
_JOB_FIELDS = ("suspended", "active", "ready", "terminating", "succeeded", "failed", "start_time",
               "completion_time", "completed_indexes", "failed_indexes", "running_since", "result",
               "reason", "message", "held_by", "failures")  # fmt: skip


@dataclass(frozen=True, slots=True)
class ObservedReport:
    """The content of one request."""

    cluster: str
    entries: Sequence[Observed] = ()
    capacity: bytes | None = None  # agent_v1.Capacity as JSON
    api_server: ApiServerDown | None = None  # given with a capacity: it does not answer
    incarnation: str = ""  # of the hub; "": nothing is said of what is not desired
    may_order: bool = True  # what is not desired and of this incarnation is removed
    session: str = ""  # the reporting agent; "": the hub itself, judging an earlier report again
    seq: int = 0  # its request
    protocol: int = NEWEST  # that its agent speaks


@dataclass(frozen=True, slots=True)
class ReportOutcome:
    """Refused parts of a report, and why; and the objects that the member must remove or leave alone."""

    refused: list[Refused] = field(default_factory=list)
    orders: list[Order] = field(default_factory=list)


class _Said(NamedTuple):
    """The message about a work."""

    work: StandingWork
    reason: str
    message: str
    facts: EventFacts
    warning: bool = True


@dataclass(slots=True)
class _Writes:
    """The writes of a transaction, gathered over all reports."""

    observed: list[ObservedWork] = field(default_factory=list)
    counts: list[CountsRow] = field(default_factory=list)
    charges: list[WorkloadChange] = field(default_factory=list)
    decided: list[WorkloadChange] = field(default_factory=list)
    moves: dict[Transition, list[WorkloadMove]] = field(default_factory=dict)
    actions: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    said: list[_Said] = field(default_factory=list)  # of drift and of double runs
    # Jobs of which another epoch runs, or no longer does.
    beside: list[str] = field(default_factory=list)
    gone: list[tuple[str, str]] = field(default_factory=list)  # objects of placements


def take_reports(
    tx: Transaction, reports: Sequence[ObservedReport], *, heard: bool = True
) -> list[ReportOutcome | Exception]:
    """Store the reports; per report what was not taken, and what the agent is to do about strays.

    One of a session that no longer speaks for its cluster, or older than what is stored of its session,
    is refused whole (SessionSuperseded, StaleSequence): several hubs may answer one agent, and what each
    remembers of it may be late. One that is stored already is left at that.
    `heard`: they come from the agents just now, and are not an earlier word judged again.
    """
    writes = _Writes()
    taken: list[ReportOutcome | Exception] = []
    beats: set[str] = set()
    order = ReportOrder(tx, {report.cluster for report in reports if report.session})
    for report in reports:
        place = order.place(report.cluster, report.session, report.seq)
        if isinstance(place, Rejected):
            taken.append(place)
            continue
        beats.add(report.cluster)
        if place is ReportPlace.STORED:
            taken.append(ReportOutcome())
            continue
        taken.append(_take(tx, report, writes))
        if report.capacity is not None:
            down = down_view(report.api_server, tx.now)
            store_capacity(tx, report.cluster, report.capacity, down)
    works.observe(tx, writes.observed)
    if writes.moves or writes.observed:
        failpoint("H15" if Transition.REQUEUE in writes.moves else "H11")
    deadlines.note_runs(tx, writes.moves.get(Transition.WITHDRAW, ()))
    for name, rows in writes.moves.items():
        if name is Transition.REQUEUE:
            restored.requeue(tx, rows)
        else:
            workloads.transition(tx, name, rows)
    failpoint("H13" if _ENDS & writes.moves.keys() else "")
    workloads.change(tx, writes.decided)
    on_members.count(tx, writes.counts)
    workloads.change(tx, writes.charges)
    for action, keys in writes.actions.items():
        if action == "Remove":
            works.remove(tx, keys)
        else:
            works.act(tx, action, keys)
    left_objects.taken_back(tx, writes.gone)
    _tell(tx, writes)
    clusters.hear(tx, order.newest)
    clusters.beat(tx, dict.fromkeys(beats if heard else (), tx.now))
    return taken


def _tell(tx: Transaction, writes: _Writes) -> None:
    for each in writes.said:
        tx.say(each.work, each.reason, each.message, warning=each.warning, facts=each.facts)
    if writes.beside:
        tx.touch("workloads", *writes.beside)


def _take(tx: Transaction, report: ObservedReport, writes: _Writes) -> ReportOutcome:
    newest, refused = last_words(report.entries)
    standing = restored.in_doubt(tx, works.standing(tx, report.cluster, list(newest)), newest)
    strays = [entry for entry in newest.values() if _is_stray(entry, standing, report)]
    left = [stray for stray in strays if _is_of_before(stray, report)]
    earlier = [entry for entry in newest.values() if _is_earlier(entry, standing, report)]
    accounted.note(tx, report.cluster, report.session, earlier)
    decided = forgotten.to_remove(tx, report.cluster) if left else ()
    if left:
        forgotten.note(tx, report.cluster, left)
        restored.hold_found(tx, report.cluster, [each.uid for each in left])
    orders = [_order(entry, report, decided) for entry in strays]
    refused += _strangers(tx, report, newest, standing)
    left_objects.note(tx, report.cluster, (newest[uid] for uid in newest if uid not in standing))
    no_works = {stray.uid for stray in strays}
    for uid, work in standing.items():
        if uid in no_works:
            continue
        entry = newest[uid]
        if is_blind(report.protocol, work):
            refused.append(Refused(uid=uid, code=TOO_OLD, detail=BLIND))
            continue
        if later := later_epoch(entry, work, tx.now):
            go_on_in(tx, report.cluster, work, later)
            entry, work = at_epoch(entry, work, later)  # noqa: PLW2901 - both are read anew
        verdict = judge(entry, work, report.cluster, tx.now)
        if verdict.code:
            refused.append(Refused(uid=uid, code=verdict.code, detail=verdict.detail))
        else:
            _gather(report.cluster, entry, work, verdict, writes)
    return ReportOutcome(refused, [order for order in orders if order is not None])


def _is_stray(entry: Observed, standing: dict[str, StandingWork], report: ObservedReport) -> bool:
    """True if this is a Job in the member that its cluster should not hold.

    A report from before, if the job is only placed: its cluster has no offer of it.
    """
    if entry.job is None or not entry.object_uid:
        return False
    work = standing.get(entry.uid)
    if work is None:
        return True
    placed = work.state == State.PLACED and work.workload_epoch == work.epoch
    return placed and entry.epoch < work.epoch and _is_of_before(entry, report)


def _is_of_before(entry: Observed, report: ObservedReport) -> bool:
    """True if another incarnation of this hub gave it: the present store may have forgotten it."""
    return bool(report.incarnation) and entry.incarnation not in ("", report.incarnation)


def _is_earlier(
    entry: Observed, standing: dict[str, StandingWork], report: ObservedReport
) -> bool:
    """True for a Job of an earlier incarnation other than the epoch that the store wants in this member."""
    if entry.job is None or not entry.object_uid or not _is_of_before(entry, report):
        return False
    work = standing.get(entry.uid)
    if work is None or entry.reason == NEWER_EPOCH:
        return True
    return not entry.epoch == work.epoch == work.workload_epoch


def _order(entry: Observed, report: ObservedReport, decided: Collection[str]) -> Order | None:
    """The decision about a stray Job: removed, so that its name comes free, or left to an operator.

    It is useless: its epoch was closed, or it was never started. One that another
    incarnation of this hub gave may be what the present store has forgotten, unless it is decided.
    """
    if not report.incarnation or not report.may_order:
        return None
    known = entry.incarnation == report.incarnation or entry.object_uid in decided
    action: Literal["Remove", "Quarantine"] = "Remove" if known else "Quarantine"
    return Order(uid=entry.uid, object_uid=entry.object_uid, action=action)


def _strangers(
    tx: Transaction,
    report: ObservedReport,
    newest: dict[str, Observed],
    standing: dict[str, StandingWork],
) -> list[Refused]:
    """Entries about what this cluster was not given, or no longer holds."""
    unknown = [uid for uid in newest if uid not in standing]
    if not unknown:
        return []
    known = workloads.get_many(tx, unknown)
    refused: list[Refused] = []
    for uid in unknown:
        if newest[uid].phase == "Gone":
            continue  # said before, or never held: either way as it should be
        workload = known.get(uid)
        if workload is None:
            text = "the hub does not know this uid"
            refused.append(Refused(uid=uid, code="Unknown", detail=text))
        elif workload.cluster != report.cluster and not _is_of_before(newest[uid], report):
            text = "it is not placed on this cluster"
            refused.append(Refused(uid=uid, code=NOT_YOURS, detail=text))
    # One that is nowhere by now was this cluster's: its agent has not heard yet.
    theirs = [known[each.uid] for each in refused if each.code == NOT_YOURS]
    if foreign := [job for job in theirs if job.cluster]:
        name = f"{foreign[0].namespace}/{foreign[0].name}"
        text = f"its agent reported {len(foreign)} jobs of other clusters: "
        text += f"{name} is one, which is on {foreign[0].cluster}"
        note_fault(tx, report.cluster, NOT_YOURS, text)
    return refused


def _gather(
    cluster: str, entry: Observed, work: StandingWork, verdict: Judgement, writes: _Writes
) -> None:
    if verdict.overlap:
        writes.said.append(_double_run(cluster, work, verdict.overlap))
    if work.state is None and work.action == "Withdraw" and entry.reason in NAMESPACE_STAYS:
        writes.said.append(_namespace_stays(cluster, entry, work))
    if verdict.overlap or (verdict.action == "Remove" and work.overlapped()):
        writes.beside.append(work.uid)
    if verdict.record:
        writes.observed.append(_row(cluster, entry, work, overlap=bool(verdict.overlap)))
        if entry.drift and work.action != "Compare":
            writes.said += _new_drifts(cluster, entry, work)
    _gather_changes(cluster, work, verdict, writes)
    if verdict.action and verdict.action != work.action:
        writes.actions.setdefault(verdict.action, []).append((cluster, work.uid))
        if verdict.action == "Remove" and work.state is None and not work.options.object_uid:
            writes.gone.append((cluster, work.uid))


def _gather_changes(cluster: str, work: StandingWork, verdict: Judgement, writes: _Writes) -> None:
    """The consequence for the workload."""
    if verdict.transition:
        move = move_of(work.uid, work.epoch, verdict.columns)
        writes.moves.setdefault(verdict.transition, []).append(move)
    elif verdict.decided:
        writes.decided.append(change_of(work.uid, verdict.decided))
    elif verdict.counts is not None:
        writes.counts.append(
            counts_of(work.uid, work.epoch, verdict.counts, all_ready=verdict.all_ready)
        )
    if verdict.detail and not verdict.code:
        facts = EventFacts(cluster, work.epoch, verdict.cause)
        writes.said.append(_Said(work, RETRYING, verdict.detail, facts, warning=False))
    if verdict.admission is not None:
        writes.charges.append({"uid": work.uid, "admission": verdict.admission})


def _double_run(cluster: str, work: StandingWork, text: str) -> _Said:
    counters.double_run()
    return _Said(work, DOUBLE_RUN, plain(text), EventFacts(cluster, work.epoch))


def _namespace_stays(cluster: str, entry: Observed, work: StandingWork) -> _Said:
    """Name what is inside a withdrawn namespace that the member has not deleted."""
    text = plain(f"in {cluster}: {entry.message}")
    return _Said(work, entry.reason, text, EventFacts(cluster, cause=entry.reason))


def _new_drifts(cluster: str, entry: Observed, work: StandingWork) -> list[_Said]:
    """An event for each path that has drifted since the last report: overwritten drift is history."""
    known = {(each["path"], each["first_seen"]) for each in work.drift()}
    return [
        _Said(
            work,
            "Drifted",
            drift_text(cluster, each),
            EventFacts(cluster, subject=each.path[:SUBJECT_CHARS]),
        )
        for each in entry.drift[:MOST_DRIFTS]
        if (each.path, each.first_seen) not in known
    ]


def judge_again(tx: Transaction, rows: Iterable[LastObserved]) -> None:
    """Judge the last reports of these works again: they still hold, and are no sign of life."""
    said: dict[str, list[Observed]] = {}
    for row in rows:
        said.setdefault(row.cluster, []).append(as_observed(row))
    take_reports(
        tx, [ObservedReport(name, entries) for name, entries in said.items()], heard=False
    )


def as_observed(last: LastObserved) -> Observed:
    """The stored entry of a work, as if it were reported again."""
    return Observed.model_validate(
        {
            **last.observed,
            "uid": last.uid,
            "epoch": last.epoch,
            "generation": last.observed_generation,
            "seq": 0,
            "phase": last.phase,
            "reason": last.reason,
            "message": last.message,
            "available": last.available,
            "drift": last.drift or [],
        }
    )


def _status(entry: Observed) -> Json:
    """The object's own status, if reported and not larger than agents make it."""
    if entry.status is None or len(orjson.dumps(entry.status)) > MOST_STATUS_BYTES:
        return {}
    return {"status": entry.status}


def _row(
    cluster: str, entry: Observed, work: StandingWork, *, overlap: bool = False
) -> ObservedWork:
    """The observed columns of a row. `overlap`: it ran beside a later epoch, by this report."""
    job = entry.job
    return {
        "cluster": cluster,
        "uid": entry.uid,
        "observed_generation": entry.generation,
        "phase": entry.phase,
        "observed": {
            "object_uid": entry.object_uid,
            "member_generation": entry.member_generation,
            "job": None if job is None else {name: getattr(job, name) for name in _JOB_FIELDS},
            **_status(entry),
            **({} if entry.created is None else {"created": entry.created}),
            **({"overlap": True} if overlap or work.overlapped() else {}),
        },
        "drift": [bounded_drift(each) for each in entry.drift[:MOST_DRIFTS]] or None,
        "reason": plain(entry.reason, REASON_CHARS),
        "message": plain(entry.message),
        "available": entry.available,
        "seen": work.seen or entry.phase in ("Applied", "Missing"),
    }
