"""`roadstead queues`: quota, usage, who waits."""

from typing import Any

import click

from roadstead.cli.output import Column, client, output_option, show_list, show_one, watch_option

Json = dict[str, Any]


def _active(queue: Json) -> str:
    found = [c for c in queue["conditions"] if c.get("type") == "Active"]
    return str(found[0]["status"]) if found else ""


def _used(queue: Json) -> str:
    return ", ".join(f"{q['resource']} {q['used']}/{q['nominal']}" for q in queue["quotas"][:4])


COLUMNS = [
    Column("NAME", lambda q: q["name"]),
    Column("STRATEGY", lambda q: q["strategy"]),
    Column("COHORT", lambda q: q["cohort"]),
    Column("USED", _used, shrinks=True),
    Column("PENDING", lambda q: q["pending"]),
    Column("ADMITTED", lambda q: q["admitted"]),
    Column("ACTIVE", _active, wide=True),
    Column(
        "LOCALQUEUES",
        lambda q: ",".join(f"{d['namespace']}/{d['name']}" for d in q["localQueues"]),
        wide=True,
        shrinks=True,
    ),
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


@queues.command("show")
@click.argument("name")
@output_option
@click.pass_context
def show(ctx: click.Context, name: str, output: str) -> None:
    """Show a ClusterQueue, or a LocalQueue as namespace/name."""
    with client(ctx) as hub:
        show_one(hub.queue(name), output, _as_text)


def _as_text(queue: Json) -> str:
    if queue["kind"] == "LocalQueue":
        return (
            f"LocalQueue {queue['namespace']}/{queue['name']}\n"
            f"  clusterQueue  {queue['clusterQueue']}\n"
            f"  pending       {queue['pending']}\n"
            f"  admitted      {queue['admitted']}"
        )
    lines = [
        f"ClusterQueue {queue['name']}  ({queue['strategy']})",
        f"  cohort    {queue['cohort'] or '-'}",
        f"  pending   {queue['pending']}",
        f"  admitted  {queue['admitted']}",
        "  quota     resource (flavor): used / nominal",
    ]
    lines += [
        f"    {q['resource']} ({q['flavor']}): {q['used']} / {q['nominal']}"
        for q in queue["quotas"]
    ]
    lines += [
        f"  {c['type']}={c['status']}  {c.get('reason', '')}  {c.get('message', '')}"
        for c in queue["conditions"]
    ]
    if queue["notEnforced"]:
        lines.append("  accepted, not yet enforced: " + ", ".join(queue["notEnforced"]))
    lines += [
        f"  from {d['namespace']}/{d['name']}: {d['pending']} pending, {d['admitted']} admitted"
        for d in queue["localQueues"]
    ]
    return "\n".join(lines)
