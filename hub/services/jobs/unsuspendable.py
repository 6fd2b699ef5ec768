"""Workloads that can not be suspended wait only where nobody is ever preempted: the workbench rule.

A workbench (a notebook's session) that is preempted can not resume. Which labels mark such workloads is
a setting; they may be on the object or on its pod template.
"""

import functools
from collections.abc import Iterable
from typing import Final

from hub.domain.quota.queue_policy import NEVER, read_policy
from hub.services.context.settings import Intake
from hub.services.queues.defaults import DEFAULT
from hub.services.reading.draft import Draft
from hub.store import objects
from hub.store.transaction import Transaction
from shared.documents import JsonView
from shared.kinds.kueue_v1beta2 import GROUP as KUEUE

NOT_SUSPENDABLE: Final = "NotSuspendable"


def misplaced(tx: Transaction, given: Draft, intake: Intake) -> str:
    """Why a workload that can not be suspended may not wait where it asks to; "" if all is well."""
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


def _never_preempts(tx: Transaction, name: str, intake: Intake) -> bool:
    """Is it declared so, or alone and without preemption of its own?"""
    if name in _listed(intake.protected_queues):
        return True
    found = objects.find(tx, KUEUE, "ClusterQueue", "", name)
    spec = found.spec if found is not None else None
    if not spec:
        return False
    return not spec.get("cohortName") and read_policy(spec).within == NEVER


def _mark(given: Draft, intake: Intake) -> str:
    """The mark that it carries, or ""."""
    for mark in _listed(intake.unsuspendable_labels):
        key, _, value = mark.partition("=")
        for labels in _labels(given):
            if key in labels and (not value or labels[key] == value):
                return mark
    return ""


def _labels(given: Draft) -> Iterable[JsonView]:
    yield given.parsed.labels
    spec = given.parsed.spec
    sets = (spec,) if given.is_job else spec.get("podSets") or ()
    for each in sets:
        template = each.get("template") or {}
        yield (template.get("metadata") or {}).get("labels") or {}


@functools.cache
def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())
