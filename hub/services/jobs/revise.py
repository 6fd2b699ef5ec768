"""Applying a Job again: what may change becomes a new generation, what may not is refused.

The rules are those of the API server for Jobs. If the size of an admitted job changes,
`hub.services.jobs.resize` updates the charge.
"""

from dataclasses import replace
from typing import Final

import orjson

from hub.domain.access import Rights, Verb
from hub.domain.workloads import shape
from hub.domain.workloads.origin import Origin, place_of
from hub.domain.workloads.states import CHARGED, QUEUED, TERMINAL, WithdrawTo
from hub.domain.workloads.work_form import WorkForm
from hub.services.context.settings import Intake
from hub.services.jobs.accept import (
    given_priority,
    missing_classes,
    priority_class,
    resolve_priorities,
)
from hub.services.jobs.generations import keep_next, standing_before
from hub.services.jobs.priorities import Priorities, no_such_class, not_bound
from hub.services.jobs.resize import follow_scale, follow_size
from hub.services.questions import jobs
from hub.services.reading.draft import Draft, draft
from hub.services.reading.work_kinds import ReadWork
from hub.store import audit, manifests, works
from hub.store.records.workloads import Workload, WorkloadColumns
from hub.store.transaction import Transaction
from hub.store.workloads import BARE
from shared import labels as keys
from shared.documents import Json
from shared.errors import FieldError, Rejected
from shared.kinds.registry import parse_own_job
from shared.reject_codes import RejectCode
from shared.resources import job_pod_count

# What a running Job's member copy follows: a merge patch of these fields.
_MUTABLE: Final = frozenset(
    {
        "parallelism",
        "activeDeadlineSeconds",
        "backoffLimit",
        "suspend",
        "ttlSecondsAfterFinished",
        "podReplacementPolicy",
    }
)


def revise_job(tx: Transaction, given: Draft, row: Workload, intake: Intake) -> bool:
    """Bring the job of `row` to the manifest of `given`; False if they are equal already.

    Raises Rejected: Immutable, naming every field that may not change; PriorityNotAllowed.
    """
    before = standing_before(tx, given, row)
    if before is None:
        return False
    old = before.manifest
    kept = _kept(tx, row) if given.form is not None else None
    given = _as_accepted(given, kept)
    Priorities(tx).require(given, old, {} if kept is None else kept.form.classes)
    scaled = _scaled(given)
    _refuse_immutable(old, given, row, scaled)
    columns = WorkloadColumns()
    if priority_class(given) != _class_of(old):  # an edited value: `queues.class_values`
        named, priority = given_priority(given, resolve_priorities(tx, [given]))
        columns = {"priority_class": named, "priority": priority}
    generation = keep_next(tx, given, row, before, intake, columns)
    works.follow_generation(tx, row.uid, generation)
    if row.state not in CHARGED:
        return True
    if given.form is not None:
        if any(_spec_of(given).get(name) != (old.get("spec") or {}).get(name) for name in scaled):
            follow_scale(tx, row, given.parsed.pod_sets)
    elif job_pod_count(given.parsed.spec) != job_pod_count(old.get("spec") or {}):
        follow_size(tx, row, given.parsed.pod_sets[0], given.parsed.spec.get("completions"))
    return True


def set_priority(
    tx: Transaction,
    uid: str,
    named: str,
    intake: Intake,
    principal: str,
    rights: Rights | None = None,
) -> Json:
    """Give a Job another WorkloadPriorityClass ("": none) by its label; done again, nothing changes.

    `rights` bound the caller. Raises Rejected: NotFound, AlreadyEnded, BeingDeleted, OwnedElsewhere for
    what the hub cluster has, PriorityClassNotFound, PriorityNotAllowed, or InvalidState for a bare Workload,
    whose priority is in its specification.
    """
    row = jobs.find_job(tx, uid)
    given = _redrafted(tx, row, with_priority(_changeable(tx, row), named))
    _refuse_class(row, named, rights)
    missing = missing_classes(tx, [given]).get(given.uid)
    if missing:
        said = no_such_class(tx, named)
        raise Rejected(RejectCode.PRIORITY_CLASS_NOT_FOUND, said, "priorityClass")
    if revise_job(tx, given, row, intake):
        audit.note(tx, principal, "priority", row, named or "none")
    return jobs.get_job(tx, uid)


def _redrafted(tx: Transaction, row: Workload, manifest: Json) -> Draft:
    """The draft of a job's own manifest; one of an administrator's kind is not read again."""
    kept = _kept(tx, row)
    if kept is None:
        return draft(parse_own_job(manifest), tx.now, stands=True)
    declared = {(row.api_version, row.kind)}
    return draft(parse_own_job(manifest, declared=declared), tx.now, kept=kept)


def _as_accepted(given: Draft, kept: ReadWork | None) -> Draft:
    """A job stays with the version of the definition by which it was accepted: its spec is the same.

    Its labels and annotations are not, and may name another priority class.
    """
    if kept is None or given.form is None or given.form == kept.form:
        return given
    parsed = replace(given.parsed, pod_sets=kept.pod_sets)
    return replace(given, parsed=parsed, form=replace(kept.form, classes=given.form.classes))


def _kept(tx: Transaction, row: Workload) -> ReadWork | None:
    """The reading with which a job was accepted; None for one of a built-in kind."""
    form = manifests.latest_form(tx, row.uid) if row.kind_version else None
    if form is None:
        return None
    pod_sets = shape.decode(manifests.get_shapes(tx, [row.shape])[row.shape])
    return ReadWork(tuple(pod_sets), WorkForm.from_json(form))


def _refuse_class(row: Workload, named: str, rights: Rights | None) -> None:
    if rights is None or not named or named == row.priority_class:
        return
    allowed = rights.priority_classes(Verb.CHANGE, row.namespace, row.queue, row.owner)
    if allowed is not None and named not in allowed:
        said = not_bound(named, allowed)
        raise Rejected(RejectCode.PRIORITY_NOT_ALLOWED, said, "priorityClass")


def with_priority(manifest: Json, named: str) -> Json:
    """The manifest with that priority class's label, or without one."""
    metadata: Json = manifest["metadata"]
    kept = {k: v for k, v in (metadata.get("labels") or {}).items() if k != keys.PRIORITY_CLASS}
    if named:
        kept[keys.PRIORITY_CLASS] = named
    return {**manifest, "metadata": {**metadata, "labels": kept}}


def _changeable(tx: Transaction, row: Workload) -> Json:
    """The manifest of a Job that may be changed here. Raises Rejected."""
    place = f"{row.kind.lower()} {row.namespace}/{row.name}"
    if row.state in TERMINAL:
        raise Rejected(RejectCode.ALREADY_ENDED, f"the job is {row.state}: submit it again")
    latest = manifests.latest(tx, row.uid)
    if latest is None or row.withdraw_to == WithdrawTo.DELETED:
        raise Rejected(RejectCode.BEING_DELETED, f"{place} is being deleted")
    if row.kind == BARE:
        said = f"{place} is a Workload: its priority is in its own specification"
        raise Rejected(RejectCode.INVALID_STATE, said)
    if row.origin == Origin.HUB_CLUSTER:
        said = f"{place} came from the hub cluster: label it {place_of(row.origin)}"
        raise Rejected(RejectCode.OWNED_ELSEWHERE, f"{said}, with {keys.PRIORITY_CLASS}")
    manifest: Json = orjson.loads(latest[1])
    return manifest


def _scaled(given: Draft) -> frozenset[str]:
    """The field of the spec that multiplies all pods of an object of another kind than Job."""
    scale = "" if given.form is None else given.form.scale
    return frozenset({scale.removeprefix("/spec/")} if scale else ())


def _refuse_immutable(old: Json, given: Draft, row: Workload, scaled: frozenset[str]) -> None:
    spec, new = old.get("spec") or {}, _spec_of(given)
    rule = f"can not change once the {row.kind} exists"
    if old.get("kind") != given.parsed.kind:
        text = f"kind: {row.kind} {row.namespace}/{row.name} has the name: choose another one"
        raise Rejected(RejectCode.ALREADY_EXISTS, text, "kind")
    mutable = _MUTABLE if given.form is None else scaled
    wrong = [
        FieldError(f"spec.{name}", RejectCode.IMMUTABLE, rule)
        for name in sorted({*spec, *new} - mutable)
        if spec.get(name) != new.get(name)
    ]
    if (_annotations(old).get(keys.AFTER) or "") != (
        given.parsed.annotations.get(keys.AFTER) or ""
    ):
        rule = "is decided when the Job is accepted: release it to run it regardless, or submit another"
        field = f"metadata.annotations[{keys.AFTER}]"
        wrong.append(FieldError(field, RejectCode.IMMUTABLE, rule))
    state = row.state
    if state not in QUEUED and state not in TERMINAL and _queue_of(old) != given.queue:
        rule = "can not change while the Job is on a cluster"
        wrong.append(FieldError(f"metadata.labels[{keys.QUEUE_NAME}]", RejectCode.IMMUTABLE, rule))
    if wrong:
        detail = f"{wrong[0].field}: {wrong[0].message}"
        raise Rejected(RejectCode.IMMUTABLE, detail, wrong[0].field, tuple(wrong))


def _spec_of(given: Draft) -> Json:
    spec: Json = given.parsed.spec if given.form is None else given.parsed.raw.get("spec") or {}
    return spec


def _annotations(manifest: Json) -> Json:
    return (manifest.get("metadata") or {}).get("annotations") or {}


def _class_of(manifest: Json) -> str:
    labels = (manifest.get("metadata") or {}).get("labels") or {}
    return str(labels.get(keys.PRIORITY_CLASS) or "")


def _queue_of(manifest: Json) -> str:
    metadata = manifest.get("metadata") or {}
    for part in ("labels", "annotations"):
        name = (metadata.get(part) or {}).get(keys.QUEUE_NAME)
        if name:
            return str(name)
    return ""
