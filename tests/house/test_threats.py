"""The page of threats names tests that there are: all 24, each with a test or a reason."""

import re
from pathlib import Path

from tests.house import sources
from tests.house.outlines import outline_of

PAGE = Path("docs/explain/threats.md")
_ROW = re.compile(r"^\| (S-\d\d) \|(.*)\|$", re.MULTILINE)
_NAMED = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")


def rows() -> dict[str, list[str]]:
    """The cells of each row, by id."""
    found = _ROW.findall(sources.text_of(PAGE))
    return {name: [cell.strip() for cell in rest.split(" | ")] for name, rest in found}


def named_in(path: str) -> set[str]:
    return {each.name for each in outline_of(Path(path)).tests}


def test_every_threat_has_a_test() -> None:
    """S-01 to S-24 in order, each tried by something; what no test can try says so."""
    assert list(rows()) == [f"S-{number:02}" for number in range(1, 25)]
    for name, cells in rows().items():
        assert len(cells) == 4, name
        assert all(cells), name
        assert _NAMED.search(cells[-1]), name


def test_every_test_that_is_named_exists() -> None:
    """By file and function, anywhere on the page."""
    named = _NAMED.findall(sources.text_of(PAGE))
    assert len(named) > 60
    for path, function in named:
        assert (sources.REPOSITORY / path).is_file(), path
        assert not function or function in named_in(path), f"{path}::{function}"
