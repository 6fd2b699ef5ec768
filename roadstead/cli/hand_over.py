"""`roadstead hand-over`: an object changes hands, from kubectl to REST or the other way round."""

import click

from roadstead.cli import kinds
from roadstead.cli.names import default_namespace
from roadstead.cli.output import client

_SAID = {
    "handed-over": "{what} is kept by {whom} from now on",
    "handing-over": "{what} goes to {whom}, within seconds",
    "unchanged": "{what} is kept by {whom} already",
}
_WHOM = {"rest": "REST", "hub-cluster": "kubectl on the hub cluster"}


@click.command("hand-over")
@click.argument("kind")
@click.argument("name")
@click.option("-n", "--namespace", metavar="NAME", help="Its namespace [default: the one set].")
@click.option(
    "--to",
    type=click.Choice(["rest", "hub-cluster"]),
    default="rest",
    show_default=True,
    help="Who keeps it.",
)
@click.pass_context
def hand_over(ctx: click.Context, kind: str, name: str, namespace: str | None, to: str) -> None:
    """Hand an object over to REST, or to the hub cluster.

    To REST: what kubectl made is changed by `roadstead` from now on; on the hub cluster it is shown,
    read-only. Jobs, queues, placements and members. To the hub cluster: queues, flavors and what else is
    Kueue's; kubectl changes them from now on.
    """
    with client(ctx) as hub:
        named = kinds.kind_of(hub, kind)
        within, slash, short = name.rpartition("/")
        inside = within if slash else namespace or default_namespace() or "default"
        if named.namespaced is False and not slash:
            inside = ""
        told = hub.hand_over(named.name, short, group=named.group, namespace=inside, to=to)
    what = f"{named.name} {inside}/{short}" if inside else f"{named.name} {short}"
    click.echo(_SAID[told.result].format(what=what, whom=_WHOM[to]))
