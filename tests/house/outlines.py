"""Outlines of the source files for the house rules: each syntax tree is parsed once.

Two thousand syntax trees are two million objects: a process that keeps them pays for them in every later
garbage collection. So a tree is dropped when its outline is read, and the outlines are kept in a file, which
the workers of a run and later runs share; an entry is good while the file's size and time of change stay.
"""

import ast
import contextlib
import fcntl
import functools
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeGuard

import orjson

from tests.house import sources

_CACHE: Final = sources.REPOSITORY / ".cache"


class Named(NamedTuple):
    """A class or a function."""

    name: str
    line: int
    docstring: str | None


class Outline(NamedTuple):
    """`imported`: the modules of `import a.b`; `taken`: module and names of `from a import b, c`."""

    has_code: bool
    docstring: str | None
    imported: tuple[str, ...]
    taken: tuple[tuple[str | None, tuple[str, ...]], ...]
    classes: tuple[Named, ...]
    tests: tuple[Named, ...]

    def names(self) -> set[str]:
        """The full name of each module, and of each thing from a module, that the file imports."""
        found = set(self.imported)
        for module, names in self.taken:
            if module:
                found |= {module, *(f"{module}.{name}" for name in names)}
        return found


def outline_of(path: Path) -> Outline:
    """The outline of a source file of the project, named relative to the repository."""
    return _all()[str(path)]


def read(text: str) -> Outline:
    """The outline of a source text."""
    tree = ast.parse(text)
    imported: list[str] = []
    taken: list[tuple[str | None, tuple[str, ...]]] = []
    classes: list[Named] = []
    tests: list[Named] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported += [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom):
            taken.append((node.module, tuple(each.name for each in node.names)))
        elif isinstance(node, ast.ClassDef):
            classes.append(_named(node))
        elif _is_test(node):
            tests.append(_named(node))
    return Outline(
        bool(tree.body),
        ast.get_docstring(tree),
        tuple(imported),
        tuple(taken),
        tuple(classes),
        tuple(tests),
    )


def refreshed(kept: dict[str, Any], paths: list[Path]) -> dict[str, Any]:
    """The entries for these files: those of `kept` that are still good, and new ones."""
    entries: dict[str, Any] = {}
    for path in paths:
        stat = (sources.REPOSITORY / path).stat()
        stamp = [stat.st_mtime_ns, stat.st_size]
        found = kept.get(str(path))
        if found is None or found[0] != stamp:
            found = [stamp, read((sources.REPOSITORY / path).read_text())]
        entries[str(path)] = found
    return entries


@functools.cache
def _all() -> dict[str, Outline]:
    """Every outline, by path. One worker reads the sources, the others wait for it."""
    version = hashlib.blake2b(Path(__file__).read_bytes(), digest_size=8).hexdigest()
    file = _CACHE / f"outlines-{version}.json"
    with _locked(file.with_suffix(".lock")):
        kept: dict[str, Any] = {}
        with contextlib.suppress(OSError, ValueError):
            kept = orjson.loads(file.read_bytes())
        entries = refreshed(kept, sources.python_files())
        if entries != kept:
            written = file.with_suffix(".new")
            written.write_bytes(orjson.dumps(entries, default=tuple))
            written.replace(file)
    return {path: _restored(outline) for path, (_, outline) in entries.items()}


@contextlib.contextmanager
def _locked(file: Path) -> Iterator[None]:
    file.parent.mkdir(exist_ok=True)
    descriptor = os.open(file, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _is_test(node: ast.AST) -> TypeGuard[ast.FunctionDef | ast.AsyncFunctionDef]:
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    return node.name.startswith("test_")


def _named(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> Named:
    return Named(node.name, node.lineno, ast.get_docstring(node))


def _restored(fields: Any) -> Outline:
    has_code, docstring, imported, taken, classes, tests = fields
    return Outline(
        has_code,
        docstring,
        tuple(imported),
        tuple((module, tuple(names)) for module, names in taken),
        tuple(Named(*each) for each in classes),
        tuple(Named(*each) for each in tests),
    )
