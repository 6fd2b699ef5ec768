"""`roadstead drift`: what no longer is as the hub wants it."""

from collections.abc import Callable
from typing import Any

import click

from roadstead.cli import kinds
from roadstead.cli.names import default_namespace
from roadstead.cli.nouns import list_verb
from roadstead.cli.output import age, client
from roadstead.cli.tables import Column
from roadstead.client import Client
from roadstead.models.placements import EnvelopeName


def _words(envelope: EnvelopeName | None) -> str:
    parts = (envelope.type, envelope.namespace, envelope.name) if envelope else ()
    return "/".join(each for each in parts if each)


COLUMNS = [
    Column("CLUSTER", lambda d: d.cluster, shrinks=True),
    Column("KIND", lambda d: d.kind),
    Column("OBJECT", lambda d: "/".join(p for p in (d.namespace, d.name) if p), shrinks=True),
    Column("PATH", lambda d: d.path, shrinks=True),
    Column("HUB", lambda d: d.hub, shrinks=True),
    Column("MEMBER", lambda d: d.member, shrinks=True),
    Column("SINCE", lambda d: age(d.first_seen)),
    Column("TOLD", lambda d: age(d.last_seen), wide=True),
    Column("GENERATION", lambda d: d.member_generation or "", wide=True),
    Column("ENVELOPE", lambda d: _words(d.envelope), wide=True),
]


@click.group()
def drift() -> None:
    """Objects that no longer are as the hub wants them."""


drift.add_command(
    list_verb(
        Client.drift,
        COLUMNS,
        does="List drifted fields, with the hub's value and the member's.",
        empty="No drift: what the agents have reported is as declared.",
    )
)


_SAID = {
    "accept": "{what}: the values of {cluster} are the hub's from now on ({paths})",
    "restore": "{what}: the hub's values are written in {cluster} once more ({paths})",
    "ignore": "{what}: {paths} are left to the members from now on",
}
_DOES = {
    "accept": """Make the member's values the hub's, for all members.

    What kubectl made is changed there; the refusal says by which command. Values of Secrets, and of
    environment variables, are not known to the hub.""",
    "restore": """Have the hub's values written in the member once more.

    Also where the placement leaves drift alone; of this version of the object alone: what drifts later is
    left as whenToApply says.""",
    "ignore": """Leave the fields to the members for good.

    They are put into annotation roadstead.dev/ignore-drift of the hub's object. What kubectl made is
    changed there; the refusal says by which command.""",
}


def _verb(how: str) -> click.Command:
    def run(ctx: click.Context, cluster: str, what: str, namespace: str | None, path: str) -> None:
        kind, slash, name = what.partition("/")
        if not slash or not name:
            raise click.UsageError("say what is meant as KIND/NAME, as in configmap/settings")
        with client(ctx) as hub:
            named = kinds.kind_of(hub, kind)
            inside = (
                "" if named.namespaced is False else namespace or default_namespace() or "default"
            )
            told = hub.settle_drift(how, cluster, named.name, name, namespace=inside, path=path)
        place = f"{told.kind} {inside}/{name}" if inside else f"{told.kind} {name}"
        click.echo(
            _SAID[told.result].format(what=place, cluster=cluster, paths=", ".join(told.paths))
        )

    made: Callable[..., Any] = click.pass_context(run)
    for each in (
        click.option(
            "--path", default="", metavar="POINTER", help="One field [default: all that drifted]."
        ),
        click.option(
            "-n", "--namespace", metavar="NAME", help="Its namespace [default: the one set]."
        ),
        click.argument("what", metavar="KIND/NAME"),
        click.argument("cluster"),
    ):
        made = each(made)
    return click.command(how, help=_DOES[how])(made)


for _how in _DOES:
    drift.add_command(_verb(_how))
