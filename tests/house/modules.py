"""The map of the code in docs/reference/modules.md, from the docstrings themselves.

`python -m tests.house.modules` writes it anew; a test holds the page to it.
"""

from collections.abc import Iterator
from pathlib import Path

from tests.house import sources
from tests.house.outlines import outline_of

PAGE = sources.REPOSITORY / "docs" / "reference" / "modules.md"
ROOTS = ("hub", "agent", "shared", "roadstead")
HEAD = """# Map of the code

Every package with its one sentence, and every module in it; written from their docstrings by
`python -m tests.house.modules`. Which package may import which is said in `pyproject.toml`
([ADR 1](../adr/0001-layers-and-import-contracts.md)).
"""


def page() -> str:
    """The whole page."""
    return HEAD + "".join(_package(package) for package in packages())


def packages() -> Iterator[Path]:
    """Every package of the product, relative to the repository, parents first."""
    for root in ROOTS:
        folder = sources.REPOSITORY / root
        for init in sorted(folder.rglob("__init__.py"), key=lambda each: each.parent.parts):
            yield init.parent.relative_to(sources.REPOSITORY)


def sentence(path: Path) -> str:
    """What a module says of itself first, in one line."""
    told = outline_of(path).docstring or ""
    return " ".join(told.split("\n\n")[0].split())


def _package(package: Path) -> str:
    modules = sorted(
        path.relative_to(sources.REPOSITORY)
        for path in (sources.REPOSITORY / package).glob("*.py")
        if path.stem not in {"__init__", "__main__"}
    )
    depth = "#" * min(2 + len(package.parts) - 1, 4)
    lines = [f"\n{depth} `{package}`\n", sentence(package / "__init__.py")]
    if modules:
        lines += ["", "| module | says |", "|---|---|"]
        lines += [f"| [`{path.stem}`](../../{path}) | {_cell(path)} |" for path in modules]
    return "\n".join(lines) + "\n"


def _cell(path: Path) -> str:
    return sentence(path).replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page())
