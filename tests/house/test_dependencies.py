"""What is imported is declared: each part of the project gets by with what its extra installs."""

import importlib.metadata
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.house import sources
from tests.house.outlines import outline_of

# Where a file lies → the extras that are installed where it runs, beside the base. The longest wins.
EXTRAS: dict[str, tuple[str, ...]] = {
    "agent": ("agent",),
    "hub": ("hub",),
    "roadstead": (),
    "roadstead/cli/fleet.py": ("sim",),  # `up` starts hub, agents and simulated clusters
    "roadstead/cli/pack.py": ("sim",),
    "roadstead/cli/supervisor.py": ("sim",),
    "roadstead/cli/template.py": ("sim",),
    "shared": ("hub", "agent", "sim"),
    "shared/kube": ("agent",),
    "shared/kubesim": ("sim",),
    "shared/wire": ("agent",),
    "bench": ("hub", "agent", "sim"),
    "tests": ("hub", "agent", "sim", "dev"),
}
# Used where it is there, and done without elsewhere.
OPTIONAL = {("agent/__main__.py", "uvloop")}


@cache
def _project() -> dict[str, set[str]]:
    """The distributions that each extra and the group dev declare, with those of the base."""
    project = tomllib.loads((sources.REPOSITORY / "pyproject.toml").read_text())
    listed = {**project["project"]["optional-dependencies"], **project["dependency-groups"]}
    base = _names(project["project"]["dependencies"])
    return {"": base} | {name: base | _names(rows) for name, rows in listed.items()}


def _names(rows: list[str | dict[str, str]]) -> set[str]:
    """Names of requirements as package indexes compare them."""
    words = [re.split(r"[\[<>=~!; ]", row)[0] for row in rows if isinstance(row, str)]
    return {_normal(word) for word in words}


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _declared(path: Path) -> set[str]:
    where = max((p for p in EXTRAS if path.is_relative_to(p)), key=len)
    return set().union(*(_project()[extra] for extra in ("", *EXTRAS[where])))


def _imported(path: Path) -> Iterator[str]:
    """The top-level packages that a file imports and that are neither ours nor Python's."""
    for top in {name.partition(".")[0] for name in outline_of(path).names()}:
        if top not in sys.stdlib_module_names and top not in sources.PACKAGES:
            yield top


def test_every_import_is_declared() -> None:
    """No file imports a package that only comes along with another one."""
    owners = importlib.metadata.packages_distributions()
    undeclared = [
        f"{path}: {top}"
        for path in sources.python_files()
        for top in _imported(path)
        if (str(path), top) not in OPTIONAL
        if not {_normal(name) for name in owners.get(top, [top])} & _declared(path)
    ]
    assert undeclared == []
