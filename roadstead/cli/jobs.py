"""`roadstead jobs`: list, show, hold, release, cancel and delete."""

from collections.abc import Callable
from typing import Any

import click

from roadstead.cli.absent import refuse_absent
from roadstead.cli.each import Do, for_each
from roadstead.cli.output import (
    Column,
    age,
    answer_option,
    client,
    dump,
    moment,
    output_option,
    show_list,
    show_one,
    watch_option,
    wrapped,
)
from roadstead.client import Client

COLUMNS = [
    Column("NAMESPACE", lambda j: j["namespace"]),
    Column("NAME", lambda j: j["name"]),
    Column("QUEUE", lambda j: j["queue"], shrinks=True),
    Column("STATE", lambda j: j["state"]),
    Column("REASON", lambda j: j["reason"], shrinks=True),
    Column("CLUSTER", lambda j: j["cluster"]),
    Column("AGE", lambda j: age(j["createdAt"])),
    Column("UID", lambda j: j["uid"], wide=True),
    Column("EPOCH", lambda j: j["epoch"], wide=True),
    Column("STARTED", lambda j: moment(j["startedAt"]), wide=True),
    Column("FINISHED", lambda j: moment(j["finishedAt"]), wide=True),
]


@click.group()
def jobs() -> None:
    """Jobs of the whole fleet. A job is named by its uid or as namespace/name."""


@jobs.command("ls")
@click.option("-n", "--namespace", metavar="NAME", help="Only jobs of this namespace.")
@click.option("-q", "--queue", metavar="NAME", help="Only jobs of this queue.")
@click.option("--state", metavar="STATE", help="Only jobs in this state, such as Pending.")
@click.option("--cluster", metavar="NAME", help="Only jobs on this member.")
@click.option(
    "-l", "--selector", metavar="SELECTOR", help="Only jobs with these labels: a=b,c!=d."
)
@click.option(
    "--limit",
    type=click.IntRange(1),
    default=200,
    show_default=True,
    metavar="N",
    help="The newest N.",
)
@output_option
@watch_option
@click.pass_context
def list_jobs(ctx: click.Context, /, output: str, watch: bool, **filters: Any) -> None:
    """List jobs, newest first."""
    filters["labelSelector"] = filters.pop("selector")
    limit = filters.pop("limit")
    empty = "No jobs. Submit one: roadstead submit FILE"
    if any(filters.values()):
        empty = "No jobs match. Without these options all jobs are listed."
    with client(ctx) as hub:

        def rows() -> list[dict[str, Any]]:
            found = list(hub.jobs(limit=limit + 1, **filters))
            if not found and not watch:
                refuse_absent(hub, filters)
            if len(found) > limit:
                click.echo(f"The newest {limit} of more jobs; --limit shows more.", err=True)
            return found[:limit]

        show_list(
            rows,
            COLUMNS,
            output,
            watch=watch,
            empty=empty,
        )


@jobs.command("show")
@click.argument("job")
@answer_option
@click.pass_context
def show(ctx: click.Context, job: str, output: str) -> None:
    """Show one job with its counts and its history."""
    with client(ctx) as hub:
        found = hub.job(job)
        found["events"] = hub.job_events(found["uid"])
    show_one(found, output, _as_text)


@jobs.command("cancel")
@click.argument("names", metavar="JOB...", nargs=-1, required=True)
@answer_option
@click.pass_context
def cancel(ctx: click.Context, names: tuple[str, ...], output: str) -> int:
    """Stop jobs wherever they are.

    Each ends Cancelled once it is certain that nothing of it runs; one that has ended already stays
    as it is. One that the hub refuses keeps none of the others back; the exit code is 3 then.
    """
    return _each(ctx, Client.cancel, names, output, _cancelled)


@jobs.command("hold")
@click.argument("names", metavar="JOB...", nargs=-1, required=True)
@answer_option
@click.pass_context
def hold(ctx: click.Context, names: tuple[str, ...], output: str) -> int:
    """Hold jobs back: they are not considered until they are released.

    One that runs is taken back from its cluster first; it starts anew once released. One that the
    hub refuses keeps none of the others back; the exit code is 3 then.
    """
    return _each(ctx, Client.hold, names, output, _stands)


@jobs.command("release")
@click.argument("names", metavar="JOB...", nargs=-1, required=True)
@answer_option
@click.pass_context
def release(ctx: click.Context, names: tuple[str, ...], output: str) -> int:
    """Let jobs wait again that are held, or that were deactivated.

    One that the hub refuses keeps none of the others back; the exit code is 3 then.
    """
    return _each(ctx, Client.release, names, output, _stands)


@jobs.command("delete")
@click.argument("names", metavar="JOB...", nargs=-1, required=True)
@click.pass_context
def delete(ctx: click.Context, names: tuple[str, ...]) -> int:
    """Stop jobs wherever they are, and free their names.

    Their history is kept for a while. One that the hub refuses keeps none of the others back; the
    exit code is 3 then.
    """
    return _each(ctx, Client.delete_job, names, "text", _deleted)


def _each(
    ctx: click.Context,
    do: Do,
    names: tuple[str, ...],
    output: str,
    stands: Callable[[dict[str, Any]], str],
) -> int:
    def tell(job: dict[str, Any]) -> None:
        if output == "text":
            click.echo(f"{job['namespace']}/{job['name']} {stands(job)}")

    answered, code = for_each(ctx, names, do, tell)
    if output != "text":
        dump({"items": answered}, output)
    return code


def _as_text(job: dict[str, Any]) -> str:
    lines = [
        f"{job['namespace']}/{job['name']}",
        f"  uid       {job['uid']}",
        f"  state     {job['state']}" + (f"  {job['reason']}" if job["reason"] else ""),
    ]
    if job.get("message"):
        lines += wrapped(job["message"], "            ")
    lines += [
        f"  queue     {_queue(job)}",
        f"  cluster   {job['cluster'] or '-'}"
        + (f"  (epoch {job['epoch']})" * bool(job["epoch"])),
        f"  pods      {_pods(job)}",
        f"  created   {moment(job['createdAt'])}",
        f"  started   {moment(job['startedAt'])}",
        f"  finished  {moment(job['finishedAt'])}",
    ]
    lines += _evictions(job)
    if job["events"]:
        lines.append("  events")
        for e in job["events"]:
            lines += wrapped(f"{moment(e['at'])}  {e['reason']}: {e['message']}", "    ")
    lines.append(f"Why? roadstead explain {job['namespace']}/{job['name']}")
    return "\n".join(lines)


def _evictions(job: dict[str, Any]) -> list[str]:
    """How often its quota was taken back and why, with the time before which it is not considered."""
    counts = job.get("evictions") or {}
    if not counts:
        return []
    told = ", ".join(f"{reason} {count}" for reason, count in sorted(counts.items()))
    lines = [f"  evicted   {told}"]
    if job["state"] == "Pending" and job.get("requeueAt"):
        lines.append(f"  not before {moment(job['requeueAt'])}")
    return lines


def _cancelled(job: dict[str, Any]) -> str:
    if job["finishedAt"] and job["state"] != "Cancelled":
        return f"had ended already: {job['state']}"
    where = f" from {job['cluster']}" if job["state"] == "Withdrawing" else ""
    return f"{job['state']}{where}"


def _stands(job: dict[str, Any]) -> str:
    if job["state"] == "Withdrawing":
        return f"Withdrawing from {job['cluster']}, then {job['withdrawTo']}"
    return str(job["state"])


def _deleted(job: dict[str, Any]) -> str:
    if job["state"] == "Withdrawing":
        return f"is being withdrawn from {job['cluster']}, then its name is free"
    return "is deleted; its name is free"


def _queue(job: dict[str, Any]) -> str:
    if not job["queue"]:
        return "-"
    pot = job.get("clusterQueue")
    return f"{job['queue']}  (ClusterQueue {pot})" if pot else str(job["queue"])


def _pods(job: dict[str, Any]) -> str:
    counts = job.get("counts") or {}
    told = ", ".join(f"{counts[name]} {name}" for name in counts if counts[name])
    return f"{told or 'none yet'}; {job['completions']} to complete"
