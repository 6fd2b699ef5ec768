"""`--sort KEY`: a list of jobs in another order than newest first."""

import datetime as dt
from collections.abc import Callable, Iterable
from typing import Any, Final

import click

from roadstead.models.jobs import Job

_NEVER: Final = dt.datetime.max.replace(tzinfo=dt.UTC)


def _instant(name: str) -> Callable[[Job], Any]:
    return lambda job: getattr(job, name) or _NEVER


def _ran(job: Job) -> Any:
    """How long it ran; of one that has not ended, that is not known: those come last."""
    if job.started_at is None or job.finished_at is None:
        return dt.timedelta.max
    return job.finished_at - job.started_at


KEYS: Final[dict[str, Callable[[Job], Any]]] = {
    "name": lambda job: (job.namespace, job.name),
    "queue": lambda job: job.queue,
    "state": lambda job: job.state,
    "cluster": lambda job: job.cluster,
    "reason": lambda job: job.reason,
    "created": _instant("created_at"),
    "started": _instant("started_at"),
    "finished": _instant("finished_at"),
    "runtime": _ran,
}


def _key(_ctx: click.Context, _option: click.Parameter, given: str | None) -> str | None:
    if given is not None and given.lower().removeprefix("-") not in KEYS:
        raise click.BadParameter(
            f"{given!r} is none of {', '.join(KEYS)}; with - before it the other way round."
        )
    return given.lower() if given else None


option = click.option(
    "--sort",
    callback=_key,
    metavar="KEY",
    help="By name, queue, state, cluster, reason, created, started, finished or runtime; "
    "-KEY: the other way round.",
)


def in_order(jobs: Iterable[Job], key: str | None) -> list[Job]:
    """The jobs by `key`, else as they are; what is equal stays as it was."""
    if key is None:
        return list(jobs)
    return sorted(jobs, key=KEYS[key.removeprefix("-")], reverse=key.startswith("-"))
