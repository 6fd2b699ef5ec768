"""`roadstead top`: clusters, queues and jobs on one self-refreshing screen."""

import shutil
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

import click

from roadstead.cli.examples import examples
from roadstead.cli.job_filters import NAMESPACE, matching, namespace_of
from roadstead.cli.names import ALL_NAMESPACES
from roadstead.cli.output import age, client, terminal
from roadstead.cli.queues import COLUMNS as QUEUES
from roadstead.cli.tables import Column, table
from roadstead.cli.visible import say
from roadstead.client import Client
from roadstead.errors import NotAllowed, Unreachable
from roadstead.models.clusters import Cluster
from roadstead.models.jobs import Job, JobState

T = TypeVar("T")
_BAR: Final = 10
_MOST_QUEUES: Final = 10
_MOST_CLUSTERS: Final = 20
_MOST_JOBS: Final = 100
_RUNNING: Final = (*(JobState.UNKNOWN, JobState.RUNNING, JobState.APPLIED, JobState.WITHDRAWING),)
_WAITING: Final = (JobState.PENDING, JobState.RESERVED, JobState.PLACED, JobState.OFFERED)


def _bar(resource: str) -> Any:
    """Format a resource's usage as a bar and a number; "" if a member has none."""

    def cell(cluster: Cluster) -> str:
        from shared.errors import Rejected
        from shared.quantity import number

        room = cluster.resources.get(resource)
        try:
            whole = number(room.allocatable) if room else 0
            taken = whole - number(room.free) if room and whole else 0
        except Rejected:
            return ""
        if not whole:
            return ""
        share = min(1.0, max(0.0, float(taken / whole)))
        full = round(share * _BAR)
        return f"{'#' * full}{'.' * (_BAR - full)} {share:4.0%}"

    return cell


_CLUSTERS: Final = [
    Column("CLUSTER", lambda c: c.name, shrinks=True),
    Column("STATE", lambda c: c.state, coloured=True),
    Column("CPU", _bar("cpu")),
    Column("MEMORY", _bar("memory")),
    Column("GPU", _bar("nvidia.com/gpu")),
    Column("JOBS", lambda c: c.jobs),
    Column("HEARTBEAT", lambda c: age(c.heartbeat_at)),
]
_JOBS: Final = [
    Column("JOB", lambda j: j.full_name, shrinks=True),
    Column("STATE", lambda j: j.state, coloured=True),
    Column("QUEUE", lambda j: j.queue, shrinks=True),
    Column("WHERE OR WHY", lambda j: j.cluster or j.reason, shrinks=True),
    Column("FOR", lambda j: age(j.started_at if j.state == JobState.RUNNING else j.created_at)),
]


@examples("roadstead top", "roadstead top -n team-a --every 5", "roadstead top --once")
@click.command("top")
@NAMESPACE
@ALL_NAMESPACES
@click.option(
    "--every",
    type=click.FloatRange(0.5, 3600),
    default=2.0,
    show_default=True,
    metavar="SECONDS",
    help="Refresh interval.",
)
@click.option("--once", is_flag=True, help="Print it once, as without a terminal.")
@click.pass_context
def top(
    ctx: click.Context, namespace: str | None, all_namespaces: bool, every: float, once: bool
) -> None:
    """Show clusters, queues, running and waiting jobs on one screen until Ctrl-C."""
    space = namespace_of(namespace, everywhere=all_namespaces)
    with client(ctx) as hub:
        if once or not sys.stdout.isatty():
            say(page(hub, space, _MOST_JOBS))
            return
        try:
            _live(hub, space, every)
        except KeyboardInterrupt:
            return


def page(hub: Client, namespace: str | None, jobs_at_most: int, width: int | None = None) -> str:
    """The screen, as text: a line of counts and up to four tables.

    A user with a role in some namespaces gets those, without clusters and counts of the whole fleet. With
    `namespace` the jobs are limited to it, and the counts are labelled as covering all.
    """
    overview, clusters = _of_fleet(hub.overview), _of_fleet(lambda: list(hub.clusters()))
    queues = list(hub.queues())
    running = list(matching(hub, namespace=namespace, state=_RUNNING, limit=jobs_at_most))
    waiting = list(matching(hub, namespace=namespace, state=_WAITING, limit=jobs_at_most))
    running.sort(key=lambda job: job.state != JobState.UNKNOWN)  # silent ones come first
    jobs = (
        overview.jobs
        if overview is not None
        else {"running": len(running), "waiting": len(waiting)}
    )
    counts = "  ".join(f"{state} {n}" for state, n in sorted(jobs.items()) if n)
    queues.sort(key=lambda q: (-q.pending, -q.admitted, q.name))
    of_all = " in all namespaces" if namespace and overview is not None else ""
    head = f"{len(queues)} queues   {counts or 'no jobs'}{of_all}"
    if clusters is not None:
        head = f"{sum(each.ready for each in clusters)} of {len(clusters)} clusters ready   {head}"
    parts = [
        head,
        _part(clusters or [], _CLUSTERS, _MOST_CLUSTERS, width),
        _part(queues, [c for c in QUEUES if not c.wide], _MOST_QUEUES, width),
    ]
    inside = f" in namespace {namespace}" if namespace else ""
    # Half of what is left is for each, and what one does not need is the other's.
    half = jobs_at_most // 2
    shown = min(len(running), max(half, jobs_at_most - len(waiting)))
    parts.append(_part(running, _JOBS, shown, width, f"Nothing runs{inside}."))
    parts.append(_part(waiting, _JOBS, jobs_at_most - shown, width, f"Nothing waits{inside}."))
    return "\n\n".join(each for each in parts if each)


def _of_fleet(ask: Callable[[], T]) -> T | None:
    """The hub's answer; None if it needs a role in all namespaces."""
    try:
        return ask()
    except NotAllowed as refused:
        if refused.status != 403:
            raise
        return None


def _part(
    rows: Sequence[Cluster | Job | Any],
    columns: Sequence[Column],
    at_most: int,
    width: int | None,
    empty: str = "",
) -> str:
    if not rows:
        return empty
    drawn = table(rows[:at_most], columns, width=width)
    left = len(rows) - at_most
    return drawn + (f"\n... {left} more" if left > 0 else "")


def _live(hub: Client, namespace: str | None, every: float) -> None:
    from rich.console import Group
    from rich.live import Live
    from rich.text import Text

    shown, words = Text("reading ..."), Text("")
    with Live(console=terminal(), auto_refresh=False, screen=True) as live:
        while True:
            size = shutil.get_terminal_size((80, 24))
            try:
                # Counts, headings and blank lines take some; a screen that is small shows a few jobs.
                room = max(4, size.lines - 12 - _MOST_QUEUES // 2)
                shown = Text.from_ansi(page(hub, namespace, room, size.columns))
                words = Text("")
            except Unreachable as failure:
                words = Text(f"{failure}; retrying", "red")
            live.update(Group(words, shown) if words else shown, refresh=True)
            time.sleep(every)
