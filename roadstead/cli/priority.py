"""`roadstead jobs priority`: another WorkloadPriorityClass for jobs that have not ended."""

from typing import Final

import click

from roadstead.cli.each import for_each
from roadstead.cli.examples import examples
from roadstead.cli.names import full_name
from roadstead.cli.output import answer_option, dump
from roadstead.cli.progress import say
from roadstead.models.jobs import WholeJob

NONE: Final = "-"


@examples(
    "roadstead jobs priority team-a/train urgent",
    "roadstead jobs priority team-a/train -",
)
@click.command("priority")
@click.argument("names", metavar="JOB...", nargs=-1, required=True)
@click.argument("named", metavar="CLASS")
@click.option("-n", "--namespace", metavar="NAME", help="For names without one.")
@answer_option
@click.pass_context
def priority(
    ctx: click.Context, names: tuple[str, ...], named: str, namespace: str | None, output: str
) -> int:
    """Give jobs another WorkloadPriorityClass; `-` is none.

    One that waits takes its new place in the line at once; one that is on a cluster stays there. What came
    from the hub cluster is labelled there. One that the hub refuses keeps none of the others back; the exit
    code is 3 then.
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
