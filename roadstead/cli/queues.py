"""`roadstead queues`: quota, usage, who waits."""

from typing import Any

import click

from roadstead.cli.output import (
    Column,
    age,
    answer_option,
    client,
    output_option,
    show_list,
    show_one,
    table,
    terminal_width,
    watch_option,
    wrapped,
)

Json = dict[str, Any]


def _active(queue: Json) -> str:
    found = [c for c in queue["conditions"] if c.get("type") == "Active"]
    return str(found[0]["status"]) if found else ""


def _used(queue: Json) -> str:
    return ", ".join(f"{q['resource']} {q['used']}/{_nominal(q)}" for q in queue["quotas"])


def _nominal(quota: Json) -> str:
    """The hub says null of what has no limit."""
    return quota["nominal"] or "unlimited"


COLUMNS = [
    Column("NAME", lambda q: q["name"], shrinks=True),
    Column("STRATEGY", lambda q: q["strategy"], wide=True),
    Column("COHORT", lambda q: q["cohort"], shrinks=True),
    Column("USED", _used, wraps=True),
    Column("PENDING", lambda q: q["pending"]),
    Column("ADMITTED", lambda q: q["admitted"]),
    Column("ACTIVE", _active),
    Column(
        "LOCALQUEUES",
        lambda q: ",".join(f"{d['namespace']}/{d['name']}" for d in q["localQueues"]),
        wide=True,
        shrinks=True,
    ),
]


def _whose(item: Json) -> str:
    """The job of a Workload, or the Workload that has none."""
    metadata = item["metadata"]
    owners = metadata.get("ownerReferences") or [metadata]
    return f"{metadata['namespace']}/{owners[0]['name']}"


_PENDING = [
    Column("POSITION", lambda w: w["positionInClusterQueue"] + 1),
    Column("JOB", _whose, shrinks=True),
    Column("PRIORITY", lambda w: w["priority"]),
    Column("LOCALQUEUE", lambda w: w["localQueueName"], shrinks=True),
    Column("IN LOCALQUEUE", lambda w: w["positionInLocalQueue"] + 1, wide=True),
    Column("WORKLOAD", lambda w: w["metadata"]["name"], wide=True, shrinks=True),
    Column("AGE", lambda w: age(w["metadata"]["creationTimestamp"])),
]


@click.group()
def queues() -> None:
    """Queues: quota, usage, who waits."""


@queues.command("ls")
@output_option
@watch_option
@click.pass_context
def list_queues(ctx: click.Context, output: str, watch: bool) -> None:
    """List ClusterQueues with what is used of their quota."""
    with client(ctx) as hub:
        show_list(
            hub.queues,
            COLUMNS,
            output,
            watch=watch,
            empty="No queues. Apply a ClusterQueue, or submit a job without one.",
        )


@queues.command("pending")
@click.argument("name")
@click.option("--offset", type=click.IntRange(min=0), default=0, help="Leave out so many.")
@click.option("--limit", type=click.IntRange(1, 4000), default=100, help="At most; 100.")
@output_option
@watch_option
@click.pass_context
def pending(
    ctx: click.Context, name: str, offset: int, limit: int, output: str, watch: bool
) -> None:
    """List who waits in a queue, in order.

    NAME is that of a ClusterQueue, or namespace/name of a LocalQueue.
    """
    with client(ctx) as hub:
        show_list(
            lambda: hub.pending(name, offset=offset, limit=limit),
            _PENDING,
            output,
            watch=watch,
            empty=f"Nobody waits in {name}.",
        )


@queues.command("show")
@click.argument("name")
@answer_option
@click.pass_context
def show(ctx: click.Context, name: str, output: str) -> None:
    """Show one queue: quota, usage, entrances.

    NAME is that of a ClusterQueue, or namespace/name of a LocalQueue.
    """
    with client(ctx) as hub:
        show_one(hub.queue(name), output, _as_text)


_QUOTA = [
    Column("RESOURCE", lambda q: q["resource"]),
    Column("FLAVOR", lambda q: q["flavor"], shrinks=True),
    Column("USED", lambda q: q["used"]),
    Column("BORROWED", lambda q: q["borrowed"]),
    Column("NOMINAL", _nominal),
]
_ENTRANCES = [
    Column("LOCALQUEUE", lambda d: f"{d['namespace']}/{d['name']}", shrinks=True),
    Column("PENDING", lambda d: d["pending"]),
    Column("ADMITTED", lambda d: d["admitted"]),
]


def _as_text(queue: Json) -> str:
    if queue["kind"] == "LocalQueue":
        return (
            f"LocalQueue {queue['namespace']}/{queue['name']}\n"
            f"  cluster queue  {queue['clusterQueue']}\n"
            f"  pending        {queue['pending']}\n"
            f"  admitted       {queue['admitted']}"
        )
    lines = [
        f"ClusterQueue {queue['name']}",
        f"  strategy  {queue['strategy']}",
        f"  cohort    {queue['cohort'] or '-'}",
        f"  state     {queue['state']}",
        f"  pending   {queue['pending']}",
        f"  admitted  {queue['admitted']}",
    ]
    waiting = queue.get("reserving", 0) - queue["admitted"]
    if waiting > 0:
        lines.append(f"  reserved  {waiting} more, whose admission checks are open")
    if queue.get("weightedShare"):
        lines.append(f"  share     {queue['weightedShare']} thousandths beyond its own quota")
    for c in queue["conditions"]:
        told = f"{c['type']}={c['status']}  {c.get('reason', '')}: {c.get('message', '')}"
        lines += wrapped(told.rstrip(": "), "  ")
    told_so = any(c["type"] == "LimitsEnforced" for c in queue["conditions"])
    if queue["notEnforced"] and not told_so:
        told = "accepted, not yet enforced: " + ", ".join(queue["notEnforced"])
        lines += wrapped(told, "  ")
    width = terminal_width() - 2
    for rows, columns in ((queue["quotas"], _QUOTA), (queue["localQueues"], _ENTRANCES)):
        if rows:
            lines += ["", *(f"  {line}" for line in table(rows, columns, width=width).split("\n"))]
    return "\n".join(lines)
