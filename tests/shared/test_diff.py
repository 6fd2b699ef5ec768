"""Differences as data, and which manager owns what a manifest says."""

import copy
from typing import Any

from hypothesis import given, strategies as st

from shared import diff as d
from shared.diff import LIST_KEYS, MISSING, DiffItem, ItemKey, diff

values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "b/c", "~"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "b/c", "~d", "spec"]), inner, max_size=3)
    ),
    max_leaves=12,
)


def applied(value, items):
    """`value` after the changes; removals last and backwards, so that places stay right."""
    root = {"": copy.deepcopy(value)}
    removals = [item for item in items if item.op == "remove"]
    for item in [i for i in items if i.op != "remove"] + removals[::-1]:
        way = ["", *d.split(item.path)]
        last = way.pop()
        inner = root
        for step in way:
            inner = inner[int(step)] if isinstance(inner, list) else inner[step]
        place = int(last) if isinstance(inner, list) else last
        if item.op == "remove":
            del inner[place]
        elif isinstance(inner, list) and item.op == "add":
            inner.insert(place, item.new)
        else:
            inner[place] = item.new
    return root[""]


def test_fields_are_compared_by_name():
    """An addition, a removal and a replacement, each with its pointer and both values."""
    old = {"a": 1, "b": {"c": 2}, "e/f": 1}
    new = {"b": {"c": 3}, "d~": 4, "e/f": 1}
    assert diff(old, new) == (
        DiffItem("remove", "/a", 1, None),
        DiffItem("replace", "/b/c", 2, 3),
        DiffItem("add", "/d~0", None, 4),
    )


def test_items_with_a_key_are_compared_by_it():
    """Containers are told apart by name: another order is no difference."""
    old = {"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "1"}]}
    new = {"containers": [{"name": "b", "image": "2"}, {"name": "a", "image": "1"}]}
    assert diff(old, new, keys=LIST_KEYS) == (
        DiffItem("replace", "/containers/0/image", "1", "2"),
    )
    assert len(diff(old, new)) == 3


def test_an_item_that_is_gone_has_its_old_place():
    """The path of a removal is the place in the old list."""
    old = {"volumes": [{"name": "a"}, {"name": "b"}]}
    (item,) = diff(old, {"volumes": [{"name": "a"}]}, keys=LIST_KEYS)
    assert (item.op, item.path, item.old) == ("remove", "/volumes/1", {"name": "b"})


def test_quantities_are_compared_by_amount():
    """`1` and `1000m` of CPU are equal; two images are not quantities."""
    old = {"resources": {"requests": {"cpu": "1"}}, "image": "1"}
    new = {"resources": {"requests": {"cpu": "1000m"}}, "image": "1000m"}
    (item,) = diff(old, new, equal=d.quantity_aware)
    assert item.path == "/image"


def test_true_is_not_one():
    """JSON's booleans are no numbers."""
    assert diff({"a": True}, {"a": 1}) == (DiffItem("replace", "/a", True, 1),)


@given(values)
def test_nothing_differs_from_itself(value):
    """Equal values have no difference."""
    assert diff(value, copy.deepcopy(value), keys=LIST_KEYS) == ()


@given(values, values)
def test_a_difference_says_all(old, new):
    """Carrying out the items on the old value gives the new one."""
    assert diff(applied(old, diff(old, new)), new) == ()


def test_pointers_escape_what_they_must():
    """A slash in a name is ~1, a tilde ~0, as RFC 6901 says."""
    path = d.pointer("metadata", "labels", "a.b/c~d", 0)
    assert path == "/metadata/labels/a.b~1c~0d/0"
    assert d.split(path) == ("metadata", "labels", "a.b/c~d", "0")


JOB: dict[str, Any] = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "j", "uid": "u", "labels": {"a": "b"}},
    "spec": {
        "suspend": True,
        "template": {"spec": {"containers": [{"name": "c", "command": ["x", "y"], "env": []}]}},
    },
    "status": {"active": 1},
}
CONTAINER = ("spec", "template", "spec", "containers", ItemKey((("name", "c"),)))


def test_a_manifest_claims_its_leaves():
    """Labels and everything of the spec are claimed; identity and status are not."""
    assert dict(d.desired_paths(JOB)) == {
        ("metadata", "labels", "a"): "b",
        ("spec", "suspend"): True,
        (*CONTAINER, "command"): ["x", "y"],
        (*CONTAINER, "env"): [],
    }


def test_a_path_finds_its_item_wherever_it_stands():
    """Keyed items are looked up by key, and located by their place in the live object."""
    live = copy.deepcopy(JOB)
    live["spec"]["template"]["spec"]["containers"].insert(0, {"name": "injected"})
    path = (*CONTAINER, "command")
    assert d.lookup(live, path) == ["x", "y"]
    assert d.locate(live, path) == "/spec/template/spec/containers/1/command"
    assert d.lookup(live, ("spec", "absent")) is MISSING
    assert d.lookup(live, ("spec", "suspend", "deeper")) is MISSING


def test_what_a_manager_owns():
    """fieldsV1 names fields and keyed items; a name with nothing below owns all below."""
    fields = {
        "f:metadata": {"f:labels": {".": {}, "f:a": {}}},
        "f:spec": {
            "f:template": {
                "f:spec": {
                    "f:containers": {
                        'k:{"name":"c"}': {".": {}, "f:name": {}, "f:command": {}},
                        'k:{"name":"p"}': {
                            "f:ports": {'k:{"containerPort":80,"protocol":"TCP"}': {".": {}}}
                        },
                    },
                    "f:nodeSelector": {},
                },
            },
        },
    }
    pod = ("spec", "template", "spec")
    ports = (*pod, "containers", ItemKey((("name", "p"),)), "ports")
    tcp = ItemKey((("containerPort", 80), ("protocol", "TCP")))
    udp = ItemKey((("containerPort", 80), ("protocol", "UDP")))
    assert d.owns(fields, ("metadata", "labels", "a"))
    assert not d.owns(fields, ("metadata", "labels", "b"))
    assert d.owns(fields, (*CONTAINER, "command"))
    assert not d.owns(fields, (*CONTAINER, "image"))
    assert d.owns(fields, (*pod, "nodeSelector", "zone"))
    assert not d.owns(fields, ("spec", "suspend"))
    assert d.owns(fields, (*ports, tcp))
    assert not d.owns(fields, (*ports, udp))
    assert not d.owns({}, ("spec",))
