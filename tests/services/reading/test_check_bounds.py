"""Bounds of what controllers and executors write: what is just allowed is read, one more is refused."""

from typing import Any

import pytest

from hub.services.outside.executor_status import MOST, REASON_CHARS, read_status
from hub.services.reading.check_answers import MESSAGE_CHARS, MOST_SECONDS, read_states
from shared.errors import Rejected

LONGEST = 1024  # characters of a condition's message


def codes(call: Any) -> list[tuple[str, str]]:
    """Field and code of every fault; none where it is read."""
    try:
        call()
    except Rejected as refusal:
        return [(each.field, str(each.code)) for each in refusal.errors] or [
            (refusal.field, str(refusal.code))
        ]
    return []


def answered(**given: Any) -> list[tuple[str, str]]:
    state = {"name": "budget", "state": "Retry", **given}
    return codes(lambda: read_states([state], ["main"]))


@pytest.mark.parametrize(
    ("given", "faults"),
    [
        ({"message": "x" * MESSAGE_CHARS}, []),
        ({"message": "x" * (MESSAGE_CHARS + 1)}, [("message", "TooLong")]),
        ({"message": ""}, []),
        ({"requeueAfterSeconds": 0}, []),
        ({"requeueAfterSeconds": -1}, [("requeueAfterSeconds", "OutOfRange")]),
        ({"requeueAfterSeconds": MOST_SECONDS}, []),
        ({"requeueAfterSeconds": MOST_SECONDS + 1}, [("requeueAfterSeconds", "OutOfRange")]),
        ({"requeueAfterSeconds": True}, [("requeueAfterSeconds", "InvalidType")]),
        ({"requeueAfterSeconds": 1.0}, [("requeueAfterSeconds", "InvalidType")]),
        ({"retryCount": 0}, []),
        ({"retryCount": MOST_SECONDS}, []),
        ({"retryCount": MOST_SECONDS + 1}, [("retryCount", "OutOfRange")]),
        ({"podSetUpdates": []}, []),
        ({"podSetUpdates": [{"name": "main"}, {"name": "main"}]}, [
            ("podSetUpdates[1].name", "Duplicate")
        ]),
        ({"podSetUpdates": [{"name": "other"}]}, [("podSetUpdates[0].name", "UnknownPodSet")]),
    ],
)  # fmt: skip
def test_an_answer_is_read_up_to_its_bounds(given: dict[str, Any], faults: list[Any]) -> None:
    """Zero and the most are numbers like others; every fault is named with its field."""
    assert answered(**given) == faults


def test_only_fields_that_were_sent_are_read() -> None:
    """What an answer does not mention is not there: that keeps what was said before."""
    sent = {"name": "budget", "state": "Ready", "retryCount": 0, "podSetUpdates": []}
    assert read_states([sent], ["main"]) == {"budget": sent}
    assert read_states([{"name": "b", "state": "Ready"}], []) == {
        "b": {"name": "b", "state": "Ready"}
    }


def conditions(count: int) -> dict[str, Any]:
    return {"conditions": [{"type": f"T{n}", "status": "True"} for n in range(count)]}


def reclaimable(count: object) -> dict[str, Any]:
    return {"reclaimablePods": [{"name": "main", "count": count}]}


@pytest.mark.parametrize(
    ("status", "faults"),
    [
        (conditions(MOST), []),
        (conditions(MOST + 1), [("status.conditions", "OutOfRange")]),
        (reclaimable(0), []),
        (reclaimable(2**31 - 1), []),
        (reclaimable(2**31), [("status.reclaimablePods[0].count", "OutOfRange")]),
        (reclaimable(-1), [("status.reclaimablePods[0].count", "OutOfRange")]),
        (reclaimable(True), [("status.reclaimablePods[0].count", "OutOfRange")]),
        ({}, []),
        ({"conditions": None, "reclaimablePods": None}, []),
    ],
)
def test_a_status_is_read_up_to_its_bounds(status: dict[str, Any], faults: list[Any]) -> None:
    """No pods may be given back as well as any number that Kubernetes has."""
    assert codes(lambda: read_status(status)) == faults


def test_an_end_keeps_reason_and_message_within_their_own_bounds() -> None:
    """64 characters of the reason, 1024 of the message."""
    said = {"type": "Finished", "status": "True", "reason": "r" * 2000, "message": "m" * 2000}
    finished = read_status({"conditions": [said]}).finished
    assert finished is not None
    assert (finished.reason, finished.message) == ("r" * REASON_CHARS, "m" * LONGEST)


@pytest.mark.parametrize(
    ("kind", "status", "finished", "ready"),
    [
        ("Finished", "True", True, None),
        ("Finished", "False", False, None),
        ("Finished", "Unknown", False, None),
        ("PodsReady", "True", False, True),
        ("PodsReady", "False", False, False),
        ("PodsReady", "Unknown", False, None),
        ("Admitted", "True", False, None),
    ],
)
def test_only_an_executors_own_conditions_count(
    kind: str, status: str, finished: bool, ready: bool | None
) -> None:
    """Finished where it is True, PodsReady where it is known; the hub's own are passed over."""
    said = read_status({"conditions": [{"type": kind, "status": status}]})
    assert (said.finished is not None, said.ready) == (finished, ready)


@pytest.mark.parametrize(
    ("status", "simple"),
    [
        ({}, True),
        ({"conditions": [{"type": "PodsReady", "status": "True"}]}, True),
        ({"reclaimablePods": []}, True),
        (reclaimable(0), False),
        ({"admissionChecks": []}, True),
        ({"admissionChecks": [{"name": "budget", "state": "Ready"}]}, False),
    ],
)
def test_a_report_is_simple_where_nothing_of_it_may_be_refused_late(
    status: dict[str, Any], simple: bool
) -> None:
    """Answers to checks, and pods given back, may be refused after another part was done."""
    assert read_status(status).is_simple is simple
