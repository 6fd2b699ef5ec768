"""How answers look: tables that fit the terminal, and -o json, yaml or wide for scripts."""

import datetime as dt
import json
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import click

from roadstead.client import Client

Json = dict[str, Any]
_MIN_WIDTH = 8
_GAP = "  "


@dataclass(frozen=True)
class Column:
    """One column: its heading, what it shows of a row, and whether only -o wide shows it."""

    title: str
    cell: Callable[[Json], Any]
    wide: bool = False
    shrinks: bool = False  # gives way first when the table is wider than the terminal


def client(ctx: click.Context) -> Client:
    """The hub that the command's options, environment or data folder name."""
    given = ctx.find_root().obj or {}
    return Client(given.get("server"), given.get("token"))


def output_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add -o/--output."""
    return click.option(
        "-o",
        "--output",
        type=click.Choice(["table", "wide", "json", "yaml"]),
        default="table",
        show_default=True,
        help="How to print the answer.",
    )(function)


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
    """Print what `rows` gives, once or again every second."""
    if not watch:
        _print_list(list(rows()), columns, output, empty)
        return
    try:
        while True:
            found = list(rows())
            if output in {"table", "wide"} and sys.stdout.isatty():
                click.clear()
            _print_list(found, columns, output, empty)
            time.sleep(1)
    except KeyboardInterrupt:
        return


def show_one(item: Json, output: str, text: Callable[[Json], str]) -> None:
    """Print one object: as JSON or YAML, or as `text` puts it."""
    if output in {"json", "yaml"}:
        _dump(item, output)
    else:
        click.echo(text(item))


def table(rows: Sequence[Json], columns: Sequence[Column], *, width: int | None = None) -> str:
    """A table no wider than `width` (the terminal's, when there is one)."""
    cells = [[_text(column.cell(row)) for column in columns] for row in rows]
    widths = [
        max([len(column.title), *(len(line[i]) for line in cells)])
        for i, column in enumerate(columns)
    ]
    _shrink(widths, columns, width if width is not None else _terminal_width())
    heading = [column.title for column in columns]
    return "\n".join(
        _GAP.join(_fit(cell, w) for cell, w in zip(line, widths, strict=True)).rstrip()
        for line in [heading, *cells]
    )


def age(stamp: str | None, *, now: dt.datetime | None = None) -> str:
    """`3m12s` since an RFC 3339 instant; empty for none."""
    if not stamp:
        return ""
    then = dt.datetime.fromisoformat(stamp)
    return span(((now or dt.datetime.now(dt.UTC)) - then).total_seconds())  # noqa: TID251 - shown only


def span(seconds: float) -> str:
    """A duration in at most two units, as kubectl prints ages."""
    left = max(0, round(seconds))
    parts = []
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m"), (1, "s")):
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts[:2]) or "0s"


def _print_list(rows: list[Json], columns: Sequence[Column], output: str, empty: str) -> None:
    if output in {"json", "yaml"}:
        _dump({"items": rows}, output)
    elif not rows:
        click.echo(empty, err=True)
    else:
        click.echo(table(rows, [c for c in columns if output == "wide" or not c.wide]))


def _dump(item: Any, output: str) -> None:
    if output == "yaml":
        import yaml

        click.echo(yaml.safe_dump(item, sort_keys=False, allow_unicode=True), nl=False)
    else:
        click.echo(json.dumps(item, indent=2, ensure_ascii=False))


def _terminal_width() -> int:
    return shutil.get_terminal_size((200, 24)).columns if sys.stdout.isatty() else 10_000


def _shrink(widths: list[int], columns: Sequence[Column], limit: int) -> None:
    for only_willing in (True, False):
        while sum(widths) + len(_GAP) * (len(widths) - 1) > limit:
            candidates = [
                i
                for i, column in enumerate(columns)
                if widths[i] > max(_MIN_WIDTH, len(column.title))
                and (column.shrinks or not only_willing)
            ]
            if not candidates:
                break
            widest = max(candidates, key=lambda i: widths[i])
            widths[widest] -= 1


def _fit(text: str, width: int) -> str:
    return text.ljust(width) if len(text) <= width else text[: width - 1] + "…"


def _text(value: Any) -> str:
    if value is None or value == "":
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return " ".join(str(value).split())
