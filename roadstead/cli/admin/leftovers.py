"""`roadstead admin adopt` and `forget`: Jobs that members hold from before the store was restored."""

import click

from roadstead.cli.output import client

_CLUSTER = click.option("--cluster", metavar="NAME", default="", help="Where several hold it.")


@click.command()
@click.argument("uid")
@_CLUSTER
@click.pass_context
def adopt(ctx: click.Context, uid: str, cluster: str) -> None:
    """Take over a Job that a member holds.

    The hub has it as one that waits, or is held, or not at all; `roadstead restored` lists them. It
    is the job from then on: what becomes of it there becomes of the job, and its quota is charged.
    """
    with client(ctx) as hub:
        done = hub.adopt_leftover(uid, cluster)
    click.echo(f"{done.uid} is the Job that {done.cluster} holds, epoch {done.epoch}")


@click.command()
@click.argument("uid")
@_CLUSTER
@click.pass_context
def forget(ctx: click.Context, uid: str, cluster: str) -> None:
    """Have a member remove a Job that it holds.

    It is one from before the store was restored, and is stopped there. What the hub has of the same
    uid stays as it is.
    """
    with client(ctx) as hub:
        done = hub.forget_leftover(uid, cluster)
    click.echo(f"{done.cluster} removes {done.uid}, epoch {done.epoch}")
