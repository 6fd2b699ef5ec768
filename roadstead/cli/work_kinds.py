"""`roadstead kinds`: which kinds of work are known, how each is read, and what a new definition would do.

It works offline; `versions` alone asks a hub.
"""

import json
from typing import TYPE_CHECKING, Any

import click

from roadstead.cli.kind_files import (
    UnusableInput,
    divide,
    kind_reader,
    objects_table,
    read_documents,
)
from roadstead.cli.output import answer_option, client, dump
from roadstead.cli.tried_kinds import dispatch_lines
from roadstead.cli.visible import say
from roadstead.errors import NotFound

if TYPE_CHECKING:
    from shared.workkinds.catalog import KindCatalog
    from shared.workkinds.definition import Definition

_OUTPUT = click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "json"]),
    default="table",
    help="A table for people, JSON for scripts.",
)
_TRIED = "roadstead-kinds-check"  # the queue of a sample that names none


@click.group()
def kinds() -> None:
    """Kinds of work: those that are built in, and definitions of others before they are used."""


@kinds.command()
@_OUTPUT
def ls(output: str) -> None:
    """List the kinds that are built in.

    DISPATCHED tells whether the hub queues objects of a kind: `by REST` means not by kubectl.
    """
    from roadstead.cli.tables import Column, table
    from shared.kinds.dispatched import dispatch_of
    from shared.workkinds.catalog import builtin_catalog

    rows = [
        {**_summary(each), "dispatched": dispatch_of(each.of.api_version, each.of.kind)}
        for each in builtin_catalog()
    ]
    if output == "json":
        say(json.dumps({"kinds": rows}, indent=2))
        return
    say(
        table(
            rows,
            [
                Column("KIND", lambda r: r["kind"]),
                Column("API VERSION", lambda r: r["apiVersion"]),
                Column("CLASS", lambda r: r["class"]),
                Column("DISPATCHED", lambda r: r["dispatched"]),
                Column("HELD BY", lambda r: r["suspendPath"] or ""),
                Column("PLUG-IN", lambda r: r["plugin"] or ""),
                Column("KARTA", lambda r: r["karta"]),
            ],
        )
    )


@kinds.command()
@click.argument("kind")
def show(kind: str) -> None:
    """Print the definition of a built-in kind.

    KIND is a kind in any case, a kind and its group (job.batch), or the name of a Karta.
    """
    from shared.workkinds.catalog import FOLDER, builtin_catalog

    found = builtin_catalog().named(kind)
    if not found:
        raise UnusableInput(
            f"no kind {kind} is built in: roadstead kinds ls lists them, and roadstead kinds versions "
            "those that administrators defined on the hub."
        )
    texts = [(FOLDER / each.source).read_text(encoding="utf-8").rstrip() for each in found]
    say("\n---\n".join(texts))


@kinds.command()
@click.argument("name", required=False)
@answer_option
@click.pass_context
def versions(ctx: click.Context, name: str | None, output: str) -> None:
    """List versions of the kinds that administrators defined.

    NAME is that of a Karta; all are listed without it. A job is read by the version with which it was
    accepted.
    """
    from roadstead.cli.tables import Column, table

    with client(ctx) as hub:
        told = hub.kind_versions()
    found = [each for each in told.items if name in (None, each.name)]
    if name is not None and not found:
        detail = f"there is no Karta {name} of which the hub accepted a version"
        raise NotFound(404, {"code": "NotFound", "detail": detail})
    if output != "text":
        dump({"items": [each.raw for each in found]}, output)
        return
    columns = [
        Column("NAME", lambda r: r.name),
        Column("VERSION", lambda r: r.version),
        Column("KIND", lambda r: f"{r.api_version} {r.kind}"),
        Column("CURRENT", lambda r: "yes" if r.current else "no"),
        Column("JOBS", lambda r: r.jobs),
        Column("DISPATCHED", lambda r: "no" if r.lacking else "yes"),
        Column("LACKING", lambda r: "; ".join(r.lacking), wide=True),
    ]
    say(table(found, columns))


@kinds.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@_OUTPUT
def check(files: tuple[str, ...], output: str) -> None:
    """Try definitions of kinds, and read objects by them.

    It tells what is assumed where a definition is silent, and what it lacks before the hub dispatches the
    kind; all other objects of FILE are read as if each named a queue. A definition that would be refused
    ends with exit code 2.
    """
    from shared.workkinds.catalog import builtin_catalog

    definitions, samples = divide(read_documents(files))
    if not definitions:
        raise UnusableInput(
            f"{', '.join(files)}: no Karta is in it; 'roadstead simulate podsets' reads objects"
        )
    told = _checked(builtin_catalog().with_added(definitions), definitions, samples)
    say(json.dumps(told, indent=2) if output == "json" else _shown(told))


def _checked(
    catalog: "KindCatalog", definitions: "list[Definition]", samples: list[dict[str, Any]]
) -> dict[str, Any]:
    from shared.workkinds.assumptions import assumptions_of
    from shared.workkinds.dispatchable import lacking
    from shared.workkinds.report import report

    with kind_reader(catalog) as reader:
        read = report(reader.read_all([_queued(each) for each in samples]))
    return {
        "kinds": [
            {
                **_summary(each),
                "states": list(each.karta.status.mappings),
                "assumed": list(assumptions_of(each)),
                "lacking": lacking(each),
            }
            for each in definitions
        ],
        **read,
    }


def _queued(sample: dict[str, Any]) -> dict[str, Any]:
    """A sample that names no queue is tried as if it did."""
    from shared.labels import QUEUE_NAME
    from shared.workkinds.reading import queue_of

    if queue_of(sample):
        return sample
    metadata = sample.get("metadata") or {}
    labels = {**(metadata.get("labels") or {}), QUEUE_NAME: _TRIED}
    return {**sample, "metadata": {**metadata, "labels": labels}}


def _summary(definition: "Definition") -> dict[str, Any]:
    from shared.workkinds.definition import HUB

    extended = definition.extended
    has_own_pods = extended.work_class not in {"children", "companion"}
    actions = ", ".join(each.path.removeprefix(".") for each in definition.karta.suspend)
    return {
        "kind": definition.of.kind,
        "apiVersion": definition.of.api_version,
        "karta": definition.karta.name,
        "class": extended.work_class,
        "plugin": extended.plugin or None,
        "suspendPath": (extended.held_by or actions or HUB) if has_own_pods else None,
    }


def _shown(told: dict[str, Any]) -> str:
    lines = []
    for each in told["kinds"]:
        lines.append(f"{each['apiVersion']} {each['kind']} ({each['karta']}): can be read")
        lines += [
            f"  states: {', '.join(each['states']) or 'none'}",
            *dispatch_lines(each["lacking"]),
        ]
        lines += [f"  assumed: {sentence}" for sentence in each["assumed"]]
    if told["objects"]:
        lines += ["", objects_table(told)]
    return "\n".join(lines)
