"""`roadstead admin release-finalizers`: cleanup before the hub is uninstalled."""

from pathlib import Path

import click

from roadstead.cli.admin.store import StoreRefused
from roadstead.cli.visible import say

NOT_ALL = 1


@click.command("release-finalizers")
@click.option(
    "--kubeconfig",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Kubeconfig of the hub cluster [default: this pod's cluster].",
)
@click.option("--yes", is_flag=True, help="Release the objects; without it, only list them.")
def release_finalizers(kubeconfig: Path | None, yes: bool) -> int:
    """Remove the hub's finalizer from objects.

    Run this once no hub runs any more. A running hub removes its finalizers itself, and would add them
    again: stop it first. Jobs in members keep running; python -m agent.release releases those. Exit code 1:
    some objects could not be released.
    """
    from hub.admin import finalizers

    def tell(one: finalizers.HeldObject) -> None:
        where = f"{one.namespace}/{one.name}" if one.namespace else one.name
        say(f"{one.kind} {where}{f': {one.why}' if one.why else ''}", err=bool(one.why))

    try:
        found = finalizers.release(kubeconfig, do=yes, say=tell)
    except finalizers.ClusterRefused as failure:
        raise StoreRefused(str(failure)) from failure
    refused = sum(bool(one.why) for one in found)
    if not found:
        say("no object here has the hub's finalizer")
    elif not yes:
        say(f"held: {len(found)}; --yes releases them")
    else:
        say(f"released: {len(found) - refused} of {len(found)}")
    return NOT_ALL if refused else 0
