"""Waiting for jobs to end."""

import time
from collections.abc import Iterable

from roadstead.calls.jobs import by_uid
from roadstead.errors import JobFailed, TimedOut
from roadstead.models.jobs import WholeJob
from roadstead.steps import Pause, Request, Steps, one

_LEAST_S = 5.0  # minimum timeout of one request, however little time is left


def wait(
    name: str, *, timeout_s: float | None = None, every_s: float = 0.5, check: bool = True
) -> Steps[WholeJob]:
    """Return the job once it has ended. Raises JobFailed if it did not succeed and `check` is True.

    Raises TimedOut after `timeout_s` seconds; the job continues. Polls every `every_s` seconds.
    """
    (ended,) = yield from wait_all([name], timeout_s=timeout_s, every_s=every_s, check=check)
    return ended


def wait_all(
    names: Iterable[str],
    *,
    timeout_s: float | None = None,
    every_s: float = 0.5,
    check: bool = True,
) -> Steps[list[WholeJob]]:
    """Return the jobs, in this order, once all have ended.

    Raises JobFailed if `check` is True and some did not succeed; its `jobs` are those. Raises TimedOut
    after `timeout_s` seconds for all together; the jobs continue.
    """
    if isinstance(names, str | bytes):
        raise TypeError("wait_all takes several names, such as a list of them; wait takes one")
    deadline = None if timeout_s is None else time.monotonic() + timeout_s
    ended = []
    for name in list(names):
        path = yield from by_uid(name)
        ended.append((yield from _wait_one(path, deadline, timeout_s, every_s)))
    if check and (failed := [job for job in ended if not job.has_succeeded]):
        raise JobFailed(failed)
    return ended


def _wait_one(
    path: str, deadline: float | None, timeout_s: float | None, every_s: float
) -> Steps[WholeJob]:
    while True:
        left = None if deadline is None else deadline - time.monotonic()
        most_s = None if left is None else max(left, _LEAST_S)
        job = yield from one(Request("GET", path, timeout_s=most_s), WholeJob)
        if job.has_ended:
            return job
        left = every_s if deadline is None else deadline - time.monotonic()
        if left <= 0:
            raise TimedOut(f"{job.full_name} is {job.state} after {timeout_s:g} s")
        yield Pause(min(every_s, left))
