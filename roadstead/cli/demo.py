"""`roadstead demo`: a fleet on this machine runs the guide's jobs, a gang of 16 GPUs and a GPU job."""

import shutil
import tempfile
from pathlib import Path

import click

from roadstead.cli.up import listen_address


@click.command()
@click.option("--exit", "exit_", is_flag=True, help="Exit when all jobs have ended.")
@click.option(
    "--listen",
    default="127.0.0.1:0",
    show_default=True,
    metavar="HOST:PORT",
    help="Listening address of the hub; port 0 picks a free one.",
)
@click.option(
    "--members",
    default="3",
    show_default=True,
    metavar="N|FILE",
    help="Number of simulated clusters, or a file that describes them.",
)
@click.option(
    "--data",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Keep the data in this folder [a temporary one, removed at the end].",
)
def demo(exit_: bool, listen: str, members: str, data: Path | None) -> int:
    """Start hub, hub cluster, three different members and agents, and run the guide on them.

    Stays up until Ctrl-C; with --exit it exits when the jobs have ended, with 0 if every job succeeded.
    """
    address = listen_address(listen)
    from roadstead.cli.members import read_members

    described = read_members(members)
    from roadstead.cli.fleet import Fleet
    from roadstead.cli.foreground import run_beside
    from roadstead.cli.story import Story

    folder = data or Path(tempfile.mkdtemp(prefix="roadstead-demo-"))
    try:
        fleet = Fleet(folder, address, described)
        code = run_beside(fleet, Story(fleet, stay=not exit_).run)
    finally:
        if data is None:
            shutil.rmtree(folder, ignore_errors=True)
    if code is None:
        raise click.Abort
    return code
