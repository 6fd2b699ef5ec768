"""`roadstead up`: a hub with simulated clusters and their agents, in the foreground."""

from pathlib import Path

import click

from roadstead.context import default_data_dir


def listen_address(text: str) -> tuple[str, int]:
    """`HOST:PORT`; port 0 takes a free one. Raises click.UsageError."""
    host, _, port = text.rpartition(":")
    if not host or not (port.isascii() and port.isdigit()) or int(port) > 65535:
        raise click.UsageError(f"--listen {text}: expected HOST:PORT, such as 127.0.0.1:8080.")
    return host, int(port)


@click.command()
@click.option(
    "--data",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Folder for all data [ROADSTEAD_DATA, else ~/.roadstead].",
)
@click.option(
    "--listen",
    default="127.0.0.1:8080",
    show_default=True,
    metavar="HOST:PORT",
    help="Where the hub listens; port 0 takes a free one, and keeps it.",
)
@click.option(
    "--members",
    default="3",
    show_default=True,
    metavar="N|FILE",
    help="How many simulated clusters, or a file that describes them.",
)
@click.option(
    "--pack", is_flag=True, help="All simulators and agents in one process, for large fleets."
)
@click.option(
    "--database",
    metavar="URL",
    envvar="ROADSTEAD_DATABASE",
    help="postgresql://USER@HOST/NAME instead of a file of SQLite's [ROADSTEAD_DATABASE].",
)
@click.option(
    "--replicas",
    default=1,
    show_default=True,
    type=click.IntRange(1, 9),
    help="How many hubs; more than one need --database.",
)
def up(
    data: Path | None,
    listen: str,
    members: str,
    pack: bool,
    database: str | None,
    replicas: int,
) -> None:
    """Run a whole fleet here until Ctrl-C.

    Prints `ready http://HOST:PORT` when everything answers. Started again on the same folder, it
    goes on where it stopped.
    """
    address = listen_address(listen)
    if replicas > 1 and not database:
        raise click.UsageError(
            "--replicas: several hubs share a database of PostgreSQL; name it with "
            "--database postgresql://USER@HOST/NAME."
        )
    from roadstead.cli.members import read_members

    described = read_members(members)
    from roadstead.cli.fleet import Fleet
    from roadstead.cli.foreground import run_until_signal

    fleet = Fleet(
        data or default_data_dir(),
        address,
        described,
        packed=pack,
        replicas=replicas,
        database=database,
    )

    def ready() -> None:
        click.echo(f"ready {fleet.server}")

    run_until_signal(fleet, ready)
