"""Progress of long work, on a terminal's standard error; nothing without a terminal."""

import contextlib
import sys
from collections.abc import Callable, Iterator

import click

from roadstead.cli.tables import is_coloured
from roadstead.cli.visible import say


@contextlib.contextmanager
def progress(words: str, total: int) -> Iterator[Callable[[int], None]]:
    """Show the number of `total` that is done; the caller adds to it; the line disappears at the end.

    Messages (`say`) to the same terminal appear above it.
    """
    if total < 2 or not sys.stderr.isatty():
        yield lambda more: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
    )

    system = "standard" if is_coloured(sys.stderr) else None
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True, color_system=system),  # type: ignore[arg-type]  # of a literal
        transient=True,
        redirect_stdout=sys.stdout.isatty(),
    ) as bar:
        task = bar.add_task(words, total=total)
        yield lambda more: bar.advance(task, more)


def hint(*commands: str) -> None:
    """Print the suggested next command, only on a terminal's standard error."""
    if sys.stderr.isatty():
        ctx = click.get_current_context(silent=True)
        given = (ctx.find_root().obj if ctx else None) or {}
        if name := given.get("context"):
            own = f"roadstead --context {name} "
            commands = tuple(each.replace("roadstead ", own, 1) for each in commands)
        say(f"Next: {'  |  '.join(commands)}", err=True)
