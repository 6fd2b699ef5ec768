"""Reads a lock file of uv's: packages, versions, for which machines, and who asks for each."""

import dataclasses
import re
from pathlib import Path

_ENTRY = re.compile(
    r"^(?P<name>[a-z0-9._-]+)==(?P<version>[^\s;\\]+)(?: ; (?P<marker>[^\\]+?))? \\?$"
)
_ASKED = re.compile(r"^    #(?: via)?\s*(?P<by>.*)$")
OURS = "roadstead"


@dataclasses.dataclass(frozen=True)
class Locked:
    """One package. `asked_by`: who needs it, the project itself as OURS. `marker`: "" is anywhere."""

    name: str
    version: str
    marker: str
    asked_by: frozenset[str]


def read(path: Path) -> dict[str, Locked]:
    """Every package of a lock file, by name."""
    found: dict[str, Locked] = {}
    entry: re.Match[str] | None = None
    for line in path.read_text().splitlines():
        entry = _ENTRY.match(line) or entry
        if entry is None:
            continue
        name = entry["name"]
        known = found.get(name)
        asked_by = known.asked_by if known else frozenset()
        if (asked := _ASKED.match(line)) and asked["by"] and not asked["by"].startswith("-c "):
            asked_by |= {asked["by"].split(" ")[0]}
        found[name] = Locked(name, entry["version"], entry["marker"] or "", asked_by)
    return found
