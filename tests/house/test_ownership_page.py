"""docs/explain/ownership.md says what the tests prove: no cell without a test, no test without a line."""

import re

from tests.house import sources
from tests.house.outlines import outline_of
from tests.house.ownership import PAGE, parts, with_parts


def test_the_generated_parts_are_up_to_date() -> None:
    """The tables of the gates and the list of proofs; `python -m tests.house.ownership` writes them."""
    page = PAGE.read_text()
    assert with_parts(page) == page


def test_every_proof_that_is_named_exists() -> None:
    """A test that was renamed or removed leaves no name behind."""
    named = set(re.findall(r"`(test_\w+)`", PAGE.read_text()))
    outlines = map(outline_of, sources.python_files())
    assert named - {test.name for each in outlines for test in each.tests} == set()


def test_every_row_of_a_table_of_rules_names_a_proof() -> None:
    """Of each table whose last column is `proof`: no cell of it is empty."""
    bare, inside = [], False
    for line in PAGE.read_text().splitlines():
        cells = [each.strip() for each in line.strip().strip("|").split("|")]
        if not line.startswith("|"):
            inside = False
        elif cells[-1] == "proof":
            inside = True
        elif inside and not set(cells[-1]) <= set("-") and "`test_" not in cells[-1]:
            bare.append(line)
    assert bare == []


def test_every_proof_has_a_rule() -> None:
    """Each test of the list has a docstring, which is the rule that it holds."""
    assert "| |" not in parts()["proofs"].replace("|  |", "| |")
