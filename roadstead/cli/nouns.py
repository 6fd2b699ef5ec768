"""The verbs of every noun: `ls`, a list, and `show`, one object."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import click

from roadstead.cli.absent import refuse_absent
from roadstead.cli.examples import examples
from roadstead.cli.names import beside_the_list
from roadstead.cli.output import (
    answer_option,
    client,
    output_option,
    show_list,
    show_one,
    watch_option,
)
from roadstead.cli.tables import Column
from roadstead.models.record import Record

R = TypeVar("R", bound=Record)
Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def list_verb(
    rows: Callable[..., Iterable[Record]],
    columns: Sequence[Column],
    *,
    does: str,
    empty: str,
    no_match: str = "",
    options: Sequence[Decorator] = (),
    name: str = "ls",
    may_watch: bool = True,
    shows: Sequence[str] = (),
) -> click.Command:
    """Build a command that lists the result of `rows`, called with a hub and the values of `options`.

    An empty list prints `empty`; with options, `no_match` (default: `empty`), or that the named object does
    not exist. `shows` are examples for its help.
    """

    def run(ctx: click.Context, /, output: str, *, watch: bool = False, **given: Any) -> None:
        narrowed = any(
            value for key, value in given.items() if key not in {"limit", "offset", "sort"}
        )
        with client(ctx) as hub:

            def found() -> list[Record]:
                answered = list(rows(hub, **given))
                if not answered and not watch:
                    refuse_absent(hub, given)
                return answered

            words = ((narrowed and no_match) or empty).format(**given)
            if "all_namespaces" in given:
                everywhere = bool(given["all_namespaces"])
                words += beside_the_list(given.get("namespace"), everywhere=everywhere)
            show_list(found, columns, output, watch=watch, empty=words)

    made: Callable[..., Any] = click.pass_context(run)
    for each in (*([watch_option] if may_watch else []), output_option, *reversed(options)):
        made = each(made)
    command = click.command(name, help=does)(made)
    return examples(*shows)(command) if shows else command


def show_verb(
    find: Callable[..., R], text: Callable[[R], str], *, does: str, metavar: str = "NAME"
) -> click.Command:
    """Build a command that shows one object, found by `find` by its name and formatted by `text`."""

    def run(ctx: click.Context, /, output: str, name: str) -> None:
        with client(ctx) as hub:
            found = find(hub, name)
        show_one(found, output, text)

    made: Callable[..., Any] = answer_option(click.pass_context(run))
    return click.command("show", help=does)(click.argument("name", metavar=metavar)(made))
