"""`roadstead simulate`: what the scheduler would decide, offline, from manifests alone.

The only verb that loads the hub's pure engine instead of calling a hub.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from roadstead.cli.visible import say

_FILES = click.argument(
    "files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
_FILES_OR_INPUT = click.argument(
    "files",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path),
)
_SETTINGS = click.option(
    "--settings",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Scheduling settings (fairSharing, partialAdmission …); absent is off.",
)


class _Unreadable(click.ClickException):
    """Invalid input: the file, document and field, and the reason."""

    exit_code = 2


@click.group()
def simulate() -> None:
    """Simulate the scheduler on files: no hub, no cluster."""
    from shared.collector import spare_the_collector

    spare_the_collector()


@simulate.command()
@_FILES
@click.option(
    "--now", required=True, metavar="RFC3339", help="The current time of the simulation."
)
@click.option(
    "--rounds",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    metavar="N",
    help="Number of rounds: each considers one workload of every ClusterQueue.",
)
@_SETTINGS
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table")
def cycle(
    files: tuple[Path, ...], now: str, rounds: int, settings: Path | None, output: str
) -> None:
    """Run one scheduling cycle: admissions, preemptions, and waiting workloads with reasons."""
    from hub.offline.reports import decisions

    described = _scene(files, settings, _instant(now))
    decided = decisions.cycle_report(described, rounds)
    say(json.dumps(decided, indent=2) if output == "json" else _tables(decided))


@simulate.command()
@click.argument("files", nargs=-1, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--workloads",
    required=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The load: a generator (YAML, as Kueue's scheduler suite has it) or a trace (CSV).",
)
@_SETTINGS
@click.option(
    "--now",
    default="2026-01-01T00:00:00Z",
    show_default=True,
    metavar="RFC3339",
    help="When the load starts.",
)
@click.option(
    "--until", metavar="DURATION", help="Stop at this time (90s, 4h) [default: when all is done]."
)
@click.option(
    "--html", type=click.Path(dir_okay=False, path_type=Path), help="Also write an HTML page."
)
@click.option("-o", "--output", type=click.Choice(["table", "json", "html"]), default="table")
def run(
    files: tuple[Path, ...],
    workloads: Path,
    settings: Path | None,
    now: str,
    until: str | None,
    html: Path | None,
    output: str,
) -> None:
    """Simulate a load in virtual time: waiting times per class, usage, preemptions."""
    from hub.offline.inputs import documents
    from hub.offline.loads import generator
    from hub.offline.play import timeline
    from hub.offline.reports import measures, page

    try:
        load = generator.read_load(workloads)
        brought = [
            documents.read_document(str(workloads), number, manifest)
            for number, manifest in enumerate(load.manifests, start=1)
        ]
    except documents.Unreadable as fault:
        raise _Unreadable(str(fault)) from None
    described = _scene(files, settings, _instant(now), brought)
    history = timeline.Timeline(described, load, _microseconds(until)).run()
    told = measures.report(described, history)
    drawn = ""
    if html is not None or output == "html":
        drawn = page.page(f"simulate run: {workloads.name}", told, described, history)
    if html is not None:
        html.write_text(drawn, encoding="utf-8")
    texts = {"json": lambda: json.dumps(told, indent=2), "html": lambda: drawn}
    say(texts[output]() if output in texts else _figures(told))


@simulate.command()
@_FILES_OR_INPUT
@click.option(
    "--now", metavar="RFC3339", help="The current time [default: that of the newest heartbeat]."
)
@click.option("--compatible", is_flag=True, help="Use exactly KubeFleet's scores, order and ties.")
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table")
def place(files: tuple[Path, ...], now: str | None, compatible: bool, output: str) -> None:
    """Show where placements would go: every cluster's scores, or its rejection. FILE '-': standard input."""
    from hub.offline.inputs import documents, placements
    from hub.offline.reports import places

    at = None if now is None else _instant(now)
    try:
        scene = placements.build(documents.read_files(files, placements.READ), at)
    except documents.Unreadable as fault:
        raise _Unreadable(str(fault)) from None
    for warning in places.warnings(scene):
        say(f"warning: {warning}", err=True)
    told = places.place_report(scene, compatible=compatible)
    say(json.dumps(told, indent=2) if output == "json" else _places(told))


@simulate.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--kinds", multiple=True, metavar="FILE", help="Definitions of more kinds (Karta).")
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table")
def podsets(files: tuple[str, ...], kinds: tuple[str, ...], output: str) -> None:
    """Show what objects would reserve: pod sets, priority, or why they are refused. '-': standard input."""
    from roadstead.cli.kind_files import divide, kind_reader, objects_table, read_documents
    from shared.workkinds.catalog import builtin_catalog
    from shared.workkinds.report import report

    given = read_documents(files)
    definitions, objects = divide([*(read_documents(kinds) if kinds else ()), *given])
    with kind_reader(builtin_catalog().with_added(definitions)) as reader:
        told = report(reader.read_all(objects))
    say(json.dumps(told, indent=2) if output == "json" else objects_table(told))


def _places(told: dict[str, Any]) -> str:
    from roadstead.cli.tables import Column, table

    rows = [
        {"placement": "/".join(filter(None, (p["namespace"], p["name"]))), **cluster}
        for p in told["placements"]
        for cluster in p["clusters"]
    ]
    return table(
        rows,
        [
            Column("PLACEMENT", lambda r: r["placement"]),
            Column("CLUSTER", lambda r: r["name"]),
            Column("PICKED", lambda r: "yes" if r["selected"] else "no"),
            Column("AFFINITY", lambda r: r["affinityScore"]),
            Column("SPREAD", lambda r: r["topologySpreadScore"]),
            Column("REASON", lambda r: r["reason"], shrinks=True),
        ],
    )


def _scene(
    files: tuple[Path, ...], settings: Path | None, instant: int, brought: Sequence[Any] = ()
) -> Any:
    from hub.offline.inputs import documents, scene, settings as reading

    try:
        given = reading.read_settings(settings)
        described = scene.build([*brought, *documents.read_files(files)], given, instant)
    except documents.Unreadable as fault:
        raise _Unreadable(str(fault)) from None
    for key in given.unknown:
        say(f"warning: {settings}: setting {key} is unknown and has no effect", err=True)
    return described


def _instant(now: str) -> int:
    from hub.offline.inputs import documents

    try:
        return documents.read_instant(now)
    except ValueError:
        raise click.UsageError(
            f"--now {now}: not an RFC 3339 time, such as 2026-01-31T12:00:00Z."
        ) from None


def _microseconds(duration: str | None) -> int | None:
    from hub.offline.inputs.settings import seconds

    if duration is None:
        return None
    try:
        return round(seconds(duration) * 1e6)
    except ValueError:
        raise click.UsageError(f"--until {duration}: not a duration, such as 90s or 4h.") from None


def _figures(told: dict[str, Any]) -> str:
    from roadstead.cli.tables import Column, table

    def wait(each: dict[str, Any], key: str) -> Any:
        return (each["timeToAdmission"] or {}).get(key)

    def use(each: dict[str, Any]) -> str:
        shares = each["trueUse"].items()
        return ", ".join(f"{r} {share:.1%}" for r, share in shares if share is not None)

    parts = [
        (
            f"{told['workloads']['finished']} of {told['workloads']['total']} workloads finished in "
            f"{told['makespanSeconds']} s, {told['preemptions']['count']} preemptions"
        ),
        table(
            told["classes"],
            [
                Column("CLASS", lambda c: c["class"]),
                Column("COUNT", lambda c: c["count"]),
                Column("FINISHED", lambda c: c["finished"]),
                Column("WAIT AVG", lambda c: wait(c, "average")),
                Column("P50", lambda c: wait(c, "p50")),
                Column("P95", lambda c: wait(c, "p95")),
                Column("MAX", lambda c: wait(c, "max")),
                Column("FINISH AVG", lambda c: (c["timeToFinish"] or {}).get("average")),
                Column("PREEMPTED", lambda c: c["preemptions"]),
            ],
        ),
        table(
            told["queues"],
            [
                Column("QUEUE", lambda q: q["clusterQueue"]),
                Column("WORKLOADS", lambda q: q["workloads"]),
                Column("FINISHED", lambda q: q["finished"]),
                Column("WAIT AVG", lambda q: wait(q, "average")),
                Column("PREEMPTED", lambda q: q["preemptions"]),
                Column("TRUE USE", use),
            ],
        ),
    ]
    if told["clusters"]:
        parts.append(
            table(
                told["clusters"],
                [
                    Column("CLUSTER", lambda c: c["cluster"]),
                    Column("FINISHED", lambda c: c["finished"]),
                    Column("TRUE USE", use),
                ],
            )
        )
    if told["workLost"]:
        lost = ", ".join(f"{amount:g} {r}-seconds" for r, amount in told["workLost"].items())
        parts.append(f"work lost: {lost}")
    if told["waiting"]:
        reasons = ", ".join(f"{n} {reason}" for reason, n in told["waiting"].items())
        parts.append(f"waiting at the end: {reasons}")
    return "\n\n".join(parts)


def _tables(decided: dict[str, Any]) -> str:
    from roadstead.cli.tables import Column, table

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
