"""Manifests named on the command line: files, folders and standard input, as bytes with a label.

It parses nothing: the hub reads the bytes and reports errors.
"""

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import click

from roadstead.cli.visible import say
from shared.bounds import FILE_BYTES, FileTooLarge, read_whole

MOST_BYTES = FILE_BYTES  # of one source; /dev/zero has no end
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
recursive_option = click.option("-R", "--recursive", is_flag=True, help="Also read subfolders.")
_namespace = click.option(
    "-n",
    "--namespace",
    metavar="NAME",
    help="Namespace of documents without one [default: default].",
)


def documents_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add -R and -n, for verbs that name their files differently."""
    return recursive_option(_namespace(function))


def manifests_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add -f, -R and -n, for verbs with kubectl's options."""
    return _filename(documents_options(function))


@dataclass(frozen=True)
class Source:
    """Manifests from one source: its label for messages, and its bytes."""

    label: str
    body: bytes


def read_sources(names: Sequence[str], *, recursive: bool = False) -> list[Source]:
    """Read all sources of `names`, before anything is sent. `-` is standard input.

    Raises click.UsageError for a source that does not exist, holds no manifests, or cannot be read.
    """
    if names.count("-") > 1:
        raise click.UsageError("standard input ('-') can be read only once.")
    return [source for name in names for source in _read(name, recursive)]


def is_empty(source: Source) -> bool:
    """Return whether it contains no document: nothing, or only markers and comments."""
    return all(_NOTHING.fullmatch(part) for part in _MARKER.split(source.body))


def documents(source: Source) -> Iterator[Source]:
    """Split a YAML stream into documents, labelled with their numbers if there are several.

    JSON is one document: a line of it cannot begin with a marker.
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
            say("Reading manifests from the terminal; Ctrl-D ends them.", err=True)
        yield Source("standard input", _whole(sys.stdin.buffer, "standard input"))
        return
    path = Path(name)
    if not path.is_dir():
        yield Source(name, _bytes_of(path))
        return
    entries = path.rglob("*") if recursive else path.iterdir()
    found = sorted(p for p in entries if p.suffix in _SUFFIXES and not p.is_dir())
    if not found:
        below = "" if recursive else "; -R also reads subfolders"
        raise click.UsageError(f"{name} holds no .yaml, .yml or .json file{below}.")
    yield from (Source(str(p), _bytes_of(p)) for p in found)


def _bytes_of(path: Path) -> bytes:
    try:
        with path.open("rb") as opened:
            return _whole(opened, str(path))
    except OSError as failure:
        raise click.UsageError(f"{path} cannot be read: {failure.strerror}.") from failure


def _whole(stream: BinaryIO, label: str) -> bytes:
    """All of it. Raises click.UsageError where there is more than manifests may have."""
    try:
        return read_whole(stream, MOST_BYTES)
    except FileTooLarge as failure:
        raise click.UsageError(f"{label} has {failure}: split it into several files.") from failure
