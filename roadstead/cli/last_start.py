"""What `roadstead up` keeps of its last start in `fleet.json`: where it listened, its ports and members."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from roadstead.cli.members import Member, as_documents, members_of

FILE = "fleet.json"


@dataclass(frozen=True)
class LastStart:
    """Of a folder; empty where it is new or its file can not be read. `names`: of the members."""

    host: str = ""
    ports: Mapping[str, int] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    members: tuple[Member, ...] = ()  # () also where an earlier release wrote names alone


def read(folder: Path) -> LastStart:
    """The last start on this folder."""
    try:
        found = json.loads((folder / FILE).read_text())
        ports = {name: int(port) for name, port in found["ports"].items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return LastStart()
    listed = found.get("members") or ()
    names = tuple(_name_of(each) for each in listed)
    described = members_of(listed) if all(isinstance(each, dict) for each in listed) else ()
    return LastStart(str(found.get("host") or ""), ports, names, described)


def write(folder: Path, host: str, ports: Mapping[str, int], members: Sequence[Member]) -> None:
    """Keep what the next start on this folder goes by."""
    told = {"host": host, "ports": dict(ports), "members": as_documents(members)}
    (folder / FILE).write_text(json.dumps(told))


def _name_of(listed: Any) -> str:
    return str(listed.get("name") if isinstance(listed, dict) else listed)
