"""`roadstead admin migrate`: the schema of a hub's database."""

import dataclasses
from typing import TYPE_CHECKING

import click

from roadstead.cli.admin.store import database_option, telling
from roadstead.cli.output import answer_option, dump
from roadstead.cli.visible import say

if TYPE_CHECKING:
    from hub.admin.migrate import Schema

NOT_USABLE = 1  # the exit code of --check where a hub of this release does not run on it as it is
_STATES = {
    "current": "current for this release",
    "behind": "older than this release needs",
    "empty": "empty",
    "newer": "of a newer release, with which this one cannot run",
    "newer-compatible": "of a newer release; hubs of this release can run on it",
    "altered": "different from what its revision says",
}


@click.command()
@database_option
@click.option(
    "--check", is_flag=True, help="Check only; exit code 1 unless this release can run on it."
)
@click.option("--down", metavar="REVISION", help="Downgrade, for the release of that revision.")
@answer_option
def migrate(database: str, check: bool, down: str | None, output: str) -> int:
    """Upgrade or downgrade the schema of a database.

    A hub migrates when it starts, unless it is started with --no-migrate. Nothing changes while hubs run
    that could not continue: with PostgreSQL, hubs of the previous release keep running on an expanded
    schema; --down and SQLite need the hub stopped.
    """
    if check and down:
        raise click.UsageError("--check and --down are mutually exclusive.")
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
        say(f"{found.where}: from {before or 'nothing'} to {found.found}")
    else:
        say(f"{found.where}: at {found.found or 'no revision'}, {_STATES[found.state]}")
    if found.state != "current":
        say(f"This release needs {found.needed}.")
    if found.differing:
        say(found.differing)
    if found.beside:
        say(f"Hubs of these revisions can run on it too: {', '.join(found.beside)}")
    if found.hubs:
        told = ", ".join(each or "of an earlier release" for each in found.hubs)
        say(f"Hubs on it now: {told}")
