"""Submitting Jobs: one transaction takes any number of them, from any number of callers.

The one way in for Jobs: REST, batches, `apply` and the bridge all end in `submit_jobs`.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from hub.domain.workloads.origin import place_of
from hub.domain.workloads.states import State, WithdrawTo
from hub.services.chains import bind
from hub.services.context.settings import Intake
from hub.services.jobs import bare, held
from hub.services.jobs.priorities import (
    DEFAULT_CLASS,
    Priorities,
    default_class,
    no_such_class,
)
from hub.services.jobs.unsuspendable import NOT_SUSPENDABLE, misplaced
from hub.services.queues import class_values
from hub.services.queues.defaults import (
    DEFAULT,
    ensure_default_queue,
    ensure_namespaces,
    local_queues,
    provides_default,
)
from hub.services.queues.unqueued import without_limits
from hub.services.reading import twins
from hub.services.reading.contradictions import Contradictions
from hub.services.reading.draft import Draft, name_taken, read_by_the_hub
from hub.services.reading.pod_security import Gatekeeper
from hub.services.works import restored
from hub.store import manifests, workloads
from hub.store.records.workloads import ShapeColumns, Workload
from hub.store.transaction import Transaction
from shared import labels as keys
from shared.documents import Json
from shared.errors import Rejected
from shared.kinds import unheeded
from shared.kinds.batch_v1 import max_runtime_s
from shared.reject_codes import RejectCode

Identity = tuple[str, str, str]  # kind, namespace, name
MOST_OF_NAME = 253  # of an owner
QUEUE_NOT_FOUND = "QueueNotFound"
QUEUE_REQUIRED = "QueueRequired"
PRIORITY_CLASS_NOT_FOUND = "PriorityClassNotFound"


class NameTaken(Rejected):
    """409 AlreadyExists; `uid` is of the job that has the name."""

    def __init__(self, named: str, uid: str) -> None:
        super().__init__(
            RejectCode.ALREADY_EXISTS,
            f"{named} exists with uid {uid}; delete it or choose another name",
            "metadata.name",
        )
        self.uid = uid


@dataclass(frozen=True, slots=True)
class Queue:
    """The LocalQueue a job waits in; with a reason where it can not be admitted as things stand."""

    name: str
    reason: str = ""
    message: str = ""
    is_absent: bool = False  # no LocalQueue of that name


def submit_jobs(
    tx: Transaction, drafts: Sequence[Draft], intake: Intake, *, strict: bool
) -> list[Workload | Rejected]:
    """Take Jobs; per draft its workload row, or why it was refused.

    `strict` (REST submit) refuses a queue or priority class that does not exist; otherwise a job
    without queue waits, one without class has priority 0, and both say so. Codes: AlreadyExists,
    BeingDeleted, OwnedElsewhere, QueueNotFound, QueueRequired, PriorityClassNotFound, PriorityNotAllowed,
    Contradiction, and those of `pod_security` and of `chains.bind`.
    """
    taken = _taken(tx, drafts)
    queues = resolve_queues(tx, drafts, intake)
    priorities = resolve_priorities(tx, drafts)
    answers: list[Workload | Rejected] = []
    accepted: list[tuple[Draft, Workload]] = []
    gatekeeper, contradictions = Gatekeeper(tx, intake.pods), Contradictions(tx)
    numbers, of_kinds = Priorities(tx), twins.WorkOfKinds(tx)
    kept = held.names_taken(tx, drafts) if strict else frozenset()
    for given in drafts:
        answer = (
            gatekeeper.refuse(given)
            or contradictions.refuse(given)
            or numbers.refuse(given)
            or _name_of_held(given, kept)
            or of_kinds.refuse(given)
            or _judge(tx, given, taken, queues, priorities, strict=strict)
        )
        answers.append(answer)
        if not isinstance(answer, Rejected):
            taken[_identity(given)] = answer
            accepted.append((given, answer))
    return _chained(tx, answers, accepted, strict=strict, partial=intake.partial_admission)


def _chained(
    tx: Transaction,
    answers: list[Workload | Rejected],
    accepted: list[tuple[Draft, Workload]],
    *,
    strict: bool,
    partial: bool,
) -> list[Workload | Rejected]:
    """Store what is accepted, that which waits for other jobs bound to them; the answers, in order."""
    bound = bind.bind_new(tx, accepted, strict=strict)
    if bound.held or bound.refused:
        became = {
            row.uid: bound.refused.get(row.uid) or bind.hold_new(row, bound.held.get(row.uid))
            for _, row in accepted
        }
        answers = [each if isinstance(each, Rejected) else became[each.uid] for each in answers]
        judged = [(given, became[row.uid]) for given, row in accepted]
        accepted = [(given, row) for given, row in judged if not isinstance(row, Rejected)]
    if accepted:
        _store(tx, accepted, partial=partial)
        bind.store_new(tx, bound, [row for _, row in accepted])
    return answers


def _taken(tx: Transaction, drafts: Sequence[Draft]) -> dict[Identity, Workload]:
    """The holders of the names that drafts request."""
    names: dict[str, list[tuple[str, str]]] = {}
    for given in drafts:
        names.setdefault(bare.kind_of(given), []).append((given.parsed.namespace, given.name))
    return {
        (kind, *name): row
        for kind, wanted in names.items()
        for name, row in workloads.live_by_name(tx, wanted, kind).items()
    }


def _name_of_held(given: Draft, kept: Collection[held.Place]) -> Rejected | None:
    place = (given.parsed.namespace, given.name)
    return held.name_taken(given) if given.is_bare and place in kept else None


def _identity(given: Draft) -> Identity:
    return bare.kind_of(given), given.parsed.namespace, given.name


def resolve_queues(tx: Transaction, drafts: Sequence[Draft], intake: Intake) -> dict[str, Queue]:
    """By uid of the draft: the queue label, else the annotation, else LocalQueue `default`.

    Where a namespace has no `default`, it is provided or missed as `unqueuedJobs` says; also to those that
    name it, as objects of other kinds than Job must.
    """
    unnamed = [given for given in drafts if given.queue in ("", DEFAULT) and not given.is_bare]
    if unnamed and provides_default(tx, intake.unqueued_jobs):
        ensure_default_queue(
            tx,
            {given.parsed.namespace for given in unnamed},
            {
                name
                for given in unnamed
                for each in given.parsed.pod_sets
                for name in each.requests
            },
        )
    present = {
        namespace: local_queues(tx, namespace)
        for namespace in {given.parsed.namespace for given in drafts}
    }
    found = {given.uid: _queue(given, present[given.parsed.namespace]) for given in drafts}
    for uid, why in without_limits(tx, drafts, intake.unqueued_jobs).items():
        found[uid] = Queue("", QUEUE_REQUIRED, why)
    for given in drafts:
        if wrong := misplaced(tx, given, intake):
            found[given.uid] = Queue(given.queue, NOT_SUSPENDABLE, wrong)
    return found


def refuse_queue(given: Draft, queue: Queue, *, strict: bool) -> Rejected | None:
    """The reason why a draft is refused, instead of waiting with that reason."""
    if not queue.reason or not (strict or queue.reason in {NOT_SUSPENDABLE, QUEUE_REQUIRED}):
        return None
    field = "spec.queueName" if given.is_bare else f"metadata.labels[{keys.QUEUE_NAME}]"
    return Rejected(RejectCode(queue.reason), queue.message, field)


def resolve_priorities(tx: Transaction, drafts: Sequence[Draft]) -> dict[str, int]:
    """The value of each WorkloadPriorityClass that exists and that drafts name, or get by default."""
    given_names = {priority_class(given) for given in drafts if not given.is_bare}
    named = (given_names | {own_class(given) for given in drafts}) - {""}
    found = class_values.values(tx, sorted(named)) if named else {}
    if "" in given_names and (value := default_class(tx)) is not None:
        found[DEFAULT_CLASS] = value
    return found


def given_priority(given: Draft, values: Mapping[str, int]) -> tuple[str, int]:
    """The WorkloadPriorityClass and the priority of a Job: of the class that its label names.

    Else of the one that a field of its kind names, where there is such a class; else of `default`.

    `values`: as `resolve_priorities` gives them.
    """
    named = priority_class(given)
    if named or given.is_bare:
        return named, values.get(named, 0)
    if (own := own_class(given)) in values:
        return own, values[own]
    value = values.get(DEFAULT_CLASS)
    return ("", 0) if value is None else (DEFAULT_CLASS, value)


def priority_class(given: Draft) -> str:
    """The WorkloadPriorityClass a Job names, or ""; a Workload brings its priority with it."""
    if given.is_bare:
        return ""
    return str(given.parsed.labels.get(keys.PRIORITY_CLASS) or "")


def own_class(given: Draft) -> str:
    """The priority class that a field of the kind names first; "" if none does, and of a Job."""
    return "" if given.form is None else next(iter(given.form.classes.values()), "")


def missing_classes(tx: Transaction, drafts: Sequence[Draft]) -> dict[str, str]:
    """By uid, a sentence for each draft whose WorkloadPriorityClass does not exist."""
    present = resolve_priorities(tx, drafts)
    return {
        given.uid: f"metadata.labels[{keys.PRIORITY_CLASS}]: WorkloadPriorityClass {named} does not "
        "exist: the priority is 0 until the class exists"
        for given in drafts
        if (named := priority_class(given)) and named not in present
    }


def say_missing_class(tx: Transaction, row: Workload, said: str) -> None:
    """An Event for a job whose priority class does not exist."""
    tx.say(row, PRIORITY_CLASS_NOT_FOUND, said, warning=True)


def shape_columns(given: Draft) -> ShapeColumns:
    """The columns that follow from a Job's spec, or a Workload's; of other kinds, from its form."""
    if given.form is not None:
        return twins.columns_of(given, given.form)
    spec = given.parsed.spec
    parallelism = spec.get("parallelism")
    return {
        "shape": given.shape,
        "parallelism": 1 if parallelism is None else parallelism,
        # As Kubernetes defaults it: 1 where neither is given, a work queue where only this is not.
        "completions": 1
        if parallelism is None and spec.get("completions") is None
        else spec.get("completions"),
        "ttl_s": spec.get("ttlSecondsAfterFinished"),
        "max_runtime_s": max_runtime_s(given.parsed.labels),
        "labels": dict(given.parsed.labels),
        "annotations": read_by_the_hub(given.parsed.annotations),
        "kind_version": "",
    }


def _shape_and_submitter(given: Draft) -> ShapeColumns:
    columns = shape_columns(given)
    if given.submitted_by:
        columns["annotations"] = {**columns["annotations"], **given.submitter}
    return columns


def _queue(given: Draft, present: Collection[str]) -> Queue:
    name = given.queue
    namespace = given.parsed.namespace
    if (name or DEFAULT) in present:
        return Queue(name or DEFAULT)
    message = (
        f"LocalQueue {namespace}/{name} does not exist"
        if name
        else f"the Job names no queue and namespace {namespace} has no LocalQueue {DEFAULT}"
    )
    return Queue(name, QUEUE_NOT_FOUND, message, is_absent=True)


def _judge(
    tx: Transaction,
    given: Draft,
    taken: dict[Identity, Workload],
    queues: dict[str, Queue],
    priorities: dict[str, int],
    *,
    strict: bool,
) -> Workload | Rejected:
    """The new workload's row, or the reason why there is none."""
    holder = taken.get(_identity(given))
    if holder is not None:
        return occupied(given, holder)
    queue = queues[given.uid]
    if refusal := refuse_queue(given, queue, strict=strict):
        return refusal
    named = priority_class(given)
    if strict and named and named not in priorities:
        return Rejected(
            RejectCode.PRIORITY_CLASS_NOT_FOUND,
            no_such_class(tx, named),
            f"metadata.labels[{keys.PRIORITY_CLASS}]",
        )
    return _row(tx, given, queue, *given_priority(given, priorities))


def occupied(given: Draft, holder: Workload) -> Rejected:
    """Why a draft can not have the name that `holder` has; of one that is hidden from its sender no more."""
    if not given.sees.shows(holder.namespace, holder.queue, holder.owner):
        return Rejected(RejectCode.ALREADY_EXISTS, name_taken(given), "metadata.name")
    what = f"{holder.kind.lower()} {holder.namespace}/{holder.name}"  # of another kind, perhaps
    if holder.origin != given.origin:
        return Rejected(
            RejectCode.OWNED_ELSEWHERE,
            f"{what} came from {holder.origin}: change it {place_of(holder.origin)}",
            "metadata.name",
        )
    if holder.withdraw_to == WithdrawTo.DELETED:
        words = f"{what} is being deleted: submit it again once it is gone"
        return Rejected(RejectCode.BEING_DELETED, words, "metadata.name")
    return NameTaken(what, holder.uid)


def _row(tx: Transaction, given: Draft, queue: Queue, named: str, priority: int) -> Workload:
    created = given.created_at or tx.now
    row = Workload(
        uid=given.uid,
        kind=given.parsed.kind,
        api_version=given.parsed.api_version,
        namespace=given.parsed.namespace,
        name=given.name,
        origin=given.origin,
        **_shape_and_submitter(given),
        queue=queue.name,
        priority=priority,
        priority_class=named,
        generation=1,
        state=State.PENDING,
        reason=queue.reason,
        message=queue.message,
        created_at=created,
        queued_at=created,
        owner=_owner(given),
    )
    return bare.first_row(given, row) if given.is_bare else row


def _owner(given: Draft) -> str:
    """Who submitted it: by REST the caller, on the hub cluster whom its policies wrote down; "": unknown."""
    said = given.submitted_by or given.parsed.annotations.get(keys.SUBMITTED_BY) or ""
    return str(said)[:MOST_OF_NAME]


def _say_unheeded(
    tx: Transaction, accepted: Sequence[tuple[Draft, Workload]], *, partial: bool
) -> None:
    """An Event for each job of which something changes nothing."""
    for given, row in accepted:
        if said := unheeded.notices(given.parsed, partial=partial):
            tx.say(row, unheeded.REASON, unheeded.joined(said), warning=True)


def _store(tx: Transaction, accepted: Sequence[tuple[Draft, Workload]], *, partial: bool) -> None:
    ensure_namespaces(tx, {row.namespace for _, row in accepted})
    shapes: Json = {}
    for given, row in accepted:
        if row.shape not in shapes:
            shapes[row.shape] = given.pod_sets()
    manifests.add_shapes(tx, shapes)
    manifests.add(
        tx,
        [
            {
                "uid": given.uid,
                "generation": 1,
                "manifest": given.body,
                "hash": given.hash,
                "form": given.form_json,
            }
            for given, _ in accepted
        ],
    )
    workloads.add(tx, [row for _, row in accepted])
    restored.hold_late(tx, [row for _, row in accepted])
    _say_unheeded(tx, accepted, partial=partial)
    missing = missing_classes(tx, [given for given, _ in accepted])
    for _, row in accepted:
        if row.uid in missing:
            say_missing_class(tx, row, missing[row.uid])
