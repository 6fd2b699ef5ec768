"""The commands that the documentation shows, so that tests can run them.

A block counts when its fence says `sh` or `python`. The comment on the line before the fence says how
it runs:

    <!-- run -->          from the repository, with .venv/bin on PATH
    <!-- run: fleet -->   the same, beside a running fleet that `roadstead` and KUBECONFIG reach;
                          the blocks of a page run in order in one shell, as a reader types them
    <!-- run: clusters --> the same, on real control planes (tests/realkube/test_install.py)
    <!-- not run: why --> not at all, for the reason given
"""

import dataclasses
import re
from collections.abc import Sequence
from pathlib import Path

from tests.house import sources

_BLOCK = re.compile(
    r"^(?:<!-- *(?P<mark>[^\n]*?) *-->\n)?```(?P<language>sh|python)\n(?P<text>.*?)^```",
    re.MULTILINE | re.DOTALL,
)
_PROGRAMS = ("kubectl", "curl")


@dataclasses.dataclass(frozen=True)
class Block:
    """One fenced block of commands."""

    page: Path
    line: int
    mark: str  # "" where there is none
    text: str
    language: str = "sh"

    def __str__(self) -> str:
        """Where it stands, as an editor wants it."""
        return f"{self.page}:{self.line}"

    @property
    def script(self) -> str:
        """The commands; where lines carry a `$ ` prompt, only those, without it."""
        if self.language == "python":
            return f"python - <<'PYTHON'\n{self.text}PYTHON\n"
        lines = self.text.splitlines()
        prompted = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
        return "\n".join(prompted or lines) + "\n"


def session(blocks: Sequence[Block]) -> str:
    """The blocks of one page as one shell script, which says where it is."""
    return "".join(f"echo '--- {block}'\n{block.script}" for block in blocks)


def programs(script: str) -> list[str]:
    """What a script needs that is not Roadstead's."""
    return [name for name in _PROGRAMS if re.search(rf"\b{name}\b", script)]


def blocks() -> list[Block]:
    """Every block of README, CONTRIBUTING, docs/ and the examples' pages, in order."""
    pages = [Path("README.md"), Path("CONTRIBUTING.md")]
    for folder in ("docs", "examples", "deploy"):
        found = (sources.REPOSITORY / folder).rglob("*.md")
        pages += sorted(p.relative_to(sources.REPOSITORY) for p in found)
    return [block for page in pages for block in blocks_of(page, sources.text_of(page))]


def blocks_of(page: Path, text: str) -> list[Block]:
    """The blocks of one page."""
    return [
        Block(
            page,
            text.count("\n", 0, found.start()) + 1,
            found["mark"] or "",
            found["text"],
            found["language"],
        )
        for found in _BLOCK.finditer(text)
    ]
