"""What is taken of a burst of watch events: the last state of each object, and every deletion."""

from typing import Any

import pytest

from shared.kube.watch import WatchEvent, newest


def event(kind, name, version, uid="u1"):
    return WatchEvent(
        kind, {"metadata": {"name": name, "uid": uid, "resourceVersion": str(version)}}
    )


CASES: dict[str, tuple[list[tuple[Any, ...]], list[int]]] = {
    "one alone": ([("MODIFIED", "a", 1)], [1]),
    "the last of several states": (
        [("ADDED", "a", 1), ("MODIFIED", "a", 2), ("MODIFIED", "a", 3)],
        [3],
    ),
    "each object in its turn": (
        [("MODIFIED", "a", 1), ("MODIFIED", "b", 2), ("MODIFIED", "a", 3)],
        [2, 3],
    ),
    "a deletion, and what was there before it": (
        [("MODIFIED", "a", 1), ("MODIFIED", "a", 2), ("DELETED", "a", 3)],
        [2, 3],
    ),
    "another object of the same name": (
        [("MODIFIED", "a", 1), ("DELETED", "a", 2), ("ADDED", "a", 3, "u2")],
        [1, 2, 3],
    ),
    "another object of the same name whose deletion was lost": (
        [("MODIFIED", "a", 1), ("ADDED", "a", 3, "u2")],
        [1, 3],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_of_a_burst_the_last_state_of_each_object_is_taken(case):
    """States between are left out, as a list would leave them out; the order of the others stays."""
    given, versions = CASES[case]
    taken = newest([event(*each) for each in given])
    assert [int(each.object["metadata"]["resourceVersion"]) for each in taken] == versions


def test_a_bookmark_is_kept():
    """It has only a version, and ends no object's turn."""
    bookmark = WatchEvent("BOOKMARK", {"metadata": {"resourceVersion": "9"}})
    taken = newest([event("ADDED", "a", 1), bookmark, event("MODIFIED", "a", 2)])
    assert [each.type for each in taken] == ["BOOKMARK", "MODIFIED"]
