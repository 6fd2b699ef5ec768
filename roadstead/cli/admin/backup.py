"""`roadstead admin backup` and `restore`."""

import dataclasses
import datetime as dt
from pathlib import Path

import click

from roadstead.cli.admin.store import database_option, telling
from roadstead.cli.output import answer_option, dump
from roadstead.cli.visible import say

_FILE = click.argument("file", type=click.Path(dir_okay=False, path_type=Path))


@click.command()
@_FILE
@database_option
@answer_option
def backup(file: Path, database: str, output: str) -> None:
    """Write the hub's database to FILE.

    The backup holds the database as of one instant and can be made while hubs run. The file is an SQLite
    database, whatever database the hub uses, and can be restored to either kind. It holds secrets: only its
    owner may read it. It does not contain the key that encrypts secrets.
    """
    with telling():
        from hub.admin import backup as taking

        made = taking.take(database, file, _now())
    if output != "text":
        dump({**dataclasses.asdict(made), "bytes": made.size}, output)
        return
    rows = f", {sum(made.rows.values())} rows" if made.rows else ""
    say(f"{made.file}: {made.size} bytes{rows}, of {made.source} at {made.revision}")


@click.command()
@_FILE
@database_option
@click.option("--replace", is_flag=True, help="Overwrite a database that holds a hub already.")
@click.option("--force", is_flag=True, help="PostgreSQL: ignore connections of dead hubs.")
@answer_option
def restore(file: Path, database: str, replace: bool, force: bool, output: str) -> None:
    """Restore FILE into a database.

    The file may be of an earlier release. All hubs must be stopped. Changes since the backup are lost, and
    members may run jobs of that time: the hub that starts on the restored database dispatches nothing until
    `roadstead restored --accept`. An existing SQLite file is kept beside the new one.
    """
    with telling():
        from hub.admin import restore as making

        done = making.restore(file, database, _now(), replace=replace, force=force)
    if output != "text":
        dump(dataclasses.asdict(done), output)
        return
    say(f"{done.where}: as of {done.backup.taken_at or 'an unknown time'}")
    if done.aside:
        say(f"Previous database: {done.aside}")
    say(f"Held until you check them: {done.held} jobs.")
    say("Start the hub, let the agents report, check the leftovers (roadstead restored), then")
    say("resume: roadstead restored --accept")


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)  # noqa: TID251 - when a person did it
