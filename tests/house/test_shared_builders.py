"""Where test code stands: what tests share is in modules of its own."""

from tests.house import sources
from tests.house.outlines import outline_of


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
        for name in outline_of(path).names()
        if name in tests
    ]
    assert found == []
