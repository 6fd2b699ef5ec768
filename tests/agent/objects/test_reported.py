"""An object's own status, as the hub is told it: as it is, within bounds."""

import pytest

from agent.objects.reported import MOST_BYTES, reported_status


def an(status, kind="Thing", api_version="example.org/v1"):
    return {"apiVersion": api_version, "kind": kind, "metadata": {}, "status": status}


def test_a_status_is_told_as_it_is():
    """Also an empty one."""
    status = {"phase": "Ready", "conditions": [{"type": "Ready"}], "n": None}
    assert reported_status(an(status)) == status
    assert reported_status(an({})) == {}


@pytest.mark.parametrize("obj", [an(None), an("well"), an([1]), an({"a": 1}, "Secret", "v1"), {}])
def test_what_has_no_status_tells_none(obj):
    """Secrets never do."""
    assert reported_status(obj) is None


def test_of_a_status_that_is_too_large_the_largest_fields_are_left_out():
    """What is small says most; the order is that of the object."""
    status = {"large": "x" * MOST_BYTES, "phase": "Ready", "middle": "y" * (MOST_BYTES // 2)}
    assert list(reported_status(an(status))) == ["phase", "middle"]


def test_what_is_no_json_is_left_out():
    """Too deep, too large a number, half a character: the others are told."""
    deep: list[object] = []
    for _ in range(500):
        deep = [deep]
    status = {"deep": deep, "number": 2**70, "half": "\ud800", "phase": "Ready"}
    assert reported_status(an(status)) == {"phase": "Ready"}


def test_a_pods_termination_messages_are_not_told():
    """They are logs: no status that is reported brings them to the hub."""
    ended = {"terminated": {"exitCode": 3, "message": "password=hunter2"}}
    containers = [{"name": "main", "state": ended, "lastState": ended}]
    status = {"phase": "Failed", "containerStatuses": containers, "message": "evicted"}
    told = reported_status(an(status, "Pod", "v1"))
    assert "hunter2" not in str(told)
    assert told["containerStatuses"][0]["state"] == {"terminated": {"exitCode": 3}}
    assert (told["phase"], told["message"]) == ("Failed", "evicted")
