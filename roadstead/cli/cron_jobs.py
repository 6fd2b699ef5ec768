"""`roadstead cronjobs`: CronJobs and their times; suspend and resume them, and run one by hand."""

import secrets
from collections.abc import Iterable
from typing import Any, Final

import click

from roadstead.cli.examples import examples
from roadstead.cli.names import default_namespace
from roadstead.cli.nouns import list_verb
from roadstead.cli.output import age, answer_option, client, dump, seconds_until, span
from roadstead.cli.tables import Column
from roadstead.cli.visible import say
from roadstead.client import Client
from roadstead.errors import Rejected
from roadstead.models.objects import KubernetesObject

_NONE: Final = "-"
_LETTERS: Final = "bcdfghjklmnpqrstvwxz"  # a scheduled time is digits


def _last(found: KubernetesObject) -> str:
    at = _instant(found, "lastScheduleTime")
    return age(at) if at else "never"


def _next(found: KubernetesObject) -> str:
    at = _instant(found, "nextScheduleTime")
    return f"in {span(seconds_until(at))}" if at else _NONE


def _instant(found: KubernetesObject, name: str) -> Any:
    import datetime as dt

    text = found.status.get(name)
    return dt.datetime.fromisoformat(text) if text else None


def _held(found: KubernetesObject) -> str:
    """The reason of its condition Held."""
    for each in found.status.get("conditions") or ():
        if each.get("type") == "Held" and each.get("status") == "True":
            return str(each.get("reason") or "Held")
    return _NONE


def _queue(found: KubernetesObject) -> str:
    from shared.cron_template import queue_of

    return queue_of(found.raw.get("metadata") or {}, found.spec) or _NONE


COLUMNS = [
    Column("NAMESPACE", lambda c: c.metadata.namespace),
    Column("NAME", lambda c: c.metadata.name, shrinks=True),
    Column("QUEUE", _queue),
    Column("SCHEDULE", lambda c: c.spec.get("schedule", "")),
    Column("TIMEZONE", lambda c: c.spec.get("timeZone") or "UTC"),
    Column("SUSPEND", lambda c: str(bool(c.spec.get("suspend"))).lower()),
    Column("ACTIVE", lambda c: len(c.status.get("active") or ())),
    Column("LAST RUN", _last),
    Column("LAST RESULT", lambda c: c.status.get("lastResult") or _NONE),
    Column("NEXT", _next),
    Column("HELD", _held),
    Column("AGE", lambda c: age(c.metadata.creation_timestamp)),
]


@click.group("cronjobs")
def cron_jobs() -> None:
    """Manage CronJobs: list, suspend, resume, run.

    `roadstead apply` creates and changes them, `roadstead get` and `roadstead delete` take them too. Their
    Jobs are in `roadstead jobs ls`.
    """


def _found(hub: Client, namespace: str | None) -> Iterable[KubernetesObject]:
    return hub.cron_jobs(namespace=namespace or "")


cron_jobs.add_command(
    list_verb(
        _found,
        COLUMNS,
        does="List CronJobs, with their queue, last and next run.",
        empty="No CronJobs. Apply one that names a LocalQueue.",
        options=[click.option("-n", "--namespace", metavar="NAME", help="Only this namespace.")],
    )
)


def _place(name: str) -> tuple[str, str]:
    namespace, _, short = name.rpartition("/")
    return namespace or default_namespace() or "default", short


@examples("roadstead cronjobs suspend team-a/nightly")
@click.command("suspend")
@click.argument("names", metavar="NAMESPACE/NAME...", nargs=-1, required=True)
@click.pass_context
def suspend(ctx: click.Context, names: tuple[str, ...]) -> int:
    """Suspend CronJobs: no further run starts; running Jobs go on."""
    return _each(ctx, names, True, "is suspended")


@examples("roadstead cronjobs resume team-a/nightly")
@click.command("resume")
@click.argument("names", metavar="NAMESPACE/NAME...", nargs=-1, required=True)
@click.pass_context
def resume(ctx: click.Context, names: tuple[str, ...]) -> int:
    """Resume CronJobs.

    The newest of the times that have passed meanwhile may run at once.
    """
    return _each(ctx, names, False, "is resumed")


def _each(ctx: click.Context, names: tuple[str, ...], suspended: bool, told: str) -> int:
    from roadstead.cli.each import for_each

    def act(hub: Client, name: str) -> str:
        namespace, short = _place(name)

        place = f"{namespace}/{short}"
        (hub.suspend_cron_job if suspended else hub.resume_cron_job)(place)
        return f"CronJob {place}"

    def tell(title: str) -> None:
        say(f"{title} {told}")

    return for_each(ctx, names, act, tell, "changing")[1]


@examples("roadstead cronjobs run team-a/nightly")
@click.command("run")
@click.argument("name", metavar="NAMESPACE/NAME")
@answer_option
@click.pass_context
def run(ctx: click.Context, name: str, output: str) -> None:
    """Submit a Job of a CronJob's template now.

    Its name is NAME-run- and five letters. It is a job of yours, and none of the CronJob: it does not change
    the schedule, its history or what its concurrencyPolicy counts. You cannot run a CronJob if you may not
    see its environment variables.
    """
    from roadstead.cli.submitted import print_taken, suggest

    namespace, short = _place(name)
    with client(ctx) as hub:
        found = hub.find("CronJob", short, group="batch", namespace=namespace)
        job = hub.submit(_by_hand(found))
    if output != "text":
        dump(job.raw, output)
        return
    print_taken(job)
    suggest(job)


def _by_hand(found: KubernetesObject) -> dict[str, Any]:
    """A Job of the template. Raises Rejected if it would run without what is hidden."""
    from shared.cron_template import job_of, queue_of
    from shared.resubmitted import is_hidden

    metadata = found.raw["metadata"]
    where = f"{metadata['namespace']}/{metadata['name']}"
    if not queue_of(metadata, found.spec):
        detail = (
            f"CronJob {where} names no LocalQueue: members run it where a placement selects it"
        )
        raise Rejected(422, {"code": "QueueRequired", "detail": detail})
    suffix = "".join(secrets.choice(_LETTERS) for _ in range(5))
    job = job_of(metadata, found.spec, f"{metadata['name']}-run-{suffix}")
    if is_hidden(job):
        why = "you may not see its environment variables, and a Job would run without them"
        raise Rejected(403, {"code": "EnvironmentHidden", "detail": f"CronJob {where}: {why}"})
    return job


cron_jobs.add_command(suspend)
cron_jobs.add_command(resume)
cron_jobs.add_command(run)
