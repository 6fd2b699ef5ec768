"""`roadstead drift`: what no longer is as the hub wants it."""

import click

from roadstead.cli.nouns import list_verb
from roadstead.cli.output import age
from roadstead.cli.tables import Column
from roadstead.client import Client

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
