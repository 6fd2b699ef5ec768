"""`roadstead simulate`: what the scheduler would decide, offline, from manifests alone.

The one verb that loads the hub's pure engine instead of asking a hub.
"""

import json
from pathlib import Path
from typing import Any

import click

_FILES = click.argument(
    "files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
_SETTINGS = click.option(
    "--settings",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="What of scheduling is configuration (fairSharing, partialAdmission …); absent is off.",
)


class _Unreadable(click.ClickException):
    """An input that can not be used: which file, document and field, and why."""

    exit_code = 2


@click.group()
def simulate() -> None:
    """Play the scheduler on files: no hub, no cluster."""


@simulate.command()
@_FILES
@click.option("--now", required=True, metavar="RFC3339", help="The instant that is decided at.")
@click.option(
    "--rounds",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    help="Rounds to play: in each, one workload of every ClusterQueue has its turn.",
)
@_SETTINGS
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table")
def cycle(
    files: tuple[Path, ...], now: str, rounds: int, settings: Path | None, output: str
) -> None:
    """Decide once: who is admitted, who preempts whom, who waits and why."""
    from hub.offline import documents, report, scene, settings as reading

    try:
        instant = documents.read_instant(now)
    except ValueError:
        raise click.UsageError(
            f"--now {now}: no RFC 3339 time, such as 2026-01-31T12:00:00Z."
        ) from None
    try:
        given = reading.read_settings(settings)
        described = scene.build(documents.read_files(files), given, instant)
    except documents.Unreadable as fault:
        raise _Unreadable(str(fault)) from None
    for key in given.unknown:
        click.echo(f"warning: {settings}: setting {key} is not known and has no effect", err=True)
    decided = report.cycle_report(described, rounds)
    click.echo(json.dumps(decided, indent=2) if output == "json" else _tables(decided))


def _tables(decided: dict[str, Any]) -> str:
    from roadstead.cli.output import Column, table

    decisions = table(
        decided["decisions"],
        [
            Column("NAMESPACE", lambda d: d["namespace"]),
            Column("WORKLOAD", lambda d: d["name"]),
            Column("QUEUE", lambda d: d["clusterQueue"]),
            Column("DECISION", lambda d: d["decision"]),
            Column("CLUSTER", lambda d: d["cluster"]),
            Column("REQUEUE", lambda d: d["requeue"]),
            Column("VICTIMS", lambda d: ", ".join(v["name"] for v in d["victims"])),
            Column("REASON", lambda d: d["reason"]),
            Column("MESSAGE", lambda d: d["message"], shrinks=True),
        ],
    )
    quota = [
        {"queue": q["clusterQueue"], "flavor": flavor, "resource": resource, "used": used,
         "available": q["available"][flavor][resource],
         "potential": q["potential"][flavor][resource], "share": q["weightedShare"]}
        for q in decided["queues"]
        for flavor, amounts in q["usage"].items()
        for resource, used in amounts.items()
    ]  # fmt: skip
    figures = table(
        quota,
        [
            Column("QUEUE", lambda q: q["queue"]),
            Column("FLAVOR", lambda q: q["flavor"]),
            Column("RESOURCE", lambda q: q["resource"]),
            Column("USED", lambda q: q["used"]),
            Column("AVAILABLE", lambda q: q["available"] or "unlimited"),
            Column("POTENTIAL", lambda q: q["potential"] or "unlimited"),
            Column("SHARE", lambda q: q["share"]),
        ],
    )
    return f"{decisions}\n\n{figures}"
