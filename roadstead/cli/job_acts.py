"""`roadstead jobs cancel`, `hold`, `release`, `delete`: for named jobs, or for all that match."""

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
from roadstead.cli.visible import say
from roadstead.client import Client
from roadstead.models.jobs import ENDED, Job, JobState, WholeJob

_WAITS = "WaitsForJobs"
_NOTHING = ", \t\r\n"  # what a list of values may consist of and name none
_OTHERS = "Add --mine to leave out the jobs that others submitted."
_LISTED = 20  # jobs listed one by one before the confirmation


class Act(NamedTuple):
    """A verb for jobs: `stands` describes a job afterwards, `would` what the verb would do to one, `concerns`
    selects the jobs it changes, `spares` those that must be named.
    """

    name: str
    do: Callable[..., WholeJob]
    stands: Callable[[WholeJob], str]
    would: Callable[[WholeJob], str]
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


def _would_be_deleted(job: Job) -> str:
    if job.cluster and job.state not in ENDED:
        return f"would be withdrawn from {job.cluster} ({job.state}), then its name is free"
    return f"would be deleted ({job.state}); its name is free"


def _would_be_cancelled(job: WholeJob) -> str:
    if job.has_ended:
        return f"has ended already: {job.state}"
    return _would_become(job, JobState.CANCELLED)


def _would_be_held(job: WholeJob) -> str:
    is_held = JobState.HELD in {job.state, job.withdraw_to} and job.reason != _WAITS
    if is_held:
        return f"is held already ({job.state})"
    return _would_become(job, JobState.HELD) + _cost_of_holding(job)


def _cost_of_holding(job: WholeJob) -> str:
    """The pods that a hold stops; of a job that waits to grow, also its needs after a release."""
    admission = job.admission or {}
    pods = sum(each["count"] for each in admission.get("podSets") or ())
    if not job.cluster or job.state != JobState.RUNNING or not pods:
        return ""
    wanted = (admission.get("wanted") or {}).get("count", 0)
    said = f": this stops {_pods(job.counts.active or pods)}"
    if wanted > pods:
        said += f", and after a release nothing of it runs before there is quota and room for all {wanted}"
    return said


def _pods(number: int) -> str:
    return "1 pod" if number == 1 else f"{number} pods"


def _would_be_released(job: WholeJob) -> str:
    waits = {JobState.HELD, JobState.DEACTIVATED} & {job.state, job.withdraw_to}
    if waits:
        return f"would be released ({job.state})"
    if job.state == JobState.PENDING:
        return "waits already (Pending): it would avoid no cluster any more"
    return f"is not held: {job.state}"


def _would_become(job: WholeJob, state: JobState) -> str:
    if job.cluster and not job.has_ended:
        return f"would be withdrawn from {job.cluster} ({job.state}), then {state}"
    return f"would be {state} ({job.state})"


def _may_be_stopped(job: Job) -> bool:
    return not job.has_ended


def _may_be_released(job: Job) -> bool:
    return job.state in {JobState.HELD, JobState.DEACTIVATED}


def _waits_for_jobs(job: Job) -> bool:
    """A release overrides dependencies, so only a named job is released before they end."""
    return job.state == JobState.HELD and job.reason == _WAITS


def _may_be_held(job: Job) -> bool:
    return not job.has_ended and job.state != JobState.HELD


_REST = """

Name jobs one by one, or select them with -n, -q, --state, --cluster, -l and --since; --dry-run asks the hub
what it would do, and without --yes you confirm their number. A rejected job does not stop the others; the
exit code is then 3.
"""
_CANCEL = """Cancel jobs wherever they are.

A job becomes Cancelled once it is certain that nothing of it runs; for an ended job this is a no-op.
"""
_HOLD = """Hold jobs: the scheduler skips them until you release them.

A running job is withdrawn from its cluster first; it starts from the beginning once released.
"""
_RELEASE = """Release held or deactivated jobs to their queues.

A waiting job that you name no longer avoids the clusters that refused it.
To release a job that waits for others, name it explicitly.
"""
_DELETE = """Delete jobs wherever they are, and free their names.

Their history is kept for a while.
"""
ACTS = (
    Act(
        "cancel",
        Client.cancel,
        _cancelled,
        _would_be_cancelled,
        "cancelling",
        _may_be_stopped,
        _CANCEL,
    ),
    Act("hold", Client.hold, _stands, _would_be_held, "holding", _may_be_held, _HOLD),
    Act(
        "release",
        Client.release,
        _stands,
        _would_be_released,
        "releasing",
        _may_be_released,
        _RELEASE,
        _waits_for_jobs,
    ),
    Act(
        "delete",
        Client.delete_job,
        _deleted,
        _would_be_deleted,
        "deleting",
        lambda job: True,
        _DELETE,
    ),
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
        hint = "" if names or given["mine"] else _OTHERS
        called = _meant(ctx, act, names, dry_run=dry_run, yes=yes, **given)
        if called is None:
            return 0
        if dry_run:
            return _preview(ctx, called, act, output, hint)

        def tell(job: WholeJob) -> None:
            if output == "text":
                say(f"{job.full_name} {act.stands(job)}")

        answered, code = for_each(
            ctx, list(called), act.do, tell, act.words, called=called, hint=hint
        )
        if output != "text":
            dump({"items": [each.raw for each in answered]}, output)
        return code

    made: Callable[..., Any] = answer_option(click.pass_context(run))
    made = click.option("--yes", is_flag=True, help="Skip the confirmation.")(made)
    made = click.option(
        "--dry-run", is_flag=True, help="Ask the hub what it would do; change nothing."
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
    *,
    dry_run: bool,
    yes: bool,
    **given: Any,
) -> dict[str, str] | None:
    """Select the jobs: uid, or name as it was given, and what to call it; None if there is nothing to do.

    Raises click.UsageError.
    """
    _refuse_empty(ctx)
    space, everywhere = given.pop("namespace"), given.pop("all_namespaces")
    narrowed = any(given.values())
    if names:
        if narrowed or everywhere:
            raise click.UsageError("Name the jobs, or select them with filters: not both.")
        return {name: name for name in (full_name(each, space) for each in names)}
    if not (narrowed or everywhere or space):
        raise click.UsageError("Which jobs? Name them, or select them: -n, -q, --state, -l.")
    space = namespace_of(space, everywhere=everywhere)
    with client(ctx) as hub:
        found = list(matching(hub, namespace=space, **given))
        if not found:
            refuse_absent(hub, {"namespace": space, **given})
    jobs = [job for job in found if not act.spares(job)]
    if spared := len(found) - len(jobs):
        who = "1 job waits" if spared == 1 else f"{spared} jobs wait"
        say(f"{who} for others: left out; name a job to release it anyway.", err=True)
    jobs = [job for job in jobs if act.concerns(job)]
    if not jobs:
        say(f"No matching job to {act.name}.", err=True)
        return None
    if not (yes or dry_run):
        _confirm(act, jobs)
    return {job.uid: job.full_name for job in jobs}


def _refuse_empty(ctx: click.Context) -> None:
    """Raise click.UsageError if a filter has only commas and blanks: an empty variable in a script means no
    job, not all.
    """
    for each in ctx.command.params:
        typed = ctx.get_parameter_source(each.name or "") == ParameterSource.COMMANDLINE
        if typed and _is_nothing(ctx.params.get(each.name or "")):
            raise click.UsageError(f"{each.opts[-1]} is empty: give a value, or leave it out.")


def _is_nothing(value: object) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_nothing, value))
    return isinstance(value, str) and not value.strip(_NOTHING)


def _preview(ctx: click.Context, called: dict[str, str], act: Act, output: str, hint: str) -> int:
    """Print what would become of each job, as the hub says; return the exit code."""

    def look(hub: Client, uid: str) -> WholeJob:
        return act.do(hub, uid, dry_run=True)

    def tell(job: WholeJob) -> None:
        if output == "text":
            say(f"{job.full_name} {act.would(job)}")

    answered, code = for_each(ctx, list(called), look, tell, "looking", called=called, hint=hint)
    if output != "text":
        dump({"items": [each.raw for each in answered]}, output)
    number = len(answered)
    say(f"{number} {'job' if number == 1 else 'jobs'}; nothing was changed.", err=True)
    return code


def _confirm(act: Act, jobs: list[Job]) -> None:
    """Ask the user to type the number. Raises click.UsageError without a terminal, Abort for another
    number.
    """
    for job in jobs[:_LISTED]:
        say(f"  {job.full_name}  {_where(job)}", err=True)
    if len(jobs) > _LISTED:
        say(f"  ... and {len(jobs) - _LISTED} more: --dry-run lists all", err=True)
    match = "1 job matches" if len(jobs) == 1 else f"{len(jobs)} jobs match"
    if not sys.stdin.isatty():
        raise click.UsageError(
            f"{match}, without a terminal to confirm on: --yes to {act.name} them, --dry-run to list them."
        )
    typed = click.prompt(f"Type {len(jobs)} to {act.name} these {len(jobs)} jobs", err=True)
    if typed.strip() != str(len(jobs)):
        say("nothing was changed", err=True)
        raise click.Abort


def _where(job: Job) -> str:
    return f"{job.state} on {job.cluster}" if job.cluster and job.state not in ENDED else job.state
