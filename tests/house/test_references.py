"""What is referred to can be opened: a page of docs/, a file of the repository, or an upstream source."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house import sources

INVARIANTS = Path("docs/reference/invariants.md")
KEPT = {".py", ".md", ".yaml", ".yml", ".toml", ".html", ".js", ".css", ".patch", ".sql", ".sh"}
# Chapters and rows of documents that nobody here can open.
NOWHERE = re.compile(
    r"\b(?:queueing|architecture|security),? (?:section )?[0-9]|\(agents [0-9]"
    r"|\b(?:queueing|placement|architecture|security|agents?)(?: reference,|\.md, [0-9])"
    r"|\bplacement (?:section )?[0-9]+\.[0-9]"
    r"|\b(?:agents?|queueing|placement) (?:reference\b|R-[0-9])"
    r"|\b(?:architecture|agents?|queueing|placement|security), section\b"
    r"|\bsections? [0-9]+(?:\.[0-9]+)?\b"
    r"|\b(?:house|style|findings|peers|libraries)\.md\b"
    r"|\bbad inputs? [0-9]"
    r"|\brows? [A-Z]?[0-9]+ to [0-9]|\brows? [A-Z][0-9]+\b"
    r"|\(S[0-9]\)"
    r"|\bas the reference says\b|\bof the reference\b"
    r"|^ *\"\"\"(?:[A-Z][0-9]+[a-z]?|row [0-9]+): ",
    re.IGNORECASE,
)
# One of these stands in every line that NOWHERE finds: to look for a text is far cheaper.
HINTS = (
    "queueing", "architecture", "security", "agent", "placement", "section", "house.md", "style.md",
    "findings.md", "peers.md", "libraries.md", "bad input", "row", "(s", "the reference", '"""',
)  # fmt: skip
INVARIANT = re.compile(r"\bR-[0-9]{2}\b")


def _lines() -> Iterator[tuple[str, str]]:
    """Every line of text, with where it stands; docstrings and comments run on over lines."""
    for path in sources.kept_files():
        if path.suffix in KEPT and path != Path("tests/house/test_references.py"):
            for number, line in enumerate(sources.text_of(path).splitlines(), start=1):
                yield f"{path}:{number}", line


def _nowhere(line: str) -> bool:
    """Does this line refer to a document that nobody here can open?"""
    plain = line.lower()
    return any(hint in plain for hint in HINTS) and NOWHERE.search(line) is not None


def test_every_reference_can_be_opened() -> None:
    """No line refers to a chapter or a row of a document that is not in the repository."""
    assert [f"{at}: {line.strip()}" for at, line in _lines() if _nowhere(line)] == []


@pytest.mark.parametrize(
    "line",
    [
        "who is next (queueing 2.4).",
        "as Kueue has it (queueing reference, 1.6).",
        "# reserved labels (architecture, section 8)",
        "The lattice of agents R-06.",
        "Architecture, section 4; Agents reference, R-06.",
        "sorters (placement 1.3); bounds are placement.md, 1.3",
        "never offered: safe at once (S1)",
        "aliases of members; rows M1, M2",
        "Bad inputs 91 to 118 at the agent",
        '    """F7: the share before removal."""',
    ],
)
def test_references_to_nowhere_are_found(line: str) -> None:
    """The list knows the ways in which such references were written."""
    assert _nowhere(line)


def test_every_invariant_is_listed() -> None:
    """What is called R-NN anywhere is a row of docs/reference/invariants.md."""
    listed = set(re.findall(r"^\| (R-[0-9]{2}) \|", sources.text_of(INVARIANTS), re.MULTILINE))
    named = {found for _, line in _lines() for found in INVARIANT.findall(line)}
    assert named - listed == set()
    assert len(listed) == 25


def test_every_page_that_code_names_is_there() -> None:
    """A path below docs/ in source or test is a page, and what follows `#` one of its headings."""
    named = re.compile(r"\b(docs/[\w./-]+\.md)(?:#([\w-]+))?")
    missing = []
    for at, line in _lines():
        if not at.partition(":")[0].endswith(".py"):
            continue
        for page, anchor in named.findall(line):
            if not (sources.REPOSITORY / page).is_file():
                missing.append(f"{at}: {page}")
            elif anchor and anchor not in _anchors(Path(page)):
                missing.append(f"{at}: {page}#{anchor}")
    assert missing == []


def _anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", sources.text_of(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings}
