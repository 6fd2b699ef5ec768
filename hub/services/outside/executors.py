"""Executors' reports in the status of Workloads: the end, readiness, checks, pods no longer needed.

Reports share transactions: those of all callers at once cost a few bulk statements. A report about a
run that has been taken back meanwhile can be refused by naming its epoch; a second end changes nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from hub.domain.workloads.reclaimable_pods import reclaimed
from hub.domain.workloads.states import TERMINAL, State, Transition
from hub.services.jobs.bare import KIND
from hub.services.kueue_view.pages import find_row
from hub.services.outside import check_states
from hub.services.outside.executor_status import Said, read_status
from hub.store import workload_pages, workloads
from hub.store.records.workloads import (
    BareProgress,
    Workload,
    WorkloadColumns,
    WorkloadMove,
    change_of,
)
from hub.store.transaction import Transaction
from shared.documents import JsonView
from shared.errors import Rejected
from shared.reject_codes import RejectCode

ReportedRow = Workload | BareProgress
Ending = dict[str, tuple[ReportedRow, "ExecutorReport"]]


@dataclass(frozen=True, slots=True)
class ExecutorReport:
    """One caller's report about one Workload. `uid`, `epoch`: the one that the caller means, if given."""

    namespace: str
    name: str
    said: Said
    by: str
    uid: str = ""
    epoch: int | None = None


def take_reports(
    tx: Transaction, reports: Sequence[ExecutorReport]
) -> list[ReportedRow | Exception]:
    """Take what several callers report; per report the row as it is then, or why not.

    For reports that do one thing only (`Said.is_simple`): nothing of one that is refused counts.
    """
    rows = _find(tx, reports)
    answers: list[ReportedRow | Exception] = []
    ending: Ending = {}
    for report, row in zip(reports, rows, strict=True):
        try:
            answers.append(_judge(tx, report, row, ending))
        except Rejected as refusal:
            answers.append(refusal)
    _end(tx, ending.values())
    return answers


def take_report(tx: Transaction, report: ExecutorReport) -> ReportedRow:
    """Take one report in a separate transaction: it counts as a whole or not at all."""
    (answer,) = take_reports(tx, [report])
    if isinstance(answer, Exception):
        raise answer
    return answer


def report_status(tx: Transaction, uid: str, status: JsonView, by: str) -> None:
    """The report of the hub cluster's object of one Workload. Raises Rejected."""
    row = workloads.get(tx, uid)
    if row is None:
        raise Rejected(RejectCode.NOT_FOUND, f"there is no Workload {uid[:64]}")
    report = ExecutorReport(row.namespace, row.name, read_status(status), by)
    ending: Ending = {}
    _judge(tx, report, row, ending)
    _end(tx, ending.values())


def _find(tx: Transaction, reports: Sequence[ExecutorReport]) -> list[ReportedRow | Rejected]:
    """The row each report is about: a bare Workload's, else the Job's whose Workload has the name."""
    found = workload_pages.bare_by_name(tx, {(r.namespace, r.name) for r in reports})
    return [
        found.get((each.namespace, each.name)) or _of_job(tx, each.namespace, each.name)
        for each in reports
    ]


def _of_job(tx: Transaction, namespace: str, name: str) -> Workload | Rejected:
    try:
        return find_row(tx, namespace, name)
    except Rejected as refusal:
        return refusal


def _judge(
    tx: Transaction,
    report: ExecutorReport,
    row: ReportedRow | Rejected,
    ending: Ending,
) -> ReportedRow:
    """Do what it says at once, save an end, which is gathered. Raises Rejected."""
    if isinstance(row, Rejected):
        raise row
    if report.uid and report.uid != row.uid:
        raise Rejected(RejectCode.PRECONDITION_FAILED, f"it has uid {row.uid}", "metadata.uid")
    if report.epoch is not None and report.epoch != row.epoch:
        text = f"epoch {report.epoch} has ended: {row.epoch} is the last"
        raise Rejected(RejectCode.PRECONDITION_FAILED, text, "epoch")
    said = report.said
    if row.kind != KIND and (said.finished or said.ready is not None or said.reclaimable):
        text = "the Job's status shows its progress; of its Workload you can write only checks"
        raise Rejected(RejectCode.FORBIDDEN_FIELD, text, "status")
    if said.checks:
        check_states.set_states(tx, row.uid, said.checks, report.by)
    if row.state in TERMINAL:
        return row
    if said.finished is not None:
        ending.setdefault(row.uid, (row, report))
        return _ended(row, said)
    if said.ready is not None:
        _note_ready(tx, row, ready=said.ready)
    if said.reclaimable:
        _reclaim(tx, row.uid, said.reclaimable)
    return row


def _ended(row: ReportedRow, said: Said) -> ReportedRow:
    assert said.finished is not None
    state = State.FAILED if said.finished.failed else State.SUCCEEDED
    return row._replace(state=state, reason=_reason(said))


def _reason(said: Said) -> str:
    assert said.finished is not None
    return "" if said.finished.reason == "Succeeded" else said.finished.reason


def _end(tx: Transaction, ending: Iterable[tuple[ReportedRow, ExecutorReport]]) -> None:
    moves: dict[Transition, list[WorkloadMove]] = {Transition.CONCLUDE: [], Transition.ABORT: []}
    for row, report in ending:
        finished = report.said.finished
        assert finished is not None
        moves[Transition.ABORT if finished.failed else Transition.CONCLUDE].append(
            {
                "uid": row.uid,
                "epoch": row.epoch,
                "reason": _reason(report.said),
                "message": finished.message,
            }
        )
    for name, rows in moves.items():
        if rows:
            workloads.transition(tx, name, rows)


def _reclaim(tx: Transaction, uid: str, counts: Mapping[str, int]) -> None:
    """Quota of pods that are not needed any more is free at once. Raises Rejected."""
    row = workloads.get(tx, uid)
    if row is None or not row.admission:
        raise Rejected(RejectCode.NOT_RESERVED, "it holds no quota that pods could release")
    admission = reclaimed(row.admission, counts)
    if admission != row.admission:
        workloads.change(tx, [{"uid": uid, "admission": admission}])


def _note_ready(tx: Transaction, row: ReportedRow, *, ready: bool) -> None:
    """All of its pods are ready, or no longer are."""
    count = row.parallelism if ready else 0
    if row.ready != count:
        at = row.pods_ready_at
        since: WorkloadColumns = (
            {"pods_ready_at": at or tx.now, "pods_lost_at": None}
            if ready
            else {"pods_ready_at": at, "pods_lost_at": tx.now if at else None}
        )
        workloads.change(tx, [change_of(row.uid, {"ready": count, **since})])
