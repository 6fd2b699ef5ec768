"""`roadstead jobs`: list, show and cancel."""

from typing import Any

import click

from roadstead.cli.output import (
    Column,
    age,
    client,
    output_option,
    show_list,
    show_one,
    watch_option,
)

COLUMNS = [
    Column("NAMESPACE", lambda j: j["namespace"]),
    Column("NAME", lambda j: j["name"], shrinks=True),
    Column("QUEUE", lambda j: j["queue"]),
    Column("STATE", lambda j: j["state"]),
    Column("REASON", lambda j: j["reason"]),
    Column("CLUSTER", lambda j: j["cluster"]),
    Column("AGE", lambda j: age(j["createdAt"])),
    Column("UID", lambda j: j["uid"], wide=True),
    Column("EPOCH", lambda j: j["epoch"], wide=True),
    Column("STARTED", lambda j: j["startedAt"], wide=True),
    Column("FINISHED", lambda j: j["finishedAt"], wide=True),
]


@click.group()
def jobs() -> None:
    """Jobs of the whole fleet. A job is named by its uid or as namespace/name."""


@jobs.command("ls")
@click.option("-n", "--namespace", help="Only jobs of this namespace.")
@click.option("-q", "--queue", help="Only jobs of this queue.")
@click.option("--state", help="Only jobs in this state, such as Pending.")
@click.option("--cluster", help="Only jobs on this member.")
@click.option("-l", "--selector", help="Label selector.")
@click.option("--limit", type=click.IntRange(1), default=200, show_default=True)
@output_option
@watch_option
@click.pass_context
def list_jobs(ctx: click.Context, /, output: str, watch: bool, **filters: Any) -> None:
    """List jobs, newest first."""
    filters["labelSelector"] = filters.pop("selector")
    with client(ctx) as hub:
        show_list(
            lambda: hub.jobs(**filters),
            COLUMNS,
            output,
            watch=watch,
            empty="No jobs. Submit one: roadstead submit FILE",
        )


@jobs.command("show")
@click.argument("job")
@output_option
@click.pass_context
def show(ctx: click.Context, job: str, output: str) -> None:
    """Show one job with its counts and its history."""
    with client(ctx) as hub:
        found = hub.job(job)
        found["events"] = hub.job_events(found["uid"])
    show_one(found, output, _as_text)


@jobs.command("cancel")
@click.argument("names", metavar="JOB...", nargs=-1, required=True)
@click.pass_context
def cancel(ctx: click.Context, names: tuple[str, ...]) -> None:
    """Stop jobs wherever they are."""
    with client(ctx) as hub:
        for name in names:
            job = hub.cancel(name)
            click.echo(f"{job['namespace']}/{job['name']}: {job['state']}")


def _as_text(job: dict[str, Any]) -> str:
    lines = [
        f"{job['namespace']}/{job['name']}  ({job['uid']})",
        f"  state     {job['state']}" + (f"  {job['reason']}" if job["reason"] else ""),
    ]
    if job.get("message"):
        lines.append(f"            {job['message']}")
    lines += [
        f"  queue     {job['queue'] or '-'}",
        f"  cluster   {job['cluster'] or '-'}  (epoch {job['epoch']})",
        f"  created   {job['createdAt']}",
        f"  started   {job['startedAt'] or '-'}",
        f"  finished  {job['finishedAt'] or '-'}",
    ]
    if job["events"]:
        lines.append("  events")
        lines += [f"    {e['at']}  {e['reason']}  {e['message']}" for e in job["events"]]
    lines.append(f"Why? roadstead explain {job['namespace']}/{job['name']}")
    return "\n".join(lines)
