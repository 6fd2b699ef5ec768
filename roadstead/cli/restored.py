"""`roadstead restored`: whether the hub's store went back to an older copy, and how to go on from it."""

import click

from roadstead.cli.output import client

STOPPED = 1  # the exit code that a script waits to see gone


@click.command()
@click.option("--accept", is_flag=True, help="Go on from the restored state.")
@click.pass_context
def restored(ctx: click.Context, accept: bool) -> int:
    """Tell whether the hub has found its store to be an older copy, and go on from it.

    Until that is accepted nothing is dispatched. Afterwards jobs that waited are held, for they may have
    been started since: look for them with kubectl in the members, then release them. Jobs that members
    hold and that the hub has forgotten are left alone. Without --accept the exit code is 1 while the
    hub stands still for that, else 0.
    """
    with client(ctx) as hub:
        if accept:
            answer = hub.accept_restored()
            click.echo(f"going on under incarnation {answer['incarnation']}")
            click.echo("Jobs that waited are held (Restored): release those that run nowhere.")
            return 0
        stopped = [c for c in hub.overview()["conditions"] if c["type"] == "HubRolledBack"]
        for condition in stopped:
            click.echo(condition["message"])
        if not stopped:
            click.echo("The store is as the hub left it.")
        return STOPPED if stopped else 0
