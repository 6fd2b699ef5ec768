"""`roadstead queues`: quota, usage, waiting jobs."""

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
    """Format a quantity; None is unlimited."""
    return "unlimited" if told is None else told


def _share(queue: ClusterQueue) -> str:
    """Its borrowed part of the cohort, divided by its weight; in fair sharing the least goes first."""
    if not _is_bounded(queue):
        return "beyond all others: it borrows with weight 0"
    return f"{queue.weighted_share / 10:g} %"


def _is_bounded(queue: ClusterQueue) -> bool:
    return queue.weighted_share <= _MOST_SHARE


def _consumed(queue: LocalQueue) -> str:
    return ", ".join(f"{name} {amount}" for name, amount in sorted(queue.consumed.items()))


_OF_COHORT = " (what it borrows of its cohort, by its weight)"
_MOST_SHARE = 10**12  # of a weight that is not 0

COLUMNS = [
    Column("NAME", lambda q: q.name, shrinks=True),
    Column("STRATEGY", lambda q: q.strategy, wide=True),
    Column("COHORT", lambda q: q.cohort, shrinks=True),
    Column("USED", _used, wraps=True),
    Column("PENDING", lambda q: q.pending),
    Column("ADMITTED", lambda q: q.admitted),
    Column("ACTIVE", _active, coloured=True),
    Column("WEIGHT", lambda q: q.weight, wide=True),
    Column("SHARE", _share, wide=True),
    Column(
        "LOCALQUEUES",
        lambda q: ",".join(f"{d.namespace}/{d.name}" for d in q.local_queues),
        wide=True,
        shrinks=True,
    ),
]


def _whose(item: PendingWorkload) -> str:
    """The job of a Workload, or a bare Workload itself."""
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
    """Manage queues: quota, usage, waiting jobs."""


_QUOTA = [
    Column("RESOURCE", lambda q: q.resource),
    Column("FLAVOR", lambda q: q.flavor, wraps=True),
    Column("USED", lambda q: q.used),
    Column("BORROWED", lambda q: q.borrowed),
    Column("NOMINAL", lambda q: _amount(q.nominal)),
    Column("AVAILABLE", lambda q: _amount(q.available)),
]
_OF_COHORTS = [
    Column("MAY BORROW", lambda q: _amount(q.borrowing_limit)),
    Column("MAY LEND", lambda q: _amount(q.lending_limit)),
]
_ENTRANCES = [
    Column("LOCALQUEUE", lambda d: f"{d.namespace}/{d.name}", shrinks=True),
    Column("PENDING", lambda d: d.pending),
    Column("ADMITTED", lambda d: d.admitted),
    Column("WEIGHT", lambda d: d.weight),
    Column("USED OF LATE", _consumed, wraps=True),
]


def _find(hub: Client, name: str) -> ClusterQueue | LocalQueue:
    return hub.local_queue(name) if "/" in name else hub.queue(name)


def _conditions(queue: ClusterQueue | LocalQueue) -> list[str]:
    """Format its conditions."""
    told = [f"{c.type}={c.status}  {c.reason}: {c.message}" for c in queue.conditions]
    return [line for each in told for line in wrapped(each.rstrip(": "), "  ")]


def _as_text(queue: ClusterQueue | LocalQueue) -> str:
    if isinstance(queue, LocalQueue):
        lines = [
            f"LocalQueue {queue.namespace}/{queue.name}",
            f"  cluster queue  {queue.cluster_queue}",
            f"  pending        {queue.pending}",
            f"  admitted       {queue.admitted}",
            f"  weight         {queue.weight}",
            f"  used of late   {_consumed(queue) or '-'}",
        ]
        return "\n".join([*lines, *_conditions(queue)])
    lines = [
        f"ClusterQueue {queue.name}",
        f"  strategy  {queue.strategy}",
        f"  cohort    {queue.cohort or '-'}",
        f"  state     {queue.state}",
        f"  pending   {queue.pending}",
        f"  admitted  {queue.admitted}",
    ]
    lines.append(f"  weight    {queue.weight}")
    if queue.cohort:
        lines.append(f"  share     {_share(queue)}{_OF_COHORT if _is_bounded(queue) else ''}")
    waiting = queue.reserving - queue.admitted
    if waiting > 0:
        lines.append(f"  reserved  {waiting} more, whose admission checks are open")
    lines += _conditions(queue)
    told_so = any(c.type == "LimitsEnforced" for c in queue.conditions)
    if queue.not_enforced and not told_so:
        lines += wrapped("accepted, not yet enforced: " + ", ".join(queue.not_enforced), "  ")
    if queue.quotas:
        # Alone, a queue neither borrows nor lends, whatever its limits.
        lines += ["", *indented(queue.quotas, _QUOTA + (_OF_COHORTS if queue.cohort else []))]
    if queue.local_queues:
        lines += ["", *indented(queue.local_queues, _ENTRANCES)]
    return "\n".join(lines)


queues.add_command(
    list_verb(
        Client.queues,
        COLUMNS,
        does="List ClusterQueues with their quota usage.",
        empty="No queues. The first job makes queue default, which has no limits: roadstead run -- echo hi. "
        "To set limits, apply a ClusterQueue and a LocalQueue: roadstead apply -f FILE",
    )
)
queues.add_command(
    list_verb(
        Client.pending,
        _PENDING,
        name="pending",
        does="""List the waiting jobs of a queue, in order.

        NAME is that of a ClusterQueue, or namespace/name of a LocalQueue. Jobs that run and wait to grow
        (reason WaitingToGrow in jobs ls) are in no line: roadstead explain has their numbers.
        """,
        empty="No jobs wait in {name}. Running jobs that wait to grow: roadstead jobs ls --state running",
        options=[
            click.argument("name"),
            click.option(
                "--offset",
                type=click.IntRange(min=0),
                default=0,
                metavar="N",
                help="Skip N jobs.",
            ),
            click.option(
                "--limit",
                type=click.IntRange(1, 4000),
                default=100,
                metavar="N",
                help="Maximum number [default: 100].",
            ),
        ],
    )
)
queues.add_command(
    show_verb(
        _find,
        _as_text,
        does="""Show one queue: quota, usage, LocalQueues.

        NAME is that of a ClusterQueue, or namespace/name of a LocalQueue.
        """,
    )
)
queue_edits.add_to(queues)
