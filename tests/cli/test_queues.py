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
    assert "No jobs wait in team-a/gold." in done.err


def test_a_bare_workload_is_listed_by_its_own_name():
    """It has no job."""
    bare = waiting("train", 0)
    bare["metadata"] = {k: v for k, v in bare["metadata"].items() if k != "ownerReferences"}
    done, _ = queues(items(bare), "pending", "gold")
    assert done.lines[1].split()[1] == "team-a/job-train-0a1b2"


def test_a_queue_says_what_it_borrows_and_what_waits_for_checks():
    """Beside its quota: amounts beyond it, its share, and reservations that are not admitted."""
    quota = {
        "flavor": "spot", "resource": "cpu", "nominal": "1", "used": "3", "borrowed": "2", "available": "0",
    }  # fmt: skip
    shown = {
        "kind": "ClusterQueue", "name": "gold", "strategy": "StrictFIFO", "cohort": "all",
        "state": "OverQuota",
        "pending": 1, "reserving": 3, "admitted": 2, "weightedShare": 400, "quotas": [quota],
        "localQueues": [], "notEnforced": [], "conditions": [],
    }  # fmt: skip
    done, _ = queues(Answer(shown), "show", "gold")
    assert "state     OverQuota" in done.out
    assert "1 more, whose admission checks are open" in done.out
    assert "share     40 % (what it borrows of its cohort, by its weight)" in done.out
    assert done.out.split()[-7:] == ["spot", "3", "2", "1", "0", "unlimited", "unlimited"]


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


def test_a_queue_alone_has_no_share_and_a_stopped_one_says_so():
    """A share is of a cohort; a LocalQueue has its conditions as a ClusterQueue has."""
    stopped = {
        "type": "Active",
        "status": "False",
        "reason": "Stopped",
        "message": "stopPolicy is Hold",
    }
    shown = {"kind": "ClusterQueue", "name": "q", "cohort": "", "conditions": [stopped]}
    done, _ = queues(Answer(shown), "show", "q")
    assert "share" not in done.out
    door = {"kind": "LocalQueue", "namespace": "n", "name": "d", "conditions": [stopped]}
    for told in (shown, door):
        done, _ = queues(Answer(told), "show", "n/d" if told is door else "q")
        assert "  Active=False  Stopped: stopPolicy is Hold" in done.lines


def test_a_queue_says_what_it_may_borrow_and_lend_and_its_fair_share():
    """Limits, weight and share of the queue; weight and late use of its LocalQueues."""
    quota = {
        "flavor": "spot", "resource": "cpu", "nominal": "4", "used": "0", "borrowed": "0",
        "available": "6", "borrowingLimit": "2", "lendingLimit": "1",
    }  # fmt: skip
    sharing = {"weight": "3", "admissionFairSharingStatus": {"consumedResources": {"cpu": "89m"}}}
    door = {
        "namespace": "team-a", "name": "main", "clusterQueue": "gold", "pending": 0, "admitted": 0,
        "fairSharing": sharing,
    }  # fmt: skip
    shown = {
        "kind": "ClusterQueue", "name": "gold", "cohort": "all", "weight": "0",
        "weightedShare": 2**63 - 1, "quotas": [quota], "localQueues": [door],
    }  # fmt: skip
    done, _ = queues(Answer(shown), "show", "gold")
    assert done.lines[6:8] == [
        "  weight    0",
        "  share     beyond all others: it borrows with weight 0",
    ]
    assert ["cpu", "spot", "0", "0", "4", "6", "2", "1"] in [line.split() for line in done.lines]
    assert done.lines[-1].split() == ["team-a/main", "0", "0", "3", "cpu", "89m"]
    lonely, _ = queues(Answer(shown | {"cohort": ""}), "show", "gold")
    assert ["cpu", "spot", "0", "0", "4", "6"] in [line.split() for line in lonely.lines]
    alone, _ = queues(Answer({**door, "kind": "LocalQueue"}), "show", "team-a/main")
    assert alone.lines[-2:] == ["  weight         3", "  used of late   cpu 89m"]
