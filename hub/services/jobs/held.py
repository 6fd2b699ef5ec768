"""Held Workloads: bare Workloads that are stored as objects until their LocalQueue exists.

A held Workload belongs to its submitter as a job does: only its owner and administrators of its queue
replace or delete it, and POST does not create a second one of its name. Its row names who wrote its spec
(`labels.PRIORITY_FROM`), from the moment that the priority number in it was judged: the number is admitted
on that evidence, and stays valid for the owner's unchanged spec alone.
"""

import datetime as dt
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from hub.domain.workloads.origin import Origin
from hub.domain.workloads.states import State, WithdrawTo
from hub.services.jobs.bare import KIND
from hub.services.questions import jobs
from hub.services.reading.draft import Draft
from hub.store import objects
from hub.store.records.objects import StoredObject
from hub.store.records.workloads import Workload
from hub.store.transaction import Transaction
from shared import labels
from shared.errors import Rejected
from shared.kinds.kueue_v1beta2 import GROUP as KUEUE
from shared.reject_codes import RejectCode

Place = tuple[str, str]  # namespace, name
_NAME: Final = "metadata.name"


def find_held(tx: Transaction, namespace: str, name: str) -> StoredObject | None:
    """The Workload that is stored as an object under that name."""
    return objects.find(tx, KUEUE, KIND, namespace, name)


def owner_of(row: StoredObject) -> str:
    """The name of its submitter; "" if unknown."""
    return str(row.annotations.get(labels.SUBMITTED_BY) or "")


def queue_of(row: StoredObject) -> str:
    """The LocalQueue that it names."""
    return str((row.spec or {}).get("queueName") or "")


def refusal_of(tx: Transaction, row: StoredObject) -> Rejected | None:
    """Why the caller may not replace a held Workload: the rule for a job of its owner and queue."""
    return jobs.refusal_within(tx, row.namespace, row.name, queue_of(row), owner_of(row))


def is_shown(tx: Transaction, row: StoredObject) -> bool:
    """Does the caller see jobs of its owner and queue?"""
    return tx.scope.shows(row.namespace, queue_of(row), owner_of(row))


def as_cancelled(row: StoredObject, now: dt.datetime, principal: str) -> Workload:
    """A deleted held Workload, as the job that it never became."""
    spec = row.spec or {}
    return Workload(
        uid=row.uid,
        kind=KIND,
        namespace=row.namespace,
        name=row.name,
        origin=row.origin,
        labels=row.labels,
        annotations=row.annotations,
        queue=queue_of(row),
        priority=int(spec.get("priority") or 0),
        priority_class=str((spec.get("priorityClassRef") or {}).get("name") or ""),
        shape="",
        parallelism=sum(int(each.get("count") or 0) for each in spec.get("podSets") or ()),
        completions=None,
        ttl_s=None,
        generation=row.generation,
        state=State.CANCELLED,
        reason="DeletedByUser",
        message=f"deleted by {principal}",
        created_at=row.created_at,
        queued_at=row.created_at,
        live=None,
        withdraw_to=WithdrawTo.DELETED,
        finished_at=now,
        deleted_at=now,
        owner=owner_of(row),
    )


def is_judged(row: StoredObject) -> bool:
    """Was its priority number judged when it was written? A value that an earlier release stored may be
    unreadable.

    On the hub cluster only roles that administer queues write Workloads.
    """
    return row.origin == Origin.HUB_CLUSTER or labels.PRIORITY_FROM in row.annotations


def replacing(tx: Transaction, given: Draft) -> Draft | Rejected:
    """A bare draft, as it replaces the held Workload of its name if there is one; or why it may not.

    The owner stays. An unchanged spec keeps its priority number, and who answers for it.
    """
    writer = given.submitted_by or given.origin
    row = find_held(tx, given.parsed.namespace, given.name)
    if row is None:
        return replace(given, priority_from=writer)
    if refusal := refusal_of(tx, row):
        return refusal
    if given.submitted_by and row.origin == given.origin:
        given = replace(given, submitted_by=owner_of(row))
    unchanged = row.manifest.get("spec") == given.manifest.get("spec")
    if unchanged and row.origin == given.origin and is_judged(row):
        writer = row.annotations.get(labels.PRIORITY_FROM, writer)
        return replace(given, may_set_priority=True, priority_from=writer)
    return replace(given, priority_from=writer)


def names_taken(tx: Transaction, drafts: Sequence[Draft]) -> frozenset[Place]:
    """The names among bare drafts that held Workloads have; one query for all, none for Jobs alone."""
    wanted = [
        (KUEUE, KIND, given.parsed.namespace, given.name) for given in drafts if given.is_bare
    ]
    found = objects.uids_of(tx, wanted) if wanted else {}
    return frozenset((namespace, name) for _, _, namespace, name in found)


def name_taken(given: Draft) -> Rejected:
    """The refusal to create a Workload whose name a held one has."""
    place = f"{given.parsed.namespace}/{given.name}"
    text = (
        f"the name {place} is taken by a Workload that waits for its queue: apply changes it; "
        "delete it, or choose another name"
    )
    return Rejected(RejectCode.ALREADY_EXISTS, text, _NAME)


def forget(tx: Transaction, accepted: Sequence[Draft]) -> None:
    """Remove the objects of Workloads that the hub has accepted as units of admission."""
    for given in accepted:
        row = find_held(tx, given.parsed.namespace, given.name)
        if row is not None:
            objects.remove(tx, row.uid)
