"""Jobs just submitted: what is said of each, and waiting for their ends."""

import time

from roadstead.cli.messages import warning
from roadstead.cli.progress import hint, progress, say
from roadstead.client import Client
from roadstead.errors import TimedOut
from roadstead.models.jobs import Job, WholeJob


def wait_all(
    hub: Client, jobs: list[Job], timeout: float | None, *, quiet: bool
) -> list[WholeJob]:
    """The jobs once all have ended, each told as it has. Raises TimedOut after `timeout` seconds."""
    deadline = None if timeout is None else time.monotonic() + timeout
    ended = []
    with progress("ended", len(jobs)) as advance:
        for job in jobs:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            try:
                ended.append(hub.wait(job.uid, timeout_s=left, check=False))
            except TimedOut:
                state = hub.job(job.uid).state
                raise TimedOut(f"{job.full_name} is {state} after {timeout:g} s") from None
            if not quiet:
                print_end(ended[-1])
            advance(1)
    return ended


def print_taken(job: Job) -> None:
    """Say that a job was taken, and what the hub warns of."""
    say(f"{job.full_name} submitted ({job.uid})")
    for text in job.warnings:
        say(f"{job.full_name}: warning: {warning(text)}", err=True)


def print_end(job: WholeJob) -> None:
    """Say how a job has ended, where and why."""
    where = f" on {job.cluster}" if job.cluster else ""
    why = f" ({job.reason})" if job.reason and not job.has_succeeded else ""
    say(f"{job.full_name} {job.state}{where}{why}")


def suggest(job: Job) -> None:
    """What to type next, to a person."""
    hint(f"roadstead logs {job.full_name} -f", f"roadstead explain {job.full_name}")
