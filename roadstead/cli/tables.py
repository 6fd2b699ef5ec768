"""Tables: as wide as the terminal, in colour there; plain and uncut in a pipe.

With a width limit, rich wraps, cuts and colours; it takes a tenth of a second to load, so a pipe, which
needs plain rows, does not use it.
"""

import io
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from roadstead.cli.visible import visible

UNLIMITED: Final = 1_000_000
_MIN_WIDTH: Final = 8
_GAP: Final = "  "
_STYLES: Final = {
    "green": ("Running", "Succeeded", "Ready", "True", "Admitted", "Available"),
    "yellow": (
        "Pending",
        "Held",
        "Reserved",
        "Withdrawing",
        "Cordoned",
        "Leaving",
        "Suspect",
        "Retry",
    ),
    "red": ("Failed", "Deactivated", "Unhealthy", "Fenced", "False", "Rejected", "Warning"),
    "dim": ("Cancelled", "Unknown", "Declared"),
}
_STYLE_OF: Final = {word: style for style, words in _STYLES.items() for word in words}


@dataclass(frozen=True)
class Column:
    """One column: its heading, its value for a row, and whether only -o wide shows it."""

    title: str
    cell: Callable[[Any], Any]
    wide: bool = False
    shrinks: bool = False  # gives way first when the table is wider than the terminal
    wraps: bool = False  # wraps to the next line instead of being cut
    coloured: bool = False  # by the word it shows, on a terminal
    usual: str | None = None  # shown (without -o wide) only where a row has another value


def shown_of(columns: Sequence[Column], rows: Sequence[Any], *, wide: bool) -> list[Column]:
    """The columns that are shown of these rows."""
    return [
        each
        for each in columns
        if wide
        or not (each.wide or (each.usual and all(each.cell(row) == each.usual for row in rows)))
    ]


def table(rows: Sequence[Any], columns: Sequence[Column], *, width: int | None = None) -> str:
    """A table no wider than `width` (the terminal's, if there is one); cut values end in `…`."""
    cells = [[_text(column.cell(row)) for column in columns] for row in rows]
    widths = [
        max([len(column.title), *(len(line[i]) for line in cells)])
        for i, column in enumerate(columns)
    ]
    limit = width if width is not None else terminal_width()
    if limit < UNLIMITED:
        _shrink(widths, columns, limit)
        return _rich(cells, columns, widths)
    lines = [[column.title for column in columns], *cells]
    return "\n".join(
        _GAP.join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def indented(rows: Sequence[Any], columns: Sequence[Column]) -> list[str]:
    """A table within a page, as lines."""
    width = max(40, terminal_width() - 2)
    return [f"  {line}" for line in table(rows, columns, width=width).split("\n")]


def wrapped(text: str, indent: str, width: int | None = None) -> list[str]:
    """Wrap a sentence to the terminal, with continuation lines indented by two more."""
    limit = width if width is not None else terminal_width()
    return textwrap.wrap(
        "\n".join(map(visible, text.split("\n"))),
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


def is_coloured(stream: Any) -> bool:
    """Return whether colour is allowed: a colour terminal, without NO_COLOR."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM", "dumb") == "dumb"
    return bool(stream.isatty()) and not plain


def _rich(cells: list[list[str]], columns: Sequence[Column], widths: list[int]) -> str:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    coloured = is_coloured(sys.stdout)
    grid = Table(box=None, pad_edge=False, padding=(0, len(_GAP), 0, 0), header_style="bold")
    for column, width in zip(columns, widths, strict=True):
        overflow = "fold" if column.wraps else "ellipsis"
        grid.add_column(
            column.title,
            width=width,
            no_wrap=not column.wraps,
            overflow=overflow,  # type: ignore[arg-type]  # of a literal
        )
    for line in cells:
        grid.add_row(
            *(
                Text(cell, _STYLE_OF.get(cell, "") if column.coloured else "")
                for cell, column in zip(line, columns, strict=True)
            )
        )
    drawn = io.StringIO()
    Console(
        file=drawn,
        width=sum(widths) + len(_GAP) * len(widths),
        color_system="standard" if coloured else None,
        force_terminal=coloured,
        legacy_windows=False,
    ).print(grid)
    return "\n".join(line.rstrip() for line in drawn.getvalue().splitlines())


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


def _text(value: Any) -> str:
    if value is None or value == "":
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "".join(c if c.isprintable() else "?" for c in " ".join(str(value).split()))
