"""`roadstead workloads`: Kueue's view for those without kubectl."""

from tests.cli.commands import run
from tests.cli.scripted import Answer, answering, items, problem

WORKLOAD = {
    "metadata": {
        "name": "job-train-0a1b2",
        "namespace": "team-a",
        "creationTimestamp": "2026-03-01T12:00:00Z",
        "ownerReferences": [{"kind": "Job", "name": "train"}],
    },
    "spec": {"queueName": "gold", "priority": 7, "active": True, "podSets": []},
    "status": {
        "admission": {"clusterQueue": "gold-cq", "podSetAssignments": []},
        "admissionChecks": [{"name": "budget", "state": "Pending", "message": ""}],
        "conditions": [
            {"type": "QuotaReserved", "status": "True", "reason": "QuotaReserved", "message": "m"},
            {"type": "Admitted", "status": "False", "reason": "NoReservation", "message": "n"},
        ],
    },
}


def workloads(answer: Answer, *arguments: str):
    with answering(answer) as hub:
        done = run("--server", hub.address, "--token", "t", "workloads", *arguments, columns=80)
        return done, hub.asked[-1]


def test_workloads_are_listed_as_kubectl_lists_them():
    """Queue, where quota is reserved, admitted, finished; filters go to the hub."""
    done, asked = workloads(
        items(WORKLOAD), "ls", "--cluster-queue", "gold-cq", "--condition", "Admitted=False"
    )
    assert asked.startswith("GET /v1/workloads?")
    assert "clusterQueue=gold-cq" in asked
    assert "condition=Admitted%3DFalse" in asked
    headings = "NAMESPACE NAME QUEUE RESERVED IN ADMITTED FINISHED AGE"
    assert done.lines[0].split() == headings.split()
    assert done.lines[1].split()[:5] == ["team-a", "job-train-0a1b2", "gold", "gold-cq", "False"]
    assert max(map(len, done.lines)) <= 80


def test_one_is_shown_with_its_conditions():
    """Whose it is, where it waits, open checks, and every condition with its reason."""
    done, asked = workloads(Answer(WORKLOAD), "show", "team-a/job-train-0a1b2")
    assert asked == "GET /v1/workloads/team-a/job-train-0a1b2"
    assert "Job train" in done.out
    assert "check budget Pending" in done.out
    assert "Admitted=False  NoReservation: n" in done.out


def test_one_that_is_not_there_is_said():
    """The hub's own words, and the exit code of what is not found."""
    done, _ = workloads(problem(404, "NotFound", "there is no Workload a/b"), "show", "a/b")
    assert done.code != 0
    assert "there is no Workload a/b" in done.err
