"""`roadstead jobs cancel`, `hold`, `release`, `delete`: for jobs by name, or for all that match."""

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import click
from click.core import ParameterSource

from roadstead.cli.absent import refuse_absent
from roadstead.cli.each import for_each
from roadstead.cli.examples import examples
from roadstead.cli.job_filters import filters, matching, namespace_of
from roadstead.cli.names import full_name
from roadstead.cli.output import answer_option, client, dump
from roadstead.cli.progress import say
from roadstead.client import Client
from roadstead.models.jobs import ENDED, Job, JobState, WholeJob

_WAITS = "WaitsForJobs"
_NOTHING = ", \t\r\n"  # what a list of values may consist of and name none
_LISTED = 20  # jobs named one by one before the number is asked for


class Act(NamedTuple):
    """A verb for jobs: `stands` says how each stands then, `concerns` which it changes at all, `spares` which
    must be named for it.
    """

    name: str
    do: Callable[[Client, str], WholeJob]
    stands: Callable[[WholeJob], str]
    words: str
    concerns: Callable[[Job], bool]
    does: str
    spares: Callable[[Job], bool] = lambda job: False


def _cancelled(job: WholeJob) -> str:
    if job.finished_at and job.state != JobState.CANCELLED:
        return f"had ended already: {job.state}"
    where = f" from {job.cluster}" if job.state == JobState.WITHDRAWING else ""
    return f"{job.state}{where}"


def _stands(job: WholeJob) -> str:
    if job.state == JobState.WITHDRAWING:
        return f"Withdrawing from {job.cluster}, then {job.withdraw_to}"
    return job.state


def _deleted(job: WholeJob) -> str:
    if job.state == JobState.WITHDRAWING:
        return f"is being withdrawn from {job.cluster}, then its name is free"
    return "is deleted; its name is free"


def _may_be_stopped(job: Job) -> bool:
    return not job.has_ended


def _may_be_released(job: Job) -> bool:
    return job.state in {JobState.HELD, JobState.DEACTIVATED}


def _waits_for_jobs(job: Job) -> bool:
    """Released, it would go whomever it waits for: only who names it means that."""
    return job.state == JobState.HELD and job.reason == _WAITS


def _may_be_held(job: Job) -> bool:
    return not job.has_ended and job.state != JobState.HELD


_REST = """

Named one by one, or all that match -n, -q, --state, --cluster, -l and --since; --dry-run lists those,
and without --yes their number is asked for. One that the hub refuses keeps none of the others back; the
exit code is 3 then.
"""
_CANCEL = """Stop jobs wherever they are.

Each ends Cancelled once it is certain that nothing of it runs; one that has ended already stays as it is.
"""
_HOLD = """Hold jobs back: they are not considered until they are released.

One that runs is taken back from its cluster first; it starts anew once released.
"""
_RELEASE = """Let jobs wait again that are held, or that were deactivated.

One that waits for other jobs goes regardless of them: it is released by its name alone.
"""
_DELETE = """Stop jobs wherever they are, and free their names.

Their history is kept for a while.
"""
ACTS = (
    Act("cancel", Client.cancel, _cancelled, "cancelling", _may_be_stopped, _CANCEL),
    Act("hold", Client.hold, _stands, "holding", _may_be_held, _HOLD),
    Act(
        "release",
        Client.release,
        _stands,
        "releasing",
        _may_be_released,
        _RELEASE,
        _waits_for_jobs,
    ),
    Act("delete", Client.delete_job, _deleted, "deleting", lambda job: True, _DELETE),
)


def add_to(group: click.Group) -> None:
    """Add the verbs to `roadstead jobs`."""
    for act in ACTS:
        group.add_command(_command(act))


def _command(act: Act) -> click.Command:
    def run(
        ctx: click.Context,
        /,
        names: tuple[str, ...],
        output: str,
        *,
        dry_run: bool,
        yes: bool,
        **given: Any,
    ) -> int:
        uids = _meant(ctx, act, names, output, dry_run=dry_run, yes=yes, **given)
        if uids is None:
            return 0

        def tell(job: WholeJob) -> None:
            if output == "text":
                say(f"{job.full_name} {act.stands(job)}")

        answered, code = for_each(ctx, uids, act.do, tell, act.words)
        if output != "text":
            dump({"items": [each.raw for each in answered]}, output)
        return code

    made: Callable[..., Any] = answer_option(click.pass_context(run))
    made = click.option("--yes", is_flag=True, help="Ask nothing, however many match.")(made)
    made = click.option(
        "--dry-run", is_flag=True, help="List the jobs that are meant; change nothing."
    )(made)
    made = click.argument("names", metavar="[JOB...]", nargs=-1)(filters(made))
    command = click.command(act.name, help=act.does.strip() + _REST)(made)
    return examples(
        f"roadstead jobs {act.name} team-a/train",
        f"roadstead jobs {act.name} -l sweep=7 --dry-run",
        f"roadstead jobs {act.name} -n team-a --state pending,running --since 2h --yes",
    )(command)


def _meant(
    ctx: click.Context,
    act: Act,
    names: tuple[str, ...],
    output: str,
    *,
    dry_run: bool,
    yes: bool,
    **given: Any,
) -> list[str] | None:
    """What the hub is asked about; None where nothing is to be done. Raises click.UsageError."""
    _refuse_empty(ctx)
    space, everywhere = given.pop("namespace"), given.pop("all_namespaces")
    narrowed = any(given.values())
    if names:
        if narrowed or everywhere:
            raise click.UsageError("Name the jobs, or say which match: not both.")
        names = tuple(full_name(each, space) for each in names)
        if not dry_run:
            return list(names)
        with client(ctx) as hub:
            jobs: list[Job] = [hub.job(each) for each in names]
    else:
        if not (narrowed or everywhere or space):
            raise click.UsageError(
                "Which jobs? Name them, or say which match: -n, -q, --state, -l."
            )
        space = namespace_of(space, everywhere=everywhere)
        with client(ctx) as hub:
            found = list(matching(hub, namespace=space, **given))
            if not found:
                refuse_absent(hub, {"namespace": space, **given})
        jobs = [job for job in found if not act.spares(job)]
        if spared := len(found) - len(jobs):
            who = "1 job waits" if spared == 1 else f"{spared} jobs wait"
            say(f"{who} for others: left out; name what is to go all the same.", err=True)
    jobs = [job for job in jobs if act.concerns(job)]
    if dry_run:
        _show(act, jobs, output)
        return None
    if not jobs:
        say(f"No job that matches is there to {act.name}.", err=True)
        return None
    if not yes:
        _confirm(act, jobs)
    return [job.uid for job in jobs]


def _refuse_empty(ctx: click.Context) -> None:
    """Raise click.UsageError where a filter has no text but commas and blanks: a variable of a script that
    holds nothing means no job, not every one.
    """
    for each in ctx.command.params:
        typed = ctx.get_parameter_source(each.name or "") == ParameterSource.COMMANDLINE
        if typed and _is_nothing(ctx.params.get(each.name or "")):
            raise click.UsageError(f"{each.opts[-1]} is empty: say which jobs, or leave it out.")


def _is_nothing(value: object) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_nothing, value))
    return isinstance(value, str) and not value.strip(_NOTHING)


def _show(act: Act, jobs: list[Job], output: str) -> None:
    if output != "text":
        dump({"items": [job.raw for job in jobs]}, output)
        return
    for job in jobs:
        say(f"{job.full_name} {_where(job)}: would {act.name}")
    say(f"{len(jobs)} jobs; nothing was changed.", err=True)


def _confirm(act: Act, jobs: list[Job]) -> None:
    """Have the number typed. Raises click.UsageError where nobody is there, Abort where it is another."""
    for job in jobs[:_LISTED]:
        say(f"  {job.full_name}  {_where(job)}", err=True)
    if len(jobs) > _LISTED:
        say(f"  ... and {len(jobs) - _LISTED} more: --dry-run lists all", err=True)
    match = "1 job matches" if len(jobs) == 1 else f"{len(jobs)} jobs match"
    if not sys.stdin.isatty():
        raise click.UsageError(
            f"{match}, and nobody can be asked here: --yes to {act.name} them, --dry-run to see them."
        )
    typed = click.prompt(f"Type {len(jobs)} to {act.name} these {len(jobs)} jobs", err=True)
    if typed.strip() != str(len(jobs)):
        say("nothing was changed", err=True)
        raise click.Abort


def _where(job: Job) -> str:
    return f"{job.state} on {job.cluster}" if job.cluster and job.state not in ENDED else job.state
