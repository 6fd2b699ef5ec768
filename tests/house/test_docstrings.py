"""Every module says what it is for, and every test says which rule it holds."""

from tests.house import sources
from tests.house.outlines import outline_of


def test_every_module_says_what_it_is_for() -> None:
    """Each Python file with code in it opens with a docstring."""
    silent = [
        str(path)
        for path in sources.python_files()
        if outline_of(path).has_code and outline_of(path).docstring is None
    ]
    assert silent == []


def test_every_test_states_its_rule() -> None:
    """Each test function has a docstring: the rule it holds, as a sentence."""
    silent = [
        f"{path}:{test.line} {test.name}"
        for path in sources.python_files()
        if path.parts[0] == "tests" and path.name.startswith("test_")
        for test in outline_of(path).tests
        if test.docstring is None
    ]
    assert silent == []
