"""`roadstead hand-over`: transfer an object from kubectl to REST or the other way round."""

import click

from roadstead.cli import kinds
from roadstead.cli.names import default_namespace
from roadstead.cli.output import client
from roadstead.cli.visible import say

_SAID = {
    "handed-over": "{what} now belongs to {whom}",
    "handing-over": "{what} moves to {whom} within seconds",
    "unchanged": "{what} belongs to {whom} already",
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
    help="The new owner.",
)
@click.pass_context
def hand_over(ctx: click.Context, kind: str, name: str, namespace: str | None, to: str) -> None:
    """Hand an object over to REST, or to the hub cluster.

    To REST: change the object with `roadstead` from now on; the hub cluster shows it read-only. Works for
    Jobs, queues, placements and members. To the hub cluster: works for queues, flavors and other kinds of
    Kueue; change them with kubectl from now on.
    """
    with client(ctx) as hub:
        named = kinds.kind_of(hub, kind)
        within, slash, short = name.rpartition("/")
        inside = within if slash else namespace or default_namespace() or "default"
        if named.namespaced is False and not slash:
            inside = ""
        told = hub.hand_over(named.name, short, group=named.group, namespace=inside, to=to)
    what = f"{named.name} {inside}/{short}" if inside else f"{named.name} {short}"
    words = _SAID.get(told.result, "{what}: {result}")  # of a later hub
    say(words.format(what=what, whom=_WHOM[to], result=told.result))
