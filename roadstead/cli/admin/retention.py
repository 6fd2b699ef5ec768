"""`roadstead admin retention`: what is kept how long, and how much of it there is."""

import click

from roadstead.cli.output import answer_option, client, dump, span
from roadstead.cli.tables import Column, table

_COLUMNS = [
    Column("TABLE", lambda row: row.table),
    Column("ROWS", lambda row: row.rows),
    Column("OLDEST", lambda row: row.oldest),
    Column("KEPT", lambda row: span(row.kept_seconds) if row.kept_seconds is not None else ""),
    Column("BOUND", lambda row: row.bound, shrinks=True),
]


@click.command()
@click.option("--run", is_flag=True, help="Take away now what has been kept long enough.")
@answer_option
@click.pass_context
def retention(ctx: click.Context, run: bool, output: str) -> None:
    """Show what the hub keeps, and how long.

    Table by table, and how much that is. The hub takes old rows away by itself, all the time;
    its settings say when.
    """
    with client(ctx) as hub:
        gone = hub.run_retention() if run else None
        told = hub.retention()
    if output != "text":
        dump({**told.raw, **({} if gone is None else gone.raw)}, output)
        return
    if gone is not None:
        done = ", ".join(f"{name} {count}" for name, count in gone.removed.items() if count)
        click.echo(f"Taken away: {done or 'nothing'}\n")
    click.echo(table(told.items, _COLUMNS))
