"""Drift that a newer manifest takes over as it is, and drift that it would write over."""

from typing import Any

import pytest

from agent.objects.comparing import drifted
from tests.agent.owned import live_of, owning
from tests.agent.scripted_hub import an_object


def a_pod(*images: tuple[str, str]) -> dict[str, Any]:
    containers = [{"name": name, "image": image} for name, image in images]
    return {
        "apiVersion": "example.com/v1",
        "kind": "Group",
        "metadata": {"name": "g", "namespace": "n"},
        "spec": {"containers": containers, "paused": True},
    }


OLDER = a_pod(("a", "one"), ("b", "one"))


@pytest.mark.parametrize(
    ("newer", "left"),
    [
        (a_pod(("a", "two"), ("b", "one")), []),
        (a_pod(("a", "three"), ("b", "one")), ["/spec/containers/0/image"]),
        (a_pod(("b", "two"), ("a", "one")), ["/spec/containers/0/image"]),
        (a_pod(), ["/spec/containers/0/image"]),
    ],
    ids=["accepted", "another", "of another item", "gone"],
)
def test_what_the_newer_manifest_says_is_drift_no_more(newer: Any, left: list[str]):
    """Of the same item of a list alone: at its place another may stand."""
    spec: dict[str, Any] = {
        'k:{"name":"a"}': {".": {}, "f:name": {}},
        'k:{"name":"b"}': {".": {}, "f:name": {}, "f:image": {}},
    }
    entry = owning({"f:spec": {"f:paused": {}, "f:containers": spec}})
    live = live_of(a_pod(("a", "two"), ("b", "one")), entry)
    work = an_object(newer, "o-1", generation=2)
    found, _ = drifted(work, live, OLDER)
    assert [each.pointer for each in found] == left


def test_what_was_taken_away_in_both_is_drift_no_more():
    """A field that the member lacks and the newer manifest does not set."""
    older, newer = a_pod(), a_pod()
    del newer["spec"]["paused"]
    live = live_of(newer, owning({"f:spec": {"f:containers": {}}}))
    work = an_object(newer, "o-1", generation=2)
    assert drifted(work, live, older)[0] == []
