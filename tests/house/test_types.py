"""`Any` is where something may really be anything: rows are records, JSON documents have their name."""

import re

from tests.house import sources

MOST_IN_HUB = 150


def test_the_hub_says_any_rarely() -> None:
    """Every further `Any` in hub is one that no record and no `Json` could replace."""
    told = sum(
        len(re.findall(r"\bAny\b", line))
        for path in sources.python_files()
        if path.parts[0] == "hub"
        for line in sources.text_of(path).splitlines()
        if not line.lstrip().startswith(("from ", "import "))
    )
    assert told < MOST_IN_HUB
