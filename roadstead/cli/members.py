"""The members of a local fleet: read from a file, or as many as asked for.

A members file: `members: [{name, labels, taints, queueManager, pools: [{name, count, labels, taints,
allocatable}]}]`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_MEMBER_KEYS = {"name", "labels", "taints", "queueManager", "pools"}
_POOL_KEYS = {"name", "count", "labels", "taints", "allocatable"}

# Three unlike clusters; `--members N` goes round them.
_TEMPLATES: tuple[tuple[str, dict[str, str], list[dict[str, Any]]], ...] = (
    (
        "cpu",
        {"region": "north", "tier": "cpu"},
        [{"name": "cpu", "count": 4, "allocatable": {"cpu": "32", "memory": "64Gi"}}],
    ),
    (
        "memory",
        {"region": "south", "tier": "memory"},
        [{"name": "memory", "count": 3, "allocatable": {"cpu": "16", "memory": "256Gi"}}],
    ),
    (
        "gpu",
        {"region": "west", "tier": "gpu"},
        [
            {
                "name": "a100",
                "count": 3,
                "labels": {"gpu-type": "a100"},
                "allocatable": {"cpu": "24", "memory": "96Gi", "nvidia.com/gpu": "8"},
            }
        ],
    ),
)


@dataclass(frozen=True)
class Member:
    """One member cluster to simulate."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Mapping[str, str], ...] = ()
    queue_manager: bool = False
    pools: tuple[Mapping[str, Any], ...] = ()


def read_members(given: str) -> tuple[Member, ...]:
    """Members for `--members`: a number, or the path of a members file.

    Raises click.UsageError that names the file, the entry and the field.
    """
    if given.isdigit():
        return default_members(int(given))
    path = Path(given)
    if not path.exists():
        raise click.UsageError(f"--members {given}: neither a number nor a file.")
    import yaml

    try:
        document = yaml.safe_load(path.read_text())
    except yaml.YAMLError as failure:
        raise click.UsageError(f"{given}: not YAML: {failure}") from failure
    entries = document.get("members") if isinstance(document, dict) else None
    if not isinstance(entries, list) or not entries:
        raise click.UsageError(f"{given}: expected `members:` with a list of clusters.")
    members = tuple(_member(given, i, entry) for i, entry in enumerate(entries))
    names = [m.name for m in members]
    twice = {n for n in names if names.count(n) > 1}
    if twice:
        raise click.UsageError(f"{given}: members named twice: {', '.join(sorted(twice))}.")
    return members


def default_members(count: int) -> tuple[Member, ...]:
    """`count` members; the first three are a CPU, a memory and a GPU cluster."""
    if not 1 <= count <= 1000:
        raise click.UsageError("--members: from 1 to 1000.")
    found = []
    for i in range(count):
        kind, labels, pools = _TEMPLATES[i % len(_TEMPLATES)]
        turn = i // len(_TEMPLATES)
        name = f"{kind}-{turn + 1}"
        found.append(Member(name=name, labels=labels, pools=tuple(pools)))
    return tuple(found)


def _member(file: str, index: int, entry: object) -> Member:
    where = f"{file}: members[{index}]"
    if not isinstance(entry, dict):
        raise click.UsageError(f"{where}: expected a mapping.")
    unknown = set(entry) - _MEMBER_KEYS
    if unknown:
        raise click.UsageError(f"{where}: unknown field {min(unknown)!r}.")
    name = entry.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise click.UsageError(f"{where}.name: expected a DNS label such as gpu-1, not {name!r}.")
    pools = entry.get("pools") or []
    for j, pool in enumerate(pools):
        _check_pool(f"{where}.pools[{j}]", pool)
    return Member(
        name=name,
        labels=dict(entry.get("labels") or {}),
        taints=tuple(entry.get("taints") or ()),
        queue_manager=bool(entry.get("queueManager", False)),
        pools=tuple(pools),
    )


def _check_pool(where: str, pool: object) -> None:
    if not isinstance(pool, dict) or not pool.get("name"):
        raise click.UsageError(f"{where}: expected a mapping with a name.")
    unknown = set(pool) - _POOL_KEYS
    if unknown:
        raise click.UsageError(f"{where}: unknown field {min(unknown)!r}.")
    count = pool.get("count", 1)
    if not isinstance(count, int) or count < 0:
        raise click.UsageError(f"{where}.count: expected a whole number, not {count!r}.")
    if not isinstance(pool.get("allocatable"), dict):
        raise click.UsageError(f"{where}.allocatable: expected resources such as cpu: '32'.")
