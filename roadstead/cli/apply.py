"""`roadstead apply -f`: manifests of any kind, as kubectl takes them."""

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from roadstead.cli.output import client

_SUFFIXES = {".yaml", ".yml", ".json"}


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
@click.pass_context
def apply(ctx: click.Context, names: tuple[str, ...]) -> int:
    """Apply manifests; prints what became of each document, and ends with 3 if one was refused."""
    refused = 0
    with client(ctx) as hub:
        for label, body in _bodies(names):
            kind = "json" if label.endswith(".json") else "yaml"
            answer = hub.apply(body, content_type=f"application/{kind}")
            for item in answer["items"]:
                refused += _print(label, item)
    return 3 if refused else 0


def _print(label: str, item: dict[str, str]) -> int:
    name = "/".join(p for p in (item.get("namespace"), item.get("name")) if p)
    what = f"{item.get('kind') or 'document'} {name}".strip()
    if item["result"] != "rejected":
        click.echo(f"{what} {item['result']}")
        return 0
    click.echo(f"{label}: {what} refused: {item.get('code')}: {item.get('detail')}", err=True)
    return 1


def _bodies(names: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
    for name in names:
        if name == "-":
            yield "standard input", sys.stdin.buffer.read()
            continue
        path = Path(name)
        if path.is_dir():
            found = sorted(p for p in path.iterdir() if p.suffix in _SUFFIXES)
            if not found:
                raise click.UsageError(f"{name} holds no .yaml, .yml or .json file.")
            yield from ((str(p), p.read_bytes()) for p in found)
        elif path.exists():
            yield name, path.read_bytes()
        else:
            raise click.UsageError(f"{name} does not exist.")
