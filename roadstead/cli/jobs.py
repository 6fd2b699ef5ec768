"""`roadstead jobs`: list, show, hold, release, cancel and delete."""

from collections.abc import Callable
from typing import Any

import click

from roadstead.cli import lost_clusters
from roadstead.cli.each import for_each
from roadstead.cli.messages import plain
from roadstead.cli.nouns import list_verb
from roadstead.cli.output import age, answer_option, client, dump, moment
from roadstead.cli.pods import as_lines, pods
from roadstead.cli.progress import say
from roadstead.cli.tables import Column, wrapped
from roadstead.cli.visible import visible
from roadstead.client import Client
from roadstead.errors import RoadsteadError
from roadstead.models.jobs import Event, Job, JobState, WholeJob

# An annotation, as the hub cluster's policies write it; `shared` is more than the command line loads.
_WITH_PODS = frozenset(
    {JobState.OFFERED, JobState.APPLIED, JobState.RUNNING, JobState.WITHDRAWING, JobState.FAILED}
)
_SUBMITTED_BY = "roadstead.dev/submitted-by"
COLUMNS = [
    Column("NAMESPACE", lambda j: j.namespace),
    Column("NAME", lambda j: j.name),
    Column("QUEUE", lambda j: j.queue, shrinks=True),
    Column("STATE", lambda j: j.state, coloured=True),
    Column("REASON", lambda j: j.reason, shrinks=True),
    Column("CLUSTER", lambda j: j.cluster),
    Column("AGE", lambda j: age(j.created_at)),
    Column("UID", lambda j: j.uid, wide=True),
    Column("EPOCH", lambda j: j.epoch, wide=True),
    Column("STARTED", lambda j: moment(j.started_at), wide=True),
    Column("FINISHED", lambda j: moment(j.finished_at), wide=True),
]


@click.group()
def jobs() -> None:
    """Jobs of the whole fleet. A job is named by its uid or as namespace/name."""


def _rows(hub: Client, limit: int, selector: str | None, **filters: Any) -> list[Job]:
    found = list(hub.jobs(limit=limit + 1, label_selector=selector, **filters))
    if len(found) > limit:
        click.echo(f"These are the newest {limit} jobs; there are more: --limit N.", err=True)
    return found[:limit]


def _state(_ctx: click.Context, _option: click.Parameter, given: str | None) -> str | None:
    """One of the states there are, in whatever case it was typed."""
    known = {each.lower(): each.value for each in JobState}
    if given and given.lower() not in known:
        raise click.BadParameter(f"{given!r} is none of {', '.join(JobState)}.")
    return known[given.lower()] if given else None


jobs.add_command(
    list_verb(
        _rows,
        COLUMNS,
        does="List jobs, newest first.",
        empty="No jobs. Submit one: roadstead submit FILE",
        no_match="No jobs match. Without these options all jobs are listed.",
        options=[
            click.option("-n", "--namespace", metavar="NAME", help="Only jobs of this namespace."),
            click.option("-q", "--queue", metavar="NAME", help="Only jobs of this queue."),
            click.option(
                "--state",
                callback=_state,
                metavar="STATE",
                help="Only jobs in this state, such as Pending.",
            ),
            click.option("--cluster", metavar="NAME", help="Only jobs on this member."),
            click.option(
                "-l",
                "--selector",
                metavar="SELECTOR",
                help="Only jobs with these labels: a=b,c!=d.",
            ),
            click.option(
                "--limit",
                type=click.IntRange(1),
                default=200,
                show_default=True,
                metavar="N",
                help="The newest N.",
            ),
        ],
    )
)


@jobs.command("show")
@click.argument("job")
@answer_option
@click.pass_context
def show(ctx: click.Context, job: str, output: str) -> None:
    """Show one job with its counts and its history."""
    with client(ctx) as hub:
        found = hub.job(job)
        events = hub.job_events(found.uid)
        seen = _pods_now(hub, found) if output == "text" else []
    if output == "text":
        click.echo(_as_text(found, events, seen))
    else:
        dump({**found.raw, "events": [each.raw for each in events]}, output)


def _pods_now(hub: Client, job: WholeJob) -> list[str]:
    """The pods of a job that is in a cluster, or why they are not shown: the page does not need them."""
    if not job.cluster or job.state not in _WITH_PODS:
        return []
    try:
        return as_lines(hub.job_pods(job.uid))
    except RoadsteadError as failure:
        return wrapped(f"pods now: {plain(str(failure))}", "  ")


jobs.add_command(pods)


def _verb(
    name: str,
    do: Callable[[Client, str], WholeJob],
    stands: Callable[[WholeJob], str],
    words: str,
    does: str,
    *,
    answers: bool = True,
) -> None:
    """A verb for any number of jobs; `stands` says how each stands then, `words` what goes on."""

    def run(ctx: click.Context, names: tuple[str, ...], output: str = "text") -> int:
        def tell(job: WholeJob) -> None:
            if output == "text":
                say(f"{job.full_name} {stands(job)}")

        answered, code = for_each(ctx, names, do, tell, words)
        if output != "text":
            dump({"items": [each.raw for each in answered]}, output)
        return code

    made: Callable[..., Any] = click.pass_context(run)
    made = answer_option(made) if answers else made
    made = click.argument("names", metavar="JOB...", nargs=-1, required=True)(made)
    jobs.add_command(click.command(name, help=does)(made))


def _as_text(job: WholeJob, events: list[Event], seen: list[str]) -> str:
    lines = [
        job.full_name,
        f"  uid       {job.uid}",
        f"  state     {job.state}" + (f"  {job.reason}" if job.reason else ""),
    ]
    if job.message:
        lines += wrapped(job.message, "            ")
    lines += [
        f"  queue     {_queue(job)}",
        f"  cluster   {job.cluster or '-'}" + (f"  (epoch {job.epoch})" * bool(job.epoch)),
        f"  pods      {_pods(job)}",
        f"  created   {moment(job.created_at)}{_by(job)}",
        f"  started   {moment(job.started_at)}",
        f"  finished  {moment(job.finished_at)}",
    ]
    lines += lost_clusters.lines(job.cluster_loss, job.earlier_epochs)
    lines += _evictions(job)
    lines += seen
    if events:
        lines.append("  events")
        for e in events:
            first, *others = e.message.split("\n")  # the others are of a container's log
            lines += wrapped(f"{moment(e.at)}  {e.reason}: {visible(first)}", "    ")
            lines += [f"      | {visible(each)}" for each in others]
    if job.cluster and job.started_at:
        lines.append(f"Logs: roadstead logs {job.full_name}")
    lines.append(f"Why? roadstead explain {job.full_name}")
    return "\n".join(lines)


def _evictions(job: WholeJob) -> list[str]:
    """How often its quota was taken back and why, with the time before which it is not considered."""
    if not job.evictions:
        return []
    told = ", ".join(f"{reason} {count}" for reason, count in sorted(job.evictions.items()))
    lines = [f"  evicted   {told}"]
    if job.state == JobState.PENDING and job.requeue_at:
        lines.append(f"  not before {moment(job.requeue_at)}")
    return lines


def _cancelled(job: WholeJob) -> str:
    if job.finished_at and job.state != JobState.CANCELLED:
        return f"had ended already: {job.state}"
    where = f" from {job.cluster}" if job.state == JobState.WITHDRAWING else ""
    return f"{job.state}{where}"


def _stands(job: WholeJob) -> str:
    if job.state == JobState.WITHDRAWING:
        return f"Withdrawing from {job.cluster}, then {job.withdraw_to}"
    return job.state


def _deleted(job: WholeJob) -> str:
    if job.state == JobState.WITHDRAWING:
        return f"is being withdrawn from {job.cluster}, then its name is free"
    return "is deleted; its name is free"


def _by(job: WholeJob) -> str:
    """Who created it on a hub cluster that says so."""
    name = job.annotations.get(_SUBMITTED_BY)
    return f"  by {name}" if name else ""


def _queue(job: WholeJob) -> str:
    if not job.queue:
        return "-"
    return f"{job.queue}  (ClusterQueue {job.cluster_queue})" if job.cluster_queue else job.queue


def _pods(job: WholeJob) -> str:
    counts = job.counts.raw
    told = ", ".join(f"{counts[name]} {name}" for name in counts if counts[name])
    return f"{told or 'none yet'}; {job.completions} to complete"


_verb(
    "cancel",
    Client.cancel,
    _cancelled,
    "cancelling",
    """Stop jobs wherever they are.

    Each ends Cancelled once it is certain that nothing of it runs; one that has ended already stays
    as it is. One that the hub refuses keeps none of the others back; the exit code is 3 then.
    """,
)
_verb(
    "hold",
    Client.hold,
    _stands,
    "holding",
    """Hold jobs back: they are not considered until they are released.

    One that runs is taken back from its cluster first; it starts anew once released. One that the
    hub refuses keeps none of the others back; the exit code is 3 then.
    """,
)
_verb(
    "release",
    Client.release,
    _stands,
    "releasing",
    """Let jobs wait again that are held, or that were deactivated.

    One that the hub refuses keeps none of the others back; the exit code is 3 then.
    """,
)
_verb(
    "delete",
    Client.delete_job,
    _deleted,
    "deleting",
    """Stop jobs wherever they are, and free their names.

    Their history is kept for a while. One that the hub refuses keeps none of the others back; the
    exit code is 3 then.
    """,
    answers=False,
)
