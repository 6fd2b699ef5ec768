"""Every fault of what is sent is told at once, each with its field; and of what is read nothing is lost."""

from typing import Any

import pytest

from hub.services.outside.executor_status import MOST, Finished, Said, read_status
from hub.services.reading.capacity_report import check_capacity
from hub.services.reading.check_answers import MESSAGE_CHARS, read_states
from shared.errors import Rejected
from shared.wire.agent_v1 import Capacity


def refusal(call: Any) -> Rejected:
    with pytest.raises(Rejected) as found:
        call()
    return found.value


def told(given: Rejected) -> list[tuple[str, str]]:
    return [(each.field, str(each.code)) for each in given.errors]


def test_every_fault_of_several_answers_is_told_with_its_place() -> None:
    """The first gives code and words; an answer that is right adds nothing."""
    given: list[Any] = [
        {"name": "fine", "state": "Ready"},
        {"state": "Perhaps", "message": 7, "colour": "red", "shape": "round"},
        {"name": "fine", "state": "Pending", "message": "m" * (MESSAGE_CHARS + 1)},
        {"name": "last", "state": "Retry", "requeueAfterSeconds": -1, "retryCount": "1"},
    ]
    found = refusal(lambda: read_states(given, []))
    assert told(found) == [
        ("[1].'colour'", "UnknownField"),
        ("[1].'shape'", "UnknownField"),
        ("[1].name", "Required"),
        ("[1].state", "InvalidState"),
        ("[1].message", "InvalidType"),
        ("[2].message", "TooLong"),
        ("[2].name", "Duplicate"),
        ("[3].requeueAfterSeconds", "OutOfRange"),
        ("[3].retryCount", "InvalidType"),
    ]
    first = found.errors[0]
    assert (found.code, found.detail) == (first.code, f"{first.field}: {first.message}")


def test_every_fault_of_an_answers_updates_is_told_with_its_place() -> None:
    """Each part of each update; an answer by itself has no number."""
    updates = [
        {"name": "main", "labels": ["a"], "annotations": {"a": 1}, "colour": "red"},
        {"name": "main", "nodeSelector": "x", "tolerations": {"key": "k"}},
        {"name": "other", "tolerations": [{"key": "k"}, {"kind": "k"}]},
    ]
    state = {"name": "one", "state": "Ready", "podSetUpdates": updates}
    assert told(refusal(lambda: read_states([state], ["main"]))) == [
        ("podSetUpdates[0].'colour'", "UnknownField"),
        ("podSetUpdates[0].labels", "InvalidType"),
        ("podSetUpdates[0].annotations", "InvalidType"),
        ("podSetUpdates[1].name", "Duplicate"),
        ("podSetUpdates[1].nodeSelector", "InvalidType"),
        ("podSetUpdates[1].tolerations", "InvalidType"),
        ("podSetUpdates[2].name", "UnknownPodSet"),
        ("podSetUpdates[2].tolerations[1].'kind'", "UnknownField"),
    ]
    for wrong in ("text", {"name": "main"}, ["main"]):
        found = refusal(lambda: read_states([{**state, "podSetUpdates": wrong}], ["main"]))  # noqa: B023
        assert told(found) == [("podSetUpdates", "InvalidType")]


def test_everything_of_an_answer_is_read() -> None:
    """An empty message and empty updates too: they take back what was said before."""
    toleration = {"key": "k", "operator": "Equal", "value": "v", "effect": "NoExecute"}
    update = {
        "name": "main",
        "labels": {"a": "1"},
        "annotations": {"b": "2"},
        "nodeSelector": {"c": "3"},
        "tolerations": [{**toleration, "tolerationSeconds": 5}],
    }
    whole = {
        "name": "one",
        "state": "Retry",
        "message": "no",
        "requeueAfterSeconds": 5,
        "retryCount": 2,
        "podSetUpdates": [update, {"name": "more"}],
    }
    cleared = {"name": "two", "state": "Pending", "message": "", "podSetUpdates": []}
    given: list[Any] = [whole | {"lastTransitionTime": "t"}, cleared]
    assert read_states(given, ["main", "more"]) == {"one": whole, "two": cleared}


def test_everything_of_a_status_is_read() -> None:
    """How it ended, whether it is ready, what checks said and which pods are given back."""
    checks = [{"name": "budget", "state": "Ready"}]
    status = {
        "conditions": [
            {"type": "PodsReady", "status": "True"},
            {"type": "Finished", "status": "True", "reason": "Failed", "message": "broke"},
        ],
        "admissionChecks": checks,
        "reclaimablePods": [{"name": "main", "count": 2}, {"name": "more", "count": 1}],
    }
    assert read_status(status) == Said(
        Finished(True, "Failed", "broke"), True, checks, {"main": 2, "more": 1}
    )
    assert read_status({}) == Said(None, None, (), None)


@pytest.mark.parametrize(
    ("reason", "failed"),
    [("Failed", True), ("OutOfSync", True), ("OwnerNotFound", True), ("Succeeded", False),
     ("JobFinished", False), ("", False)],
)  # fmt: skip
def test_an_end_is_a_failure_by_its_reason(reason: str, failed: bool) -> None:
    """Kueue's own reasons of failure; with any other it is done."""
    said = {"type": "Finished", "status": "True", "reason": reason, "message": "m"}
    assert read_status({"conditions": [said]}).finished == Finished(failed, reason, "m")


def test_every_field_that_is_the_hubs_is_told() -> None:
    """All of them, up to as many as a status may hold; the first gives field and words."""
    found = refusal(lambda: read_status({"requeueState": 1, "conditions": [], "admission": {}}))
    assert told(found) == [
        ("status.admission", "ForbiddenField"),
        ("status.requeueState", "ForbiddenField"),
    ]
    assert (found.code, found.field) == ("ForbiddenField", "status.admission")
    assert found.detail == (
        "status.admission: only admissionChecks, conditions, reclaimablePods may be written"
    )
    many = {f"f{n:03}": n for n in range(MOST + 1)}
    assert told(refusal(lambda: read_status(many, "[3].status"))) == [
        (f"[3].status.f{n:03}", "ForbiddenField") for n in range(MOST)
    ]


@pytest.mark.parametrize(
    ("status", "field", "code"),
    [
        ([], "at", "InvalidType"),
        ({"conditions": {}}, "at.conditions", "InvalidType"),
        ({"admissionChecks": ["x"]}, "at.admissionChecks", "InvalidType"),
        ({"reclaimablePods": "x"}, "at.reclaimablePods", "InvalidType"),
        ({"conditions": [{"status": "True"}, {"type": "Finished"}]},
         "at.conditions[1].status", "UnsupportedValue"),
        ({"conditions": [{"type": "Finished", "status": "True", "reason": 1}]},
         "at.conditions[0].reason", "InvalidType"),
        ({"conditions": [{"type": "Finished", "status": "True", "message": 1}]},
         "at.conditions[0].message", "InvalidType"),
        ({"reclaimablePods": [{"name": "a", "count": 1}, {"name": 1, "count": 1}]},
         "at.reclaimablePods[1].name", "InvalidType"),
        ({"reclaimablePods": [{"name": "a", "count": 1}, {"name": "b"}]},
         "at.reclaimablePods[1].count", "OutOfRange"),
    ],
)  # fmt: skip
def test_a_status_that_can_not_be_read_names_the_place(status: Any, field: str, code: str) -> None:
    """The path that it came by, the part and its number."""
    found = refusal(lambda: read_status(status, "at"))
    assert (found.field, found.code) == (field, code)


NODE = {"name": "n1", "allocatable": [8, 16], "free": [8, 16]}
GROWING = {"labels": {}, "max_nodes": 2, "nodes": 1}


def pool(*nodes: dict[str, Any], resources: tuple[str, ...] = ("cpu", "memory")) -> dict[str, Any]:
    return {"labels": {}, "resources": list(resources), "nodes": list(nodes)}


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({"pools": [pool(NODE), pool(NODE, {**NODE, "name": "n2", "free": [8]})]},
         "node n2: 2 amounts expected, one per resource"),
        ({"pools": [pool({**NODE, "allocatable": [8]})]},
         "node n1: 2 amounts expected, one per resource"),
        ({"pools": [pool({**NODE, "free": [8, 17]})]}, "node n1: 17 of 16 memory is free"),
        ({"pools": [pool({**NODE, "allocatable": [8, -1]})]}, "node n1: allocatable memory is -1"),
        ({"pools": [pool(resources=("cpu", "cpu"))]}, "a pool names a resource twice"),
        ({"pools": [pool(), pool(resources=("cpu", "no name"))]},
         "a pool has 'no name': no resource name"),
        ({"growing": [{**GROWING, "name": "p1", "resources": ["cpu"], "shape": [1]},
                      {**GROWING, "name": "p2", "resources": ["cpu", ""], "shape": [1, 1]}]},
         "pool p2: '' is no resource name"),
        ({"growing": [{**GROWING, "name": "p" * 99, "resources": ["cpu"], "shape": []}]},
         f"pool {'p' * 63}: one amount expected per resource"),
        ({"bound": [{"uid": "a", "epoch": 1, "bound": 0, "succeeded": 0},
                    {"uid": "b", "epoch": 1, "bound": 0, "succeeded": -1}]},
         "work b: the number of pods is negative"),
        ({"properties": {"a": "1", "b": "v" * 257}}, "property b: too long"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_report_is_told_wherever_it_is(
    given: dict[str, Any], fault: str
) -> None:
    """In the second pool, node, work or property as in the first."""
    report = {"pools_revision": 0, "pools": [], "bound": []} | given
    assert check_capacity(Capacity.model_validate(report)) == fault
