"""`roadstead checks`: who waits for an answer, and answering by hand."""

import json

from tests.cli.commands import run
from tests.cli.scripted import Answer, answering, items

OPEN = {
    "uid": "u1",
    "namespace": "team-a",
    "workload": "train",
    "queue": "gold",
    "clusterQueue": "gold",
    "cluster": "gpu-1",
    "name": "budget",
    "controllerName": "example.com/budget",
    "state": "Pending",
    "message": "",
    "at": "2026-03-01T12:00:00Z",
}


def test_open_checks_are_listed():
    """A line per job and check that waits; filters go to the hub."""
    with answering(items(OPEN)) as hub:
        done = run(
            "--server",
            hub.address,
            "--token",
            "t",
            "checks",
            "ls",
            "--check",
            "budget",
            columns=80,
        )
        assert done.lines[0].split() == [
            "CHECK",
            "JOB",
            "STATE",
            "QUEUE",
            "CLUSTER",
            "AGE",
            "SAYS",
        ]
        assert done.lines[1].split()[:5] == ["budget", "team-a/train", "Pending", "gold", "gpu-1"]
        assert hub.asked[-1].startswith("GET /v1/checks?check=budget")


def test_no_open_checks_is_said(hub):
    """An empty list says so."""
    assert "No open checks." in hub.run("checks", "ls").err


def test_a_check_is_answered():
    """The answer goes to the job's check; what stands then is shown."""
    told = {"uid": "u1", "items": [OPEN | {"state": "Ready", "message": "paid"}]}
    with answering(Answer(told)) as hub:
        done = run(
            "--server",
            hub.address,
            "--token",
            "t",
            "checks",
            "set",
            "u1",
            "budget",
            "Ready",
            "-m",
            "paid",
        )
        assert done.code == 0
        assert hub.asked == ["PUT /v1/jobs/u1/checks/budget"]
        assert done.lines[1].split() == ["budget", "Ready", "example.com/budget", "paid"]


def test_an_unknown_state_is_wrong_usage(hub):
    """States are the four that Kueue knows."""
    assert hub.run("checks", "set", "u1", "budget", "Maybe").code == 2


def test_a_check_is_served_until_it_is_not(hub):
    """`serve` sets condition Active; a check that does not exist is named."""
    check = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "AdmissionCheck",
        "metadata": {"name": "budget"},
        "spec": {"controllerName": "example.com/budget"},
    }
    with hub.client() as client:
        client.apply(json.dumps(check).encode())
        assert hub.run("checks", "serve", "budget").lines == ["check budget is served"]
        found = client.find("AdmissionCheck", "budget", group="kueue.x-k8s.io")
        (active,) = found.status["conditions"]
        assert (active["type"], active["status"]) == ("Active", "True")
        assert hub.run("checks", "serve", "budget", "--off").code == 0
    assert hub.run("checks", "serve", "nobody").code == 3
