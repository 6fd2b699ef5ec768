"""`roadstead up`: a hub with simulated clusters and their agents, in the foreground."""

from pathlib import Path
from typing import Final

import click

from roadstead.cli.visible import say
from roadstead.context import default_data_dir

_DEFAULT_ADDRESS: Final = ("127.0.0.1", 8080)
_DEFAULT_MEMBERS: Final = "3"


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
    metavar="HOST:PORT",
    help="Listening address of the hub; port 0 picks and keeps a free one [default: as on this folder "
    "before, else 127.0.0.1:8080].",
)
@click.option(
    "--members",
    metavar="N|FILE",
    help="Number of simulated clusters, or a file that describes them [default: those of this folder, "
    "else 3].",
)
@click.option(
    "--pack", is_flag=True, help="All simulators and agents in one process, for large fleets."
)
@click.option(
    "--database",
    metavar="URL",
    envvar="ROADSTEAD_DATABASE",
    help="postgresql://USER@HOST/NAME instead of an SQLite file [ROADSTEAD_DATABASE].",
)
@click.option(
    "--replicas",
    default=1,
    show_default=True,
    type=click.IntRange(1, 9),
    help="Number of hubs; more than one needs --database.",
)
def up(
    data: Path | None,
    listen: str | None,
    members: str | None,
    pack: bool,
    database: str | None,
    replicas: int,
) -> None:
    """Run a whole fleet here until Ctrl-C.

    Prints `ready http://HOST:PORT` when everything answers. Restarted on the same folder, it resumes with
    the same members, on the same ports.
    """
    address = listen_address(listen) if listen else None
    if replicas > 1 and not database:
        raise click.UsageError(
            "--replicas: several hubs share a PostgreSQL database; name it with --database "
            "postgresql://USER@HOST/NAME."
        )
    folder = data or default_data_dir()
    from roadstead.cli import last_start
    from roadstead.cli.members import read_members

    last = last_start.read(folder)
    if members:
        described = read_members(members)
    elif last.names and not last.members:
        raise click.UsageError(
            f"{folder} was last used with the members {', '.join(last.names)}, and {last_start.FILE} in it "
            "does not say what they are: describe them with --members FILE."
        )
    else:
        described = last.members or read_members(_DEFAULT_MEMBERS)
    left = sorted(set(last.names) - {each.name for each in described})
    if left:
        say(
            f"not started: {', '.join(left)}, which were members on this folder; "
            "take them out with: roadstead clusters rm NAME",
            err=True,
        )
    from roadstead.cli.fleet import Fleet
    from roadstead.cli.foreground import run_until_signal

    host, port = last.host or _DEFAULT_ADDRESS[0], last.ports.get("hub") or _DEFAULT_ADDRESS[1]
    fleet = Fleet(
        folder,
        address or (host, port),
        described,
        packed=pack,
        replicas=replicas,
        database=database,
    )

    def ready() -> None:
        say(f"ready {fleet.server}")
        say(f"the page asks for the token in {folder / 'admin.token'}", err=True)

    run_until_signal(fleet, ready)
