"""How far long work is, on a terminal's standard error; nothing where that is none."""

import contextlib
import sys
from collections.abc import Callable, Iterator

import click

from roadstead.cli.tables import is_coloured
from roadstead.cli.visible import visible_page


@contextlib.contextmanager
def progress(words: str, total: int) -> Iterator[Callable[[int], None]]:
    """Shows that so many of `total` are done, while what is called with how many more; then is gone.

    What is said meanwhile (`say`) to the same terminal stands above it.
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


def say(text: str, *, err: bool = False) -> None:
    """Print a line while `progress` may be shown: through the streams as they stand then.

    What others wrote in it steers no terminal.
    """
    click.echo(visible_page(text), file=sys.stderr if err else sys.stdout)


def hint(*commands: str) -> None:
    """What to type next: for a person, on a terminal's standard error, and nowhere else."""
    if sys.stderr.isatty():
        ctx = click.get_current_context(silent=True)
        given = (ctx.find_root().obj if ctx else None) or {}
        if name := given.get("context"):
            own = f"roadstead --context {name} "
            commands = tuple(each.replace("roadstead ", own, 1) for each in commands)
        say(f"Next: {'  |  '.join(commands)}", err=True)
