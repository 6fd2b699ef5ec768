"""Intake of bare Workloads: as units of admission if their LocalQueue exists, else as objects.

A Workload whose queue does not resolve, or that asks for what can not be admitted, is kept as an object
that holds nothing and says so; once the queue appears, or it was mended, it becomes a unit of admission.
"""

from dataclasses import replace
from typing import Final

from hub.domain.workloads.states import QUEUED, TERMINAL, State, WithdrawTo
from hub.services.context.settings import Intake
from hub.services.jobs import held
from hub.services.jobs.accept import submit_jobs
from hub.services.jobs.bare import INACTIVE, INACTIVE_MESSAGE, KIND, is_active, spec_columns
from hub.services.jobs.generations import keep_next, standing_before
from hub.services.jobs.hold import release
from hub.services.jobs.priorities import Priorities
from hub.services.queues.conditions import refused_workload_conditions, with_conditions
from hub.services.queues.defaults import local_queues
from hub.services.reading.draft import Draft, draft
from hub.services.works.evict import evict
from hub.store import objects, workloads
from hub.store.records.objects import StoredObject
from hub.store.records.workloads import Workload
from hub.store.transaction import Transaction
from shared.documents import Json
from shared.errors import FieldError, Rejected
from shared.kinds.kueue_v1beta2 import GROUP as KUEUE
from shared.kinds.parsed import Parsed
from shared.kinds.registry import parse
from shared.reject_codes import RejectCode

# What may change while quota is held; Kueue keeps pod sets and queue of a reserved workload too.
_MUTABLE: Final = frozenset(
    {"active", "priority", "priorityClassRef", "maximumExecutionTimeSeconds", "preemptionGates"}
)


def is_unit(tx: Transaction, given: Draft) -> bool:
    """Is it a unit of admission: a bare Workload that exists as one, or whose queue is there?"""
    if not given.is_bare:
        return False
    namespace, name = given.parsed.namespace, given.name
    if workloads.live_by_name(tx, [(namespace, name)], KIND):
        return True
    if given.queue not in local_queues(tx, namespace) or given.parsed.hindrance:
        return False
    row = held.find_held(tx, namespace, name)
    return row is None or row.origin == given.origin


def queue_missing(given: Draft) -> str:
    """What is said of one that is kept as an object."""
    return (
        f"spec.queueName: LocalQueue {given.parsed.namespace}/{given.queue} does not exist: the "
        "Workload is kept, and holds nothing until that queue is there"
    )


def admit_held(tx: Transaction, intake: Intake) -> None:
    """Workloads kept as objects become units of admission where their queues are there by now."""
    found, rows = [], {}
    for row in objects.list_kind(tx, KUEUE, KIND):
        if row.deleted_at is None:
            given = _draft_of(tx, row)
            if given is not None and given.is_bare and is_unit(tx, given):
                found.append(given)
                rows[row.uid] = row
    if not found:
        return
    answers = submit_jobs(tx, found, intake, strict=False)
    for given, answer in zip(found, answers, strict=True):
        if isinstance(answer, Rejected):
            _say_refused(tx, rows[given.uid], answer)
        else:
            objects.remove(tx, given.uid)


def _say_refused(tx: Transaction, row: StoredObject, refusal: Rejected) -> None:
    """Keep a refusal as the Workload's condition; write one Event for each new refusal."""
    conditions = refused_workload_conditions(refusal)
    status = with_conditions(row.status, conditions, tx.now, row.generation)
    if status is None:
        return
    objects.set_statuses(tx, {row.uid: status})
    tx.say(row, refusal.code, refusal.detail, warning=True)


def revise_bare(tx: Transaction, given: Draft, row: Workload, intake: Intake) -> bool:
    """Bring the Workload of `row` to the manifest of `given`; False if they are equal already.

    `active: false` takes its quota back and holds it; true lets it wait again. Raises Rejected:
    Immutable, naming every field that may not change while quota is held; what it can not be admitted for;
    and those of `Priorities`.
    """
    refuse_hindered(given.parsed)
    before = standing_before(tx, given, row)
    if before is None:
        return False
    Priorities(tx).require(given, before.manifest)
    _refuse_immutable(before.manifest, given, row)
    keep_next(tx, given, row, before, intake, spec_columns(given))
    _follow_active(tx, before.manifest, given, row)
    return True


def refuse_hindered(parsed: Parsed) -> None:
    """Raise Rejected for a Workload that can not be admitted as it is."""
    why = parsed.hindrance
    if why is not None:
        raise Rejected(why.code, f"{why.field}: {why.message}", why.field, (why,))


def _follow_active(tx: Transaction, old: Json, given: Draft, row: Workload) -> None:
    """What was held by other means than its spec stays so until its spec says something new of it."""
    before, now = ((each.get("spec") or {}).get("active") for each in (old, given.parsed.raw))
    if not is_active(given):
        evict(tx, [row.uid], INACTIVE, INACTIVE_MESSAGE, to=WithdrawTo.HELD)
    elif before != now and row.state in {State.HELD, State.DEACTIVATED}:
        release(tx, [row])


def _refuse_immutable(old: Json, given: Draft, row: Workload) -> None:
    state = row.state
    if state in QUEUED or state in TERMINAL - {State.SUCCEEDED, State.FAILED}:
        return
    before, now = old.get("spec") or {}, given.parsed.raw.get("spec") or {}
    rule = "can not change while quota is held" if state not in TERMINAL else "it has ended"
    wrong = [
        FieldError(f"spec.{name}", RejectCode.IMMUTABLE, rule)
        for name in sorted({*before, *now} - _MUTABLE)
        if before.get(name) != now.get(name)
    ]
    if wrong:
        detail = f"{wrong[0].field}: {wrong[0].message}"
        raise Rejected(RejectCode.IMMUTABLE, detail, wrong[0].field, tuple(wrong))


def _draft_of(tx: Transaction, row: StoredObject) -> Draft | None:
    """An object as it was applied; None where it can not be read any more."""
    try:
        parsed = parse(
            row.manifest,
            strict=False,
            origin="hub-cluster",
            lenient_versions=True,
            default_namespace=row.namespace,
        )
        given = draft(
            parsed,
            tx.now,
            origin=row.origin,
            uid=row.uid,
            created_at=row.created_at,
            submitted_by=held.owner_of(row),
        )
        return replace(given, may_set_priority=held.is_judged(row))
    except Rejected:
        return None
