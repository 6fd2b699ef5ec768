"""Applying a Job again: what may change becomes a new generation, what may not is refused.

The rules are those of the API server for Jobs. Where the size of an admitted job changes, what is
charged follows by `hub.services.resize`.
"""

from typing import Any, Final

import orjson

from hub.domain.workload import CHARGED, QUEUED, TERMINAL, State
from hub.services.drafts import Draft
from hub.services.intake import (
    priority_class,
    refuse_queue,
    resolve_priorities,
    resolve_queues,
    shape_columns,
)
from hub.services.limits import Intake
from hub.services.resize import follow_size
from hub.store import manifests, workloads, works
from hub.store.unit import Unit
from shared import labels as keys
from shared.errors import FieldError, Rejected
from shared.resources import job_pod_count

Row = dict[str, Any]
# What a running Job's member copy follows: a merge patch of these fields (architecture, section 8).
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


def revise_job(unit: Unit, given: Draft, row: Row, intake: Intake) -> bool:
    """Bring the job of `row` to the manifest of `given`; False if they are equal already.

    Raises Rejected: Immutable, naming every field that may not change.
    """
    latest = manifests.latest(unit, row["uid"])
    if latest is None:
        raise Rejected("BeingDeleted", f"job {row['namespace']}/{row['name']} is being deleted")
    generation, old_bytes, old_hash = latest
    if old_hash == given.hash:
        return False
    old = orjson.loads(old_bytes)
    _refuse_immutable(old, given, row)
    queue = resolve_queues(unit, [given], intake)[given.uid]
    if refusal := refuse_queue(given, queue, strict=False):
        raise refusal
    changed: Row = {
        "uid": row["uid"],
        "generation": generation + 1,
        **shape_columns(given),
    }
    named = priority_class(given)
    if named != row["priority_class"]:  # a class whose value was edited changes nothing
        priority = resolve_priorities(unit, [given]).get(named, 0)
        changed |= {"priority_class": named, "priority": priority}
    if State(row["state"]) in QUEUED and queue.name != row["queue"]:
        changed |= {"queue": queue.name, "reason": queue.reason, "message": queue.message}
    manifests.add_shapes(unit, {given.shape: given.pod_sets()})
    manifests.add(
        unit,
        [
            {
                "uid": row["uid"],
                "generation": generation + 1,
                "manifest": given.body,
                "hash": given.hash,
            }
        ],
    )
    workloads.change(unit, [changed])
    works.follow_generation(unit, row["uid"], generation + 1)
    if State(row["state"]) in CHARGED and job_pod_count(given.parsed.spec) != job_pod_count(
        old.get("spec") or {}
    ):
        follow_size(unit, row, given.parsed.pod_sets[0])
    return True


def _refuse_immutable(old: Row, given: Draft, row: Row) -> None:
    spec, new = old.get("spec") or {}, given.parsed.spec
    wrong = [
        FieldError(f"spec.{name}", "Immutable", "can not change once the Job exists")
        for name in sorted({*spec, *new} - _MUTABLE)
        if spec.get(name) != new.get(name)
    ]
    state = State(row["state"])
    if state not in QUEUED and state not in TERMINAL and _queue_of(old) != given.queue:
        rule = "can not change while the Job is on a cluster"
        wrong.append(FieldError(f"metadata.labels[{keys.QUEUE_NAME}]", "Immutable", rule))
    if wrong:
        detail = f"{wrong[0].field}: {wrong[0].message}"
        raise Rejected("Immutable", detail, wrong[0].field, tuple(wrong))


def _queue_of(manifest: Row) -> str:
    metadata = manifest.get("metadata") or {}
    for part in ("labels", "annotations"):
        name = (metadata.get(part) or {}).get(keys.QUEUE_NAME)
        if name:
            return str(name)
    return ""
