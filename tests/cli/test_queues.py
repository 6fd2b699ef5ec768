"""`roadstead queues`: who waits in one, in order, and what a queue borrows."""

from typing import Any

from tests.cli.commands import run
from tests.cli.scripted import Answer, answering, items

VISIBILITY = "/apis/visibility.kueue.x-k8s.io/v1beta2"


def waiting(name: str, at: int, **more: object) -> dict[str, Any]:
    return {
        "metadata": {
            "name": f"job-{name}-0a1b2",
            "namespace": "team-a",
            "creationTimestamp": "2026-03-01T12:00:00Z",
            "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": name}],
        },
        "priority": 0,
        "localQueueName": "gold",
        "positionInClusterQueue": at,
        "positionInLocalQueue": at,
        **more,
    }


def queues(answer: Answer, *arguments: str):
    with answering(answer) as hub:
        done = run("--server", hub.address, "--token", "t", "queues", *arguments, columns=80)
        return done, hub.asked[-1]


def test_who_waits_is_listed_in_order():
    """A line per job with its position, counted from 1."""
    answer = items(waiting("train", 0, priority=100), waiting("evaluate", 1))
    done, asked = queues(answer, "pending", "gold")
    assert asked == f"GET {VISIBILITY}/clusterqueues/gold/pendingworkloads?offset=0&limit=100"
    assert done.lines[0].split() == ["POSITION", "JOB", "PRIORITY", "LOCALQUEUE", "AGE"]
    assert done.lines[1].split()[:4] == ["1", "team-a/train", "100", "gold"]
    assert done.lines[2].split()[:3] == ["2", "team-a/evaluate", "0"]


def test_a_local_queue_is_named_with_its_namespace():
    """namespace/name asks for those of one LocalQueue; the window goes to the hub."""
    done, asked = queues(items(), "pending", "team-a/gold", "--offset", "10", "--limit", "5")
    path = "namespaces/team-a/localqueues/gold/pendingworkloads?offset=10&limit=5"
    assert asked == f"GET {VISIBILITY}/{path}"
    assert "Nobody waits in team-a/gold." in done.err


def test_a_bare_workload_is_listed_by_its_own_name():
    """It has no job."""
    bare = waiting("train", 0)
    bare["metadata"] = {k: v for k, v in bare["metadata"].items() if k != "ownerReferences"}
    done, _ = queues(items(bare), "pending", "gold")
    assert done.lines[1].split()[1] == "team-a/job-train-0a1b2"


def test_a_queue_says_what_it_borrows_and_what_waits_for_checks():
    """Beside its quota: amounts beyond it, its share, and reservations that are not admitted."""
    quota = {"flavor": "spot", "resource": "cpu", "nominal": "1", "used": "3", "borrowed": "2"}
    shown = {
        "kind": "ClusterQueue", "name": "gold", "strategy": "StrictFIFO", "cohort": "all",
        "state": "OverQuota",
        "pending": 1, "reserving": 3, "admitted": 2, "weightedShare": 400, "quotas": [quota],
        "localQueues": [], "notEnforced": [], "conditions": [],
    }  # fmt: skip
    done, _ = queues(Answer(shown), "show", "gold")
    assert "state     OverQuota" in done.out
    assert "1 more, whose admission checks are open" in done.out
    assert "400 thousandths beyond its own quota" in done.out
    assert done.out.split()[-5:] == ["cpu", "spot", "3", "2", "1"]


def test_a_quota_without_a_limit_says_so():
    """Null on the wire is unlimited, in the list and of one queue."""
    quota = {"flavor": "any", "resource": "cpu", "nominal": None, "used": "2", "borrowed": "0"}
    shown = {
        "kind": "ClusterQueue", "name": "default", "strategy": "BestEffortFIFO", "cohort": "",
        "state": "Ready",
        "pending": 0, "reserving": 1, "admitted": 1, "weightedShare": 0, "quotas": [quota],
        "localQueues": [], "notEnforced": [], "conditions": [],
    }  # fmt: skip
    listed, _ = queues(items(shown), "ls")
    assert "cpu 2/unlimited" in listed.out
    done, _ = queues(Answer(shown), "show", "default")
    assert done.out.split()[-1] == "unlimited"
