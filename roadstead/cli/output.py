"""How answers look: tables that fit the terminal, and -o json, yaml or wide for scripts."""

import datetime as dt
import json
import os
import shutil
import sys
import textwrap
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import click

from roadstead.client import Client
from roadstead.errors import Unreachable

Json = dict[str, Any]
UNLIMITED = 1_000_000
_MIN_WIDTH = 8
_GAP = "  "


@dataclass(frozen=True)
class Column:
    """One column: its heading, what it shows of a row, and whether only -o wide shows it."""

    title: str
    cell: Callable[[Json], Any]
    wide: bool = False
    shrinks: bool = False  # gives way first when the table is wider than the terminal
    wraps: bool = False  # goes on in the next line rather than being cut


def client(ctx: click.Context) -> Client:
    """The hub that the command's options, environment or data folder name."""
    given = ctx.find_root().obj or {}
    return Client(given.get("server"), given.get("token"))


def output_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add -o/--output to a list."""
    return _output_of(["table", "wide", "json", "yaml"], function)


def answer_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add -o/--output to what shows one thing or does something."""
    return _output_of(["text", "json", "yaml"], function)


def watch_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add -w/--watch."""
    return click.option(
        "-w", "--watch", is_flag=True, help="Print again every second until Ctrl-C."
    )(function)


def show_list(
    rows: Callable[[], Iterable[Json]],
    columns: Sequence[Column],
    output: str,
    *,
    watch: bool = False,
    empty: str = "Nothing here.",
) -> None:
    """Print what `rows` gives, once, or again every second (through restarts of the hub)."""
    try:
        _print_list(list(rows()), columns, output, empty, clear=watch)
        while watch:
            time.sleep(1)
            try:
                found = list(rows())
            except Unreachable as failure:
                click.echo(f"{failure}; trying again", err=True)
            else:
                _print_list(found, columns, output, empty, clear=True)
    except KeyboardInterrupt:
        if not watch:
            raise


def show_one(item: Json, output: str, text: Callable[[Json], str]) -> None:
    """Print one object: as JSON or YAML, or as `text` puts it."""
    if output in {"json", "yaml"}:
        dump(item, output)
    else:
        click.echo(text(item))


def dump(item: Any, output: str) -> None:
    """Print a value as JSON or YAML."""
    if output == "yaml":
        import yaml

        click.echo(yaml.safe_dump(item, sort_keys=False, allow_unicode=True), nl=False)
    else:
        click.echo(json.dumps(item, indent=2, ensure_ascii=False))


def table(rows: Sequence[Json], columns: Sequence[Column], *, width: int | None = None) -> str:
    """A table no wider than `width` (the terminal's, when there is one); what is cut ends in `…`."""
    cells = [[_text(column.cell(row)) for column in columns] for row in rows]
    widths = [
        max([len(column.title), *(len(line[i]) for line in cells)])
        for i, column in enumerate(columns)
    ]
    _shrink(widths, columns, width if width is not None else terminal_width())
    lines = [[column.title for column in columns]]
    for row in cells:
        lines += _lines(row, widths, columns)
    return "\n".join(
        _GAP.join(_fit(cell, w) for cell, w in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def wrapped(text: str, indent: str, width: int | None = None) -> list[str]:
    """A sentence as lines that fit the terminal, all but the first indented by two more."""
    limit = width if width is not None else terminal_width()
    return textwrap.wrap(
        text,
        max(limit, len(indent) + 20),
        initial_indent=indent,
        subsequent_indent=indent + "  ",
        break_long_words=False,
        break_on_hyphens=False,
    ) or [indent.rstrip()]


def terminal_width() -> int:
    """COLUMNS, else the terminal's width, else (a pipe, a file) no limit."""
    told = os.environ.get("COLUMNS", "")
    if told.isdigit() and int(told):
        return int(told)
    return shutil.get_terminal_size((80, 24)).columns if sys.stdout.isatty() else UNLIMITED


def age(stamp: str | None, *, now: dt.datetime | None = None) -> str:
    """`3m12s` since an RFC 3339 instant; empty for none."""
    if not stamp:
        return ""
    then = dt.datetime.fromisoformat(stamp)
    return span(((now or dt.datetime.now(dt.UTC)) - then).total_seconds())  # noqa: TID251 - shown only


def seconds_until(stamp: str) -> float:
    """Seconds from now to an RFC 3339 instant."""
    then = dt.datetime.fromisoformat(stamp)
    return (then - dt.datetime.now(dt.UTC)).total_seconds()  # noqa: TID251 - shown only


def span(seconds: float) -> str:
    """A duration in at most two units, as kubectl prints ages."""
    left = max(0, round(seconds))
    parts = []
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m"), (1, "s")):
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts[:2]) or "0s"


def moment(stamp: str | None) -> str:
    """An instant to the millisecond, `-` for none."""
    if not stamp:
        return "-"
    then = dt.datetime.fromisoformat(stamp).astimezone(dt.UTC)
    return then.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _output_of(choices: list[str], function: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "-o",
        "--output",
        type=click.Choice(choices),
        default=choices[0],
        show_default=True,
        help="How to print the answer.",
    )(function)


def _print_list(
    rows: list[Json], columns: Sequence[Column], output: str, empty: str, *, clear: bool
) -> None:
    if clear and output in {"table", "wide"} and sys.stdout.isatty():
        click.clear()
    if output in {"json", "yaml"}:
        dump({"items": rows}, output)
    elif not rows:
        click.echo(empty, err=True)
    else:
        shown = [c for c in columns if output == "wide" or not c.wide]
        click.echo(table(rows, shown, width=UNLIMITED if output == "wide" else None))
    sys.stdout.flush()


def _shrink(widths: list[int], columns: Sequence[Column], limit: int) -> None:
    for only_willing in (True, False):
        while sum(widths) + len(_GAP) * (len(widths) - 1) > limit:
            candidates = [
                i
                for i, column in enumerate(columns)
                if widths[i] > max(_MIN_WIDTH, len(column.title))
                and (column.shrinks or column.wraps or not only_willing)
            ]
            if not candidates:
                break
            widest = max(candidates, key=lambda i: widths[i])
            widths[widest] -= 1


def _lines(row: list[str], widths: list[int], columns: Sequence[Column]) -> list[list[str]]:
    """The lines of one row: several where a column wraps, the others blank below the first."""
    parts = [
        textwrap.wrap(cell, width, break_on_hyphens=False) or [""] if column.wraps else [cell]
        for cell, width, column in zip(row, widths, columns, strict=True)
    ]
    height = max(len(part) for part in parts)
    return [[part[i] if i < len(part) else "" for part in parts] for i in range(height)]


def _fit(text: str, width: int) -> str:
    return text.ljust(width) if len(text) <= width else text[: width - 1] + "…"


def _text(value: Any) -> str:
    if value is None or value == "":
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "".join(c if c.isprintable() else "?" for c in " ".join(str(value).split()))
