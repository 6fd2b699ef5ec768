"""What a cluster's page says to type: each command names what the shipped manifests make."""

from typing import Any

import yaml

from hub.web.fleet_pages.cluster_view import facts_of, lacks_of
from tests.domain.build import NOW
from tests.e2e.running import REPOSITORY

SHOWN: dict[str, Any] = {
    "name": "north",
    "state": "Suspect",
    "heartbeatAt": "2026-01-01T00:00:00Z",
    "cordoned": False,
    "ready": False,
    "propertyFaults": [],
    "jobsForbiddenIn": [],
    "workKinds": [],
    "plainHttp": False,
    "leftovers": 0,
}


def commands(**changes: Any) -> list[str]:
    return [each for lack in lacks_of(SHOWN | changes, NOW) for each in lack.commands]


def shipped(kind: str) -> list[tuple[str, str]]:
    """Namespace and name of the objects of a kind in the manifests of a member."""
    files = sorted((REPOSITORY / "deploy" / "member").glob("*.yaml"))
    return [
        (each["metadata"].get("namespace", ""), each["metadata"]["name"])
        for path in files
        for each in yaml.safe_load_all(path.read_text())
        if each and each["kind"] == kind
    ]


def test_the_agent_of_a_silent_cluster_is_looked_for_where_it_is():
    """In the namespace and the StatefulSet of the manifests."""
    ((namespace, name),) = shipped("StatefulSet")
    pods, logs, _ = commands()
    assert pods == f"kubectl -n {namespace} get pods"
    assert logs == f"kubectl -n {namespace} logs statefulset/{name} --tail=50"


def test_the_command_that_writes_a_cluster_off_is_that_of_the_howto():
    """With `--destroyed`: without it the command is wrong usage."""
    *_, fence = commands()
    page = (REPOSITORY / "docs" / "howto" / "clusters.md").read_text()
    assert fence.replace("north", "east") in page


def test_a_missing_right_is_asked_for_of_the_agents_account():
    """For three namespaces at most."""
    asked = commands(state="Ready", ready=True, jobsForbiddenIn=["a", "b", "c", "d"])
    ((namespace, name),) = shipped("ServiceAccount")
    account = f"system:serviceaccount:{namespace}:{name}"
    assert asked == [
        f"kubectl auth can-i create jobs.batch --as {account} -n {each}" for each in "abc"
    ]


def test_kinds_of_work_are_told_apart_by_what_they_lack():
    """Those that run, those without an operator, and those without a right, which is a warning too."""
    kinds = [
        {"apiVersion": "batch/v1", "kind": "Job", "state": "Served", "remedy": ""},
        {
            "apiVersion": "ray.io/v1",
            "kind": "RayJob",
            "state": "NotServed",
            "remedy": "install it",
        },
        {"apiVersion": "x/v1", "kind": "JobSet", "state": "RightMissing", "remedy": "grant it"},
    ]
    member: dict[str, Any] = {
        "labels": {},
        "taints": [],
        "pools": [],
        "growingPools": [],
        "properties": {},
        "agentProtocol": None,
    }
    told = {each.name: each.value for each in facts_of(SHOWN | member | {"workKinds": kinds}, [])}
    assert told["runs"] == "Job"
    assert told["kinds not served"] == "RayJob: install it"
    assert told["right missing for"] == "JobSet: grant it"
    said = [
        each.sentence for each in lacks_of(SHOWN | {"state": "Ready", "workKinds": kinds}, NOW)
    ]
    assert "It serves JobSet, and a right is missing: grant it." in said
