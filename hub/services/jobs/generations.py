"""A newer manifest of a workload that is known: the one that stands, and how the next one is kept."""

from typing import NamedTuple

import orjson

from hub.domain.workloads.origin import Origin
from hub.domain.workloads.states import QUEUED, State
from hub.services.context.settings import Intake
from hub.services.jobs.accept import (
    QUEUE_REQUIRED,
    Queue,
    refuse_queue,
    resolve_queues,
    shape_columns,
)
from hub.services.queues.defaults import DEFAULT, is_of_the_hub
from hub.services.reading.draft import Draft
from hub.store import manifests, workloads
from hub.store.records.workloads import BareColumns, Workload, WorkloadColumns, change_of
from hub.store.transaction import Transaction
from shared import labels
from shared.documents import Json
from shared.errors import Rejected
from shared.reject_codes import RejectCode


class StandingManifest(NamedTuple):
    """The manifest that stands, and its generation."""

    generation: int
    manifest: Json


def standing_before(tx: Transaction, given: Draft, row: Workload) -> StandingManifest | None:
    """The object that `given` would replace; None if it is equal. Raises Rejected: BeingDeleted."""
    latest = manifests.latest(tx, row.uid)
    if latest is None:
        what = f"{row.kind.lower()} {row.namespace}/{row.name}"
        raise Rejected(RejectCode.BEING_DELETED, f"{what} is being deleted")
    generation, body, digest = latest
    return None if digest == given.hash else StandingManifest(generation, orjson.loads(body))


def _refuse_leaving(tx: Transaction, given: Draft, old: Json) -> None:
    """Refuse a change from an administrator's queue to none, or to the hub's own without limits."""
    was = _queue_of(old)
    if not was or given.queue == was:
        return
    field = "spec.queueName" if given.is_bare else f"metadata.labels[{labels.QUEUE_NAME}]"
    if not given.queue:
        rule = (
            f"names no queue, and was {was}: name another queue, or delete it and submit it again"
        )
    elif given.queue == DEFAULT and is_of_the_hub(tx, given.parsed.namespace):
        rule = f"LocalQueue {DEFAULT} is the hub's own, without limits, and the queue was {was}: name another"
    else:
        return
    raise Rejected(RejectCode.IMMUTABLE, f"{field}: {rule}", field)


def _queue_of(manifest: Json) -> str:
    if manifest.get("kind") == "Workload":
        return str((manifest.get("spec") or {}).get("queueName") or "")
    metadata = manifest.get("metadata") or {}
    parts = (
        (metadata.get(part) or {}).get(labels.QUEUE_NAME) for part in ("labels", "annotations")
    )
    return str(next(filter(None, parts), ""))


def keep_next(
    tx: Transaction,
    given: Draft,
    row: Workload,
    before: StandingManifest,
    intake: Intake,
    columns: WorkloadColumns | BareColumns,
) -> int:
    """Keep `given` as the next generation, which is returned; `columns` are those of its kind.

    One that waits follows its queue's name. Raises Rejected: QueueNotFound; Immutable, where it would leave
    the quota of its queue.
    """
    _refuse_leaving(tx, given, before.manifest)
    queue = resolve_queues(tx, [given], intake)[given.uid]
    if queue.reason == QUEUE_REQUIRED and (row.queue, given.queue or DEFAULT) == (
        DEFAULT,
        DEFAULT,
    ):
        queue = Queue(DEFAULT)  # it was taken before there were other queues
    if refusal := refuse_queue(given, queue, strict=False):
        raise refusal
    generation = before.generation + 1
    changed = change_of(row.uid, {"generation": generation, **shape_columns(given), **columns})
    if row.origin == Origin.REST:  # a user who changes it did not submit it
        first = row.annotations.get(labels.SUBMITTED_BY)
        by = {labels.SUBMITTED_BY: first} if first else {}
        changed["annotations"] = {**changed["annotations"], **by}
    if row.state in QUEUED and queue.name != row.queue:
        changed["queue"] = queue.name
        if row.state is State.PENDING:  # a held job names its holder and its dependencies
            changed["reason"], changed["message"] = queue.reason, queue.message
    manifests.add_shapes(tx, {given.shape: given.pod_sets()})
    kept = {
        "uid": row.uid,
        "generation": generation,
        "manifest": given.body,
        "hash": given.hash,
        "form": given.form_json,
    }
    manifests.add(tx, [kept])
    workloads.change(tx, [changed])
    return generation
