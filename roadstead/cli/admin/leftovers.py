"""Leftovers in members from before the store was restored, by `roadstead admin`.

`adopt` and `forget` decide about Jobs, `remove` and `abandon` about other objects.
"""

from typing import Any, Literal

import click

from roadstead.cli.output import answer_option, client, dump, is_data
from roadstead.cli.removals import lines_of
from roadstead.cli.visible import say
from roadstead.models.hub import DecidedObjects

_CLUSTER = click.option(
    "--cluster", metavar="NAME", default="", help="The member, if several have the Job."
)


@click.command()
@click.argument("uid")
@_CLUSTER
@click.option(
    "--owner", metavar="USER", default="", help="Owner of a job that the hub does not know."
)
@click.pass_context
def adopt(ctx: click.Context, uid: str, cluster: str, owner: str) -> None:
    """Continue a Job that a member has.

    The hub has the job as waiting or held, or not at all; `roadstead restored` lists them. The Job becomes
    the hub's job: its result there is the job's result, and its quota is charged.
    Members do not know the owners of jobs. A job that the hub does not know has no owner, and only an
    administrator may cancel it, unless --owner names one.
    """
    with client(ctx) as hub:
        done = hub.adopt_leftover(uid, cluster, owner)
    say(f"{done.uid} is now the Job in {done.cluster}, epoch {done.epoch}")


@click.command()
@click.argument("uid")
@_CLUSTER
@click.pass_context
def forget(ctx: click.Context, uid: str, cluster: str) -> None:
    """Make a member remove a Job that it has.

    The Job is from before the store was restored; the member stops it. The hub's own job of the same uid is
    not changed.
    """
    with client(ctx) as hub:
        done = hub.forget_leftover(uid, cluster)
    say(f"{done.cluster} removes {done.uid}, epoch {done.epoch}")


def _chosen(command: Any) -> Any:
    """Add what names the objects of a decision."""
    options = (
        click.argument("uid", metavar="[UID]", default="", required=False),
        click.option("--cluster", metavar="NAME", default="", help="Only those in this member."),
        click.option(
            "--namespace", "-n", metavar="NAME", default="", help="Only those in this namespace."
        ),
        click.option(
            "--placement",
            metavar="KIND/NAME",
            default="",
            help="Only those that this placement wrote, as ResourcePlacement/web.",
        ),
        click.option("--dry-run", is_flag=True, help="Show the effects; decide nothing."),
        answer_option,
        click.pass_context,
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.command()
@_chosen
def remove(ctx: click.Context, uid: str, output: str, **chosen: Any) -> int:
    """Remove objects that the hub has no work for.

    Objects other than Jobs, as `roadstead restored` lists them; UID is that of one object in its member. Name
    them by UID, --cluster, --namespace or --placement. An object that an agent created is deleted; one that
    was taken over is released: it stays, without Roadstead's marks. Works while a member is away.
    """
    return _decide(ctx, "remove", uid, output, chosen)


@click.command()
@_chosen
def abandon(ctx: click.Context, uid: str, output: str, **chosen: Any) -> int:
    """Leave objects without a work to their members.

    Objects other than Jobs, as `roadstead restored` lists them; UID is that of one object in its member. Name
    them by UID, --cluster, --namespace or --placement. They stay as they are, without Roadstead's marks and
    ownership. Works while a member is away.
    """
    return _decide(ctx, "abandon", uid, output, chosen)


def _decide(
    ctx: click.Context, how: Literal["remove", "abandon"], uid: str, output: str, chosen: Any
) -> int:
    with client(ctx) as hub:
        told = hub.decide_left_objects(how, object_uid=uid, **chosen)
    if is_data(output):
        dump(told.raw, output)
    else:
        _show(told)
    return 1 if told.refused else 0


def _show(told: DecidedObjects) -> None:
    decided = "decided" if told.carried_out else "would be decided"
    say(f"{told.count} object(s) {decided}: {told.decision}")
    for line in lines_of(told.members):
        say(line)
    for each in told.refused:
        say(f"  {each.message}")
    if told.more:
        say("More objects match: decide again once these are gone.")
