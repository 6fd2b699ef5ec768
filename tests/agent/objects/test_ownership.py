"""Who owns a field, what that leaves to be called drift, and how paths and values are written."""

from typing import Any

import pytest

from agent.objects import drift, managed_fields
from shared import labels
from tests.agent.owned import MANAGER, a_config_map, live_of, owning
from tests.agent.scripted_hub import an_object

A: dict[str, Any] = {"f:data": {"f:a": {}}}
B: dict[str, Any] = {"f:data": {"f:b": {}}}


def test_all_entries_of_a_manager_count_together():
    """It has one for each operation; those of a subresource say nothing of the object itself."""
    live = live_of(
        a_config_map(),
        owning(A),
        owning(B, operation="Update"),
        {**owning(A), "subresource": "status"},
    )
    assert managed_fields.owned_by(live, MANAGER) == {"f:data": {"f:a": {}, "f:b": {}}}
    only_status = live_of(a_config_map(), {**owning(A), "subresource": "status"})
    assert managed_fields.owned_by(only_status, MANAGER) is None


def test_what_others_own_is_everybody_elses_together():
    """Ours and what is written through a subresource left out."""
    scaled = {**owning(A, "autoscaler"), "subresource": "scale"}
    live = live_of(a_config_map(), owning(A), owning(B, "kubectl"), scaled)
    assert managed_fields.owned_by_others(live, MANAGER) == B


@pytest.mark.parametrize(
    ("tree", "path", "covers"),
    [
        (A, ("data", "a"), True),
        (A, ("data", "b"), False),
        (A, ("data",), True),
        (A, ("data", "a", "below"), True),
        ({"f:data": {}}, ("data", "b"), True),
        ({"f:data": {".": {}}}, ("data", "b"), False),
        ({}, ("data",), False),
        ({"f:spec": {"f:list": {'k:{"name":"x"}': {}}}}, ("spec", "list", "3", "image"), True),
        ({"f:spec": {"f:list": {'v:"x"': {}}}}, ("spec", "list", "0"), True),
        ({"f:spec": {"f:list": {"i:0": {}}}}, ("spec", "list", "0"), True),
        ({"f:spec": {"f:list": {".": {}}}}, ("spec", "list", "0"), False),
    ],
)
def test_what_a_tree_covers(tree, path, covers):
    """What is owned whole covers all below it; of list items any may be the one."""
    assert managed_fields.covers(tree, path) is covers


@pytest.mark.parametrize(
    ("tree", "value", "owned"),
    [
        ({"i:1": {"f:x": {}}}, "v", True),
        ({"i:0": {}}, "v", False),
        ({'v:"v"': {}}, "v", True),
        ({'v:"w"': {}}, "v", False),
        ({'k:{"name":"n"}': {}}, {"name": "n"}, True),
        ({'k:{"name":"m"}': {}}, {"name": "n"}, False),
        ({'k:{"port":80,"protocol":"TCP"}': {}}, {"port": 80}, True),
        ({'k:{"port":80,"protocol":"TCP"}': {}}, {"port": 80, "protocol": "UDP"}, False),
    ],
)
def test_the_item_of_a_list_is_found_by_place_value_or_keys(tree, value, owned):
    """A key that the manifest leaves out was filled in by the server."""
    assert (managed_fields.item(tree, value, 1) is not None) is owned


def test_only_a_difference_that_somebody_else_owns_is_contested():
    """Also where our own entries were wiped; a path that is gone is nobody's."""
    manifest = a_config_map(a="1", b="2", c="3")
    theirs = owning(A, "kubectl", "Update")
    wiped = live_of(a_config_map(a="9", b="9"), theirs)
    assert [d.pointer for d in drift.contested(manifest, wiped, MANAGER)] == ["/data/a"]
    gone = live_of(a_config_map(b="2"), owning({"f:data": {".": {}}}), theirs)
    assert drift.contested(manifest, gone, MANAGER) == []


def test_our_own_marks_are_no_difference_of_somebody_elses_object():
    """Labels and annotations of the manifest that it asks for itself are."""
    manifest = a_config_map(a="1")
    manifest["metadata"] |= {"labels": {"team": "red"}, "annotations": {"note": "x"}}
    work = an_object(manifest, "o-1")
    found = [d.pointer for d in drift.compared(work.manifest, live_of(a_config_map(a="1")))]
    assert found == ["/metadata/labels", "/metadata/annotations"]
    bare = an_object(a_config_map(a="1"), "o-1")
    assert drift.compared(bare.manifest, live_of(a_config_map(a="1"))) == []


@pytest.mark.parametrize(
    ("wanted", "live", "same"),
    [
        (1, 1.0, True),
        ("1", 1, True),
        ("1Gi", "1024Mi", True),
        (True, "1", False),
        ([], None, False),
        ({"a": []}, {}, True),
        ({"a": {}}, {}, True),
        ({"a": None}, {}, True),
        ({"a": 0}, {}, False),
        ({"a": ""}, {}, False),
        ({"a": False}, {}, False),
        ({}, {"a": 1}, True),
        ([1], [1, 2], False),
        ([1, 2], [2, 1], False),
    ],
    ids=str,
)
def test_when_a_value_is_what_was_asked_for(wanted, live, same):
    """Amounts by amount; empty maps and lists are nothing; truth is no number."""
    assert drift.same(wanted, live) is same


@pytest.mark.parametrize(
    ("path", "pointer"),
    [
        (("a", "b"), "/a/b"),
        (("a/b",), "/a~1b"),
        (("a~b",), "/a~0b"),
        (("a~1b",), "/a~01b"),
        (("x/y~z", "0"), "/x~1y~0z/0"),
    ],
)
def test_a_path_is_written_as_a_pointer_and_read_back(path, pointer):
    """RFC 6901: the order in which the two signs are replaced matters."""
    assert drift.Difference(path, 1, 2).pointer == pointer
    assert drift.ignored(path, [pointer])


@pytest.mark.parametrize(
    ("index", "found"), [("0", "x"), ("1", "y"), ("2", drift.ABSENT), ("-1", drift.ABSENT)]
)
def test_there_is_nothing_beyond_the_end_of_a_list(index, found):
    """Nor before its beginning, nor where a path goes on below a plain value."""
    assert drift.at({"l": ["x", "y"]}, ("l", index)) is found
    assert drift.at({"l": 1}, ("l", index)) is drift.ABSENT


def test_several_items_of_one_list_are_left_out_together():
    """The ones behind first, so that the others keep their places."""
    manifest = {"l": ["a", "b", "c", "d"]}
    less = drift.without(manifest, [("l", "0"), ("l", "2"), ("gone", "0")])
    assert less == {"l": ["b", "d"]}


@pytest.mark.parametrize(("length", "cut"), [(1022, False), (1023, True)])
def test_a_value_is_shown_up_to_a_thousand_characters(length, cut):
    """Its quotes included; a longer one ends with a sign that it does."""
    text = drift.shown("x" * length, secret=False)
    assert len(text) == 1024
    assert text.endswith("…") is cut


def test_string_data_wins_over_data_of_the_same_key():
    """As in the API server, which writes it over."""
    secret = {
        "kind": "Secret",
        "metadata": {},
        "data": {"p": "b2xk", "q": "cQ=="},
        "stringData": {"p": "new"},
    }
    assert drift.comparable(secret)["data"] == {"p": "bmV3", "q": "cQ=="}


def test_an_annotation_alone_that_differs_in_a_job_is_drift():
    """One that is gone has no value in the member; our own marks change with each generation."""
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": "j",
            "annotations": {"note": "x", "other": "y", labels.GENERATION: "2"},
        },
        "spec": {"parallelism": 1},
    }
    live = live_of(job)
    live["metadata"]["annotations"] = {"note": "changed", labels.GENERATION: "1"}
    found = {d.pointer: d.member for d in drift.differences(job, live, MANAGER)}
    assert found == {
        "/metadata/annotations/note": "changed",
        "/metadata/annotations/other": drift.ABSENT,
    }
