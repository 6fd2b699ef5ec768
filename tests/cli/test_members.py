"""Members of a local fleet: numbers, files with every documented field, and files with mistakes."""

import json
from typing import Any

import click
import pytest
import yaml

from roadstead.cli import last_start
from roadstead.cli.members import default_members, read_members
from tests.cli.commands import run

POOL = {
    "name": "a100",
    "count": 2,
    "labels": {"gpu-type": "a100"},
    "taints": [{"key": "gpu", "value": "yes", "effect": "NoExecute"}],
    "allocatable": {"cpu": 24, "memory": "96Gi", "nvidia.com/gpu": "8"},
}
MEMBER = {
    "name": "gpu-west",
    "labels": {"region": "west"},
    "taints": [{"key": "trial", "effect": "NoSchedule"}],
    "queueManager": True,
    "pools": [POOL],
}


def _file(tmp_path, document) -> str:
    path = tmp_path / "members.yaml"
    path.write_text(document if isinstance(document, str) else yaml.safe_dump(document))
    return str(path)


def _with(**fields) -> dict[str, Any]:
    return {"members": [{**MEMBER, **fields}]}


def _pool_with(**fields) -> dict[str, Any]:
    return _with(pools=[{**POOL, **fields}])


def test_a_members_file_without_an_end_is_refused():
    """The command reads at most 16 MiB."""
    with pytest.raises(click.UsageError, match="more than 16 MiB"):
        read_members("/dev/zero")


def test_a_number_gives_unlike_members():
    """Three members are a CPU, a memory and a GPU cluster; more go round again."""
    assert [m.name for m in read_members("5")] == [
        "cpu-1",
        "memory-1",
        "gpu-1",
        "cpu-2",
        "memory-2",
    ]


def test_a_file_has_every_documented_field(tmp_path):
    """name, labels, taints, queueManager and pools are taken as they are written."""
    (member,) = read_members(_file(tmp_path, {"members": [MEMBER]}))
    assert (member.name, member.labels, member.queue_manager) == (
        "gpu-west",
        {"region": "west"},
        True,
    )
    assert (list(member.taints), list(member.pools)) == (MEMBER["taints"], [POOL])


def test_the_last_start_is_read_back(tmp_path):
    """`up` on the same folder goes on with the members, ports and address of before."""
    members = read_members(_file(tmp_path, {"members": [MEMBER]}))
    last_start.write(tmp_path, "127.0.0.2", {"hub": 9}, members)
    assert last_start.read(tmp_path) == last_start.LastStart(
        "127.0.0.2", {"hub": 9}, ("gpu-west",), members
    )


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", ()),
        ("[]", ()),
        ('{"ports": {"hub": 9}, "members": ["a", "b"]}', ("a", "b")),  # of an earlier release
        ('{"ports": {"hub": 9}, "members": [{"name": "a", "pools": 3}]}', ("a",)),
        ('{"ports": {"hub": 9}, "members": ["cpu-1", "gpu-1"]}', ("cpu-1", "gpu-1")),
        ('{"ports": {"hub": 9}, "members": 5}', ()),
        ('{"ports": {"hub": 9}, "members": true}', ()),
        ('{"ports": {"hub": 9}, "members": "abc"}', ()),
        ('{"ports": {"hub": 9}, "members": {"a": 1}}', ()),
    ],
)
def test_a_start_whose_members_are_not_told_has_none(tmp_path, text, names):
    """Only their names may be known: nothing is made up in their place."""
    (tmp_path / last_start.FILE).write_text(text)
    last = last_start.read(tmp_path)
    assert (last.names, last.members) == (names, ())


@pytest.mark.parametrize("count", [1, 3, 7])
def test_names_that_members_are_given_by_number_are_enough(tmp_path, count):
    """An earlier release kept names alone: those that `--members N` gives are made as it makes them."""
    members = default_members(count)
    kept = {"ports": {"hub": 9}, "members": [each.name for each in members]}
    (tmp_path / last_start.FILE).write_text(json.dumps(kept))
    assert last_start.read(tmp_path).members == members


def test_up_asks_for_members_of_which_it_knows_the_names_alone(tmp_path):
    """By name, with the option that describes them: which release wrote the file is not known."""
    kept = {"ports": {"hub": 9}, "members": [{"name": "a", "pools": 3}]}
    (tmp_path / last_start.FILE).write_text(json.dumps(kept))
    done = run("up", "--data", str(tmp_path))
    assert done.code == 2
    assert "with the members a, and fleet.json in it does not say what they are" in done.err
    assert "--members FILE" in done.err
    assert "release" not in done.err


def test_a_name_is_enough(tmp_path):
    """A member without pools has no nodes; a pool without count has one."""
    (bare, small) = read_members(
        _file(
            tmp_path,
            {
                "members": [
                    {"name": "a"},
                    {"name": "b", "pools": [{"name": "p", "allocatable": {}}]},
                ]
            },
        )
    )
    assert (bare.pools, bare.queue_manager, len(small.pools)) == ((), False, 1)


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ("a: [", "not YAML"),
        ("", "expected `members:`"),
        ({"members": []}, "expected `members:`"),
        ([MEMBER], "expected `members:`"),
        ({"members": "cpu"}, "members: expected a list of clusters, not 'cpu'"),
        ({"members": [MEMBER], "pools": []}, "pools: unknown field; expected members"),
        ({"members": ["cpu-1"]}, "members[0]: expected a mapping"),
        ({"members": [MEMBER, MEMBER]}, "members: named twice: gpu-west"),
        (_with(name="GPU West"), "members[0].name: expected lower-case"),
        (_with(name=None), "members[0].name: expected lower-case"),
        (_with(kueue=True), "members[0].kueue: unknown field"),
        (_with(labels={"a": 1}), "members[0].labels.a: expected a string"),
        (_with(labels=["a"]), "members[0].labels: expected a mapping"),
        (_with(taints={"key": "a"}), "members[0].taints: expected a list"),
        (_with(taints=[{"key": "a", "effect": "Never"}]), "members[0].taints[0].effect: expected one"),
        (_with(taints=[{"effect": "NoSchedule"}]), "members[0].taints[0].key: expected a string"),
        (_with(queueManager="yes"), "members[0].queueManager: expected true or false, not 'yes'"),
        (_with(pools={"name": "a"}), "members[0].pools: expected a list"),
        (_with(pools=[POOL, POOL]), "members[0].pools: named twice: a100"),
        (_with(pools=[3]), "members[0].pools[0]: expected a mapping"),
        (_pool_with(name="a b"), "members[0].pools[0].name: expected lower-case"),
        (_pool_with(count=-1), "members[0].pools[0].count: expected a number from 0"),
        (_pool_with(count=True), "members[0].pools[0].count: expected a number from 0"),
        (_pool_with(count="2"), "members[0].pools[0].count: expected a number from 0"),
        (_pool_with(nodes=2), "members[0].pools[0].nodes: unknown field"),
        (_pool_with(allocatable=None), "members[0].pools[0].allocatable: expected resources"),
        (_pool_with(allocatable={"cpu": "many"}), "pools[0].allocatable.cpu: expected a quantity"),
        (_pool_with(allocatable={"cpu": "-1"}), "pools[0].allocatable.cpu: expected a quantity"),
        (_pool_with(allocatable={"cpu": True}), "pools[0].allocatable.cpu: expected a quantity"),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)  # fmt: skip
def test_a_mistake_is_named_with_file_and_field(tmp_path, document, words):
    """A members file that cannot be used is refused with the file, the entry, the field and the rule."""
    given = _file(tmp_path, document)
    with pytest.raises(click.UsageError) as caught:
        read_members(given)
    assert caught.value.message.startswith(f"{given}: ")
    assert words in caught.value.message


@pytest.mark.parametrize(
    "given", ["0", "1001", "-1", "three", "/nonexistent/members.yaml", "/tmp"]
)
def test_neither_number_nor_file(given):
    """What is neither a number from 1 to 1000 nor a readable file is refused as --members."""
    with pytest.raises(click.UsageError, match="--members"):
        read_members(given)
