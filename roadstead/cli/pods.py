"""`roadstead jobs pods`: the current pods of a job, also for `jobs show`."""

import click

from roadstead.cli.names import full_name
from roadstead.cli.output import client, dump, moment_of
from roadstead.cli.tables import Column, indented, table, wrapped
from roadstead.cli.visible import say, visible
from roadstead.models.pods import JobPods, Pod


def _state(pod: Pod) -> str:
    return pod.reason if pod.phase in {"Pending", "Failed"} and pod.reason else ""


def _exit(pod: Pod) -> str:
    return "" if pod.exit_code is None else str(pod.exit_code)


COLUMNS = [
    Column("POD", lambda p: p.name),
    Column("PHASE", lambda p: p.phase, coloured=True),
    Column("REASON", _state, shrinks=True),
    Column("EXIT", _exit),
    Column("RESTARTS", lambda p: p.restarts),
    Column("NODE", lambda p: p.node, shrinks=True),
    Column("STARTED", lambda p: _moment(p.started_at)),
    Column("FINISHED", lambda p: _moment(p.finished_at)),
    Column("EPOCH", lambda p: p.epoch, wide=True),
    Column("UID", lambda p: p.uid, wide=True),
]
EVENTS = [
    Column("AT", lambda e: _moment(e.at)),
    Column("REASON", lambda e: e.reason),
    Column("OBJECT", lambda e: e.object, shrinks=True),
    Column("COUNT", lambda e: e.count),
    Column("MESSAGE", lambda e: e.message, wraps=True),
]


@click.command("pods")
@click.argument("job")
@click.option("-n", "--namespace", metavar="NAME", help="Namespace of a name without one.")
@click.option("--events", is_flag=True, help="Also show the member's events for them.")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "wide", "json", "yaml"]),
    default="table",
    show_default=True,
    help="Output format.",
)
@click.pass_context
def pods(
    ctx: click.Context, job: str, namespace: str | None, output: str, *, events: bool
) -> None:
    """Show the current pods of a job in its cluster.

    With node, reason, exit code and restarts, read from the cluster's agent each time.
    """
    with client(ctx) as hub:
        found = hub.job_pods(full_name(job, namespace))
    if output in {"json", "yaml"}:
        dump(found.raw, output)
        return
    shown = [each for each in COLUMNS if output == "wide" or not each.wide]
    if found.items:
        say(table(found.items, shown))
    else:
        say(f"No pods in {found.cluster}.", err=True)
    for line in _words(found, ""):
        say(line)
    if events:
        say()
        say(table(found.events, EVENTS) if found.events else "No events.")
    if events and found.events_unread:
        say(f"Events cannot be read: {visible(found.events_unread)}", err=True)


def as_lines(found: JobPods) -> list[str]:
    """Format pods as a section of a page."""
    if not found.items:
        return []
    shown = [each for each in COLUMNS if not each.wide]
    return ["  pods now", *indented(found.items, shown), *_words(found, "    ")]


def _words(found: JobPods, indent: str) -> list[str]:
    """Format the waiting reasons of pods, each once, and the number of hidden pods."""
    said = {
        f"{_state(each)}: {each.message}" for each in found.items if each.message and _state(each)
    }
    lines = [line for text in sorted(said)[:5] for line in wrapped(visible(text), indent)]
    if found.left_out:
        lines.append(f"{indent}{found.left_out} more pods are not shown")
    return lines


def _moment(text: str) -> str:
    try:
        return moment_of(text)
    except ValueError:
        return text
