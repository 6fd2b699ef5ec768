"""What counts as an addition: a field that the manifest lacks and that somebody else owns."""

from typing import Any

import pytest

from agent.objects.comparing import drifted, has_added, has_drifted, told
from agent.objects.drift import ABSENT, Difference, shown
from agent.objects.full_comparison import additions
from tests.agent.owned import MANAGER, a_config_map, live_of, owning
from tests.agent.scripted_hub import an_object


def found(manifest, live):
    assert all(each.hub is ABSENT for each in additions(manifest, live, MANAGER))
    return {each.pointer: shown(each.member, False) for each in additions(manifest, live, MANAGER)}


def others(tree):
    return owning(tree, "kubectl", "Update")


PORTS: dict[str, Any] = {"f:spec": {"f:ports": {'k:{"port":81}': {".": {}, "f:port": {}}}}}
SERVICE: dict[str, Any] = {"kind": "Service", "metadata": {}, "spec": {"ports": [{"port": 80}]}}
LISTED: dict[str, Any] = {"kind": "X", "metadata": {}, "spec": {"names": ["a"]}}
TWO: dict[str, Any] = {"spec": {"names": ["a", "b"]}}


@pytest.mark.parametrize(
    ("manifest", "tree", "changes", "wanted"),
    [
        (a_config_map(a="1"), {"f:data": {"f:b": {}}}, {"data": {"a": "1", "b": "2"}}, {"/data/b": '"2"'}),
        (a_config_map(a="1"), {"f:data": {"f:a": {}}}, {"data": {"a": "1"}}, {}),
        (a_config_map(a="1"), {"f:x": {}}, {"data": {"a": "1", "b": "2"}}, {}),
        (a_config_map(a="1"), {"f:data": {}}, {"data": {"a": "1", "b": "2"}}, {"/data/b": '"2"'}),
        (a_config_map(a="1"), {"f:immutable": {}}, {"immutable": True}, {"/immutable": "true"}),
        (a_config_map(a="1"), {"f:immutable": {}}, {"immutable": None}, {}),
        (a_config_map(a="1"), {"f:status": {"f:x": {}}}, {"status": {"x": 1}}, {}),
        (SERVICE, PORTS, {"spec": {"ports": [{"port": 81}, {"port": 80}]}}, {"/spec/ports/0": '{"port":81}'}),
        (SERVICE, PORTS, {"spec": {"ports": [{"port": 80, "x": 1}]}}, {}),
        (LISTED, {"f:spec": {"f:names": {'v:"b"': {}}}}, TWO, {"/spec/names/1": '"b"'}),
        (LISTED, {"f:spec": {"f:names": {}}}, TWO, {}),
    ],
)  # fmt: skip
def test_what_others_own_beside_the_manifest_is_an_addition(manifest, tree, changes, wanted):
    """Neither what nobody owns (defaults), nor status, nor what a list of one value has more."""
    assert found(manifest, live_of(manifest, others(tree), **changes)) == wanted


def test_an_item_that_the_manifest_has_is_looked_into():
    """Its key is what tells it apart, whatever the server filled into it."""
    tree: dict[str, Any] = {
        "f:spec": {"f:ports": {'k:{"port":80,"protocol":"TCP"}': {"f:nodePort": {}}}}
    }
    port = {"port": 80, "protocol": "TCP", "nodePort": 30000}
    live = live_of(SERVICE, others(tree), spec={"ports": [port]})
    assert found(SERVICE, live) == {"/spec/ports/0/nodePort": "30000"}


def test_labels_and_annotations_are_told_one_by_one_and_systems_never():
    """Kubernetes' own, and Roadstead's, are no user's addition."""
    keys = [
        "team",
        "x.k8s.io/a",
        "app.kubernetes.io/b",
        "roadstead.dev/c",
        "notk8s.io/d",
        "k8s.io",
    ]
    tree: dict[str, Any] = {
        "f:metadata": {"f:labels": {".": {}, **{f"f:{key}": {} for key in keys}}}
    }
    live = live_of(a_config_map(a="1"), others(tree))
    live["metadata"]["labels"] = dict.fromkeys(keys, "1")
    assert sorted(found(a_config_map(a="1"), live)) == [
        "/metadata/labels/k8s.io",
        "/metadata/labels/notk8s.io~1d",
        "/metadata/labels/team",
    ]


def test_where_nothing_tells_who_owns_what_everything_counts():
    """Of an object without any managed fields."""
    live = live_of(a_config_map(a="1"), data={"a": "1", "b": "2"}, extra={"x": [1]})
    assert found(a_config_map(a="1"), live) == {"/data/b": '"2"', "/extra": '{"x":[1]}'}


def a_work(**fields):
    return an_object(a_config_map(a="1"), "o-1", **fields)


def test_additions_count_where_they_are_asked_for():
    """Told beside what has drifted; an apply could bring back only the latter."""
    tree: dict[str, Any] = {"f:data": {"f:a": {}, "f:b": {}}}
    work = a_work()
    live = live_of(work.manifest, others(tree), owning({"f:kind": {}}), data={"a": "2", "b": "2"})
    (only,), _ = drifted(work, live, None)
    assert only.pointer == "/data/a"
    both, doubtful = drifted(a_work(compare_all=True), live, None)
    assert [each.pointer for each in both] == ["/data/a", "/data/b"]
    assert (has_drifted(both), has_added(both), doubtful) == (True, True, False)
    assert (has_drifted(both[1:]), has_added(both[:1])) == (False, False)


def test_of_wiped_ownership_no_additions_are_guessed():
    """Every default would be one."""
    work = a_work(compare_all=True)
    live = live_of(work.manifest, data={"a": "2", "b": "2"})
    suspected, doubtful = drifted(work, live, None)
    assert ([each.pointer for each in suspected], doubtful) == (["/data/a"], True)


def test_what_differs_is_bounded():
    """Of an object with countless additions a thousand are looked at."""
    data = {f"k{n}": "x" for n in range(3000)}
    work = a_work(compare_all=True)
    live = live_of(
        work.manifest,
        owning({"f:kind": {}}),
        others({"f:data": {f"f:{k}": {} for k in data}}),
        data={"a": "1", **data},
    )
    assert len(drifted(work, live, None)[0]) == 1000


def test_a_difference_at_a_place_that_two_share_is_the_desired_one():
    """An item that is gone, and another that took its place in the list."""
    missing, added = told_of("a"), told_of(None)
    said = told([missing, added], a_config_map(), {}, "now")
    assert said["/data/0"].hub == '"a"'


def told_of(hub):
    return Difference(("data", "0"), ABSENT if hub is None else hub, "x")
