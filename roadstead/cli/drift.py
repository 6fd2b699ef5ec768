"""`roadstead drift`: list and settle drift."""

from collections.abc import Callable
from typing import Any

import click

from roadstead.cli import kinds
from roadstead.cli.names import default_namespace
from roadstead.cli.nouns import list_verb
from roadstead.cli.output import age, client
from roadstead.cli.tables import Column
from roadstead.cli.visible import say
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
    """Manage drift: fields that differ from the hub's manifests."""


drift.add_command(
    list_verb(
        Client.drift,
        COLUMNS,
        does="List drifted fields, with the hub's value and the member's.",
        empty="No drift: what the agents have reported is as declared.",
    )
)


_SAID = {
    "accept": "{what}: the hub now has the values of {cluster} ({paths})",
    "restore": "{what}: the hub's values are written to {cluster} again ({paths})",
    "ignore": "{what}: members keep {paths} from now on",
}
_DOES = {
    "accept": """Copy the member's values to the hub, for all members.

    Change an object that kubectl created with kubectl; the error names the command. The hub does not
    know the values of Secrets and of environment variables.
    """,
    "restore": """Write the hub's values to the member again.

    Also works if the placement ignores drift. Applies to this version of the object only: later drift
    follows whenToApply.
    """,
    "ignore": """Let members keep these fields permanently.

    Adds the fields to annotation roadstead.dev/ignore-drift of the hub's object. Change an object that
    kubectl created with kubectl; the error names the command.
    """,
}


def _verb(how: str) -> click.Command:
    def run(ctx: click.Context, cluster: str, what: str, namespace: str | None, path: str) -> None:
        kind, slash, name = what.partition("/")
        if not slash or not name:
            raise click.UsageError("name the object as KIND/NAME, as in configmap/settings")
        with client(ctx) as hub:
            named = kinds.kind_of(hub, kind)
            inside = (
                "" if named.namespaced is False else namespace or default_namespace() or "default"
            )
            told = hub.settle_drift(how, cluster, named.name, name, namespace=inside, path=path)
        place = f"{told.kind} {inside}/{name}" if inside else f"{told.kind} {name}"
        say(
            _SAID.get(told.result, told.result).format(
                what=place, cluster=cluster, paths=", ".join(told.paths)
            )
        )

    made: Callable[..., Any] = click.pass_context(run)
    for each in (
        click.option(
            "--path",
            default="",
            metavar="POINTER",
            help="One field [default: all drifted fields].",
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
