"""`roadstead logs`: what the pods of a job write, wherever it runs."""

import re
import sys
import zlib
from typing import Any, Final

import click

from roadstead.cli.names import full_name
from roadstead.cli.output import client
from roadstead.cli.tables import is_coloured
from roadstead.cli.visible import visible
from roadstead.errors import RoadsteadError, TimedOut, Unreachable
from roadstead.models.pods import LogEnd, LogRecord

_ENDED: Final = "Ended"
_LONGEST: Final = "LongestReached"
_COLOURS: Final = ("cyan", "green", "yellow", "magenta", "blue", "bright_cyan", "bright_green")
_SPAN: Final = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?")
_UNITS: Final = (86400, 3600, 60, 1)


def _seconds(_ctx: click.Context, _option: click.Parameter, given: str | None) -> int | None:
    """`90`, `45s`, `10m` or `1h30m` as seconds."""
    if given is None:
        return None
    found = _SPAN.fullmatch(f"{given}s" if given.isdecimal() else given)
    if not given or found is None or len(given) > 12:
        raise click.BadParameter(f"{given!r} is no time: 45s, 10m, 1h30m.")
    return sum(int(n or 0) * unit for n, unit in zip(found.groups(), _UNITS, strict=True))


@click.command()
@click.argument("job")
@click.option("-f", "--follow", is_flag=True, help="Go on with what is written, to the job's end.")
@click.option("--pod", metavar="NAME", help="Only this pod.")
@click.option("-c", "--container", metavar="NAME", help="Only this container; else all.")
@click.option("-p", "--previous", is_flag=True, help="Of the run before the last restart.")
@click.option("--since", callback=_seconds, metavar="TIME", help="Only the last 45s, 10m, 1h30m.")
@click.option(
    "--tail", type=click.IntRange(0), metavar="N", help="Only the last N lines of each container."
)
@click.option("--timestamps", is_flag=True, help="When each line was written.")
@click.option(
    "--prefix/--no-prefix", default=True, help="Pod and container before each line (default)."
)
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Lines, or a JSON object a line.",
)
@click.pass_context
def logs(ctx: click.Context, /, job: str, output: str, *, prefix: bool, **asked: Any) -> None:
    """Show what the pods of a job write, wherever it runs: its uid, or namespace/name.

    Lines of a container come in order, those of several as they come. Control characters in them are
    shown, and do nothing. Logs can be read until the cluster removes the pods.
    """
    asked["since_s"] = asked.pop("since")
    end: LogEnd | None = None
    show = _Shown(prefix=prefix, timestamps=asked["timestamps"])
    with client(ctx) as hub, hub.logs(hub.job(full_name(job, None)), **asked) as stream:
        for record in stream:
            end = record.end or end
            if output == "json":
                import json

                click.echo(json.dumps(record.raw, ensure_ascii=True))
            elif record.end is None:
                show(record)
            sys.stdout.flush()
    if failure := _failure(end):
        raise failure


class _Shown:
    """Prints records as lines."""

    def __init__(self, *, prefix: bool, timestamps: bool) -> None:
        self._prefix, self._timestamps = prefix, timestamps
        self._coloured = is_coloured(sys.stdout)

    def __call__(self, record: LogRecord) -> None:
        if record.note:
            words = f"{record.pod} {record.container} {record.note}"
            click.echo(self._styled(visible(words), dim=True), err=True)
            return
        parts = []
        if self._prefix:
            name = visible(f"{record.pod} {record.container}")
            colour = _COLOURS[zlib.crc32(record.pod.encode()) % len(_COLOURS)]
            parts.append(self._styled(name, fg=colour))
        if self._timestamps:
            parts.append(visible(str(record.raw.get("time") or "-")))
        parts.append(visible(record.line) + (" … (cut)" if record.cut else ""))
        click.echo(" ".join(parts))

    def _styled(self, text: str, **style: Any) -> str:
        return click.style(text, **style) if self._coloured else text


def _failure(end: LogEnd | None) -> RoadsteadError | None:
    """What a stream that did not come to its end is, as an error."""
    if end is None:
        return Unreachable("the stream broke off; ask again, with --since", answered=True)
    if end.code == _ENDED:
        return None
    words = f"{visible(end.message or end.code)} [{visible(end.code)}]"
    return TimedOut(words) if end.code == _LONGEST else Unreachable(words, answered=True)
