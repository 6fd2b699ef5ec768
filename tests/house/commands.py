"""The commands that the documentation shows, so that tests can run them.

A block counts when its fence says `sh`. The comment on the line before the fence says how it runs:

    <!-- run -->          from the repository, with .venv/bin on PATH
    <!-- run: fleet -->   the same, beside a running fleet that `roadstead` and KUBECONFIG reach
    <!-- not run: why --> not at all, for the reason given
"""

import dataclasses
import re
from pathlib import Path

from tests.house import sources

_BLOCK = re.compile(
    r"^(?:<!-- *(?P<mark>[^\n]*?) *-->\n)?```sh\n(?P<text>.*?)^```", re.MULTILINE | re.DOTALL
)


@dataclasses.dataclass(frozen=True)
class Block:
    """One fenced block of shell commands."""

    page: Path
    line: int
    mark: str  # "" where there is none
    text: str

    def __str__(self) -> str:
        """Where it stands, as an editor wants it."""
        return f"{self.page}:{self.line}"

    @property
    def script(self) -> str:
        """The commands; where lines carry a `$ ` prompt, only those, without it."""
        lines = self.text.splitlines()
        prompted = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
        return "\n".join(prompted or lines) + "\n"


def blocks() -> list[Block]:
    """Every shell block of README, CONTRIBUTING and docs/, in order."""
    pages = [Path("README.md"), Path("CONTRIBUTING.md")]
    pages += sorted(
        p.relative_to(sources.REPOSITORY) for p in (sources.REPOSITORY / "docs").rglob("*.md")
    )
    return [block for page in pages for block in blocks_of(page, sources.text_of(page))]


def blocks_of(page: Path, text: str) -> list[Block]:
    """The shell blocks of one page."""
    return [
        Block(page, text.count("\n", 0, found.start()) + 1, found["mark"] or "", found["text"])
        for found in _BLOCK.finditer(text)
    ]
