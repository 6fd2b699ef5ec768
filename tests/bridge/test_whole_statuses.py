"""Whole statuses, as they stand on the hub cluster: every field, from where it comes."""

import datetime as dt

from hub.bridge.job_status import job_status
from hub.bridge.object_status import COMPLETE, member_status, objection
from hub.domain.fleet.clusters import Cluster
from hub.domain.workloads.states import State
from tests.store.build import a_member, a_workload


def hour(number: int) -> dt.datetime:
    return dt.datetime(2026, 5, 1, number, tzinfo=dt.UTC)


def text(number: int) -> str:
    return f"2026-05-01T{number:02}:00:00Z"


INDEXED = {
    "managedBy": "roadstead.dev/hub",
    "completionMode": "Indexed",
    "backoffLimitPerIndex": 1,
}
OBSERVED = {
    "terminating": 4,
    "completion_time": text(6),
    "completed_indexes": "0-2",
    "failed_indexes": "3",
}


def test_the_status_of_a_job_that_runs():
    """Counts of its row, what ends there of its member, and that it is not suspended."""
    row = a_workload(
        "w", state=State.RUNNING, cluster="north", created_at=hour(1), placed_at=hour(2),
        started_at=hour(3), active=3, ready=2, succeeded=5, failed=1,
    )  # fmt: skip
    assert job_status(INDEXED, {"succeeded": 4, "failed": 2}, row, OBSERVED, hour(9)) == {
        "active": 3,
        "ready": 2,
        "succeeded": 5,
        "failed": 2,
        "terminating": 4,
        "startTime": text(3),
        "completedIndexes": "0-2",
        "failedIndexes": "3",
        "conditions": [
            {
                "type": "Suspended",
                "status": "False",
                "reason": "JobResumed",
                "message": "Running in north (roadstead logs team-a/w)",
                "lastTransitionTime": text(9),
            }
        ],
    }


def test_the_status_of_a_job_that_has_succeeded():
    """At once what the API server demands of an end; nothing active, nothing suspended."""
    row = a_workload(
        "w", state=State.SUCCEEDED, cluster="north", created_at=hour(1), placed_at=hour(2),
        started_at=hour(3), finished_at=hour(7), active=3, ready=2, succeeded=5, failed=1,
    )  # fmt: skip
    end = {
        "status": "True",
        "reason": "CompletionsReached",
        "message": "Reached expected number of succeeded pods",
        "lastTransitionTime": text(7),
    }
    assert job_status(INDEXED, None, row, OBSERVED, hour(9)) == {
        "active": 0,
        "ready": 0,
        "succeeded": 5,
        "failed": 1,
        "terminating": 0,
        "startTime": text(3),
        "completionTime": text(6),
        "completedIndexes": "0-2",
        "failedIndexes": "3",
        "conditions": [{"type": "SuccessCriteriaMet", **end}, {"type": "Complete", **end}],
    }


def test_the_status_of_a_member_that_has_reported():
    """Conditions of this generation, figures of its report, and when its agent was heard."""
    member = a_member("north", joined_at=hour(8), heartbeat_at=hour(20))
    cluster = Cluster(
        "north",
        node_count=7,
        properties={"example.com/zone": "a"},
        allocatable={"cpu": 4000},
        free={"cpu": 1500},
    )

    def said(kind: str, reason: str, message: str) -> dict[str, object]:
        return {
            "type": kind,
            "status": "True",
            "reason": reason,
            "message": message,
            "observedGeneration": 3,
            "lastTransitionTime": text(20),
        }

    at = {"observationTime": text(10)}
    assert member_status(member, cluster, hour(10), None, 3, hour(20)) == {
        "conditions": [
            said("ReadyToJoin", "MemberClusterReadyToJoin", "an agent can join with a join token"),
            said("Joined", "MemberClusterJoined", "the agent has joined"),
            said(
                "ClusterPropertyCollectionSucceeded",
                "PropertiesCollected",
                "all properties were read",
            ),
        ],
        "resourceUsage": {
            "capacity": {"cpu": "4"},
            "allocatable": {"cpu": "4"},
            "available": {"cpu": "1500m"},
            **at,
        },
        "properties": {
            "kubernetes-fleet.io/node-count": {"value": "7", **at},
            "example.com/zone": {"value": "a", **at},
        },
        "agentStatus": [
            {
                "type": "MemberAgent",
                "conditions": [
                    said("Joined", "AgentJoined", "registered"),
                    said("Healthy", "AgentHealthy", "it syncs"),
                ],
                "lastReceivedHeartbeat": text(20),
            }
        ],
    }


def test_a_property_that_is_not_reported_any_more_leaves_the_status():
    """The status is written as a merge patch: a field that is only missing would stay for ever."""
    member = a_member("north", joined_at=hour(8), heartbeat_at=hour(20))
    cluster = Cluster("north", properties={"example.com/zone": "a"})
    live = {"properties": {"example.com/gone": {"value": "1"}, "example.com/zone": {"value": "b"}}}
    told = member_status(member, cluster, hour(10), live, 3, hour(20))["properties"]
    assert (told["example.com/gone"], told["example.com/zone"]["value"]) == (None, "a")
    fresh = member_status(member, cluster, hour(10), None, 3, hour(20))
    assert "example.com/gone" not in fresh["properties"]


def test_a_members_status_tells_which_properties_could_not_be_read():
    """Totals count nodes that take nothing; a property that is told no more is dropped by the patch."""
    cluster = Cluster(
        "north", property_faults=("one", "two"), allocatable={"cpu": 4000}, total={"cpu": 6000}
    )
    live = {"properties": {"example.com/gone": {"value": "1"}}}
    status = member_status(a_member("north"), cluster, hour(10), live, 3, hour(20))
    told = next(c for c in status["conditions"] if c["type"].endswith("CollectionSucceeded"))
    assert (told["status"], told["reason"]) == ("False", "PropertiesNotRead")
    assert told["message"] == "one; two"
    assert status["properties"]["example.com/gone"] is None
    assert status["resourceUsage"]["capacity"] == {"cpu": "6"}


def test_an_objection_and_its_end_are_of_the_generation_that_was_looked_at():
    """Who waits for an edit to be taken compares the numbers."""
    stood = objection(None, COMPLETE, code="Code", detail="why", generation=3, now=hour(9))
    assert stood == [
        {
            "type": COMPLETE,
            "status": "False",
            "reason": "Code",
            "message": "why",
            "observedGeneration": 3,
            "lastTransitionTime": text(9),
        }
    ]
    assert objection(stood, COMPLETE, code="", detail="", generation=4, now=hour(10)) == [
        {
            "type": COMPLETE,
            "status": "True",
            "reason": "SelectionComplete",
            "message": "the hub reads all that it selects",
            "observedGeneration": 4,
            "lastTransitionTime": text(10),
        }
    ]
