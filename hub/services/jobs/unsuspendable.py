"""Workloads that cannot be suspended wait only in queues without preemption: the workbench rule.

A workbench (a notebook's session) that is preempted can not resume. Which labels mark such workloads is
a setting; they may be on the object or on its pod template.
"""

import functools
from collections.abc import Iterable
from typing import Final

import orjson

from hub.domain.quota.queue_policy import NEVER, read_policy
from hub.services.context.settings import Intake
from hub.services.queues.defaults import DEFAULT
from hub.services.reading.draft import Draft
from hub.store import jobs, manifests, objects
from hub.store.transaction import Transaction
from shared.documents import JsonView
from shared.kinds.kueue_v1beta2 import GROUP as KUEUE

NOT_SUSPENDABLE: Final = "NotSuspendable"
GUARD_LOST: Final = "PreemptionNotRuledOut"  # of the Event of a ClusterQueue
_MOST_LOOKED_AT: Final = 200  # workloads, at the edit of a queue


def misplaced(tx: Transaction, given: Draft, intake: Intake) -> str:
    """The reason why a workload that can not be suspended may not wait in its queue; "" if it may."""
    mark = _mark(given, intake)
    if not mark:
        return ""
    queue = given.queue or DEFAULT
    found = objects.find(tx, KUEUE, "LocalQueue", given.parsed.namespace, queue)
    spec = (found.spec if found is not None else None) or {}
    name = str(spec.get("clusterQueue") or "")
    if name and _never_preempts(tx, name, intake):
        return ""
    declared = ", ".join(sorted(_listed(intake.protected_queues))) or "none"
    where = f"ClusterQueue {name}" if name else f"LocalQueue {queue}, which leads nowhere,"
    return (
        f"label {mark} says that it can not be suspended, and {where} does not rule preemption out; "
        f"queues declared non-preemptible: {declared}"
    )


def guard_lost(
    tx: Transaction, name: str, before: JsonView | None, after: JsonView, intake: Intake
) -> str:
    """The message if an edit of a ClusterQueue lets unsuspendable workloads be preempted; "" if not."""
    if name in _listed(intake.protected_queues):
        return ""
    if not before or not _is_peaceful(before) or _is_peaceful(after):
        return ""
    held = manifests.latest_of(tx, jobs.charged_to(tx, name)[:_MOST_LOOKED_AT]).values()
    marked = sorted(
        str(job["metadata"]["name"])
        for job in map(orjson.loads, held)
        for mark in _listed(intake.unsuspendable_labels)
        if any(_has(labels, mark) for labels in _labels_of(job["metadata"].get("labels"), job))
    )
    if not marked:
        return ""
    return (
        f"spec: the queue no longer rules preemption out, and {marked[0]}, which can not be suspended, holds "
        "quota in it: declare the queue in ROADSTEAD_QUEUEING_NON_PREEMPTIBLE_QUEUES"
    )


def _has(labels: JsonView, mark: str) -> bool:
    key, _, value = mark.partition("=")
    return key in labels and (not value or labels[key] == value)


def _is_peaceful(spec: JsonView) -> bool:
    """Alone, and without preemption of its own."""
    return not spec.get("cohortName") and read_policy(spec).within == NEVER


def _never_preempts(tx: Transaction, name: str, intake: Intake) -> bool:
    """Is it declared so, or alone and without preemption of its own?"""
    if name in _listed(intake.protected_queues):
        return True
    found = objects.find(tx, KUEUE, "ClusterQueue", "", name)
    spec = found.spec if found is not None else None
    return bool(spec) and _is_peaceful(spec or {})


def _mark(given: Draft, intake: Intake) -> str:
    """The mark that it carries, or ""."""
    for mark in _listed(intake.unsuspendable_labels):
        if any(_has(labels, mark) for labels in _labels(given)):
            return mark
    return ""


def _labels(given: Draft) -> Iterable[JsonView]:
    return _labels_of(given.parsed.labels, {"spec": given.parsed.spec})


def _labels_of(own: JsonView | None, manifest: JsonView) -> Iterable[JsonView]:
    """Those of the object, and of its pod templates."""
    yield own or {}
    spec = manifest.get("spec") or {}
    for each in spec.get("podSets") or (spec,):
        template = each.get("template") or {}
        yield (template.get("metadata") or {}).get("labels") or {}


@functools.cache
def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())
