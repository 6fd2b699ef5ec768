"""Whoever says of itself that it is pure is held to it by an import contract."""

import re
import tomllib
from pathlib import Path
from typing import Any

from tests.house import sources
from tests.house.outlines import outline_of

# What a contract about purity forbids at least.
EFFECTS = {"asyncio", "threading", "time", "random", "os", "socket"}
_CLAIM = re.compile(r"\bPure[.:]")


def _contracts() -> list[dict[str, Any]]:
    """The contracts that forbid effects through whatever is imported."""
    project = tomllib.loads((sources.REPOSITORY / "pyproject.toml").read_text())
    contracts: list[dict[str, Any]] = project["tool"]["importlinter"]["contracts"]
    return [
        contract
        for contract in contracts
        if contract["type"] == "forbidden"
        and set(contract["forbidden_modules"]) >= EFFECTS
        and not contract.get("allow_indirect_imports")
    ]


def _module(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def test_what_calls_itself_pure_is_held_to_it() -> None:
    """Every module whose docstring says Pure is a source of a contract without indirect imports."""
    held = tuple(source for contract in _contracts() for source in contract["source_modules"])
    loose = [
        str(path)
        for path in sources.python_files()
        if path.parts[0] != "tests" and _CLAIM.search(outline_of(path).docstring or "")
        if not any(f"{_module(path)}.".startswith(f"{source}.") for source in held)
    ]
    assert loose == []
