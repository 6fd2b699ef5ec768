"""`roadstead apply -f`: manifests of any kind, in the same forms as kubectl."""

import click

from roadstead.cli.manifests import Source, is_empty, manifests_options, read_sources
from roadstead.cli.messages import refusal
from roadstead.cli.names import default_namespace
from roadstead.cli.output import answer_option, client, dump
from roadstead.cli.progress import progress
from roadstead.cli.tried_kinds import shown_kinds
from roadstead.cli.visible import say
from roadstead.client import Client
from roadstead.errors import Rejected
from roadstead.models.objects import Applied
from roadstead.models.record import Json


@click.command()
@manifests_options
@click.option(
    "--dry-run",
    is_flag=True,
    help="Definitions of kinds: show what they say and would change; the other documents are samples.",
)
@answer_option
@click.pass_context
def apply(
    ctx: click.Context,
    files: tuple[str, ...],
    recursive: bool,
    namespace: str | None,
    dry_run: bool,
    output: str,
) -> int:
    """Apply manifests and print the result of each document.

    Reads all files before it sends the first. A rejected document does not stop the others; the command
    then exits with 3. If there is no document at all, it exits with 2.

    --dry-run tries definitions of kinds and changes nothing. For jobs and placements use plan.
    """
    told: list[Json] = []
    refused = 0
    sources = read_sources(files, recursive=recursive)
    if dry_run:
        with client(ctx) as hub:
            tried = hub.check_kinds(b"\n---\n".join(each.body for each in sources))
        if output == "text":
            say(shown_kinds(tried))
        else:
            dump(tried.raw, output)
        return 0
    with client(ctx) as hub, progress("applying", len(sources)) as advance:
        for source in sources:
            items = [] if is_empty(source) else _apply(hub, source, namespace)
            told += [{"file": source.label, **item.raw} for item in items]
            for item in items:
                refused += item.is_rejected
                _print(source.label, item, several=len(items) > 1, quiet=output != "text")
            if not items:
                say(f"{source.label} holds no objects", err=True)
            advance(1)
    if output != "text":
        dump({"items": told}, output)
    if not told:
        raise click.UsageError("The files named by -f contain nothing to apply.")
    return Rejected.exit_code if refused else 0


def _apply(hub: Client, source: Source, namespace: str | None) -> list[Applied]:
    """The result per document; one for the whole source if the hub could not read it."""
    try:
        return hub.apply(source.body, namespace=namespace or default_namespace() or None)
    except Rejected as whole:
        told = whole.problem.get("items")
        if isinstance(told, list) and told:
            return [Applied.of(each) for each in told]
        return [Applied.of({**whole.problem, "result": "rejected"})]


def _print(label: str, item: Applied, *, several: bool, quiet: bool) -> None:
    name = "/".join(part for part in (item.namespace, item.name) if part)
    what = " ".join(part for part in (item.kind, name) if part)
    if not item.is_rejected:
        if not quiet:
            say(f"{what} {item.result}")
            for text in item.warnings:
                say(f"{what}: warning: {text}", err=True)
        return
    where = label
    if several and "index" in item.raw:
        where += f", document {item.index + 1}"
    if what:
        where += f" ({what})"
    say(f"{where} refused:", err=True)
    for line in refusal(item.code or "Refused", item.detail, item.errors):
        say(f"  {line}", err=True)
