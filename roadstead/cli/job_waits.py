"""`roadstead jobs wait`, and `jobs show -w`: wait until a job reaches a state or ends."""

import sys
import time
from collections.abc import Callable, Iterator
from typing import Final

import click

from roadstead.cli.examples import examples
from roadstead.cli.names import full_name
from roadstead.cli.output import answer_option, client, dump
from roadstead.cli.progress import progress
from roadstead.cli.run.amounts import seconds
from roadstead.cli.visible import say
from roadstead.client import Client
from roadstead.errors import JobFailed, TimedOut, Unreachable
from roadstead.models.jobs import JobState, WholeJob

_EVERY_S: Final = 0.5
# Conditions of --for: whether a job satisfies them. All of them stay true once they are.
_FOR: Final[dict[str, Callable[[WholeJob], bool]]] = {
    "complete": lambda job: job.has_succeeded,
    "failed": lambda job: job.state == JobState.FAILED,
    "running": lambda job: job.started_at is not None,
    "ended": lambda job: job.has_ended,
}


@examples(
    "roadstead jobs wait team-a/train",
    "roadstead jobs wait team-a/train --for running --timeout 10m",
    "roadstead jobs wait $(roadstead jobs ls -l sweep=7 -o name) --for ended",
)
@click.command("wait")
@click.argument("names", metavar="JOB...", nargs=-1, required=True)
@click.option("-n", "--namespace", metavar="NAME", help="Namespace of names without one.")
@click.option(
    "--for",
    "what",
    type=click.Choice(list(_FOR), case_sensitive=False),
    default="complete",
    show_default=True,
    help="State to wait for. running: it has started, whatever its state is now.",
)
@click.option(
    "--timeout",
    callback=seconds,
    metavar="DURATION",
    help="Total time to wait: 90s, 2h. The jobs continue.",
)
@answer_option
@click.pass_context
def wait(
    ctx: click.Context,
    names: tuple[str, ...],
    namespace: str | None,
    what: str,
    timeout: int | None,
    output: str,
) -> None:
    """Wait until jobs reach a state.

    Exit codes: 0 all of them did; 1 a job ended and can no longer reach it; 3 there is no
    such job; 6 --timeout expired. Keeps waiting through a restart of the hub.
    """
    deadline = None if timeout is None else time.monotonic() + timeout
    missed, seen = [], []
    with client(ctx) as hub, progress("waiting", len(names)) as advance:
        for name in dict.fromkeys(full_name(each, namespace) for each in names):
            job = _until(hub, name, what, deadline)
            seen.append(job)
            if output == "text":
                say(f"{job.full_name} {job.state}" + f" on {job.cluster}" * bool(job.cluster))
            if not _FOR[what](job):
                missed.append(job)
            advance(1)
    if output != "text":
        dump({"items": [job.raw for job in seen]}, output)
    if missed:
        raise JobFailed(missed)


def _until(hub: Client, name: str, what: str, deadline: float | None) -> WholeJob:
    """Return the job once it has reached the state, or has ended. Raises TimedOut."""
    job = None
    while True:
        try:
            # By its uid from then on: another may get the name meanwhile.
            job = hub.job(job.uid if job else name)
        except Unreachable:
            if job is None:
                raise
        else:
            if _FOR[what](job) or job.has_ended:
                return job
        left = _EVERY_S if deadline is None else min(_EVERY_S, deadline - time.monotonic())
        if left <= 0:
            raise TimedOut(f"{job.full_name} is {job.state}, not {what} in time")
        time.sleep(left)


def watch(hub: Client, name: str, text: Callable[[WholeJob], str]) -> None:
    """Show a job on each change, in place on a terminal, until it has ended or Ctrl-C."""
    try:
        if sys.stdout.isatty():
            _in_place(_changes(hub, name, text))
        else:
            for page in _changes(hub, name, text):
                say(page)
                sys.stdout.flush()
    except KeyboardInterrupt:
        return


def _changes(hub: Client, name: str, text: Callable[[WholeJob], str]) -> Iterator[str]:
    shown, job = "", None
    while job is None or not job.has_ended:
        try:
            job = hub.job(job.uid if job else name)
            page = text(job)
        except Unreachable as failure:
            if job is None:
                raise
            say(f"{failure}; retrying", err=True)
            page = shown
        if page != shown:
            shown = page
            yield page
        if not job.has_ended:
            time.sleep(_EVERY_S)


def _in_place(pages: Iterator[str]) -> None:
    from rich.live import Live
    from rich.text import Text

    from roadstead.cli.output import terminal

    with Live(console=terminal(), auto_refresh=False) as live:
        for page in pages:
            live.update(Text(page), refresh=True)
