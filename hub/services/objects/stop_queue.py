"""Stopping and resuming a queue: `spec.stopPolicy` of a ClusterQueue or LocalQueue, and nothing else.

What follows is what follows when somebody applies the queue with that policy: the scheduler admits nothing
more, and where it drains, what is admitted is taken back like all that is evicted.
"""

from typing import Final, Literal

from hub.domain.quota.declared import DRAIN
from hub.domain.workloads.origin import Origin
from hub.services.context.settings import Settings
from hub.services.objects.apply import CONFIGURED, REJECTED, apply_documents
from hub.services.questions import queues
from hub.services.questions.pages.previews import (
    admitted,
    count_leaving,
    find_queue,
    stop_policy_of,
)
from hub.services.queues import terminating
from hub.services.queues.queue_edits import stopping
from hub.services.queues.stop_commands import stop_command
from hub.services.reading.draft import draft
from hub.store import audit
from hub.store.records.objects import StoredObject
from hub.store.transaction import Transaction
from shared import labels
from shared.documents import Json
from shared.errors import Rejected
from shared.kinds.parsed import Parsed
from shared.kinds.registry import parse
from shared.reject_codes import RejectCode

StopPolicy = Literal["None", "Hold", "HoldAndDrain"]
ON: Final[StopPolicy] = "None"
MOST_SHOWN: Final = 20  # jobs of a preview
_HERE: Final = frozenset({Origin.REST, Origin.HUB})  # where queues come from that are changed here


def set_stop_policy(
    tx: Transaction,
    namespace: str,
    name: str,
    policy: StopPolicy,
    settings: Settings,
    principal: str,
) -> Json:
    """The queue as it stands then; without `namespace` a ClusterQueue. Done again, nothing changes.

    A ClusterQueue that is Terminating can be drained, whichever way it was deleted. Raises Rejected:
    NotFound, Forbidden, BeingDeleted, and what its manifest is refused for: OwnedElsewhere where it came
    from the hub cluster.
    """
    row = _changeable(tx, namespace, name, principal)
    if terminating.is_terminating(row):
        _drain(tx, row, policy, principal)
    elif (before := stop_policy_of(row)) != policy:
        if row.origin not in _HERE:
            raise _stopped_elsewhere(row, policy)
        by = row.annotations.get(labels.SUBMITTED_BY, "")
        given = draft(_with_policy(row, policy), tx.now, submitted_by=by)
        applied = apply_documents(tx, [given], settings.intake)[0]
        if applied.result == REJECTED and applied.error is not None:
            raise applied.error
        if applied.result == CONFIGURED:
            place = f"{namespace}/{name}" if namespace else name
            verb, words = stopping(before, policy)
            audit.add(tx, principal, verb, f"{row.kind} {place} {row.uid}", words)
    if namespace:
        return queues.get_local_queue(tx, namespace, name)
    return queues.get_cluster_queue(tx, name)


def would_set_stop_policy(
    tx: Transaction, namespace: str, name: str, policy: StopPolicy, principal: str
) -> Json:
    """Preview `set_stop_policy`, as `QueuePreview` has it. Raises Rejected as it does."""
    row = _changeable(tx, namespace, name, principal)
    before = stop_policy_of(row)
    if terminating.is_terminating(row):
        _refuse_all_but_drain(row, policy)
    elif before != policy and row.origin not in _HERE:
        raise _stopped_elsewhere(row, policy)
    shown = queues.get_local_queue(tx, namespace, name) if namespace else None
    figures = shown or queues.get_cluster_queue(tx, name)
    evicts = policy == DRAIN
    running = figures["reserving"] - count_leaving(tx, namespace, name)
    return {
        "kind": row.kind,
        "namespace": namespace,
        "name": row.name,
        "carriedOut": False,
        "stopPolicy": before,
        "wouldBe": policy,
        "pending": figures["pending"],
        "evicted": running if evicts else 0,
        "left": 0 if evicts else running,
        "jobs": [
            {"namespace": j.namespace, "name": j.name, "state": j.state, "cluster": j.cluster}
            for j in admitted(tx, namespace, name, MOST_SHOWN)
        ],
    }


def _stopped_elsewhere(row: StoredObject, policy: StopPolicy) -> Rejected:
    typed = stop_command(row.origin, row.namespace, row.name, policy)
    said = f"{row.kind} {row.name} came from the hub cluster, and is changed there: {typed}"
    return Rejected(RejectCode.OWNED_ELSEWHERE, said)


def _changeable(tx: Transaction, namespace: str, name: str, principal: str) -> StoredObject:
    """The row of a queue that `principal` may change. Raises Rejected: NotFound, Forbidden."""
    row = find_queue(tx, namespace, name)
    if namespace and not tx.scope.allows(namespace):
        said = (
            f"no role that {principal} has allows to change queues of namespace {namespace[:64]}"
        )
        raise Rejected(RejectCode.FORBIDDEN, said)
    return row


def _refuse_all_but_drain(row: StoredObject, policy: StopPolicy) -> None:
    if policy != DRAIN:
        said = (
            f"ClusterQueue {row.name} is being deleted and admits nothing: it can only be drained"
        )
        raise Rejected(RejectCode.BEING_DELETED, said)


def _drain(tx: Transaction, row: StoredObject, policy: StopPolicy, principal: str) -> None:
    """Take back what a Terminating ClusterQueue has admitted; any other policy changes nothing of it."""
    _refuse_all_but_drain(row, policy)
    if (before := stop_policy_of(row)) != policy:
        terminating.drain(tx, row)
        verb, words = stopping(before, policy)
        audit.add(tx, principal, verb, f"{row.kind} {row.name} {row.uid}", words)


def _with_policy(row: StoredObject, policy: StopPolicy) -> Parsed:
    """The queue as it is stored, with this policy.

    It is not validated again: a stored queue may break a rule of a later release, and must be stoppable
    all the same.
    """
    spec = {**(row.manifest.get("spec") or {}), "stopPolicy": policy}
    manifest = {**row.manifest, "spec": spec}
    if row.spec is None:
        return parse(manifest)
    return Parsed(
        kind=row.kind,
        group=row.api_group,
        version=row.api_version.rpartition("/")[2],
        namespace=row.namespace,
        name=row.name,
        labels=row.labels,
        annotations=row.annotations,
        spec={**row.spec, "stopPolicy": policy},
        raw=manifest,
    )
