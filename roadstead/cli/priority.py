"""`roadstead jobs priority`: change the WorkloadPriorityClass of jobs that have not ended."""

from typing import Final

import click

from roadstead.cli.each import for_each
from roadstead.cli.examples import examples
from roadstead.cli.names import full_name
from roadstead.cli.output import answer_option, dump
from roadstead.cli.visible import say
from roadstead.models.jobs import WholeJob

NONE: Final = "-"


@examples(
    "roadstead jobs priority team-a/train urgent",
    "roadstead jobs priority team-a/train -",
)
@click.command("priority")
@click.argument("names", metavar="JOB...", nargs=-1, required=True)
@click.argument("named", metavar="CLASS")
@click.option("-n", "--namespace", metavar="NAME", help="Namespace of names without one.")
@answer_option
@click.pass_context
def priority(
    ctx: click.Context, names: tuple[str, ...], named: str, namespace: str | None, output: str
) -> int:
    """Set the WorkloadPriorityClass of jobs; `-` removes it.

    A waiting job moves to its new position at once; a job on a cluster stays there. Label a job from the
    hub cluster there. A rejected change does not stop the others; the exit code is then 3.
    """
    wanted = [full_name(each, namespace) for each in names]

    def tell(job: WholeJob) -> None:
        if output == "text":
            of = f" ({job.priority_class})" if job.priority_class else ""
            say(f"{job.full_name} has priority {job.priority}{of}")

    answered, code = for_each(
        ctx,
        wanted,
        lambda hub, name: hub.set_priority(name, "" if named == NONE else named),
        tell,
        "changing",
    )
    if output != "text":
        dump({"items": [each.raw for each in answered]}, output)
    return code
