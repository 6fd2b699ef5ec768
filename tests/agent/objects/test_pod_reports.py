"""What is told of pods."""

import pytest

from agent.objects import pod_reports
from agent.objects.pod_reports import WITHHELD
from shared.wire.streams_v1 import MOST_PODS


def a_pod(name="p", phase="Running", *, state=None, init=None, **status):
    statuses = [{"name": "main", "restartCount": 2, "ready": True, "state": state or {}}]
    spec = {"nodeName": "n1", "containers": [{"name": "main"}]}
    told = {"phase": phase, "containerStatuses": statuses, **status}
    if init is not None:
        spec["initContainers"] = [{"name": "fetch"}]
        told["initContainerStatuses"] = [{"name": "fetch", "state": init}]
    metadata = {"name": name, "uid": f"u-{name}", "creationTimestamp": "2026-01-01T00:00:00Z"}
    metadata["labels"] = {"roadstead.dev/epoch": "3"}
    return {"metadata": metadata, "spec": spec, "status": told}


KILLED = {
    "terminated": {"exitCode": 137, "reason": "OOMKilled", "finishedAt": "2026-01-01T00:00:09Z"}
}
UNSCHEDULABLE = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "Unschedulable",
    "message": "0/3 nodes are available: 3 Insufficient cpu.",
}


@pytest.mark.parametrize(
    ("pod", "reason", "message"),
    [
        (a_pod(phase="Failed", state=KILLED), "OOMKilled", ""),
        (
            a_pod(
                phase="Pending", state={"waiting": {"reason": "ImagePullBackOff", "message": "no"}}
            ),
            "ImagePullBackOff",
            "no",
        ),
        (
            a_pod(phase="Pending", conditions=[UNSCHEDULABLE]),
            "Unschedulable",
            UNSCHEDULABLE["message"],
        ),
        (a_pod(phase="Failed", reason="Evicted", message="disk"), "Evicted", "disk"),
        (a_pod(state={"running": {"startedAt": "2026-01-01T00:00:01Z"}}), "", ""),
        (a_pod(phase="Pending", init=KILLED), "OOMKilled", ""),
    ],
)
def test_why_a_pod_does_not_run(pod, reason, message):
    """Its own word, its scheduler's, or that of the container that is at fault."""
    told = pod_reports.pod_told(pod, logs=True)
    assert (told.reason, told.message) == (reason, message)


def test_a_pod_is_told_with_its_containers():
    """Node, epoch, restarts, exit code and instants."""
    told = pod_reports.pod_told(a_pod(phase="Failed", state=KILLED), logs=True)
    (container,) = told.containers
    assert (told.node, told.epoch, told.finished_at) == ("n1", 3, "2026-01-01T00:00:09Z")
    assert (container.exit_code, container.restarts, container.state) == (137, 2, "terminated")


def test_of_many_pods_those_that_ended_well_are_left_out_first():
    """Who asks wants to see what is wrong; how many are not told of is said."""
    pods = [a_pod(f"ok-{n}", "Succeeded") for n in range(MOST_PODS)]
    pods += [a_pod(f"bad-{n}", "Failed") for n in range(5)]
    told, left_out = pod_reports.told(pods, logs=True)
    assert (len(told), left_out) == (MOST_PODS, 5)
    assert sum(pod.phase == "Failed" for pod in told) == 5


def test_what_anybody_wrote_is_cut():
    """A message of any length is one of a thousand characters."""
    told = pod_reports.pod_told(
        a_pod(phase="Failed", reason="x" * 5000, message="y" * 10**6), logs=True
    )
    assert (len(told.reason), len(told.message)) == (1024, 1024)


def test_events_of_both_apis_are_told():
    """The older API's words and the newer one's."""
    about = {"kind": "Pod", "name": "p"}
    old = {
        "involvedObject": about,
        "lastTimestamp": "t",
        "message": "m",
        "reason": "r",
        "count": 3,
    }
    new = {
        "regarding": about,
        "eventTime": "t",
        "note": "m",
        "reason": "r",
        "series": {"count": 3},
    }
    assert pod_reports.event_told(old, logs=True) == pod_reports.event_told(new, logs=True)
    assert pod_reports.event_told(old, logs=True).about == "Pod/p"


SPOKEN = {"terminated": {"exitCode": 3, "reason": "Error", "message": "password=hunter2"}}


@pytest.mark.parametrize(("logs", "said"), [(True, "password=hunter2"), (False, WITHHELD)])
def test_a_termination_message_is_a_log(logs, said):
    """The container writes it: where logs are off it is withheld; exit code and reason are told."""
    told = pod_reports.pod_told(a_pod(phase="Failed", state=SPOKEN, init=SPOKEN), logs=logs)
    assert [each.message for each in told.containers] == [said, said]
    assert (told.message, told.reason, told.containers[0].exit_code) == (said, "Error", 3)


def test_the_kubelets_own_message_is_no_log():
    """Why a container waits is told whether logs are on or off."""
    waits = {"waiting": {"reason": "ErrImagePull", "message": "no such image"}}
    told = pod_reports.pod_told(a_pod(phase="Pending", state=waits), logs=False)
    assert told.message == "no such image"


@pytest.mark.parametrize(
    ("reason", "said"), [("Unhealthy", WITHHELD), ("BackOff", "password=hunter2")]
)
def test_an_event_that_quotes_a_probe_is_a_log(reason, said):
    """The probe's program writes that text."""
    event = {"reason": reason, "message": "password=hunter2"}
    assert pod_reports.event_told(event, logs=False).message == said
    assert pod_reports.event_told(event, logs=True).message == "password=hunter2"
