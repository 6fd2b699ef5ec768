"""The `roadstead` commands that pages, messages and documents print are commands that there are."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from roadstead.cli.root import cli
from tests.house import sources

PRINTS = ("hub", "agent", "shared", "roadstead", "docs", "README.md")
_VALUE, _FILLED = "\x00", "…"  # what a program fills in, and what is read in its place
_COMMAND = re.compile(r"\broadstead((?: [^\s,;:.()'\"`|&<>\\…]+)+)")


def _texts() -> Iterator[tuple[str, str]]:
    """Where a text stands, and the text: strings of the sources, inline code and blocks of the documents,
    lines of alert rules.
    """
    for top in PRINTS:
        path = sources.REPOSITORY / top
        for file in sorted(path.rglob("*.py")):
            yield from ((f"{file}:{line}", text) for line, text in _strings(file))
        for file in [path] if path.is_file() else sorted(path.rglob("*.md")):
            for number, line in enumerate(file.read_text().splitlines(), 1):
                code = re.findall(r"`([^`]+)`", line) if "`" in line else [line]
                yield from ((f"{file}:{number}", text) for text in code if "roadstead " in text)
        for file in sorted(path.rglob("*.html")):
            yield from (
                (f"{file}", each) for each in re.findall(r"<code>([^<]+)", file.read_text())
            )
    for file in sorted((sources.REPOSITORY / "deploy").rglob("alerts.yaml")):
        for number, line in enumerate(file.read_text().splitlines(), 1):
            yield f"{file}:{number}", re.sub(r"\{\{[^}]*\}\}", _FILLED, line)


def _strings(file: Path) -> Iterator[tuple[int, str]]:
    source = file.read_text()
    if "roadstead" not in source:  # to parse it is slow
        return
    tree = ast.parse(source)
    documented = {id(each) for each in _docstrings(tree)}
    inner = {
        id(v) for each in ast.walk(tree) if isinstance(each, ast.JoinedStr) for v in each.values
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = (v.value if isinstance(v, ast.Constant) else _VALUE for v in node.values)
            yield node.lineno, "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from [(node.lineno, node.value)] * (id(node) not in documented | inner)


def _docstrings(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.value


def _fault(words: list[str], *, whole: bool = True) -> str:
    """Why these words are no command; "" where they are, or where they are prose.

    `whole`: nothing that the command needs is left out, as documents do.
    """
    command: click.Command = cli
    taken = 0
    while isinstance(command, click.Group) and taken < len(words):
        found = command.get_command(click.Context(command), words[taken])
        if found is None and (not taken or words[taken] == _FILLED):
            return ""  # `roadstead` is a name, too
        if found is None:
            return f"no command {words[taken]}"
        command, taken = found, taken + 1
    rest = words[taken:]
    known = {name for each in command.params for name in (*each.opts, *each.secondary_opts)}
    known |= {name for each in cli.params for name in each.opts} | {"--help", "-h"}
    options = [each.partition("=")[0] for each in rest if re.match(r"--?[a-zA-Z]", each)]
    unknown = [each for each in options if each not in known and each[:2] not in known]
    if unknown:
        return f"no option {unknown[0]}"
    needed = [each for each in command.params if isinstance(each, click.Option) and each.required]
    missing = [each.opts[0] for each in needed if rest and not set(each.opts) & set(options)]
    return f"{missing[0]} is required" if missing and whole else ""


def test_every_command_that_is_printed_exists() -> None:
    """Its verb, its options, and the options that it can not do without."""
    faults = []
    for where, text in _texts():
        for found in _COMMAND.findall(text):
            words = found.replace(_VALUE, _FILLED).split()
            if why := _fault(words, whole=".py:" in where):
                faults.append(f"{where}: roadstead {' '.join(words)}: {why}")
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        ("clusters fence x", "--destroyed is required"),
        ("clusters fence x --destroyed", ""),
        ("clusters fences x", "no command fences"),
        ("jobs ls --nonsense", "no option --nonsense"),
        ("is a dispatcher", ""),
    ],
)
def test_what_is_no_command_is_found(words: str, fault: str) -> None:
    """As it was printed on a page."""
    assert _fault(words.split()) == fault
