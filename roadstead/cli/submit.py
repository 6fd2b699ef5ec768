"""`roadstead submit`: Jobs, and wait for them."""

import time
from typing import Any

import click

from roadstead.cli.manifests import Source, documents, read_sources
from roadstead.cli.output import answer_option, client, dump
from roadstead.cli.telling import hint_for, refusal, warning
from roadstead.client import Client
from roadstead.errors import JobFailed, Rejected, TimedOut

Json = dict[str, Any]


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1)
@click.option("-f", "--filename", "named", multiple=True, metavar="FILE", help="The same as FILE.")
@click.option(
    "--wait", is_flag=True, help="Return when the jobs have ended: 0 if all succeeded, else 1."
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="With --wait: give up waiting after this long, with exit code 6. The jobs go on.",
)
@click.option("--key", metavar="KEY", help="Idempotency key: repeating the command submits once.")
@answer_option
@click.pass_context
def submit(
    ctx: click.Context,
    files: tuple[str, ...],
    named: tuple[str, ...],
    wait: bool,
    timeout: float | None,
    key: str | None,
    output: str,
) -> int:
    """Submit every Job in each FILE (a folder's manifests; '-' is standard input).

    Prints namespace/name and uid of each. A refused Job does not keep the others back; the command
    then ends with exit code 3.
    """
    if not files and not named:
        raise click.UsageError("Missing argument 'FILE...'.")
    if timeout is not None and not wait:
        raise click.UsageError("--timeout goes with --wait.")
    given = [one for source in read_sources((*files, *named)) for one in documents(source)]
    with client(ctx) as hub:
        jobs = _submit_all(hub, given, key, quiet=output != "text")
        if wait:
            jobs = _wait_all(hub, jobs, timeout, quiet=output != "text")
    if output != "text":
        dump({"items": jobs}, output)
    if wait:
        _judge(jobs)
    elif jobs and output == "text":
        _suggest(jobs[0])
    return Rejected.exit_code if len(jobs) < len(given) else 0


def _submit_all(hub: Client, given: list[Source], key: str | None, *, quiet: bool) -> list[Json]:
    jobs = []
    for i, source in enumerate(given):
        try:
            job = hub.submit(source.body, key=f"{key}/{i}" if key and len(given) > 1 else key)
        except Rejected as no:
            _print_refusal(source.label, no)
            continue
        jobs.append(job)
        if not quiet:
            click.echo(f"{_name(job)} submitted ({job['uid']})")
            for text in job.get("warnings") or ():
                click.echo(f"  warning: {warning(text)}", err=True)
    return jobs


def _wait_all(hub: Client, jobs: list[Json], timeout: float | None, *, quiet: bool) -> list[Json]:
    deadline = None if timeout is None else time.monotonic() + timeout
    ended = []
    for job in jobs:
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        try:
            ended.append(hub.wait(job["uid"], timeout_s=left))
        except TimedOut:
            state = hub.job(job["uid"])["state"]
            raise TimedOut(f"{_name(job)} is {state} after {timeout:g} s") from None
        if not quiet:
            _print_end(ended[-1])
    return ended


def _print_end(job: Json) -> None:
    where = f" on {job['cluster']}" if job["cluster"] else ""
    why = f" ({job['reason']})" if job["reason"] and job["state"] != "Succeeded" else ""
    click.echo(f"{_name(job)} {job['state']}{where}{why}")


def _judge(jobs: list[Json]) -> None:
    failed = [_name(job) for job in jobs if job["state"] != "Succeeded"]
    if failed:
        raise JobFailed(
            f"did not succeed: {', '.join(failed)}\n  Why: roadstead explain {failed[0]}"
        )


def _suggest(job: Json) -> None:
    click.echo(f"Next: roadstead explain {_name(job)}  |  roadstead jobs ls --watch", err=True)


def _print_refusal(label: str, no: Rejected) -> None:
    click.echo(f"{label} refused:", err=True)
    lines = refusal(no.code, no.detail, no.errors)
    hint = hint_for(no)
    for line in [*lines, hint] if hint else lines:
        click.echo(f"  {line}", err=True)


def _name(job: Json) -> str:
    return f"{job['namespace']}/{job['name']}"
