"""Where test code stands: what tests share is in modules of its own."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.house import sources


def _imports(path: Path) -> Iterator[str]:
    """Dotted names of every module, and of everything from a module, that a file imports."""
    for node in ast.walk(sources.tree_of(path)):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{each.name}" for each in node.names)


def test_no_module_imports_a_test_module() -> None:
    """Builders that several files need stand in a module of their own, where one looks for them."""
    tests = {
        ".".join(path.with_suffix("").parts)
        for path in sources.python_files()
        if path.name.startswith("test_")
    }
    found = [
        f"{path}: {name}"
        for path in sources.python_files()
        for name in _imports(path)
        if name in tests or name.rpartition(".")[0] in tests
    ]
    assert found == []
