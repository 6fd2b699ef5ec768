"""`roadstead drift`: what no longer is as the hub wants it."""

import click

from roadstead.cli.output import Column, age, client, output_option, show_list, watch_option

COLUMNS = [
    Column("CLUSTER", lambda d: d["cluster"], shrinks=True),
    Column("KIND", lambda d: d["kind"]),
    Column(
        "OBJECT", lambda d: "/".join(p for p in (d["namespace"], d["name"]) if p), shrinks=True
    ),
    Column("PATH", lambda d: d["path"], shrinks=True),
    Column("HUB", lambda d: d["hub"], shrinks=True),
    Column("MEMBER", lambda d: d["member"], shrinks=True),
    Column("SINCE", lambda d: age(d["firstSeen"])),
]


@click.group()
def drift() -> None:
    """Objects that no longer are as the hub wants them."""


@drift.command("ls")
@output_option
@watch_option
@click.pass_context
def list_drift(ctx: click.Context, output: str, watch: bool) -> None:
    """List drifted fields, with the hub's value and the member's."""
    with client(ctx) as hub:
        show_list(
            hub.drift,
            COLUMNS,
            output,
            watch=watch,
            empty="No drift: what the agents have reported is as declared.",
        )
