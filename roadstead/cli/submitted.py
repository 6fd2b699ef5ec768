"""Jobs just submitted: their messages, and waiting for their ends."""

import time
from typing import Final

from roadstead.cli.progress import hint, progress
from roadstead.cli.visible import say
from roadstead.client import Client
from roadstead.errors import TimedOut
from roadstead.models.jobs import Job, WholeJob

_EVERY_S: Final = 0.5


def wait_all(
    hub: Client, jobs: list[Job], timeout: float | None, *, quiet: bool
) -> list[WholeJob]:
    """Wait for all jobs, printing each end; return them. Raises TimedOut after `timeout` seconds."""
    deadline = None if timeout is None else time.monotonic() + timeout
    ended = []
    with progress("ended", len(jobs)) as advance:
        for job in jobs:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            try:
                if len(jobs) == 1 and not quiet:
                    ended.append(_followed(hub, job.uid, deadline))
                else:
                    ended.append(hub.wait(job.uid, timeout_s=left, check=False))
            except TimedOut:
                state = hub.job(job.uid).state
                raise TimedOut(f"{job.full_name} is {state} after {timeout:g} s") from None
            if not quiet:
                print_end(ended[-1])
            advance(1)
    return ended


def _followed(hub: Client, uid: str, deadline: float | None) -> WholeJob:
    """The job once it has ended; until then it prints each change on standard error. Raises TimedOut."""
    last = ""
    while True:
        job = hub.job(uid)
        if job.has_ended:
            return job
        where = f" on {job.cluster}" if job.cluster else ""
        why = f": {job.reason} (roadstead explain {job.full_name})" if job.reason else ""
        text = f"{job.full_name} {job.state}{where}{why}"
        if text != last:
            last = text
            say(text, err=True)
        left = _EVERY_S if deadline is None else min(_EVERY_S, deadline - time.monotonic())
        if left <= 0:
            raise TimedOut(f"{job.full_name} is {job.state}")
        time.sleep(left)


def print_taken(job: Job) -> None:
    """Print that a job was accepted, and the hub's warnings."""
    say(f"{job.full_name} submitted ({job.uid})")
    for text in job.warnings:
        say(f"{job.full_name}: warning: {text}", err=True)


def print_end(job: WholeJob) -> None:
    """Print a job's outcome, cluster and reason."""
    where = f" on {job.cluster}" if job.cluster else ""
    why = f" ({job.reason})" if job.reason and not job.has_succeeded else ""
    say(f"{job.full_name} {job.state}{where}{why}")


def suggest(job: Job) -> None:
    """Suggest the next commands on a terminal."""
    hint(f"roadstead logs {job.full_name} -f", f"roadstead explain {job.full_name}")
