"""`roadstead apply -f`: manifests of any kind, as kubectl takes them."""

from typing import Any

import click

from roadstead.cli.manifests import Source, read_sources
from roadstead.cli.output import answer_option, client, dump
from roadstead.cli.telling import refusal, warning
from roadstead.client import Client
from roadstead.errors import Rejected, RoadsteadError, field_problems

Json = dict[str, Any]
_REJECTED = "rejected"


@click.command()
@click.option(
    "-f",
    "--filename",
    "names",
    multiple=True,
    required=True,
    metavar="FILE",
    help="A file, a folder, or '-' for standard input. May be given several times.",
)
@click.option("-R", "--recursive", is_flag=True, help="Look into the folders below a folder too.")
@click.option(
    "-n", "--namespace", metavar="NAME", help="For documents that name none [default: default]."
)
@answer_option
@click.pass_context
def apply(
    ctx: click.Context,
    names: tuple[str, ...],
    recursive: bool,
    namespace: str | None,
    output: str,
) -> int:
    """Apply manifests; prints what became of each document.

    All files are read before the first is sent. A refused document does not keep the others back;
    the command then ends with exit code 3. Where there is no document at all it ends with 1.
    """
    told: list[Json] = []
    refused = 0
    with client(ctx) as hub:
        for source in read_sources(names, recursive=recursive):
            items = _apply(hub, source, namespace)
            told += [{"file": source.label, **item} for item in items]
            for item in items:
                refused += item["result"] == _REJECTED
                _print(source.label, item, several=len(items) > 1, quiet=output != "text")
            if not items:
                click.echo(f"{source.label} holds no objects", err=True)
    if output != "text":
        dump({"items": told}, output)
    if not told:
        raise RoadsteadError("there is nothing to apply")
    return Rejected.exit_code if refused else 0


def _apply(hub: Client, source: Source, namespace: str | None) -> list[Json]:
    """The result per document; one for the whole source where the hub could not read it."""
    try:
        items: list[Json] = hub.apply(source.body, namespace=namespace)["items"]
    except Rejected as whole:
        told = whole.problem.get("items")
        if isinstance(told, list) and told:
            return told
        return [{**whole.problem, "result": _REJECTED}]
    return items


def _print(label: str, item: Json, *, several: bool, quiet: bool) -> None:
    name = "/".join(p for p in (item.get("namespace"), item.get("name")) if p)
    what = " ".join(p for p in (item.get("kind"), name) if p)
    if item["result"] != _REJECTED:
        if not quiet:
            click.echo(f"{what} {item['result']}")
            for text in item.get("warnings") or ():
                click.echo(f"  warning: {warning(text)}", err=True)
        return
    where = label
    if several and "index" in item:
        where += f", document {item['index'] + 1}"
    if what:
        where += f" ({what})"
    lines = refusal(
        str(item.get("code") or "Refused"), str(item.get("detail") or ""), field_problems(item)
    )
    click.echo(f"{where} refused:", err=True)
    for line in lines:
        click.echo(f"  {line}", err=True)
