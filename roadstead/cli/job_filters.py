"""Filters for jobs: by namespace, queue, state, member, labels and age."""

import datetime as dt
import heapq
from collections.abc import Callable, Iterator
from itertools import islice, takewhile
from typing import Any, Final

import click

from roadstead.cli.names import ALL_NAMESPACES, default_namespace
from roadstead.cli.output import instant_before
from roadstead.cli.run.amounts import seconds
from roadstead.client import Client
from roadstead.models.jobs import Job, JobState

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def _states(_ctx: click.Context, _option: click.Parameter, given: str | None) -> tuple[str, ...]:
    """Parse states, in any case, one or several separated by commas."""
    known = {each.lower(): each.value for each in JobState}
    words = [word.strip() for word in (given or "").split(",")] if given else []
    for word in words:
        if word.lower() not in known:
            raise click.BadParameter(f"{word!r} is not one of {', '.join(JobState)}.")
    return tuple(dict.fromkeys(known[word.lower()] for word in words))


NAMESPACE: Final[Decorator] = click.option(
    "-n", "--namespace", metavar="NAME", help="Only jobs of this namespace."
)
FILTERS: Final[tuple[Decorator, ...]] = (
    NAMESPACE,
    ALL_NAMESPACES,
    click.option("-q", "--queue", metavar="NAME", help="Only jobs of this queue."),
    click.option(
        "--state",
        callback=_states,
        metavar="STATE[,STATE...]",
        help="Only jobs in these states, such as running,failed.",
    ),
    click.option("--cluster", metavar="NAME", help="Only jobs on this member."),
    click.option(
        "--user",
        "owner",
        metavar="NAME",
        help="Only jobs that NAME submitted; unknown: jobs without a known owner.",
    ),
    click.option("--mine", is_flag=True, help="Only jobs that you submitted."),
    click.option(
        "-l", "--selector", metavar="SELECTOR", help="Only jobs with these labels: a=b,c!=d."
    ),
    click.option(
        "--since",
        callback=seconds,
        metavar="DURATION",
        help="Only jobs submitted within this time: 90s, 2h, 1d.",
    ),
)


def filters(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add all of them to a verb."""
    for each in reversed(FILTERS):
        command = each(command)
    return command


def namespace_of(given: str | None, *, everywhere: bool) -> str | None:
    """Return the namespace to list: the option, else the default namespace; None for all.

    Raises click.UsageError if both options are given.
    """
    if given and everywhere:
        raise click.UsageError("-n names one namespace, -A means all: use one of them.")
    return given or (None if everywhere else default_namespace() or None)


def matching(
    hub: Client,
    *,
    state: tuple[str, ...] = (),
    selector: str | None = None,
    since: int | None = None,
    limit: int | None = None,
    owner: str | None = None,
    mine: bool = False,
    **exact: Any,
) -> Iterator[Job]:
    """Matching jobs, newest first, read from the hub as you iterate; at most `limit`.

    `exact`: namespace, queue, cluster. `since` is in seconds. `mine` asks the hub for the caller's name.
    """
    if mine and owner:
        raise click.UsageError("--mine and --user conflict: use one of them.")
    if mine:
        owner = hub.whoami().name
    lists = [
        hub.jobs(state=each, label_selector=selector, limit=limit, owner=owner, **exact)
        for each in state or (None,)
    ]
    # Of each state the newest first, and so of all of them; a job that changes state meanwhile counts once.
    found = iter(lists[0])
    if len(lists) > 1:
        found = _once(heapq.merge(*lists, key=_age, reverse=True))
    if since is not None:
        oldest = instant_before(since)
        found = takewhile(lambda job: job.created_at >= oldest, found)
    return islice(found, limit)


def _age(job: Job) -> tuple[dt.datetime, str]:
    return job.created_at, job.uid


def _once(jobs: Iterator[Job]) -> Iterator[Job]:
    last = ""
    for job in jobs:
        if job.uid != last:
            yield job
        last = job.uid
