"""`roadstead logs`: output of a job's pods, wherever it runs."""

import queue
import sys
import threading
import zlib
from typing import Any, Final

import click

from roadstead.cli.job_filters import matching, namespace_of
from roadstead.cli.log_following import Followed
from roadstead.cli.names import full_name
from roadstead.cli.output import client
from roadstead.cli.run.amounts import seconds
from roadstead.cli.tables import is_coloured
from roadstead.cli.visible import say, visible
from roadstead.client import Client
from roadstead.errors import RoadsteadError
from roadstead.models.jobs import Job
from roadstead.models.pods import LogRecord

MOST_JOBS: Final = 10  # whose logs are read at a time
_COLOURS: Final = ("cyan", "green", "yellow", "magenta", "blue", "bright_cyan", "bright_green")


@click.command()
@click.argument("job", required=False)
@click.option("-f", "--follow", is_flag=True, help="Follow new lines until the job ends.")
@click.option("--pod", metavar="NAME", help="Only this pod.")
@click.option("-c", "--container", metavar="NAME", help="Only this container [default: all].")
@click.option("-p", "--previous", is_flag=True, help="Logs of the run before the last restart.")
@click.option(
    "--since", callback=seconds, metavar="TIME", help="Only lines of the last 45s, 10m, 1h30m."
)
@click.option(
    "--tail", type=click.IntRange(0), metavar="N", help="Only the last N lines of each container."
)
@click.option("--timestamps", is_flag=True, help="Print the time of each line.")
@click.option(
    "--prefix/--no-prefix",
    default=True,
    help="Print pod and container before each line (default).",
)
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Print lines, or one JSON object per line.",
)
@click.option(
    "--wait/--no-wait",
    "patient",
    default=True,
    help="With -f: wait for a job that has not started, and resume an interrupted stream (default).",
)
@click.option(
    "-l",
    "--selector",
    metavar="SELECTOR",
    help=f"Of all jobs with these labels, {MOST_JOBS} at most: a=b,c!=d.",
)
@click.option(
    "-n", "--namespace", metavar="NAME", help="Namespace of a name without one, and of -l."
)
@click.pass_context
def logs(
    ctx: click.Context,
    /,
    job: str | None,
    output: str,
    selector: str | None,
    namespace: str | None,
    *,
    prefix: bool,
    patient: bool,
    **asked: Any,
) -> None:
    """Show the output of a job's pods, wherever it runs: its uid, its name, or namespace/name.

    Lines of one container come in order; lines of several are interleaved as they arrive. Control
    characters are escaped. With -f the log continues through restarts of the hub, and if the job runs again
    elsewhere. Logs are available until the cluster removes the pods.
    """
    if bool(job) == bool(selector):
        raise click.UsageError("name a job, or several with -l.")
    asked["since_s"] = asked.pop("since")
    show = _Shown(output, prefix=prefix, timestamps=asked["timestamps"])
    with client(ctx) as hub:
        found = [hub.job(full_name(job, namespace))] if job else _chosen(hub, selector, namespace)
        read = [Followed(hub, each, asked, show, show.say, patient=patient) for each in found]
        if job:
            read[0].run()
        elif asked["follow"]:
            _side_by_side(read, show)
        else:
            _one_by_one(read, show)


def _chosen(hub: Client, selector: str | None, namespace: str | None) -> list[Job]:
    """Find the jobs of a selector, oldest first. Raises click.UsageError if there are too many."""
    space = namespace_of(namespace, everywhere=False)
    found = list(matching(hub, namespace=space, selector=selector, limit=MOST_JOBS + 1))
    if len(found) > MOST_JOBS:
        raise click.UsageError(
            f"-l {selector} finds more than {MOST_JOBS} jobs; name fewer of them, "
            "or one after the other: roadstead jobs ls -l … -o name"
        )
    if not found:
        say("No jobs.", err=True)
    return found[::-1]


def _one_by_one(read: list[Followed], show: "_Shown") -> None:
    """Read logs of jobs one by one; an error of one job is printed and does not stop the others. Raises the
    last error.
    """
    refused = None
    for each in read:
        try:
            each.run()
        except RoadsteadError as failure:
            refused = failure
            show.say(f"{each.name}: {failure}")
    if refused is not None:
        raise SystemExit(refused.exit_code)


def _side_by_side(read: list[Followed], show: "_Shown") -> None:
    """Read several in parallel, each in a daemon thread; as `_one_by_one`."""
    over: queue.SimpleQueue[int] = queue.SimpleQueue()

    def follow(each: Followed) -> None:
        code = 1
        try:
            each.run()
            code = 0
        except RoadsteadError as failure:
            show.say(f"{each.name}: {failure}")
            code = failure.exit_code
        finally:
            over.put(code)

    for each in read:
        threading.Thread(target=follow, args=(each,), daemon=True).start()
    if worst := max((over.get() for _ in read), default=0):
        raise SystemExit(worst)


class _Shown:
    """Prints records, as lines or as JSON; threads may share it."""

    def __init__(self, output: str, *, prefix: bool, timestamps: bool) -> None:
        self._json = output == "json"
        self._prefix, self._timestamps = prefix, timestamps
        self._coloured = is_coloured(sys.stdout)
        self._one_at_a_time = threading.Lock()

    def __call__(self, record: LogRecord) -> None:
        with self._one_at_a_time:
            if self._json:
                self._raw(record)
            elif record.note:
                words = f"{record.pod} {record.container} {record.note}"
                say(self._styled(visible(words), dim=True), err=True)
            elif record.end is None:
                say(self._line(record))
            sys.stdout.flush()

    def say(self, words: str) -> None:
        """Print events of the stream to standard error."""
        with self._one_at_a_time:
            say(self._styled(visible(words), dim=True), err=True)

    def _raw(self, record: LogRecord) -> None:
        import json

        told = {
            name: each for name, each in record.raw.items() if name != "time" or self._timestamps
        }
        say(json.dumps(told, ensure_ascii=True))

    def _line(self, record: LogRecord) -> str:
        parts = []
        if self._prefix:
            name = visible(f"{record.pod} {record.container}")
            colour = _COLOURS[zlib.crc32(record.pod.encode()) % len(_COLOURS)]
            parts.append(self._styled(name, fg=colour))
        if self._timestamps:
            parts.append(visible(str(record.raw.get("time") or "-")))
        parts.append(visible(record.line) + (" … (cut)" if record.cut else ""))
        return " ".join(parts)

    def _styled(self, text: str, **style: Any) -> str:
        return click.style(text, **style) if self._coloured else text
