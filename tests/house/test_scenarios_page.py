"""The pages that say where compatibility is tested name tests that are there."""

import re
from pathlib import Path

import pytest

PAGES = (
    Path("docs/reference/kubefleet.md"),
    Path("docs/reference/kubefleet-scenarios.md"),
)
NAMED = re.compile(r"`(tests/[\w/.]+)(?:::(\w+))?`")
FILE = re.compile(r"`(test_\w+\.py)`")


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_every_test_that_is_named_is_there(page: Path) -> None:
    """Its file or folder, and its function."""
    found = NAMED.findall(page.read_text())
    missing = [
        f"{path}::{function}"
        for path, function in found
        if not Path(path).exists()
        or (function and f"def {function}(" not in Path(path).read_text())
    ]
    assert (missing, bool(found)) == ([], True)


def test_every_scenario_says_where_or_why_not() -> None:
    """A row without a test gives a reason."""
    rows = [
        row.strip("| ").split(" | ")
        for row in PAGES[1].read_text().splitlines()
        if row.startswith("| ") and not row.startswith("| scenario") and "|---" not in row
    ]
    assert len(rows) > 40
    assert [row[0] for row in rows if len(row) != 2 or len(row[1]) < 10] == []
