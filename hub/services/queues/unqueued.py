"""Refuses jobs without a queue once an administrator has made queues: no quota would count them.

Batch administrators of some namespaces make no LocalQueue in the hub's ClusterQueue `default` for them.
"""

from collections.abc import Sequence
from typing import Final

from hub.domain.access import Scope
from hub.domain.workloads.origin import Origin
from hub.domain.workloads.states import QUEUED
from hub.services.queues.defaults import DEFAULT, is_administered, is_of_the_hub, local_queues
from hub.services.reading.draft import Draft
from hub.store import tallies
from hub.store.records.objects import StoredObject
from hub.store.transaction import Transaction
from shared import labels
from shared.documents import Json
from shared.errors import Rejected
from shared.kinds.kueue_v1beta2 import GROUP as KUEUE
from shared.reject_codes import RejectCode

CONDITION: Final = "UnqueuedJobs"
_NAMED: Final = 5  # queues, and namespaces, that a message names


def without_limits(tx: Transaction, drafts: Sequence[Draft], unqueued_jobs: str) -> dict[str, str]:
    """By uid, why a draft is refused: it would wait in the LocalQueue `default` that the hub provides."""
    if unqueued_jobs != "Auto" or not is_administered(tx):
        return {}
    found = {}
    for given in drafts:
        namespace = given.parsed.namespace
        if given.queue not in ("", DEFAULT):
            continue
        there = local_queues(tx, namespace)
        if is_of_the_hub(tx, namespace) or (DEFAULT not in there and not given.queue):
            shown = {name for name in there - {DEFAULT} if _is_shown(given.sees, namespace, name)}
            found[given.uid] = _message(namespace, sorted(shown))
    return found


def queue_missing(tx: Transaction, given: Draft) -> str:
    """The warning about a job of a LocalQueue that is not there (after all of a request); "" of any other."""
    namespace = given.parsed.namespace
    if not given.is_job or not given.queue or given.queue in local_queues(tx, namespace):
        return ""
    return (
        f"metadata.labels[{labels.QUEUE_NAME}]: LocalQueue {namespace}/{given.queue} does not exist: the "
        f"{given.parsed.kind} waits until that queue is there"
    )


def require_quota(
    tx: Transaction, given: Draft, row: StoredObject | None, unqueued_jobs: str
) -> None:
    """Refuse a LocalQueue of the hub's ClusterQueue `default` to senders that may not change ClusterQueues.

    One that is stored so already, by people, stays. Raises Rejected: Forbidden.
    """
    parsed = given.parsed
    if not given.within_quotas or (parsed.group, parsed.kind) != (KUEUE, "LocalQueue"):
        return
    if parsed.spec.get("clusterQueue") != DEFAULT or unqueued_jobs == "Default":
        return
    before = None if row is None or row.origin == Origin.HUB else row.spec
    if (before or {}).get("clusterQueue") != DEFAULT and is_administered(tx):
        text = (
            f"ClusterQueue {DEFAULT} is the hub's own and has no limits: name one that an administrator made "
            "(roadstead queues ls), or ask an administrator of the hub's queues"
        )
        raise Rejected(RejectCode.FORBIDDEN, text, "spec.clusterQueue")


def condition(tx: Transaction, unqueued_jobs: str) -> Json | None:
    """Says how many jobs wait in LocalQueues `default` of the hub although there are queues with quota.

    The hub accepted them before an administrator made the first ClusterQueue, or under another setting.
    None if no job waits so, or if the caller does not see every namespace.
    """
    if unqueued_jobs != "Auto" or not tx.scope.is_everything or not is_administered(tx):
        return None
    waiting: dict[str, int] = {}
    for state in sorted(QUEUED):
        for namespace, queue, number in tallies.in_state(tx, state):
            if queue == DEFAULT and is_of_the_hub(tx, namespace):
                waiting[namespace] = waiting.get(namespace, 0) + number
    if not waiting:
        return None
    listed = ", ".join(f"{name} {waiting[name]}" for name in sorted(waiting)[:_NAMED])
    more = f" and {len(waiting) - _NAMED} more" if len(waiting) > _NAMED else ""
    text = (
        f"{sum(waiting.values())} jobs without a queue wait outside every quota (by namespace: "
        f"{listed}{more}), and new ones are refused: label them with {labels.QUEUE_NAME}, or make a "
        f"LocalQueue {DEFAULT} in the namespace"
    )
    return {"type": CONDITION, "status": "True", "reason": CONDITION, "message": text}


def _is_shown(sees: Scope, namespace: str, queue: str) -> bool:
    """True if the caller sees jobs of that LocalQueue, if only their own."""
    return any(area.holds(namespace, queue, area.owner) for area in sees.sees)


def _message(namespace: str, queues: Sequence[str]) -> str:
    listed = (
        f" ({', '.join(queues[:_NAMED])})"
        if queues
        else ", in which you see none: a batch administrator of the namespace makes one"
    )
    return (
        "this hub has ClusterQueues, and a job without a queue would run outside their quota: set label "
        f"{labels.QUEUE_NAME} to a LocalQueue of namespace {namespace}{listed}"
    )
