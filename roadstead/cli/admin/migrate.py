"""`roadstead admin migrate`: the schema of a hub's database."""

import dataclasses
from typing import TYPE_CHECKING

import click

from roadstead.cli.admin.store import database_option, telling
from roadstead.cli.output import answer_option, dump

if TYPE_CHECKING:
    from hub.admin.migrate import Schema

NOT_USABLE = 1  # the exit code of --check where a hub of this release does not run on it as it is
_STATES = {
    "current": "as this release needs it",
    "behind": "older than this release needs it",
    "empty": "empty",
    "newer": "of a newer release, beside which this one does not run",
    "newer-compatible": "of a newer release; hubs of this one run on it",
    "altered": "not what its revision says",
}


@click.command()
@database_option
@click.option(
    "--check", is_flag=True, help="Look only; exit code 1 unless this release runs on it."
)
@click.option("--down", metavar="REVISION", help="Take it back, for the release of that revision.")
@answer_option
def migrate(database: str, check: bool, down: str | None, output: str) -> int:
    """Bring a database to this release's schema.

    Or take it back. A hub does the first itself when it starts, unless it is started with --no-
    migrate. Nothing is changed while hubs run that could not go on: with PostgreSQL, hubs of the
    release before go on beside a schema that was only expanded; --down and SQLite need the hub
    stopped.
    """
    if check and down:
        raise click.UsageError("--check and --down exclude each other.")
    with telling():
        from hub.admin import migrate as schema

        if check:
            found = schema.check(database)
            _show(found, found.found, output)
            return 0 if found.usable else NOT_USABLE
        before, found = schema.down(database, down) if down else schema.up(database)
    _show(found, before, output)
    return 0


def _show(found: "Schema", before: str, output: str) -> None:
    if output != "text":
        dump({**dataclasses.asdict(found), "before": before}, output)
        return
    if before != found.found:
        click.echo(f"{found.where}: from {before or 'nothing'} to {found.found}")
    else:
        click.echo(f"{found.where}: at {found.found or 'no revision'}, {_STATES[found.state]}")
    if found.state != "current":
        click.echo(f"This release needs {found.needed}.")
    if found.differing:
        click.echo(found.differing)
    if found.beside:
        click.echo(f"Hubs of these revisions may run on it too: {', '.join(found.beside)}")
    if found.hubs:
        told = ", ".join(each or "of an earlier release" for each in found.hubs)
        click.echo(f"Hubs on it now: {told}")
