"""Applying manifests of any kind: the one intake of `POST /v1/apply`, the CLI and the bridge.

Each document stands for itself: one that is refused changes nothing and stops no other.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from hub.domain.workloads.origin import Origin, place_of
from hub.domain.workloads.states import TERMINAL, WithdrawTo
from hub.services.consent import identity
from hub.services.consent.namespaces import renewed
from hub.services.context.rendering import resource_version
from hub.services.context.settings import Intake
from hub.services.jobs import bare_intake, held, unsuspendable
from hub.services.jobs.accept import missing_classes, occupied, say_missing_class, submit_jobs
from hub.services.jobs.bare import kind_of
from hub.services.jobs.cron import intake as cron_intake
from hub.services.jobs.priorities import Priorities
from hub.services.jobs.revise import revise_job
from hub.services.kinds import kind_versions
from hub.services.kinds.definitions import is_definition
from hub.services.objects import effects, evictions, override_targets
from hub.services.objects.hand_over import is_handed_over, refuse_meanwhile
from hub.services.questions import jobs
from hub.services.queues import cohort_rules, queue_edits, unqueued
from hub.services.queues.defaults import ensure_namespaces, row_of
from hub.services.queues.refresh import concerns_queues, refresh_queues
from hub.services.reading import taken_before, twins
from hub.services.reading.draft import Draft
from hub.services.reading.pod_security import Gatekeeper
from hub.services.works.withdraw import withdraw_jobs
from hub.store import audit, objects, placements, workloads
from hub.store.records.objects import ObjectColumns, StoredObject
from hub.store.transaction import Transaction
from shared import labels
from shared.documents import Json, JsonView
from shared.errors import Rejected
from shared.kinds import unheeded
from shared.kinds.placement_v1 import GROUP as PLACEMENT, PLACEMENT_KINDS
from shared.kinds.staged_v1 import fault_of_change
from shared.reject_codes import RejectCode

CREATED, CONFIGURED, UNCHANGED, REJECTED = "created", "configured", "unchanged", "rejected"


_OVERRIDES: Final = frozenset(placements.OVERRIDES)


@dataclass(frozen=True, slots=True)
class Applied:
    """The result of one document. `draft` is None if it could not be read; `warnings` are what
    it asks in vain as things stand. `declares`: something else than before, labels and annotations aside.
    """

    index: int
    result: str
    uid: str = ""
    draft: Draft | None = None
    error: Rejected | None = None
    warnings: tuple[str, ...] = ()
    declares: bool = True


def apply_documents(
    tx: Transaction, documents: Sequence[Draft | Rejected], intake: Intake
) -> list[Applied]:
    """Create or update what each document declares; one result per document, in order.

    A draft carries its origin (and from the hub cluster its uid). Codes of refusals: OwnedElsewhere,
    AlreadyExists, BeingDeleted, Immutable, and those of `pod_security` and of `Priorities`.
    """
    results: dict[int, Applied] = {}
    fresh: list[tuple[int, Draft]] = []
    names: set[tuple[str, str, str]] = set()  # of those in `fresh`
    parents = cohort_rules.Parents(tx)
    queues_changed = kinds_changed = False
    for index, document in enumerate(documents):
        given = taken_before.judged(tx, _over_held(tx, document))
        if isinstance(given, Rejected):
            named = document if isinstance(document, Draft) else None
            results[index] = Applied(index, REJECTED, draft=named, error=given)
        elif given.is_job or bare_intake.is_unit(tx, given):
            if _identity(given) in names:
                _submit(tx, fresh, intake, results)
                names.clear()
            result = _apply_job(tx, index, given, intake)
            if result is None:
                fresh.append((index, given))
                names.add(_identity(given))
            else:
                results[index] = result
        else:
            _submit(tx, fresh, intake, results)
            names.clear()
            results[index] = _apply_object(tx, index, given, intake, parents)
            done = results[index]
            changed = done.declares and done.result in {CREATED, CONFIGURED}
            queues_changed |= changed and concerns_queues(given.parsed.kind)
            kinds_changed |= changed and is_definition(given.parsed.group, given.parsed.kind)
    _submit(tx, fresh, intake, results)
    if queues_changed:
        refresh_queues(tx)
        bare_intake.admit_held(tx, intake)
    if kinds_changed:
        said = kind_versions.refresh(tx)
        results = {
            index: replace(each, warnings=(*each.warnings, *said.get(each.uid, ())))
            for index, each in results.items()
        }
    told = [_with_queue_missing(tx, results[index]) for index in range(len(documents))]
    return [_with_placement_sought(tx, each) for each in told]


def _with_queue_missing(tx: Transaction, one: Applied) -> Applied:
    if one.result not in {CREATED, CONFIGURED} or one.draft is None:
        return one
    said = unqueued.queue_missing(tx, one.draft)
    return replace(one, warnings=(*one.warnings, said)) if said else one


def apply_for(
    tx: Transaction, documents: Sequence[Draft | Rejected], intake: Intake, principal: str
) -> list[Applied]:
    """`apply_documents` for a person: what changed is written down under their name.

    Of a queue each value before and after, as `stop`, `resume` and `set`.
    """
    before = _queues_before(tx, documents)
    applied = apply_documents(tx, documents, intake)
    for each in applied:
        if each.result in {CREATED, CONFIGURED} and each.draft is not None:
            parsed = each.draft.parsed
            place = "/".join(part for part in (parsed.namespace, each.draft.name) if part)
            told: Sequence[tuple[str, str]] = ()
            if each.uid in before and (row := objects.get(tx, each.uid)) is not None:
                told = queue_edits.edits(before[each.uid], row.spec or {})
            for verb, outcome in told or [("apply", each.result)]:
                audit.add(tx, principal, verb, f"{parsed.kind} {place} {each.uid}", outcome)
    return applied


def _queues_before(tx: Transaction, documents: Sequence[Draft | Rejected]) -> dict[str, JsonView]:
    """By uid the specifications of the queues among them that are there already."""
    found: dict[str, JsonView] = {}
    for each in documents:
        if isinstance(each, Draft) and each.parsed.kind in queue_edits.AUDITED:
            parsed = each.parsed
            row = objects.find(tx, parsed.group, parsed.kind, parsed.namespace, each.name)
            if row is not None:
                found[row.uid] = row.spec or {}
    return found


def _submit(
    tx: Transaction, fresh: list[tuple[int, Draft]], intake: Intake, results: dict[int, Applied]
) -> None:
    """Take the new Jobs gathered so far, together."""
    answers = submit_jobs(tx, [given for _, given in fresh], intake, strict=False) if fresh else []
    missing = missing_classes(tx, [given for _, given in fresh])
    for (index, given), answer in zip(fresh, answers, strict=True):
        warnings = (missing[given.uid],) if given.uid in missing else ()
        results[index] = (
            Applied(index, REJECTED, draft=given, error=answer)
            if isinstance(answer, Rejected)
            else Applied(index, CREATED, answer.uid, given, warnings=warnings)
        )
    accepted = [given for index, given in fresh if results[index].error is None]
    held.forget(tx, [given for given in accepted if given.is_bare])
    fresh.clear()


def _over_held(tx: Transaction, given: Draft | Rejected) -> Draft | Rejected:
    """The document, as it replaces the held Workload of its name where there is one."""
    if isinstance(given, Rejected) or not given.is_bare:
        return given
    return held.replacing(tx, given)


def _apply_job(tx: Transaction, index: int, given: Draft, intake: Intake) -> Applied | None:
    """Update a Job or bare Workload that exists; None for a new one."""
    identity = (given.parsed.namespace, given.name)
    row = workloads.live_by_name(tx, [identity], kind_of(given)).get(identity)
    if row is None:
        return None
    if refusal := jobs.refusal_of(tx, row):
        return Applied(index, REJECTED, draft=given, error=refusal)
    recreated = given.origin == Origin.HUB_CLUSTER and given.uid != row.uid
    if row.origin != given.origin or recreated:
        if recreated and row.origin == given.origin and row.state in TERMINAL:
            withdraw_jobs(tx, [row.uid], WithdrawTo.DELETED, "Recreated", "a new one has its name")
            return None
        return Applied(index, REJECTED, draft=given, error=occupied(given, row))
    if row.withdraw_to == WithdrawTo.DELETED:
        what = f"{row.kind.lower()} {row.namespace}/{row.name}"
        words = f"{what} is being deleted: apply it again once it is gone"
        refusal = Rejected(RejectCode.BEING_DELETED, words, "metadata.name")
        return Applied(index, REJECTED, row.uid, given, refusal)
    try:
        revise = bare_intake.revise_bare if given.is_bare else revise_job
        changed = revise(tx, given, row, intake)
    except Rejected as refusal:
        return Applied(index, REJECTED, row.uid, given, refusal)
    warnings = tuple(missing_classes(tx, [given]).values())
    if changed and warnings:
        say_missing_class(tx, row, warnings[0])
    result = CONFIGURED if changed else UNCHANGED
    return Applied(index, result, row.uid, given, warnings=warnings)


def _apply_object(
    tx: Transaction, index: int, given: Draft, intake: Intake, parents: cohort_rules.Parents
) -> Applied:
    parsed = given.parsed
    if parsed.kind == "Namespace" and not parsed.group:
        there = given.uid if given.origin == Origin.HUB_CLUSTER else None
        given = replace(given, origin=Origin.ANY, hub_cluster_uid=there)
    row = objects.find(tx, parsed.group, parsed.kind, parsed.namespace, given.name)
    if row is not None and given.submitted_by and row.origin == given.origin:
        # A user who changes it did not create it.
        given = replace(given, submitted_by=row.annotations.get(labels.SUBMITTED_BY, ""))
    try:
        scheduled = cron_intake.require(tx, given, row, intake)
        result, uid, declares = _settle(tx, given, row, intake, parents)
    except Rejected as refusal:
        return Applied(index, REJECTED, "" if row is None else row.uid, given, refusal)
    # A bare Workload that nothing else hinders would be a unit of admission, were its queue there.
    held = given.is_bare and not parsed.hindrance
    warnings = (bare_intake.queue_missing(given),) if held else scheduled
    if parsed.kind == "ClusterQueue" and row is not None and declares:
        said = unsuspendable.guard_lost(tx, given.name, row.spec, parsed.spec, intake)
        warnings = (said,) if said else ()
        if said and (now := objects.get(tx, uid)) is not None:
            tx.say(now, unsuspendable.GUARD_LOST, said, warning=True)
    return Applied(index, result, uid, given, warnings=warnings, declares=declares)


def _require_version(given: Draft, row: StoredObject | None) -> None:
    """What names the version that it replaces replaces no other. Raises Rejected."""
    if not given.resource_version:
        return
    field = "metadata.resourceVersion"
    if row is None:
        words = "names an existing object: omit it to create one"
        raise Rejected(RejectCode.FORBIDDEN_FIELD, words, field)
    if given.resource_version != (current := resource_version(row)):
        words = (
            f"{row.kind} {row.name} has changed: it is {current} by now; read it, and change that"
        )
        raise Rejected(RejectCode.CONFLICT, words, field)


def _settle(
    tx: Transaction,
    given: Draft,
    row: StoredObject | None,
    intake: Intake,
    parents: cohort_rules.Parents,
) -> tuple[str, str, bool]:
    """Create, update or leave one object: what was done, its uid, `Applied.declares`. Raises Rejected."""
    _require_version(given, row)
    twins.require_no_work(tx, given)
    unqueued.require_quota(tx, given, row, intake.unqueued_jobs)
    row = _replaced(tx, given, row)
    if given.parsed.kind == "Cohort" and given.origin == Origin.REST:
        parents.hang(given.name, str(given.parsed.spec.get("parentName") or ""))
    new = row_of(given, tx)
    evictions.refuse_change(row, new)
    unjudged = given.is_bare and row is not None and not held.is_judged(row)
    if row is None or row.hash != new.hash or unjudged:
        Gatekeeper(tx, intake.pods).require(given)
        before = None if row is None or given.is_bare else row.manifest
        Priorities(tx).require(given, before)
    kind_versions.require(tx, given.parsed, row)
    if row is None:
        if given.parsed.namespace:
            ensure_namespaces(tx, {given.parsed.namespace})
        objects.add(tx, new)
        if given.origin == Origin.ANY:
            renewed(tx, new.name)
        effects.applied(tx, new)
        _say(tx, new, "Created")
        _say_unheeded(tx, new, given, None)
        _evict(tx, new, given)
        return CREATED, new.uid, True
    if new.hub_cluster_uid:
        identity.read_there(tx, row, new.hub_cluster_uid)
    if row.hash == new.hash and row.api_version == new.api_version:
        if unjudged:
            objects.change(tx, row.uid, annotations=new.annotations)
        return UNCHANGED, row.uid, False
    declares = _content(row) != _content(new)
    changed: ObjectColumns = {
        "api_version": new.api_version,
        "labels": new.labels,
        "annotations": new.annotations,
        "spec": new.spec,
        "manifest": new.manifest,
        "hash": new.hash,
        "generation": row.generation + declares,
        "updated_at": tx.now,
    }
    objects.change(tx, row.uid, **changed)
    updated = row._replace(**changed)
    effects.applied(tx, updated)
    cron_intake.changed(tx, row, updated)
    _say(tx, updated, "Configured")
    _say_unheeded(tx, updated, given, row.status)
    return CONFIGURED, row.uid, declares


def _refuse_change(row: StoredObject, given: Draft) -> None:
    """Raise Rejected (Immutable) for what may not change so in an object of its kind."""
    if given.parsed.group == PLACEMENT:
        field, rule = fault_of_change(row.kind, row.spec or {}, given.parsed.spec)
        if rule:
            raise Rejected(RejectCode.IMMUTABLE, rule, field)


def _replaced(tx: Transaction, given: Draft, row: StoredObject | None) -> StoredObject | None:
    """The object that is changed; None: it is created again. Raises Rejected where it may not be touched."""
    if row is None:
        return None
    if given.hub_cluster_uid and not identity.is_same(row, given.hub_cluster_uid):
        objects.remove(tx, row.uid)
        return None
    if row.origin == Origin.HUB or _recreated(given, row) or _comes_over(given, row):
        objects.remove(tx, row.uid)
        return None
    if row.origin != given.origin:
        raise Rejected(
            RejectCode.OWNED_ELSEWHERE,
            f"{row.kind} {row.name} came from {row.origin}: change it {place_of(row.origin)}",
            "metadata.name",
        )
    if row.deleted_at is not None:
        raise Rejected(RejectCode.BEING_DELETED, f"{row.kind} {row.name} is being deleted")
    refuse_meanwhile(row)
    _refuse_change(row, given)
    return row


def _say_unheeded(tx: Transaction, row: StoredObject, given: Draft, status: Json | None) -> None:
    """What of the object changes nothing: an Event, and a condition that goes when it is taken out."""
    said = unheeded.notices(given.parsed)
    if said:
        tx.say(row, unheeded.REASON, unheeded.joined(said), warning=True)
    if given.parsed.group == PLACEMENT and row.kind in PLACEMENT_KINDS:
        return  # its status is its controller's
    before = (status or {}).get("conditions") or []
    after = unheeded.condition(before, said, tx.now, row.generation)
    if after != before:
        objects.set_statuses(tx, {row.uid: {**(status or {}), "conditions": after}})


def _evict(tx: Transaction, row: StoredObject, given: Draft) -> None:
    """Carry an eviction out; one of the hub cluster's brings along what was said of it before."""
    if evictions.is_eviction(row):
        theirs = given.origin == Origin.HUB_CLUSTER
        evictions.carry_out(tx, row, given.parsed.raw.get("status") if theirs else None)


def _recreated(given: Draft, row: StoredObject) -> bool:
    """On the hub cluster it was deleted and created again: another object of the same name."""
    both = {given.origin, row.origin} == {Origin.HUB_CLUSTER}
    return both and given.uid != str(row.uid)


def _comes_over(given: Draft, row: StoredObject) -> bool:
    """REST handed it over, and here it is: the hub cluster's own from now on."""
    return given.origin == Origin.HUB_CLUSTER and is_handed_over(row)


def _content(row: StoredObject) -> Json:
    return {name: value for name, value in row.manifest.items() if name != "metadata"}


def _identity(given: Draft) -> tuple[str, str, str]:
    return given.parsed.kind, given.parsed.namespace, given.name


def _say(tx: Transaction, row: StoredObject, reason: str) -> None:
    origin = "" if row.origin == Origin.ANY else f", from {row.origin}"
    tx.say(row, reason, f"generation {row.generation}{origin}")


def _with_placement_sought(tx: Transaction, one: Applied) -> Applied:
    """With a warning where an override is for a placement that is not there, after all were applied."""
    if one.draft is None or one.draft.parsed.kind not in _OVERRIDES or one.result == REJECTED:
        return one
    row = objects.get(tx, one.uid)
    said = "" if row is None else override_targets.missing(tx, row)
    if row is None or not said:
        return one
    if one.result in {CREATED, CONFIGURED}:
        tx.say(row, unheeded.REASON, said, warning=True)
    return replace(one, warnings=(*one.warnings, said))
