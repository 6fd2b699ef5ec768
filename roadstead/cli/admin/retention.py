"""`roadstead admin retention`: retention times and sizes of the hub's tables."""

import click

from roadstead.cli.output import answer_option, client, dump, span
from roadstead.cli.tables import Column, table
from roadstead.cli.visible import say

_COLUMNS = [
    Column("TABLE", lambda row: row.table),
    Column("ROWS", lambda row: row.rows),
    Column("OLDEST", lambda row: row.oldest),
    Column("KEPT", lambda row: span(row.kept_seconds) if row.kept_seconds is not None else ""),
    Column("BOUND", lambda row: row.bound, shrinks=True),
]


@click.command()
@click.option("--run", is_flag=True, help="Delete expired rows now.")
@answer_option
@click.pass_context
def retention(ctx: click.Context, run: bool, output: str) -> None:
    """Show how long the hub keeps each table, and its size.

    The hub deletes expired rows continuously; its settings set the times.
    """
    with client(ctx) as hub:
        gone = hub.run_retention() if run else None
        told = hub.retention()
    if output != "text":
        dump({**told.raw, **({} if gone is None else gone.raw)}, output)
        return
    if gone is not None:
        done = ", ".join(f"{name} {count}" for name, count in gone.removed.items() if count)
        say(f"Deleted: {done or 'nothing'}\n")
    say(table(told.items, _COLUMNS))
