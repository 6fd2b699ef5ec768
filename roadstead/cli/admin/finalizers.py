"""`roadstead admin release-finalizers`: before the hub is uninstalled."""

from pathlib import Path

import click

from roadstead.cli.admin.store import StoreRefused

NOT_ALL = 1


@click.command("release-finalizers")
@click.option(
    "--kubeconfig",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Of the hub cluster; none: that of this pod.",
)
@click.option("--yes", is_flag=True, help="Do it; without, the objects are only listed.")
def release_finalizers(kubeconfig: Path | None, yes: bool) -> int:
    """Let objects of the hub cluster go.

    Those that carry the hub's finalizer, once no hub runs any more. A hub that runs does so by
    itself, and would put it on again: stop it first. Jobs that members hold go on there; python -m
    agent.release lets those go. Exit code 1: not all could be let go.
    """
    from hub.admin import finalizers

    def say(one: finalizers.HeldObject) -> None:
        where = f"{one.namespace}/{one.name}" if one.namespace else one.name
        click.echo(f"{one.kind} {where}{f': {one.why}' if one.why else ''}", err=bool(one.why))

    try:
        found = finalizers.release(kubeconfig, do=yes, say=say)
    except finalizers.ClusterRefused as failure:
        raise StoreRefused(str(failure)) from failure
    refused = sum(bool(one.why) for one in found)
    if not found:
        click.echo("no object here carries the hub's finalizer")
    elif not yes:
        click.echo(f"held: {len(found)}; --yes lets them go")
    else:
        click.echo(f"let go: {len(found) - refused} of {len(found)}")
    return NOT_ALL if refused else 0
