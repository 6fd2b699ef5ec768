"""Examples at the end of a verb's help, verbatim."""

import inspect
from collections.abc import Callable
from typing import TypeVar

import click

C = TypeVar("C", bound=click.Command)


def examples(*lines: str) -> Callable[[C], C]:
    """Add `lines` to the help of a command."""

    def add(command: C) -> C:
        listed = "\n".join(f"  {line}" for line in lines)
        words = inspect.cleandoc(command.help or "")
        command.help = f"{words}\n\n\b\nExamples:\n{listed}"  # \b: no line is filled up
        return command

    return add
