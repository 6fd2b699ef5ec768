"""State of the last `roadstead up` in `fleet.json`: address, ports and members."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from roadstead.cli.members import (
    MOST_MEMBERS,
    Member,
    as_documents,
    default_members,
    members_of,
)

FILE = "fleet.json"


@dataclass(frozen=True)
class LastStart:
    """Last start of a folder; empty if the folder is new or its file is unreadable. `names`: of the
    members.
    """

    host: str = ""
    ports: Mapping[str, int] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    members: tuple[Member, ...] = ()  # () also where only names are known


def read(folder: Path) -> LastStart:
    """Read the last start on this folder."""
    try:
        found = json.loads((folder / FILE).read_text())
        ports = {name: int(port) for name, port in found["ports"].items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return LastStart()
    listed = found.get("members") or []
    if not isinstance(listed, list):
        return LastStart()
    names = tuple(_name_of(each) for each in listed)
    described = members_of(listed) if all(isinstance(each, dict) for each in listed) else ()
    return LastStart(
        str(found.get("host") or ""), ports, names, described or _of_the_default(names)
    )


def _of_the_default(names: tuple[str, ...]) -> tuple[Member, ...]:
    """Rebuild the members of `--members N` from their names: an earlier release stored only names."""
    if not 1 <= len(names) <= MOST_MEMBERS:
        return ()
    members = default_members(len(names))
    return members if names == tuple(each.name for each in members) else ()


def write(folder: Path, host: str, ports: Mapping[str, int], members: Sequence[Member]) -> None:
    """Store the state for the next start on this folder."""
    told = {"host": host, "ports": dict(ports), "members": as_documents(members)}
    (folder / FILE).write_text(json.dumps(told))


def _name_of(listed: Any) -> str:
    return str(listed.get("name") if isinstance(listed, dict) else listed)
