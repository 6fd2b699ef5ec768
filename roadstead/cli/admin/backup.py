"""`roadstead admin backup` and `restore`."""

import dataclasses
import datetime as dt
from pathlib import Path

import click

from roadstead.cli.admin.store import database_option, telling
from roadstead.cli.output import answer_option, dump

_FILE = click.argument("file", type=click.Path(dir_okay=False, path_type=Path))


@click.command()
@_FILE
@database_option
@answer_option
def backup(file: Path, database: str, output: str) -> None:
    """Write the hub's database to FILE.

    As it is at one instant, while hubs run on it. The file is a database of SQLite, whichever the
    hub's own is, and can be restored to either. It holds secrets: only its owner may read it. The
    key that secrets are encrypted with is not in it.
    """
    with telling():
        from hub.admin import backup as taking

        made = taking.take(database, file, _now())
    if output != "text":
        dump({**dataclasses.asdict(made), "bytes": made.size}, output)
        return
    rows = f", {sum(made.rows.values())} rows" if made.rows else ""
    click.echo(f"{made.file}: {made.size} bytes{rows}, of {made.source} at {made.revision}")


@click.command()
@_FILE
@database_option
@click.option("--replace", is_flag=True, help="Although the database holds a hub already.")
@click.option(
    "--force", is_flag=True, help="PostgreSQL: although hubs are connected that are dead."
)
@answer_option
def restore(file: Path, database: str, replace: bool, force: bool, output: str) -> None:
    """Make a database what FILE holds.

    The file may be of an earlier release. All hubs must be stopped. What was committed since the
    backup is lost, and members may run jobs of that time: the hub that starts on it dispatches
    nothing until `roadstead restored --accept`. A file of SQLite that was there before is kept
    beside.
    """
    with telling():
        from hub.admin import restore as making

        done = making.restore(file, database, _now(), replace=replace, force=force)
    if output != "text":
        dump(dataclasses.asdict(done), output)
        return
    click.echo(f"{done.where}: as of {done.backup.taken_at or 'an unknown time'}")
    if done.aside:
        click.echo(f"What was there before: {done.aside}")
    click.echo(f"Held until somebody has looked at them: {done.held} jobs.")
    click.echo(
        "Start the hub, let the agents report, look at what is left (roadstead restored), then"
    )
    click.echo("go on: roadstead restored --accept")


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)  # noqa: TID251 - when a person did it
