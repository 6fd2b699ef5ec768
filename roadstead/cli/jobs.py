"""`roadstead jobs`: the list and the page; the other verbs are in their own modules."""

from collections.abc import Sequence
from typing import Any

import click

from roadstead.cli import chains, job_acts, job_sort, job_waits, lost_clusters
from roadstead.cli.job_filters import FILTERS, matching, namespace_of
from roadstead.cli.job_sort import in_order
from roadstead.cli.messages import plain
from roadstead.cli.names import full_name
from roadstead.cli.nouns import list_verb
from roadstead.cli.other_words import AboutJobs
from roadstead.cli.output import age, answer_option, client, dump, moment
from roadstead.cli.pods import as_lines, pods
from roadstead.cli.priority import priority
from roadstead.cli.resubmit import resubmit
from roadstead.cli.tables import Column, wrapped
from roadstead.cli.visible import say, visible, visible_page
from roadstead.client import Client
from roadstead.errors import RoadsteadError
from roadstead.models.jobs import Event, Job, JobState, WholeJob

_WITH_PODS = frozenset(
    {JobState.OFFERED, JobState.APPLIED, JobState.RUNNING, JobState.WITHDRAWING, JobState.FAILED}
)


def _asked(job: Job) -> str:
    """Total resources that all pods of a job request."""
    return ", ".join(f"{amount} {name}" for name, amount in (job.requests or {}).items())


COLUMNS = [
    Column("NAMESPACE", lambda j: j.namespace),
    Column("KIND", lambda j: j.kind, usual="Job"),
    Column("NAME", lambda j: j.name),
    Column("QUEUE", lambda j: j.queue, shrinks=True),
    Column("OWNER", lambda j: j.owner, shrinks=True),
    Column("STATE", lambda j: j.state, coloured=True),
    Column("REASON", lambda j: j.reason, shrinks=True),
    Column("CLUSTER", lambda j: j.cluster),
    Column("AGE", lambda j: age(j.created_at)),
    Column("UID", lambda j: j.uid, wide=True),
    Column("EPOCH", lambda j: j.epoch, wide=True),
    Column("STARTED", lambda j: moment(j.started_at), wide=True),
    Column("FINISHED", lambda j: moment(j.finished_at), wide=True),
    Column("REQUESTS", _asked, wide=True),
]


@click.group(cls=AboutJobs)
def jobs() -> None:
    """Manage jobs of the whole fleet. Name a job by its uid or as namespace/name."""


def _rows(
    hub: Client,
    limit: int,
    sort: str | None,
    namespace: str | None,
    all_namespaces: bool,
    **filters: Any,
) -> list[Job]:
    space = namespace_of(namespace, everywhere=all_namespaces)
    found = list(matching(hub, namespace=space, limit=limit + 1, **filters))
    if len(found) > limit:
        say(f"These are the newest {limit} jobs; there are more: --limit N.", err=True)
    return in_order(found[:limit], sort)


jobs.add_command(
    list_verb(
        _rows,
        COLUMNS,
        does="List jobs, newest first.",
        empty="No jobs. Submit one: roadstead submit FILE",
        no_match="No jobs match.",
        options=[
            *FILTERS,
            job_sort.option,
            click.option(
                "--limit",
                type=click.IntRange(1),
                default=200,
                show_default=True,
                metavar="N",
                help="Show the newest N.",
            ),
        ],
        shows=(
            "roadstead jobs ls --since 2h --state running,failed --sort -started",
            "roadstead jobs ls -n team-a -o name",
            "roadstead jobs ls -o jsonpath='{range .items[*]}{.name}{\"\\n\"}{end}'",
        ),
    )
)


@jobs.command("show")
@click.argument("job")
@click.option("-n", "--namespace", metavar="NAME", help="Namespace of a name without one.")
@click.option("-w", "--watch", is_flag=True, help="Show it on each change, until it has ended.")
@answer_option
@click.pass_context
def show(ctx: click.Context, job: str, namespace: str | None, watch: bool, output: str) -> None:
    """Show one job with its counts and its history."""
    if watch and output != "text":
        raise click.UsageError("--watch shows text; `roadstead jobs wait` is for programs.")
    name = full_name(job, namespace)
    with client(ctx) as hub:
        if watch:
            job_waits.watch(hub, name, lambda each: _as_text(each, hub.job_events(each.uid)))
            return
        found = hub.job(name)
        events = hub.job_events(found.uid)
        seen = _pods_now(hub, found) if output == "text" else []
    if output == "text":
        say(visible_page(_as_text(found, events, seen)))
    else:
        dump({**found.raw, "events": [each.raw for each in events]}, output)


def _pods_now(hub: Client, job: WholeJob) -> list[str]:
    """Read the pods of a job in a cluster, or why they are not shown; failure does not fail the page."""
    if not job.cluster or job.state not in _WITH_PODS:
        return []
    try:
        return as_lines(hub.job_pods(job.uid))
    except RoadsteadError as failure:
        return wrapped(f"pods now: {plain(str(failure))}", "  ")


jobs.add_command(pods)
jobs.add_command(job_waits.wait)
jobs.add_command(resubmit)
jobs.add_command(priority)
job_acts.add_to(jobs)


def _as_text(job: WholeJob, events: list[Event], seen: Sequence[str] = ()) -> str:
    lines = [
        job.full_name,
        f"  uid       {job.uid}",
        f"  state     {job.state}" + (f"  {visible(job.reason)}" if job.reason else ""),
    ]
    if job.message:
        lines += wrapped(job.message, "            ")
    lines += [
        f"  queue     {_queue(job)}",
        f"  cluster   {job.cluster or '-'}" + (f"  (epoch {job.epoch})" * bool(job.epoch)),
        f"  pods      {_pods(job)}",
        *wrapped(f"asks for  {_asked(job) or '-'}", "  "),
        f"  created   {moment(job.created_at)}{_by(job)}",
        f"  started   {moment(job.started_at)}",
        f"  finished  {moment(job.finished_at)}",
    ]
    lines += chains.lines(job.after, job.before)
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
    """Summarize evictions by reason, and the time before which the job is not requeued."""
    if not job.evictions:
        return []
    told = ", ".join(f"{reason} {count}" for reason, count in sorted(job.evictions.items()))
    lines = [f"  evicted   {told}"]
    if job.state == JobState.PENDING and job.requeue_at:
        lines.append(f"  not before {moment(job.requeue_at)}")
    return lines


def _by(job: WholeJob) -> str:
    """Return the submitter; an older hub does not report one."""
    return f"  by {visible(job.owner)}" if job.owner else ""


def _queue(job: WholeJob) -> str:
    if not job.queue:
        return "-"
    return f"{job.queue}  (ClusterQueue {job.cluster_queue})" if job.cluster_queue else job.queue


def _pods(job: WholeJob) -> str:
    counts = job.counts.raw
    told = ", ".join(f"{counts[name]} {name}" for name in counts if counts[name])
    wanted = f"{job.completions} to complete" if job.completions else f"{job.parallelism} at once"
    return f"{told or 'none yet'}; {wanted}"
