"""The members of a local fleet: read from a file, or a number of default ones.

A members file: `members: [{name, labels, taints, queueManager, pools: [{name, count, maxNodes, addSeconds,
labels, taints, allocatable}]}]`. A pool with `maxNodes` grows when pods wait for nodes, which take
`addSeconds` to come.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import click

from shared.bounds import FileTooLarge, read_whole

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_MEMBER_KEYS = {"name", "labels", "taints", "queueManager", "pools"}
_TAINT_KEYS = {"key", "value", "effect"}
_NODE_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_MOST_NODES = 10_000
_MOST_BYTES = 16 << 20  # of a members file
MOST_MEMBERS = 1000
T = TypeVar("T")
Json = dict[str, Any]
_POOL_KEYS = {"name", "count", "maxNodes", "addSeconds", "labels", "taints", "allocatable"}

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
    if given.isascii() and given.isdigit():
        return default_members(int(given))
    try:
        with Path(given).open("rb") as opened:
            text = read_whole(opened, _MOST_BYTES).decode()
    except (OSError, ValueError) as failure:
        why = failure.strerror if isinstance(failure, OSError) else "it is not text"
        why = str(failure) if isinstance(failure, FileTooLarge) else why
        raise click.UsageError(
            f"--members {given}: neither a number nor a readable file: {why}."
        ) from failure
    import yaml

    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError as failure:
        raise click.UsageError(f"{given}: not YAML: {failure}") from failure
    try:
        return _members(document)
    except _Wrong as wrong:
        raise click.UsageError(f"{given}: {wrong}") from None


def as_documents(members: Sequence[Member]) -> list[Json]:
    """Parse a members file."""
    return [
        {
            "name": each.name,
            "labels": dict(each.labels),
            "taints": [dict(taint) for taint in each.taints],
            "queueManager": each.queue_manager,
            "pools": [dict(pool) for pool in each.pools],
        }
        for each in members
    ]


def members_of(listed: Sequence[Json]) -> tuple[Member, ...]:
    """Parse stored members; () if invalid."""
    try:
        return _members({"members": list(listed)})
    except _Wrong:
        return ()


def growing_pools(member: Member) -> list[Json]:
    """The growing pools of a member, as its MemberCluster declares them."""
    from shared.labels import NODE_POOL

    return [
        {
            "name": pool["name"],
            "maxNodes": pool["maxNodes"],
            "labels": {**(pool.get("labels") or {}), NODE_POOL: pool["name"]},
            "taints": [dict(t) for t in pool.get("taints") or ()],
            "allocatable": dict(pool["allocatable"]),
        }
        for pool in member.pools
        if pool.get("maxNodes")
    ]


def default_members(count: int) -> tuple[Member, ...]:
    """`count` members; the first three are a CPU, a memory and a GPU cluster."""
    if not 1 <= count <= MOST_MEMBERS:
        raise click.UsageError(f"--members: from 1 to {MOST_MEMBERS}.")
    found = []
    for i in range(count):
        kind, labels, pools = _TEMPLATES[i % len(_TEMPLATES)]
        turn = i // len(_TEMPLATES)
        name = f"{kind}-{turn + 1}"
        found.append(Member(name=name, labels=labels, pools=tuple(pools)))
    return tuple(found)


class _Wrong(Exception):
    """A field and its error."""

    def __init__(self, field: str, rule: str) -> None:
        super().__init__(f"{field}: {rule}." if field else f"{rule}.")


def _members(document: object) -> tuple[Member, ...]:
    if not isinstance(document, dict) or not document.get("members"):
        raise _Wrong("", "expected `members:` with a list of clusters")
    _known(document, {"members"}, "")
    entries = _typed(document["members"], list, "members", "a list of clusters")
    members = tuple(_member(f"members[{i}]", entry) for i, entry in enumerate(entries))
    _no_two_alike([m.name for m in members], "members")
    return members


def _member(where: str, entry: object) -> Member:
    given = _typed(entry, dict, where, "a mapping such as {name: gpu-1}")
    _known(given, _MEMBER_KEYS, where)
    pools = _list_of(given, "pools", where)
    for i, pool in enumerate(pools):
        _check_pool(f"{where}.pools[{i}]", pool)
    _no_two_alike([pool["name"] for pool in pools], f"{where}.pools")
    return Member(
        name=_name(given, where),
        labels=_labels(given, where),
        taints=_taints(given, where, ("NoSchedule",)),  # all that clusters can have
        queue_manager=_typed(
            given.get("queueManager", False), bool, f"{where}.queueManager", "true or false"
        ),
        pools=tuple(pools),
    )


def _check_pool(where: str, pool: object) -> None:
    given = _typed(pool, dict, where, "a mapping such as {name: main, count: 2}")
    _known(given, _POOL_KEYS, where)
    _name(given, where)
    _labels(given, where)
    _taints(given, where, _NODE_EFFECTS)
    for key in ("count", "maxNodes"):
        count = given.get(key, 1)
        if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count <= _MOST_NODES:
            rule = f"expected a number from 0 to {_MOST_NODES}"
            raise _Wrong(f"{where}.{key}", f"{rule}, not {count!r}")
    wait_s = given.get("addSeconds", 0)
    if not isinstance(wait_s, int | float) or isinstance(wait_s, bool) or wait_s < 0:
        raise _Wrong(f"{where}.addSeconds", f"expected seconds, 0 or more, not {wait_s!r}")
    rule = "resources such as {cpu: '32', memory: 64Gi}"
    resources = _typed(given.get("allocatable"), dict, f"{where}.allocatable", rule)
    for name, amount in resources.items():
        _check_amount(f"{where}.allocatable.{name}", str(name), amount)


def _check_amount(where: str, name: str, amount: object) -> None:
    from shared.errors import Rejected
    from shared.quantity import parse

    wanted = isinstance(amount, str | int | float) and not isinstance(amount, bool)
    try:
        fits = wanted and parse(name, str(amount)) >= 0
    except Rejected:
        fits = False
    if not fits:
        raise _Wrong(where, f"expected a quantity such as '32' or 64Gi, not {amount!r}")


def _name(given: Json, where: str) -> str:
    name = given.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        rule = "expected lower-case letters, digits and '-', such as gpu-1"
        raise _Wrong(f"{where}.name", f"{rule}, not {name!r}")
    return name


def _labels(given: Json, where: str) -> dict[str, str]:
    labels = _typed(given.get("labels") or {}, dict, f"{where}.labels", "a mapping of strings")
    for key, value in labels.items():
        if not isinstance(key, str) or not isinstance(value, str):
            rule = "expected a string (numbers, true and false need quotes)"
            raise _Wrong(f"{where}.labels.{key}", f"{rule}, not {value!r}")
    return dict(labels)


def _taints(given: Json, where: str, effects: tuple[str, ...]) -> tuple[Mapping[str, str], ...]:
    found = _list_of(given, "taints", where)
    for i, taint in enumerate(found):
        here = f"{where}.taints[{i}]"
        _known(_typed(taint, dict, here, "{key, value, effect}"), _TAINT_KEYS, here)
        if not isinstance(taint.get("key"), str) or not taint["key"]:
            raise _Wrong(f"{here}.key", "expected a string")
        if not isinstance(taint.get("value", ""), str):
            raise _Wrong(f"{here}.value", f"expected a string, not {taint['value']!r}")
        if taint.get("effect") not in effects:
            rule = f"expected one of {', '.join(effects)}"
            raise _Wrong(f"{here}.effect", f"{rule}, not {taint.get('effect')!r}")
    return tuple(found)


def _list_of(given: Json, key: str, where: str) -> list[Any]:
    return _typed(given.get(key) or [], list, f"{where}.{key}", "a list")


def _typed(value: Any, kind: type[T], where: str, words: str) -> T:
    if not isinstance(value, kind):
        raise _Wrong(where, f"expected {words}, not {value!r}"[:200])
    return value


def _known(given: Json, keys: set[str], where: str) -> None:
    unknown = sorted(str(key) for key in set(given) - keys)
    if unknown:
        rule = f"unknown field; expected {', '.join(sorted(keys))}"
        raise _Wrong(f"{where}.{unknown[0]}".lstrip("."), rule)


def _no_two_alike(names: list[str], where: str) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise _Wrong(where, f"named twice: {', '.join(twice)}")
