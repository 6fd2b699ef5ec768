"""`roadstead jobs resubmit`: submit a copy of a job under another name."""

from typing import Any, Final

import click

from roadstead.cli.chains import after_option, waiting_for
from roadstead.cli.each import for_each
from roadstead.cli.examples import examples
from roadstead.cli.names import full_name
from roadstead.cli.output import answer_option, dump
from roadstead.cli.submitted import print_taken, suggest
from roadstead.cli.visible import say
from roadstead.client import Client
from roadstead.errors import Rejected
from roadstead.models.jobs import Job, WholeJob

Json = dict[str, Any]
_TRIES: Final = 50


@examples(
    "roadstead jobs resubmit team-a/train",
    "roadstead jobs resubmit team-a/train --name train-large",
)
@click.command("resubmit")
@click.argument("names", metavar="JOB...", nargs=-1, required=True)
@click.option("--name", "new", metavar="NAME", help="Its new name [default: NAME-r2, -r3, ...].")
@click.option("-n", "--namespace", metavar="NAME", help="Namespace of names without one.")
@after_option
@click.option("--dry-run", is_flag=True, help="Print the Job as YAML; submit nothing.")
@answer_option
@click.pass_context
def resubmit(
    ctx: click.Context,
    names: tuple[str, ...],
    new: str | None,
    namespace: str | None,
    after: str,
    dry_run: bool,
    output: str,
) -> int:
    """Submit copies of jobs, under new names.

    A copy has the original manifest; the original job's result does not matter and stays. You cannot
    resubmit a job if you may not see its environment variables. A copy waits for the jobs that the original
    still waits for, and for those of --after. A rejected copy does not stop the others; the exit code is
    then 3.
    """
    if new and len(names) > 1:
        raise click.UsageError("--name names one copy; with several jobs, leave it out.")
    wanted = [full_name(each, namespace) for each in names]
    if dry_run:
        how = "json" if output == "json" else "yaml"
        _, code = for_each(
            ctx,
            wanted,
            lambda hub, name: _copy(hub, name, new, after),
            lambda copy: dump(copy, how),
            "",
        )
        return code

    def tell(job: Job) -> None:
        if output == "text":
            print_taken(job)

    taken, code = for_each(
        ctx,
        wanted,
        lambda hub, name: _submit(hub, _copy(hub, name, new, after), may_rename=new is None),
        tell,
        "submitting",
    )
    if output != "text":
        dump({"items": [job.raw for job in taken]}, output)
    elif len(taken) == 1:
        suggest(taken[0])
    return code


def _copy(hub: Client, name: str, new: str | None, after: str) -> Json:
    """The copy of one job. Raises NotFound, and Rejected if it cannot be the same."""
    from shared import resubmitted

    job = hub.job(name)
    copy = resubmitted.copy_of(job.manifest, new or resubmitted.next_name(job.name))
    copy = waiting_for(resubmitted.waits_for(copy, _still_after(job, after)), after, job.namespace)
    if resubmitted.is_hidden(copy):
        why = "you may not see its environment variables, and a copy would run without them"
        problem = {"code": "EnvironmentHidden", "detail": f"{job.full_name}: {why}"}
        raise Rejected(403, problem)
    return copy


def _still_after(job: WholeJob, asked: str) -> list[str]:
    """Keep only dependencies that the original still waits for; report the others.

    Dependencies named again by --after are not reported.
    """
    anew = {each.partition(":")[0].rpartition("/")[2] for each in asked.split(", ")}
    left = [f"{each.name}:{each.condition}" for each in job.after if each.state == "Waiting"]
    past = [e.name for e in job.after if e.state != "Waiting" and e.name not in anew]
    if past:
        text = f"its copy does not wait for {', '.join(past)}; use --after to add dependencies"
        say(f"{job.full_name}: {text}", err=True)
    return left


def _submit(hub: Client, copy: Json, *, may_rename: bool) -> Job:
    """Submit it, with the next free name. Raises Rejected."""
    from shared.resubmitted import next_name

    for _ in range(_TRIES - 1 if may_rename else 0):
        try:
            return hub.submit(copy)
        except Rejected as no:
            if no.code not in {"AlreadyExists", "BeingDeleted"}:
                raise
        name = next_name(copy["metadata"]["name"])
        copy = {**copy, "metadata": {**copy["metadata"], "name": name}}
    return hub.submit(copy)
