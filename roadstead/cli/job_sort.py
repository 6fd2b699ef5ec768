"""`--sort KEY`: the order of a list of jobs."""

from collections.abc import Callable, Iterable
from typing import Any, Final

import click

from roadstead.models.jobs import Job


def _ran(job: Job) -> Any:
    """Run time of a job; None before it ended."""
    if job.started_at is None or job.finished_at is None:
        return None
    return job.finished_at - job.started_at


KEYS: Final[dict[str, Callable[[Job], Any]]] = {
    "name": lambda job: (job.namespace, job.name),
    "queue": lambda job: job.queue,
    "state": lambda job: job.state,
    "cluster": lambda job: job.cluster,
    "reason": lambda job: job.reason,
    "created": lambda job: job.created_at,
    "started": lambda job: job.started_at,
    "finished": lambda job: job.finished_at,
    "runtime": _ran,
}


def _key(_ctx: click.Context, _option: click.Parameter, given: str | None) -> str | None:
    if given is not None and given.lower().removeprefix("-") not in KEYS:
        raise click.BadParameter(
            f"{given!r} is not one of {', '.join(KEYS)}; a leading - reverses the order."
        )
    return given.lower() if given else None


option = click.option(
    "--sort",
    callback=_key,
    metavar="KEY",
    help="Sort by name, queue, state, cluster, reason, created, started, finished or runtime; -KEY reverses.",
)


def in_order(jobs: Iterable[Job], key: str | None) -> list[Job]:
    """Sort jobs by `key`, else keep their order; the sort is stable.

    Jobs without a value come last, in both directions.
    """
    listed = list(jobs)
    if key is None:
        return listed
    value = KEYS[key.removeprefix("-")]
    known = [job for job in listed if value(job) is not None]
    known.sort(key=value, reverse=key.startswith("-"))
    return [*known, *(job for job in listed if value(job) is None)]
