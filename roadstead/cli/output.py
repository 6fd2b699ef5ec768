"""Output formats: once or repeatedly, as a table or text, or as JSON or YAML for scripts."""

import datetime as dt
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, TypeVar

import click

from roadstead.cli.messages import plain
from roadstead.cli.tables import UNLIMITED, Column, is_coloured, shown_of, table
from roadstead.cli.visible import say, visible_json, visible_page, visible_yaml
from roadstead.client import Client
from roadstead.errors import Unreachable
from roadstead.models.record import Record

R = TypeVar("R", bound=Record)
Rows = Callable[[], Iterable[Record]]
_JSONPATH: Final = "jsonpath="


def client(ctx: click.Context) -> Client:
    """Connect to the hub that the command's options, environment, context or data folder name."""
    given = ctx.find_root().obj or {}
    # httpx has its own command, which loads rich: 50 ms that no other command needs.
    sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]  # None: there is no such module
    return Client(
        given.get("server"), given.get("token"), ca=given.get("ca"), context=given.get("context")
    )


class _How(click.Choice[str]):
    """One of several words, or `jsonpath=TEMPLATE`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if isinstance(value, str) and value.startswith(_JSONPATH):
            from roadstead.cli.jsonpath import check

            check(value.removeprefix(_JSONPATH))
            return value
        return super().convert(value, param, ctx)


def output_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add -o/--output to a list."""
    return _output_of(["table", "wide", "name", "json", "yaml", f"{_JSONPATH}TEMPLATE"], function)


def answer_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add -o/--output to what shows one thing or does something."""
    return _output_of(["text", "name", "json", "yaml", f"{_JSONPATH}TEMPLATE"], function)


def watch_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add -w/--watch."""
    return click.option("-w", "--watch", is_flag=True, help="Refresh every second until Ctrl-C.")(
        function
    )


def show_list(
    rows: Rows,
    columns: Sequence[Column],
    output: str,
    *,
    watch: bool = False,
    empty: str = "Nothing here.",
) -> None:
    """Print the result of `rows`, once, or again every second (through restarts of the hub)."""
    if not watch:
        _print_list(list(rows()), columns, output, empty)
        return
    try:
        if output in {"table", "wide"} and sys.stdout.isatty():
            _live(rows, columns, output, empty)
        else:
            _again(rows, columns, output, empty)
    except KeyboardInterrupt:
        return


def show_one(item: R, output: str, text: Callable[[R], str]) -> None:
    """Print one object: in a machine format, or formatted by `text`."""
    if is_data(output):
        dump(item.raw, output)
    else:
        say(visible_page(text(item)))


def is_data(output: str) -> bool:
    """Return whether the output is for programs."""
    return output not in {"text", "table", "wide"}


def dump(item: Any, output: str) -> None:
    """Print a value as JSON or YAML, only its names, or through a JSONPath template."""
    if output == "yaml":
        say(visible_yaml(item), nl=False)
    elif output == "name":
        for name in _names(item):
            say(name)
    elif output.startswith(_JSONPATH):
        from roadstead.cli.jsonpath import render

        drawn = render(output.removeprefix(_JSONPATH), item)
        if sys.stdout.isatty():  # a program is given what there is
            drawn = visible_page(drawn.replace("\x1b", "^["))
        click.echo(drawn, nl=not drawn.endswith("\n"))
    else:
        say(visible_json(json.dumps(item, indent=2, ensure_ascii=False)))


def dump_documents(items: Sequence[Any]) -> None:
    """Print values as the documents of one YAML stream."""
    for each in items:
        say("---")
        say(visible_yaml(each), nl=False)


def _names(item: Any) -> Iterator[str]:
    """`namespace/name` or name, as verbs accept them, of one object or of each item of a list."""
    found = item.get("items")
    for each in found if isinstance(found, list) else [item]:
        told = each.get("metadata") or each
        name, namespace = told.get("name"), told.get("namespace")
        if not name:
            raise click.UsageError("-o name: these objects have no names; use -o json.")
        yield plain(f"{namespace}/{name}" if namespace else str(name))


def instant_before(seconds: float) -> dt.datetime:
    """The instant this many seconds ago."""
    return dt.datetime.now(dt.UTC) - dt.timedelta(seconds=seconds)  # noqa: TID251 - what is listed


def terminal() -> Any:
    """Standard output as a rich console, with allowed colours."""
    from rich.console import Console

    system = "standard" if is_coloured(sys.stdout) else None
    return Console(color_system=system)  # type: ignore[arg-type]  # of a literal


def age(then: dt.datetime | None, *, now: dt.datetime | None = None) -> str:
    """`3m12s` since an instant; empty for none."""
    if then is None:
        return ""
    return span(((now or dt.datetime.now(dt.UTC)) - then).total_seconds())  # noqa: TID251 - shown only


def seconds_until(then: dt.datetime) -> float:
    """Seconds from now to an instant."""
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


def moment(then: dt.datetime | None) -> str:
    """An instant to the millisecond, `-` for none."""
    if then is None:
        return "-"
    return then.astimezone(dt.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def moment_of(stamp: str | None) -> str:
    """`moment` for a JSON value."""
    return moment(dt.datetime.fromisoformat(stamp) if stamp else None)


def _output_of(choices: list[str], function: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "-o",
        "--output",
        type=_How(choices),
        default=choices[0],
        show_default=True,
        help="Output format.",
    )(function)


def _print_list(found: list[Record], columns: Sequence[Column], output: str, empty: str) -> None:
    if is_data(output):
        dump({"items": [each.raw for each in found]}, output)
    elif not found:
        say(empty, err=True)
    else:
        say(_drawn(found, columns, output))
    sys.stdout.flush()


def _drawn(found: list[Record], columns: Sequence[Column], output: str) -> str:
    shown = shown_of(columns, found, wide=output == "wide")
    return table(found, shown, width=UNLIMITED if output == "wide" else None)


def _again(rows: Rows, columns: Sequence[Column], output: str, empty: str) -> None:
    """In a pipe: print the list again after each second."""
    _print_list(list(rows()), columns, output, empty)
    while True:
        time.sleep(1)
        try:
            _print_list(list(rows()), columns, output, empty)
        except Unreachable as failure:
            say(f"{failure}; retrying", err=True)


def _live(rows: Rows, columns: Sequence[Column], output: str, empty: str) -> None:
    """On a terminal: refresh the list in place; it stays when the watch ends."""
    from rich.console import Group
    from rich.live import Live
    from rich.text import Text

    shown, words = Text(""), Text("")
    with Live(console=terminal(), auto_refresh=False) as live:
        while True:
            try:
                found = list(rows())
            except Unreachable as failure:
                if not shown:
                    raise
                words = Text(f"{failure}; retrying", "red")
            else:
                shown = Text.from_ansi(_drawn(found, columns, output) if found else empty)
                shown.no_wrap = output == "wide"
                words = Text("")
            live.update(Group(shown, words) if words else shown, refresh=True)
            time.sleep(1)
