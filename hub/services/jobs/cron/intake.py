"""CronJobs on their way in: what keeps one from being taken, and what a change of one does to its times."""

from dataclasses import replace

from hub.domain.workloads.origin import Origin
from hub.services.context.settings import Intake
from hub.services.jobs.accept import missing_classes, refuse_queue, resolve_queues
from hub.services.jobs.cron.beside import Place, may_run
from hub.services.jobs.cron.status import given_up, read_status, told
from hub.services.jobs.cron.turns import child_of, refusal_of
from hub.services.jobs.priorities import Priorities, is_same_schedule
from hub.services.reading import envelopes
from hub.services.reading.contradictions import Contradictions
from hub.services.reading.cron_jobs import is_cron_job
from hub.services.reading.draft import Draft
from hub.store import newer_work, objects
from hub.store.records.objects import StoredObject
from hub.store.transaction import Transaction
from shared.documents import Json
from shared.errors import Rejected
from shared.groups import PLACEMENT
from shared.kinds.envelope_v1 import open_envelope
from shared.kinds.problems import join
from shared.kinds.registry import parse
from shared.kinds.scopes import is_enveloping
from shared.labels import QUEUE_NAME
from shared.reject_codes import RejectCode

_FIELD = f"metadata.labels[{QUEUE_NAME}]"
_TEMPLATE = "spec.jobTemplate"
_TIMES = ("schedule", "timeZone")
_NO_QUEUE = (
    f"{_FIELD}: the CronJob names no LocalQueue: the hub runs none of its times, and members run it "
    "only where a placement selects it; name a LocalQueue there or in its template to have its Jobs queued"
)


def require(
    tx: Transaction, given: Draft, row: StoredObject | None, intake: Intake
) -> tuple[str, ...]:
    """Warnings about a CronJob that may be taken; `row`: the one that it changes. Nothing of other kinds.

    Raises Rejected: Immutable where a change would give it a queue or take its queue, Forbidden for a user
    who may not change the jobs of its owner, Conflict while a member
    may have a CronJob of its name, NoAdapter beside a hub of an earlier release, and what a Job of
    it would be refused for.
    """
    if is_enveloping(given.parsed.group, given.parsed.kind):
        _require_contents(tx, given)
    if not is_cron_job(given.parsed):
        return ()
    if row is not None and row.hash != given.hash and row.is_scheduled != bool(given.child):
        raise _changes_hands(given, row)
    if row is not None and row.is_scheduled and (refusal := refusal_of(tx, row)):
        raise refusal
    child = given.child
    if child is None:
        return (_NO_QUEUE,) if given.origin == Origin.REST else ()
    if older := newer_work.older_hubs(tx):
        text = (
            f"kind: a hub of an earlier release ({older[0] or 'unknown'}) runs on this database, which would "
            "place the CronJob: send it again once that hub is stopped"
        )
        raise Rejected(RejectCode.NO_ADAPTER, text, "kind")
    if (row is None or not row.is_scheduled) and (refusal := _beside_members(tx, given)):
        raise refusal
    newer_work.keep_older_out(tx)
    before = _before(tx, given, row)
    queue = resolve_queues(tx, [child], intake)[child.uid]
    refusal = (
        Contradictions(tx).refuse(child)
        or Priorities(tx).refuse(child, before)
        or refuse_queue(child, queue, strict=False)
    )
    if refusal is not None:
        raise _of_template(refusal)
    waits = (f"no time runs: {queue.message}, and each time until it does is missed",) * bool(
        queue.reason
    )
    return (*waits, *missing_classes(tx, [child]).values())


def changed(tx: Transaction, before: StoredObject, after: StoredObject) -> None:
    """Count the times of another schedule from its change on: those that have passed do not run."""
    if not after.is_scheduled:
        return
    old, new = before.spec or {}, after.spec or {}
    if any(old.get(name) != new.get(name) for name in _TIMES):
        status = given_up(read_status(after.status), tx.now)
        objects.set_statuses(tx, {after.uid: told(status, after.namespace)})


def _before(tx: Transaction, given: Draft, row: StoredObject | None) -> Json | None:
    """The manifest of a Job of the CronJob as it is stored, whose priority a Job of `given` may keep.

    None where other times run, and where the stored one cannot be read any more.
    """
    if row is None or not row.is_scheduled:
        return None
    if not is_same_schedule(given.parsed.raw["spec"], row.spec or {}):
        return None
    try:
        return child_of(row, tx.now, tx.now).manifest
    except Rejected:
        return None


def _of_template(refusal: Rejected) -> Rejected:
    """The refusal of a Job, by its fields in the CronJob."""
    field = f"{_TEMPLATE}.{refusal.field}" if refusal.field else _TEMPLATE
    errors = tuple(replace(each, field=f"{_TEMPLATE}.{each.field}") for each in refusal.errors)
    return Rejected(refusal.code, f"{_TEMPLATE}: {refusal.detail}", field, errors)


def _beside_members(tx: Transaction, given: Draft) -> Rejected | None:
    """The refusal while a member may have a CronJob of that name, which it would run beside the hub."""
    at = given.parsed.namespace, given.name
    if name := _envelope_with(tx, at):
        text = (
            f"{_FIELD}: ResourceEnvelope {name} of the namespace has a CronJob {given.name}, which members "
            "run where a placement selects it: take it out, then apply this one again"
        )
        return Rejected(RejectCode.CONFLICT, text, _FIELD)
    found = may_run(tx, {at}).get(at)
    if found is None:
        return None
    text = f"{_FIELD}: {found.why}: {found.remedy}; then apply this one again"
    return Rejected(RejectCode.CONFLICT, text, _FIELD)


def _envelope_with(tx: Transaction, at: Place) -> str:
    """The first envelope that carries a CronJob of that place; "" without one."""
    if not envelopes.are_stored(tx):
        return ""
    rows = objects.list_kind(tx, PLACEMENT, "ResourceEnvelope", namespace=at[0])
    found = (row.name for row in rows if at[1] in envelopes.cron_jobs_of(tx, row))
    return next(found, "")


def _require_contents(tx: Transaction, given: Draft) -> None:
    """Raise Rejected (Conflict) for an envelope with a CronJob whose schedule the hub keeps.

    Of an envelope of the hub cluster such a CronJob is left out, as everything that cannot be placed.
    """
    if given.origin != Origin.REST:
        return
    parsed = given.parsed
    for each in open_envelope(parsed.raw, parsed.kind, parsed.namespace, parse):
        if (each.group, each.kind) != envelopes.CRON_JOB:
            continue
        row = objects.find(tx, *envelopes.CRON_JOB, each.namespace, each.name)
        if row is not None and row.is_scheduled:
            field = join("data", each.key)
            raise Rejected(RejectCode.CONFLICT, f"{field}: {envelopes.SCHEDULED}", field)


def _changes_hands(given: Draft, row: StoredObject) -> Rejected:
    where = f"{row.namespace}/{row.name}"
    if given.child is not None:
        text = (
            f"{_FIELD}: CronJob {where} is there without a schedule of the hub: members run it where a "
            "placement selects it. Delete it first; once it is gone from the members, apply it again"
        )
    else:
        text = (
            f"{_FIELD}: the hub keeps the schedule of CronJob {where} and queues its Jobs: delete it first, "
            "or name its queue"
        )
    return Rejected(RejectCode.IMMUTABLE, text, _FIELD)
