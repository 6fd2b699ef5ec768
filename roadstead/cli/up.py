"""`roadstead up`: a hub with simulated clusters and their agents, in the foreground."""

import asyncio
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import click

from roadstead.cli.members import read_members
from roadstead.context import default_data_dir

if TYPE_CHECKING:
    from roadstead.cli.fleet import Fleet


def listen_address(text: str) -> tuple[str, int]:
    """`HOST:PORT`; port 0 takes a free one. Raises click.UsageError."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65535:
        raise click.UsageError(f"--listen {text}: expected HOST:PORT, such as 127.0.0.1:8080.")
    return host, int(port)


@click.command()
@click.option(
    "--data",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for all data [ROADSTEAD_DATA, else ~/.roadstead].",
)
@click.option("--listen", default="127.0.0.1:8080", show_default=True, metavar="HOST:PORT")
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
def up(data: Path | None, listen: str, members: str, pack: bool) -> None:
    """Run a whole fleet here until Ctrl-C.

    Prints `ready http://HOST:PORT` when everything answers. Started again on the same folder, it
    goes on where it stopped.
    """
    from roadstead.cli.fleet import Fleet

    fleet = Fleet(
        data or default_data_dir(), listen_address(listen), read_members(members), packed=pack
    )
    asyncio.run(_run(fleet))


async def _run(fleet: "Fleet") -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    starting = asyncio.create_task(fleet.start())
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({starting, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if starting.done():
            starting.result()
            click.echo(f"ready {fleet.server}")
            await stopping
    finally:
        starting.cancel()
        stopping.cancel()
        await fleet.stop()
