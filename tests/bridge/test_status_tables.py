"""Statuses that the bridge makes, as tables: which of two times, what is kept, what is worth a write."""

import datetime as dt
from typing import Any

import pytest

from hub.bridge.job_status import differs, is_finished, job_status, refused_status
from hub.bridge.object_status import (
    differs as object_differs,
    member_status,
    objection,
    with_generation,
)
from hub.bridge.writeback import _has_status, _is_news
from hub.domain.fleet.clusters import Cluster
from hub.domain.workloads.states import State
from hub.store.records.workloads import Workload
from shared import labels
from shared.conditions import find
from shared.groups import CLUSTER, KUEUE, PLACEMENT
from tests.store.build import a_member, a_workload

RUNS = "Running in north (roadstead logs team-a/w)"


def hour(number: int, second: int = 0) -> dt.datetime:
    return dt.datetime(2026, 5, 1, number, 0, second, tzinfo=dt.UTC)


def text(number: int) -> str:
    return f"2026-05-01T{number:02}:00:00Z"


NOW, REPORTED = hour(20), hour(10)
MARKED = {"managedBy": labels.JOB_CONTROLLER}


def a_row(**columns: Any) -> Workload:
    """Made at 1, placed at 2; each time another hour."""
    given = {"state": State.RUNNING, "cluster": "north", "created_at": hour(1)}
    return a_workload("w", **{**given, "placed_at": hour(2), **columns})


def ended(state: State = State.SUCCEEDED, **columns: Any) -> Workload:
    return a_row(state=state, **{"started_at": hour(3), "finished_at": hour(5), **columns})


def status_of(row: Workload, spec: Any = None, live: Any = None, observed: Any = None) -> Any:
    return job_status({**MARKED, **(spec or {})}, live, row, observed, NOW)


def said(status: Any) -> dict[str, tuple[str, str, str, str]]:
    return {
        c["type"]: (c["status"], c["reason"], c["message"], c["lastTransitionTime"])
        for c in status["conditions"]
    }


# --- Jobs -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["Complete", "Failed"])
def test_a_status_that_says_the_end_is_never_written_again(kind: str):
    """The API server takes no change of it, whatever the row says by now; nor does a refusal write."""
    live = {"conditions": [{"type": kind, "status": "True"}]}
    assert is_finished(live)
    assert status_of(a_row(active=1), live=live) is None
    assert refused_status(MARKED, live, "Code", "detail", NOW) == {}
    undone = {"conditions": [{"type": kind, "status": "False"}]}
    assert not is_finished(undone)


@pytest.mark.parametrize(
    ("row", "live", "start"),
    [
        (a_row(), {}, None),
        (a_row(started_at=hour(3)), {}, text(3)),
        (a_row(started_at=hour(3)), {"startTime": text(4)}, text(4)),
        (ended(), {}, text(3)),
        (ended(started_at=None), {}, text(2)),
        (ended(started_at=None, placed_at=None), {}, text(1)),
    ],
)
def test_when_a_job_started(row: Workload, live: Any, start: str | None):
    """Of one that ended unseen when it was placed, else when it was made: an end needs a start."""
    assert status_of(row, live=live).get("startTime") == start


@pytest.mark.parametrize(
    ("observed", "columns", "completed"),
    [
        ({"completion_time": text(4)}, {}, text(4)),
        (None, {}, text(5)),
        ({}, {}, text(5)),
        (None, {"finished_at": None}, text(20)),
        ({"completion_time": text(2)}, {}, text(3)),  # clocks differ: never before its start
    ],
)
def test_when_a_job_was_complete(observed: Any, columns: Any, completed: str):
    """When the member says; else when the hub heard of it, and at last now."""
    status = status_of(ended(**columns), observed=observed)
    assert status["completionTime"] == completed


@pytest.mark.parametrize(
    ("state", "columns", "kinds", "reason", "message"),
    [
        (
            State.SUCCEEDED,
            {"reason": "R", "message": "m"},
            {"SuccessCriteriaMet", "Complete"},
            "CompletionsReached",
            "Reached expected number of succeeded pods",
        ),
        (State.FAILED, {"reason": "R", "message": "m"}, {"FailureTarget", "Failed"}, "R", "m"),
        (State.FAILED, {}, {"FailureTarget", "Failed"}, "Failed", "the job was failed"),
        (State.CANCELLED, {}, {"FailureTarget", "Failed"}, "Cancelled", "the job was cancelled"),
    ],
)
def test_an_end_is_two_conditions_of_the_hour_at_which_it_came(
    state: State, columns: Any, kinds: set[str], reason: str, message: str
):
    """Not of the hour at which it is written; what others said stays, that it was suspended goes."""
    live = {"conditions": [{"type": "Suspended", "status": "True"}, BILLED]}
    status = status_of(ended(state, **columns), live=live)
    conditions = said(status)
    assert set(conditions) == {*kinds, "Billed"}
    assert {conditions[kind] for kind in kinds} == {("True", reason, message, text(5))}
    assert ("completionTime" in status) is (state is State.SUCCEEDED)


BILLED = {
    "type": "Billed",
    "status": "True",
    "reason": "Paid",
    "message": "",
    "lastTransitionTime": text(1),
}


@pytest.mark.parametrize(
    ("state", "counts"), [(State.RUNNING, (3, 2, 1)), (State.FAILED, (0, 0, 0))]
)
def test_an_ended_job_has_no_pods(state: State, counts: tuple[int, int, int]):
    """Neither active nor ready nor terminating, whatever a member said last."""
    row = a_row(state=state, active=3, ready=2, finished_at=hour(5))
    status = status_of(row, observed={"terminating": 1})
    assert (status["active"], status["ready"], status["terminating"]) == counts


@pytest.mark.parametrize(
    ("spec", "observed", "told"),
    [
        ({"completionMode": "Indexed"}, {"completed_indexes": "0-1"}, {"completedIndexes": "0-1"}),
        ({"completionMode": "Indexed"}, {"failed_indexes": "2"}, {}),
        (
            {"completionMode": "Indexed", "backoffLimitPerIndex": 0},
            {"completed_indexes": "0", "failed_indexes": "2"},
            {"completedIndexes": "0", "failedIndexes": "2"},
        ),
        ({}, {"completed_indexes": "0-1", "failed_indexes": "2"}, {}),
        ({"completionMode": "Indexed"}, None, {}),
        ({"completionMode": "Indexed"}, {"completed_indexes": ""}, {}),
    ],
)
def test_which_indexes_are_told(spec: Any, observed: Any, told: Any):
    """Failed ones only where the Job counts failures by index: the API server takes them nowhere else."""
    status = status_of(a_row(), spec=spec, observed=observed)
    assert {k: v for k, v in status.items() if k.endswith("Indexes")} == told


@pytest.mark.parametrize(
    ("columns", "wanted"),
    [
        ({"state": State.PENDING}, ("True", "Queued", "waits in its queue")),
        ({"state": State.RESERVED, "reason": "R", "message": "m"}, ("True", "R", "m")),
        ({}, ("False", "JobResumed", RUNS)),
        ({"reason": "R", "message": "m"}, ("False", "JobResumed", f"{RUNS}: R: m")),
        ({"reason": "HeldByMember", "message": "m"}, ("True", "HeldByMember", "m")),
        (
            {"reason": "HeldByMember", "message": "m", "active": 1},
            ("False", "JobResumed", f"{RUNS}: HeldByMember: m"),
        ),
        ({"reason": "WaitsInMemberQueue", "message": "m"}, ("True", "WaitsInMemberQueue", "m")),
    ],
)
def test_whether_a_job_is_suspended_and_why(columns: Any, wanted: tuple[str, str, str]):
    """In its queue or in the member; one that is held there is not while pods of it run."""
    assert said(status_of(a_row(**columns)))["Suspended"][:3] == wanted


@pytest.mark.parametrize(
    ("wanted", "live", "write"),
    [
        ({"active": 0}, None, False),
        ({"active": 0}, {}, False),
        ({"active": 0}, {"active": 0}, False),
        ({"active": 0}, {"active": 1}, True),
        ({"active": 1}, {}, True),
        ({"conditions": []}, {}, False),
        ({}, {"active": 1}, False),
    ],
)
def test_a_count_that_is_absent_is_zero(wanted: Any, live: Any, write: bool):
    """It is worth no write; what the status has beyond ours is not looked at."""
    assert differs(wanted, live) is write


def test_a_refused_job_says_why_and_keeps_what_others_said():
    """Its condition is of the moment at which it was refused first."""
    status = refused_status(MARKED, {"conditions": [BILLED]}, "Code", "detail", NOW)
    assert said(status)["Suspended"] == ("True", "Code", "detail", text(20))
    again = refused_status(MARKED, status, "Code", "detail", hour(21))
    assert again == status
    assert not differs(again, status)


# --- members --------------------------------------------------------------------------------------

CLUSTER_NORTH = Cluster(
    "north",
    node_count=7,
    properties={"example.com/zone": "a"},
    allocatable={"cpu": 4000, "memory": 2**30, "example.com/gpu": 2},
    free={"cpu": 1500, "memory": -5},
)


def of_member(
    live: Any = None, *, reported_at: Any = REPORTED, now: Any = NOW, **columns: Any
) -> Any:
    given = {"joined_at": hour(8), "heartbeat_at": hour(19, 59)}
    member = a_member("north", **{**given, **columns})
    return member_status(member, CLUSTER_NORTH, reported_at, live, 3, now)


def test_a_member_shows_what_it_has_and_what_is_free_of_it():
    """Less than nothing is none; of what no free amount was told there is none free either."""
    usage = of_member()["resourceUsage"]
    assert usage["allocatable"] == usage["capacity"]
    assert usage["allocatable"] == {"cpu": "4", "memory": "1Gi", "example.com/gpu": "2"}
    assert usage["available"] == {"cpu": "1500m", "memory": "0", "example.com/gpu": "0"}


def test_figures_are_of_the_report_and_a_heartbeat_is_of_when_it_was_heard():
    """None of them is the hour of writing."""
    status = of_member()
    assert status["resourceUsage"]["observationTime"] == text(10)
    observed = {name: each["observationTime"] for name, each in status["properties"].items()}
    assert observed == {
        "kubernetes-fleet.io/node-count": text(10),
        "example.com/zone": text(10),
    }
    assert status["properties"]["kubernetes-fleet.io/node-count"]["value"] == "7"
    assert status["agentStatus"][0]["lastReceivedHeartbeat"] == "2026-05-01T19:00:59Z"


@pytest.mark.parametrize(
    ("columns", "reported_at", "fields", "joined"),
    [
        ({}, hour(10), {"conditions", "resourceUsage", "properties", "agentStatus"}, "True"),
        ({}, None, {"conditions", "agentStatus"}, "True"),
        ({"heartbeat_at": None}, hour(10), {"conditions", "resourceUsage", "properties"}, "True"),
        ({"joined_at": None, "heartbeat_at": None}, None, {"conditions"}, "Unknown"),
    ],
)
def test_of_a_member_is_told_what_is_known(
    columns: Any, reported_at: Any, fields: set[str], joined: str
):
    """Before its agent joined, before it was heard, before it reported."""
    status = of_member(reported_at=reported_at, **columns)
    assert set(status) == fields
    assert said(status)["Joined"][0] == joined
    assert said(status)["ReadyToJoin"][0] == "True"
    assert {each["observedGeneration"] for each in status["conditions"]} == {3}


def test_the_hours_of_an_agents_conditions_move_with_their_status_alone():
    """Whether it joined stays as it was when it falls silent; of another agent nothing is taken."""
    first = of_member(now=hour(19, 59))
    other = {"type": "Other", "conditions": [{"type": "Joined", "lastTransitionTime": text(1)}]}
    live = {**first, "agentStatus": [other, *first["agentStatus"]]}
    (agent,) = of_member(live, now=hour(21))["agentStatus"]
    heard, silent = "2026-05-01T19:00:59Z", text(21)
    assert said(agent)["Joined"][3] == heard
    assert said(agent)["Healthy"] == (
        "False", "AgentSilent", "it has not been heard for 45 s", silent
    )  # fmt: skip


@pytest.mark.parametrize(
    ("wanted", "live", "news"),
    [
        ({"conditions": [BILLED]}, {"conditions": [BILLED]}, False),
        ({"conditions": [BILLED]}, {}, True),
        ({"conditions": []}, {}, False),
        ({"resourceUsage": {"a": 1}}, {}, False),
        ({"agentStatus": [{"type": "A"}]}, {"agentStatus": []}, True),
        (
            {"agentStatus": [{"type": "A", "lastReceivedHeartbeat": text(2)}]},
            {"agentStatus": [{"type": "A", "lastReceivedHeartbeat": text(1)}]},
            False,
        ),
    ],
)
def test_what_of_a_member_waits_for_no_renewal(wanted: Any, live: Any, news: bool):
    """Its conditions and its agent's; figures and hours come with the next half minute."""
    assert _is_news(wanted, live) is news


# --- all others -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "live", "write"),
    [
        ({"a": 1}, {"a": 1, "more": 2}, False),
        ({"a": 1}, {}, True),
        ({"a": None}, {}, False),
        ({"a": {"b": 1}}, {"a": None}, True),
        ({"a": []}, {}, False),
        ({"a": []}, {"a": [1]}, True),
        ({"a": [1]}, {"a": [1, 2]}, True),
        ({"a": [{"b": 1}]}, {"a": [{"b": 1, "c": 2}]}, False),
        ({"lastTransitionTime": "1"}, {"lastTransitionTime": "2"}, False),
        ({"a": {"observationTime": "1", "v": 1}}, {"a": {"observationTime": "2", "v": 2}}, True),
    ],
    ids=str,
)
def test_what_is_worth_a_write(wanted: Any, live: Any, write: bool):
    """What is wanted and not there; neither times alone nor what others keep beside it."""
    assert object_differs(wanted, live) is write


def test_generations_are_those_of_the_hub_cluster_where_they_are_the_objects():
    """An older one stays what it is, and what failed in members has numbers of its own."""
    failed = [{"clusterName": "north", "observedGeneration": 2}]
    status = {
        "conditions": [{"observedGeneration": 2}, {"observedGeneration": 1}],
        "placementStatuses": [
            {"conditions": [{"observedGeneration": 2}], "failedPlacements": failed}
        ],
        "observedGeneration": 2,
        "count": 2,
    }
    assert with_generation(status, 2, 5) == {
        "conditions": [{"observedGeneration": 5}, {"observedGeneration": 1}],
        "placementStatuses": [
            {"conditions": [{"observedGeneration": 5}], "failedPlacements": failed}
        ],
        "observedGeneration": 5,
        "count": 2,
    }
    assert with_generation(status, 2, 2) is status


def object_to(live: Any, code: str = "", now: dt.datetime = NOW) -> Any:
    return objection(live, "Accepted", code=code, detail="why", generation=3, now=now)


def test_an_objection_that_never_stood_is_not_said_to_be_gone():
    """An object that nobody objects to has no such condition; one that is mended has."""
    assert object_to(None) == []
    assert object_to([BILLED]) == [BILLED]
    refused = object_to([BILLED], "Code")
    assert find(refused, "Accepted") == {
        "type": "Accepted",
        "status": "False",
        "reason": "Code",
        "message": "why",
        "observedGeneration": 3,
        "lastTransitionTime": text(20),
    }
    mended = find(object_to(refused, now=hour(21)), "Accepted")
    assert mended is not None
    assert (mended["status"], mended["reason"], mended["lastTransitionTime"]) == (
        "True",
        "Accepted",
        text(21),
    )


@pytest.mark.parametrize(
    ("group", "kind", "has"),
    [
        (KUEUE, "ClusterQueue", True),
        (KUEUE, "AdmissionCheck", True),
        (KUEUE, "ResourceFlavor", False),
        (KUEUE, "WorkloadPriorityClass", False),
        (KUEUE, "MultiKueueConfig", False),
        (PLACEMENT, "ResourcePlacement", True),
        (CLUSTER, "MemberCluster", True),
        ("", "ConfigMap", False),
        ("", "Namespace", False),
    ],
)
def test_whose_status_is_ours_to_write(group: str, kind: str, has: bool):
    """Kinds of the hub that have one: never a plain object's."""
    assert _has_status((group, kind, "", "x")) is has
