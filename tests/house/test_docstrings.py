"""Every module says what it is for, and every test says which rule it holds."""

import ast

from tests.house import sources


def test_every_module_says_what_it_is_for() -> None:
    """Each Python file with code in it opens with a docstring."""
    silent = [
        str(path)
        for path in sources.python_files()
        if sources.tree_of(path).body and ast.get_docstring(sources.tree_of(path)) is None
    ]
    assert silent == []


def test_every_test_states_its_rule() -> None:
    """Each test function has a docstring: the rule it holds, as a sentence."""
    silent = [
        f"{path}:{test.lineno} {test.name}"
        for path in sources.python_files()
        if path.parts[0] == "tests" and path.name.startswith("test_")
        for test in sources.tests_in(path)
        if ast.get_docstring(test) is None
    ]
    assert silent == []
