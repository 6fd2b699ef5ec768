"""Refuses jobs without a queue once an administrator has made queues: no quota would count them."""

from collections.abc import Sequence
from typing import Final

from hub.services.queues.defaults import DEFAULT, is_administered, is_of_the_hub, local_queues
from hub.services.reading.draft import Draft
from hub.store.transaction import Transaction
from shared import labels

_NAMED: Final = 5  # queues that a message names


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
            found[given.uid] = _message(namespace, sorted(there - {DEFAULT}))
    return found


def _message(namespace: str, queues: Sequence[str]) -> str:
    listed = f" ({', '.join(queues[:_NAMED])})" if queues else ": none exists yet"
    return (
        "this hub has ClusterQueues, and a job without a queue would run outside their quota: set label "
        f"{labels.QUEUE_NAME} to a LocalQueue of namespace {namespace}{listed}"
    )
