"""Links between the pages of the documentation lead somewhere."""

import re
from pathlib import Path

from tests.house import sources

_LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)")


def test_every_relative_link_has_a_target() -> None:
    """A relative link in a Markdown page names a file or folder of the repository."""
    pages = [path for path in sources.kept_files() if path.suffix == ".md"]
    broken = [
        f"{page}: {target}"
        for page in pages
        for target in _LINK.findall(sources.text_of(page))
        if not (sources.REPOSITORY / page.parent / target).exists()
    ]
    assert broken == []


def test_every_decision_is_listed() -> None:
    """Each record in docs/adr/ is linked from the front page of the documentation."""
    front = sources.text_of(Path("docs/index.md"))
    records = sorted((sources.REPOSITORY / "docs/adr").glob("[0-9]*.md"))
    assert [record.name for record in records if f"adr/{record.name}" not in front] == []
