"""Manifests named on the command line: files, folders and standard input, as bytes with a label.

Nothing is parsed here: the hub reads what it is sent, and says what is wrong with it.
"""

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

_SUFFIXES = {".yaml", ".yml", ".json"}
# `---` at the start of a line always begins a document in YAML, whatever it stands in.
_MARKER = re.compile(rb"^---(?=\s|$)", re.MULTILINE)
_NOTHING = re.compile(rb"(\s|#[^\n]*(\n|$)|\.\.\.(\s|$)|%[^\n]*(\n|$))*")


_filename = click.option(
    "-f",
    "--filename",
    "files",
    multiple=True,
    required=True,
    metavar="FILE",
    help="A file, a folder, or '-' for standard input. May be given several times.",
)
recursive_option = click.option(
    "-R", "--recursive", is_flag=True, help="Look into the folders below a folder too."
)
_namespace = click.option(
    "-n", "--namespace", metavar="NAME", help="For documents that name none [default: default]."
)


def documents_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add -R and -n, for documents of files that are named otherwise."""
    return recursive_option(_namespace(function))


def manifests_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add -f, -R and -n, for what kubectl takes in the same way."""
    return _filename(documents_options(function))


@dataclass(frozen=True)
class Source:
    """Manifests from one place: what to call it in messages, and its bytes."""

    label: str
    body: bytes


def read_sources(names: Sequence[str], *, recursive: bool = False) -> list[Source]:
    """Everything that `names` name, read before anything is sent. `-` is standard input.

    Raises click.UsageError for what does not exist, holds no manifests, or can not be read.
    """
    if names.count("-") > 1:
        raise click.UsageError("standard input ('-') can be read once only.")
    return [source for name in names for source in _read(name, recursive)]


def is_empty(source: Source) -> bool:
    """Whether there is no document in it: nothing, or markers and comments alone."""
    return all(_NOTHING.fullmatch(part) for part in _MARKER.split(source.body))


def documents(source: Source) -> Iterator[Source]:
    """The documents of a YAML stream one by one, labelled with their numbers if there are several.

    JSON is one: a line of it can not begin with a marker.
    """
    parts = [part for part in _MARKER.split(source.body) if not _NOTHING.fullmatch(part)]
    if len(parts) <= 1:
        yield source
        return
    for number, part in enumerate(parts, start=1):
        yield Source(f"{source.label}, document {number}", part)


def _read(name: str, recursive: bool) -> Iterator[Source]:
    if name == "-":
        if sys.stdin.isatty():
            click.echo("Reading manifests from the terminal; Ctrl-D ends them.", err=True)
        yield Source("standard input", sys.stdin.buffer.read())
        return
    path = Path(name)
    if not path.is_dir():
        yield Source(name, _bytes_of(path))
        return
    entries = path.rglob("*") if recursive else path.iterdir()
    found = sorted(p for p in entries if p.suffix in _SUFFIXES and not p.is_dir())
    if not found:
        below = "" if recursive else "; -R looks into the folders below it too"
        raise click.UsageError(f"{name} holds no .yaml, .yml or .json file{below}.")
    yield from (Source(str(p), _bytes_of(p)) for p in found)


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as failure:
        raise click.UsageError(f"{path} can not be read: {failure.strerror}.") from failure
