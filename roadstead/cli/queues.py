"""`roadstead queues`: quota, usage, who waits."""

import click

from roadstead.cli import queue_edits
from roadstead.cli.nouns import list_verb, show_verb
from roadstead.cli.output import age
from roadstead.cli.tables import Column, indented, wrapped
from roadstead.client import Client
from roadstead.models.queues import ClusterQueue, LocalQueue, PendingWorkload


def _active(queue: ClusterQueue) -> str:
    return next((c.status for c in queue.conditions if c.type == "Active"), "")


def _used(queue: ClusterQueue) -> str:
    return ", ".join(f"{q.resource} {q.used}/{_amount(q.nominal)}" for q in queue.quotas)


def _amount(told: str | None) -> str:
    """A quantity; None is unlimited."""
    return "unlimited" if told is None else told


COLUMNS = [
    Column("NAME", lambda q: q.name, shrinks=True),
    Column("STRATEGY", lambda q: q.strategy, wide=True),
    Column("COHORT", lambda q: q.cohort, shrinks=True),
    Column("USED", _used, wraps=True),
    Column("PENDING", lambda q: q.pending),
    Column("ADMITTED", lambda q: q.admitted),
    Column("ACTIVE", _active, coloured=True),
    Column(
        "LOCALQUEUES",
        lambda q: ",".join(f"{d.namespace}/{d.name}" for d in q.local_queues),
        wide=True,
        shrinks=True,
    ),
]


def _whose(item: PendingWorkload) -> str:
    """The job of a Workload, or the Workload that has none."""
    owner = next(iter(item.metadata.owner_references), item.metadata)
    return f"{item.metadata.namespace}/{owner.name}"


_PENDING = [
    Column("POSITION", lambda w: w.position_in_cluster_queue + 1),
    Column("JOB", _whose, shrinks=True),
    Column("PRIORITY", lambda w: w.priority),
    Column("LOCALQUEUE", lambda w: w.local_queue_name, shrinks=True),
    Column("IN LOCALQUEUE", lambda w: w.position_in_local_queue + 1, wide=True),
    Column("WORKLOAD", lambda w: w.metadata.name, wide=True, shrinks=True),
    Column("AGE", lambda w: age(w.metadata.creation_timestamp)),
]


@click.group()
def queues() -> None:
    """Queues: quota, usage, who waits."""


_QUOTA = [
    Column("RESOURCE", lambda q: q.resource),
    Column("FLAVOR", lambda q: q.flavor, shrinks=True),
    Column("USED", lambda q: q.used),
    Column("BORROWED", lambda q: q.borrowed),
    Column("NOMINAL", lambda q: _amount(q.nominal)),
]
_ENTRANCES = [
    Column("LOCALQUEUE", lambda d: f"{d.namespace}/{d.name}", shrinks=True),
    Column("PENDING", lambda d: d.pending),
    Column("ADMITTED", lambda d: d.admitted),
]


def _find(hub: Client, name: str) -> ClusterQueue | LocalQueue:
    return hub.local_queue(name) if "/" in name else hub.queue(name)


def _as_text(queue: ClusterQueue | LocalQueue) -> str:
    if isinstance(queue, LocalQueue):
        return (
            f"LocalQueue {queue.namespace}/{queue.name}\n"
            f"  cluster queue  {queue.cluster_queue}\n"
            f"  pending        {queue.pending}\n"
            f"  admitted       {queue.admitted}"
        )
    lines = [
        f"ClusterQueue {queue.name}",
        f"  strategy  {queue.strategy}",
        f"  cohort    {queue.cohort or '-'}",
        f"  state     {queue.state}",
        f"  pending   {queue.pending}",
        f"  admitted  {queue.admitted}",
    ]
    waiting = queue.reserving - queue.admitted
    if waiting > 0:
        lines.append(f"  reserved  {waiting} more, whose admission checks are open")
    if queue.weighted_share:
        lines.append(f"  share     {queue.weighted_share} thousandths beyond its own quota")
    for c in queue.conditions:
        told = f"{c.type}={c.status}  {c.reason}: {c.message}"
        lines += wrapped(told.rstrip(": "), "  ")
    told_so = any(c.type == "LimitsEnforced" for c in queue.conditions)
    if queue.not_enforced and not told_so:
        lines += wrapped("accepted, not yet enforced: " + ", ".join(queue.not_enforced), "  ")
    if queue.quotas:
        lines += ["", *indented(queue.quotas, _QUOTA)]
    if queue.local_queues:
        lines += ["", *indented(queue.local_queues, _ENTRANCES)]
    return "\n".join(lines)


queues.add_command(
    list_verb(
        Client.queues,
        COLUMNS,
        does="List ClusterQueues with what is used of their quota.",
        empty="No queues. Apply a ClusterQueue, or submit a job without one.",
    )
)
queues.add_command(
    list_verb(
        Client.pending,
        _PENDING,
        name="pending",
        does="""List who waits in a queue, in order.

        NAME is that of a ClusterQueue, or namespace/name of a LocalQueue.
        """,
        empty="Nobody waits in {name}.",
        options=[
            click.argument("name"),
            click.option(
                "--offset",
                type=click.IntRange(min=0),
                default=0,
                metavar="N",
                help="Leave out so many.",
            ),
            click.option(
                "--limit",
                type=click.IntRange(1, 4000),
                default=100,
                metavar="N",
                help="At most; 100.",
            ),
        ],
    )
)
queues.add_command(
    show_verb(
        _find,
        _as_text,
        does="""Show one queue: quota, usage, entrances.

        NAME is that of a ClusterQueue, or namespace/name of a LocalQueue.
        """,
    )
)
queue_edits.add_to(queues)
