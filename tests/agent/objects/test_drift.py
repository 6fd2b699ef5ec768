"""What counts as drift: a desired path that nobody of ours owns any more and that differs."""

import copy
from typing import Any

import pytest
from hypothesis import given, strategies as st

from agent.objects import drift, managed_fields
from tests.agent.owned import MANAGER, a_config_map, live_of, owning


def found(manifest, live):
    return {
        d.pointer: (drift.shown(d.hub, False), drift.shown(d.member, False))
        for d in drift.differences(manifest, live, MANAGER)
    }


def test_what_we_own_is_never_drift():
    """However the server wrote it: an owned path holds by definition."""
    manifest = a_config_map(a="1")
    live = live_of(manifest, owning({"f:data": {"f:a": {}}}), data={"a": "one"})
    assert found(manifest, live) == {}


def test_a_path_that_changed_hands_and_value_has_drifted():
    """Hub value from the manifest, member value from the live object."""
    manifest = a_config_map(a="1", b="2")
    live = live_of(manifest, owning({"f:data": {"f:b": {}}}), data={"a": "9", "b": "2"})
    assert found(manifest, live) == {"/data/a": ('"1"', '"9"')}


def test_a_path_that_changed_hands_only_has_not_drifted():
    """Another manager that wants the same does no harm."""
    manifest = a_config_map(a="1", b="2")
    live = live_of(manifest, owning({"f:data": {"f:b": {}}}))
    assert found(manifest, live) == {}


def test_a_removed_path_has_no_member_value():
    """A desired key that is gone is drift without a value in the member."""
    manifest = a_config_map(a="1", b="2")
    live = live_of(manifest, owning({"f:data": {"f:b": {}}}), data={"b": "2"})
    assert found(manifest, live) == {"/data/a": ('"1"', None)}


def test_an_equal_quantity_is_no_difference():
    """500m and 0.5 are the same amount, whoever wrote it."""
    manifest = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q"},
        "spec": {"hard": {"cpu": "0.5", "memory": "1024Mi"}},
    }
    live = live_of(
        manifest,
        owning({"f:metadata": {}}),
        spec={"hard": {"cpu": "500m", "memory": "1Gi"}},
    )
    assert found(manifest, live) == {}


CONTAINER = {"name": "web", "image": "nginx:1", "ports": [{"containerPort": 80}]}
TREE: dict[str, Any] = {
    "f:spec": {
        "f:containers": {
            'k:{"name":"web"}': {
                ".": {},
                "f:name": {},
                "f:image": {},
                "f:ports": {
                    ".": {},
                    'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:containerPort": {}},
                },
            }
        }
    }
}


def a_pod(**container):
    spec = {"containers": [{**CONTAINER, **container}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}


def test_amounts_are_worded_as_the_live_object_has_them():
    """Of requests, limits and quotas alone: text, labels and list items of a manifest stay as they are."""
    wanted = {"resources": {"limits": {"cpu": 2}}, "data": {"a": "1000m"}, "from": [{}]}
    live = {
        "resources": {"limits": {"cpu": "2"}},
        "data": {"a": "1"},
        "from": [{"ip": "10.0.0.0"}],
    }
    assert drift.worded_as(wanted, live) == {**wanted, "resources": {"limits": {"cpu": "2"}}}
    other = {"resources": {"limits": {"cpu": "3"}}}
    assert drift.worded_as(wanted, other) == wanted


def test_a_null_leaves_the_field_to_the_server():
    """What the server then fills in is no difference, alone or in an item of a list."""
    manifest = a_config_map(colour=None)
    assert drift.compared(manifest, a_config_map(colour="red")) == []
    assert drift.same([{"name": "a", "port": None}], [{"name": "a", "port": 80}])


def test_items_of_lists_are_found_by_their_keys():
    """An item that others put in front moves nothing; defaults in keys do not matter."""
    live = live_of(a_pod(), owning(TREE))
    sidecar = {"name": "sidecar", "image": "proxy:1"}
    live["spec"]["containers"].insert(0, sidecar)
    live["spec"]["containers"][1]["ports"] = [{"containerPort": 80, "protocol": "TCP"}]
    assert found(a_pod(), live) == {}


def test_a_field_of_a_list_item_can_drift():
    """The path names the item's place in the manifest."""
    tree = copy.deepcopy(TREE)
    del tree["f:spec"]["f:containers"]['k:{"name":"web"}']["f:image"]
    live = live_of(a_pod(), owning(tree))
    live["spec"]["containers"][0]["image"] = "nginx:2"
    assert found(a_pod(), live) == {"/spec/containers/0/image": ('"nginx:1"', '"nginx:2"')}


def test_a_removed_list_item_has_drifted_as_a_whole():
    """An item that is not there any more is one drifted path."""
    live = live_of(a_pod(), owning({"f:spec": {"f:containers": {".": {}}}}))
    live["spec"]["containers"] = [{"name": "other", "image": "x"}]
    assert list(found(a_pod(), live)) == ["/spec/containers/0"]


def test_an_atomic_list_drifts_as_a_whole():
    """A list without keys is one value."""
    manifest = a_pod(args=["a", "b"])
    live = live_of(manifest, owning(TREE))
    live["spec"]["containers"][0]["args"] = ["a"]
    assert found(manifest, live) == {"/spec/containers/0/args": ('["a","b"]', '["a"]')}


def test_without_any_entry_of_ours_only_a_dry_run_can_tell():
    """Wiped managed fields are told apart from nothing owned."""
    manifest = a_config_map(a="1")
    assert drift.differences(manifest, live_of(manifest), MANAGER) is None
    assert managed_fields.owned_by(live_of(manifest, owning({}, "other")), MANAGER) is None


def test_a_new_path_of_a_newer_manifest_is_no_drift():
    """What nobody owns yet can not have been changed by anybody."""
    newer = a_config_map(a="1", b="2")
    live = live_of(a_config_map(a="1"), owning({"f:data": {"f:a": {}}}))
    assert drift.contested(newer, live, MANAGER) == []
    other = owning({"f:data": {"f:a": {}}}, "kubectl", "Update")
    live = live_of(a_config_map(a="9"), owning({"f:data": {".": {}}}), other)
    assert [d.pointer for d in drift.contested(newer, live, MANAGER)] == ["/data/a"]


@pytest.mark.parametrize(
    ("pointer", "path", "covers"),
    [
        ("/spec/replicas", ("spec", "replicas"), True),
        ("/spec", ("spec", "replicas"), True),
        ("/spec/replicas", ("spec",), False),
        ("/spec/containers/*/image", ("spec", "containers", "3", "image"), True),
        ("/metadata/annotations/a.b~1c", ("metadata", "annotations", "a.b/c"), True),
        ("", ("spec",), False),
    ],
)
def test_ignored_pointers_cover_what_lies_below_them(pointer, path, covers):
    """A pointer names a path and everything under it; `*` is any part."""
    assert drift.ignored(path, [pointer]) is covers


def test_a_manifest_without_paths_is_another_object():
    """Leaving paths out of an apply does not change the manifest itself."""
    manifest = a_pod()
    less = drift.without(manifest, [("spec", "containers", "0", "image")])
    assert "image" not in less["spec"]["containers"][0]
    assert manifest == a_pod()


def test_string_data_of_a_secret_is_compared_as_data():
    """The server stores stringData encoded, under data."""
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
    assert drift.comparable({**secret, "stringData": {"p": "hunter2"}})["data"] == {
        "p": "aHVudGVyMg=="
    }


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc"), inner, max_size=3),
    max_leaves=8,
)


@given(values)
def test_everything_is_the_same_as_itself(value):
    """No value differs from its own copy."""
    assert drift.same(value, copy.deepcopy(value))


@given(st.dictionaries(st.text("abcd", min_size=1), st.integers(0, 9)), st.data())
def test_exactly_the_changed_keys_drift(data, draw):
    """Of any map, the keys that others changed are found, and no others."""
    wanted = {key: str(value) for key, value in data.items()}
    changed = draw.draw(st.sets(st.sampled_from(sorted(wanted))) if wanted else st.just(set()))
    manifest = a_config_map(**wanted)
    fields: dict[str, Any] = {f"f:{key}": {} for key in wanted if key not in changed}
    tree = {"f:data": fields | {".": {}}}
    live_data = {key: ("changed" if key in changed else value) for key, value in wanted.items()}
    live = live_of(manifest, owning(tree), data=live_data)
    paths = {d.path[-1] for d in drift.differences(manifest, live, MANAGER)}
    assert paths == changed


VARIABLE = {"name": "A", "value": "x"}


@pytest.mark.parametrize(
    ("path", "value", "secret"),
    [
        (("spec", "template", "spec", "containers", "0", "env", "1", "value"), "x", True),
        (("spec", "template", "spec", "containers", "0", "env", "1"), VARIABLE, True),
        (("spec", "template", "spec", "containers", "0", "env"), [VARIABLE], True),
        (("spec", "template", "spec", "containers", "0", "env", "1", "name"), "A", False),
        (("spec", "template", "metadata", "labels", "env"), "test", False),
        (("spec", "template", "spec", "nodeSelector", "env"), "test", False),
        (("spec", "replicas"), 1, False),
    ],
)
def test_drifted_environment_is_told_without_its_values(path, value, secret):
    """That a variable drifted is told, its values are not: whoever may see drift may not see them."""
    assert drift.is_secret({"kind": "Deployment"}, path, value) is secret


def test_values_that_hold_environment_are_told_without_it():
    """A whole container that differs is shown without the values of its variables."""
    container = {"name": "c", "env": [{"name": "T", "value": "word"}]}
    assert "word" not in str(drift.shown([container], secret=False))


@pytest.mark.parametrize(("part", "secret"), [("annotations", True), ("labels", False)])
def test_of_a_secret_only_labels_are_told(part, secret):
    """Annotations of a Secret may hold its content, as kubectl's last-applied one does."""
    assert drift.is_secret({"kind": "Secret"}, ("metadata", part, "k"), "v") is secret
