"""`roadstead submit`: submits Jobs, and can wait for them."""

import json
from collections.abc import Iterator
from itertools import groupby

import click

from roadstead.cli.chains import after_option, waiting_for
from roadstead.cli.manifests import Source, documents, read_sources
from roadstead.cli.messages import hint_for, refusal
from roadstead.cli.names import default_namespace
from roadstead.cli.output import answer_option, client, dump
from roadstead.cli.progress import progress
from roadstead.cli.run.array import Array, array, spread
from roadstead.cli.submitted import print_taken, suggest, wait_all
from roadstead.cli.visible import say
from roadstead.client import Client
from roadstead.errors import JobFailed, Rejected
from roadstead.media_types import JSON, type_of
from roadstead.models.jobs import Job, Outcome


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1)
@click.option("-f", "--filename", "named", multiple=True, metavar="FILE", help="The same as FILE.")
@click.option(
    "--wait",
    is_flag=True,
    help="Wait until the jobs have ended: exit code 0 if all succeeded, else 1.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="With --wait: stop waiting after this long, with exit code 6. The jobs continue.",
)
@click.option(
    "--array",
    callback=array,
    metavar="0-N[%AT-ONCE]",
    help="Turn each into an array: one Indexed Job with a pod for each index.",
)
@after_option
@click.option("--key", metavar="KEY", help="Idempotency key: repeating the command submits once.")
@answer_option
@click.pass_context
def submit(
    ctx: click.Context,
    files: tuple[str, ...],
    named: tuple[str, ...],
    wait: bool,
    timeout: float | None,
    array: Array | None,
    after: str,
    key: str | None,
    output: str,
) -> int:
    """Submit every Job in each FILE (a folder's manifests; '-' is standard input).

    Prints namespace/name and uid of each. A rejected Job does not stop the others; the command then exits
    with 3.
    """
    if not files and not named:
        raise click.UsageError("Missing argument 'FILE...'.")
    if timeout is not None and not wait:
        raise click.UsageError("--timeout needs --wait.")
    given = [one for source in read_sources((*files, *named)) for one in documents(source)]
    if array is not None:
        given = [_as_array(one, array) for one in given]
    if space := default_namespace():
        given = [_within(one, space) for one in given]
    if after:
        given = [_after(one, after) for one in given]
    quiet = output != "text"
    with client(ctx) as hub:
        jobs = _submit_all(hub, given, key, quiet=quiet)
        ended = wait_all(hub, jobs, timeout, quiet=quiet) if wait else []
    if quiet:
        dump({"items": [job.raw for job in ended or jobs]}, output)
    if failed := [job for job in ended if not job.has_succeeded]:
        raise JobFailed(failed)
    if jobs and not wait and not quiet:
        suggest(jobs[0])
    return Rejected.exit_code if len(jobs) < len(given) else 0


def _submit_all(hub: Client, given: list[Source], key: str | None, *, quiet: bool) -> list[Job]:
    jobs: list[Job] = []
    with progress("submitting", len(given)) as advance:
        for source, outcome in zip(given, _outcomes(hub, given, key), strict=True):
            if outcome.refusal is not None:
                _print_refusal(source.label, outcome.refusal)
            elif outcome.job is not None:
                jobs.append(outcome.job)
                if not quiet:
                    print_taken(outcome.job)
            advance(1)
    return jobs


def _outcomes(hub: Client, given: list[Source], key: str | None) -> Iterator[Outcome]:
    """Submit documents: runs of Jobs in batches, anything else alone.

    So the hub's own error explains an unreadable document, or one that is not a Job.
    """
    index = 0
    for is_job, run in groupby(((source, _work_in(source)) for source in given), _is_job):
        sources = list(run)
        if is_job and len(sources) > 1:
            lines = (line for _, line in sources if line is not None)
            yield from hub.submit_iter(lines, key=f"{key}/{index}" if key else None)
        else:
            for place, (source, _) in enumerate(sources, index):
                yield _alone(hub, source, f"{key}/{place}" if key and len(given) > 1 else key)
        index += len(sources)


def _is_job(read: tuple[Source, bytes | None]) -> bool:
    return read[1] is not None


def _alone(hub: Client, source: Source, key: str | None) -> Outcome:
    try:
        return Outcome(0, job=hub.submit(source.body, key=key))
    except Rejected as no:
        return Outcome(0, refusal=no)


def _job_in(source: Source) -> bytes | None:
    """The Job of a document, as JSON; None if it is none."""
    body = _work_in(source)
    return body if body is not None and json.loads(body)["kind"] == "Job" else None


def _work_in(source: Source) -> bytes | None:
    """The Job, or other work, of a document as JSON; None if the hub should report an error for it.

    YAML is read as the hub reads it; JSON is sent unchanged.
    """
    body = source.body.removeprefix(b"\xef\xbb\xbf")
    if type_of(body) == JSON:
        try:
            found = json.loads(body)
        except (ValueError, RecursionError):
            return None
    else:
        from shared.errors import Rejected as Unreadable
        from shared.manifest_yaml import read_yaml

        try:
            (found,) = read_yaml(body)
            body = json.dumps(found).encode()
        except (Unreadable, ValueError, RecursionError):
            return None
    from shared.kinds.dispatched import is_work

    is_job = isinstance(found, dict) and (
        (found.get("apiVersion"), found.get("kind")) == ("batch/v1", "Job") or is_work(found)
    )
    return body if is_job else None


def _as_array(source: Source, wanted: Array) -> Source:
    """Turn a Job into an array; other documents stay unchanged, so that the hub rejects them."""
    body = _job_in(source)
    if body is None:
        return source
    return Source(source.label, json.dumps(spread(json.loads(body), wanted)).encode())


def _after(source: Source, after: str) -> Source:
    """Add dependencies to a Job; other documents stay unchanged."""
    body = _job_in(source)
    if body is None:
        return source
    return Source(
        source.label, json.dumps(waiting_for(json.loads(body), after, "default")).encode()
    )


def _within(source: Source, namespace: str) -> Source:
    """Set the default namespace in a Job without one; other documents stay unchanged."""
    body = _job_in(source)
    found = json.loads(body) if body is not None else {}
    metadata = found.get("metadata")
    if not isinstance(metadata, dict) or metadata.get("namespace"):
        return source
    found["metadata"] = {**metadata, "namespace": namespace}
    return Source(source.label, json.dumps(found).encode())


def _print_refusal(label: str, no: Rejected) -> None:
    say(f"{label} refused:", err=True)
    lines = refusal(no.code, no.detail, no.errors)
    hint = hint_for(no)
    for line in [*lines, hint] if hint else lines:
        say(f"  {line}", err=True)
