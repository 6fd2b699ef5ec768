"""What each verb asks the hub: every option is passed on, and nothing else is asked for."""

import json
from typing import Any

import pytest

from tests.cli.build import a_join_token, a_listed_job
from tests.cli.commands import run
from tests.cli.scripted import Answer, answering, items

UID = "01a1feaf-1339-78fd-a076-6ec8b2409717"
WAITING = "/apis/visibility.kueue.x-k8s.io/v1beta2"
LISTS = [
    ("jobs ls", "/v1/jobs?limit=201"),
    ("jobs ls -n a", "/v1/jobs?namespace=a&limit=201"),
    ("jobs ls -q b", "/v1/jobs?queue=b&limit=201"),
    ("jobs ls --state pending", "/v1/jobs?state=Pending&limit=201"),
    ("jobs ls --cluster c", "/v1/jobs?cluster=c&limit=201"),
    ("jobs ls -l team=blue", "/v1/jobs?labelSelector=team%3Dblue&limit=201"),
    ("jobs ls --limit 7", "/v1/jobs?limit=8"),
    (f"events {UID} --limit 5", f"/v1/jobs/{UID}/events?limit=5"),
    ("events --limit 5", "/v1/events?limit=5"),
    ("events -n a", "/v1/events?namespace=a&limit=50"),
    ("workloads ls -n a", "/v1/workloads?namespace=a&limit=100"),
    ("workloads ls --queue b", "/v1/workloads?queue=b&limit=100"),
    ("workloads ls --cluster-queue c", "/v1/workloads?clusterQueue=c&limit=100"),
    (
        "workloads ls --condition Admitted=False",
        "/v1/workloads?condition=Admitted%3DFalse&limit=100",
    ),
    ("workloads ls --limit 9", "/v1/workloads?limit=9"),
    ("workloads show a/w", "/v1/workloads/a/w"),
    ("checks ls --check budget", "/v1/checks?check=budget&limit=500"),
    ("checks ls --controller x.io/c", "/v1/checks?controller=x.io%2Fc&limit=500"),
    ("queues ls", "/v1/queues"),
    ("queues show q", "/v1/queues/q"),
    ("queues show a/q", "/v1/queues/a/q"),
    (
        "queues pending q --offset 3 --limit 4",
        f"{WAITING}/clusterqueues/q/pendingworkloads?offset=3&limit=4",
    ),
    (
        "queues pending a/q --limit 4",
        f"{WAITING}/namespaces/a/localqueues/q/pendingworkloads?offset=0&limit=4",
    ),
    ("clusters ls", "/v1/clusters"),
    ("clusters show c1", "/v1/clusters/c1"),
    ("placements ls", "/v1/placements?limit=500"),
    ("placements show p", "/v1/placements/p"),
    ("placements show a/p", "/v1/placements/a/p"),
    ("drift ls", "/v1/drift?limit=500"),
    ("tokens ls", "/v1/tokens"),
    ("jobs show a/j", "/v1/namespaces/a/jobs/j"),
    (f"explain {UID}", f"/v1/jobs/{UID}/explain"),
]
MEMBER = "/v1/objects/cluster.kubernetes-fleet.io/MemberCluster"
CHECK = "/v1/objects/kueue.x-k8s.io/AdmissionCheck/budget/status"


def said(status: str, reason: str, message: str = "") -> dict[str, Any]:
    return {
        "conditions": [{"type": "Active", "status": status, "reason": reason, "message": message}]
    }


ACTS: list[tuple[str, str, Any]] = [
    (f"jobs hold {UID}", f"POST /v1/jobs/{UID}/hold", None),
    (f"jobs release {UID}", f"POST /v1/jobs/{UID}/release", None),
    (f"jobs cancel {UID}", f"POST /v1/jobs/{UID}/cancel", None),
    (f"jobs delete {UID}", f"DELETE /v1/jobs/{UID}", None),
    (
        "clusters add c9 --label a=b --label c=d",
        "POST /v1/clusters",
        {"name": "c9", "labels": {"a": "b", "c": "d"}, "taints": []},
    ),
    (
        "clusters add c9 --taint k=v:NoSchedule --taint e:NoExecute",
        "POST /v1/clusters",
        {
            "name": "c9",
            "labels": {},
            "taints": [
                {"key": "k", "value": "v", "effect": "NoSchedule"},
                {"key": "e", "value": "", "effect": "NoExecute"},
            ],
        },
    ),
    ("clusters token c9", "POST /v1/clusters/c9/join-token", None),
    ("clusters cordon c1", "POST /v1/clusters/c1/cordon", None),
    ("clusters uncordon c1", "POST /v1/clusters/c1/uncordon", None),
    ("clusters rm c1", "DELETE /v1/clusters/c1", None),
    ("clusters rm c1 --clean", "DELETE /v1/clusters/c1?propagationPolicy=Delete", None),
    ("clusters rm c1 --keep", "DELETE /v1/clusters/c1?propagationPolicy=Abandon", None),
    (
        "clusters fence c1 --destroyed --confirm c1",
        "POST /v1/clusters/c1/fence",
        {"confirm": "c1"},
    ),
    (
        "clusters fence c1 --destroyed --confirm c1 --though-it-answers",
        "POST /v1/clusters/c1/fence",
        {"confirm": "c1", "thoughItAnswers": True},
    ),
    ("checks serve budget", f"PUT {CHECK}", said("True", "Active")),
    ("checks serve budget --off -m no", f"PUT {CHECK}", said("False", "Inactive", "no")),
    (f"checks set {UID} budget ready", f"PUT /v1/jobs/{UID}/checks/budget", {"state": "Ready"}),
    (
        f"checks set {UID} budget retry -m later --requeue-after 60",
        f"PUT /v1/jobs/{UID}/checks/budget",
        {"state": "Retry", "message": "later", "requeueAfterSeconds": 60},
    ),
    ("tokens issue ann", "POST /v1/tokens", {"role": "viewer", "name": "ann"}),
    (
        "tokens issue ann --role administrator",
        "POST /v1/tokens",
        {"role": "administrator", "name": "ann"},
    ),
    ("tokens revoke ann --role viewer", "DELETE /v1/tokens/viewer/ann", None),
    ("tokens revoke ann --role administrator", "DELETE /v1/tokens/administrator/ann", None),
    (
        "hub-cluster resume HubClusterChanged",
        "POST /v1/hub-cluster/resume",
        {"reason": "HubClusterChanged"},
    ),
    (
        "hand-over cq q --to hub-cluster",
        "POST /v1/hand-over",
        {
            "group": "kueue.x-k8s.io",
            "kind": "ClusterQueue",
            "namespace": "",
            "name": "q",
            "to": "hub-cluster",
        },
    ),
    (
        "hand-over job j -n a",
        "POST /v1/hand-over",
        {"group": "batch", "kind": "Job", "namespace": "a", "name": "j", "to": "rest"},
    ),
    (
        "drift ignore c1 configmap/x -n a --path /data/b",
        "POST /v1/drift:settle",
        {
            "how": "ignore",
            "cluster": "c1",
            "kind": "ConfigMap",
            "namespace": "a",
            "name": "x",
            "path": "/data/b",
        },
    ),
    ("restored", "GET /v1/restored", None),
    ("restored --accept", "POST /v1/restored:accept", None),
    ("admin retention", "GET /v1/retention", None),
    ("kinds versions", "GET /v1/kinds", None),
    ("admin availability", "GET /v1/availability-rules", None),
    ("admin adopt u", "POST /v1/restored/u/adopt", {}),
    ("admin forget u --cluster c1", "POST /v1/restored/u/forget", {"cluster": "c1"}),
    ("delete ConfigMap x -n a", "DELETE /v1/objects/core/ConfigMap/namespaces/a/x", None),
    ("delete ConfigMap x", "DELETE /v1/objects/core/ConfigMap/namespaces/default/x", None),
    ("delete cq q", "DELETE /v1/objects/kueue.x-k8s.io/ClusterQueue/q", None),
    ("delete cq q --drain", "DELETE /v1/objects/kueue.x-k8s.io/ClusterQueue/q?drain=true", None),
    ("delete cluster c1", f"DELETE {MEMBER}/c1", None),
    ("delete job a/j", "GET /v1/namespaces/a/jobs/j", None),
    ("delete job j -n a", "GET /v1/namespaces/a/jobs/j", None),
    ("delete workload a/w", "DELETE /v1/workloads/a/w", None),
]


@pytest.mark.parametrize(("line", "path"), LISTS, ids=[line for line, _ in LISTS])
def test_what_is_asked_for_is_what_was_typed(line: str, path: str) -> None:
    """One request, with each option in its query and no other."""
    with answering(items()) as script:
        run("--server", script.address, *line.split())
    assert script.asked[0] == f"GET {path}"


@pytest.mark.parametrize(("line", "request_", "body"), ACTS, ids=[line for line, *_ in ACTS])
def test_what_is_to_be_done_is_what_was_typed(line: str, request_: str, body: Any) -> None:
    """One request, whose body holds each option and no other."""
    with answering(Answer(a_join_token() | a_listed_job())) as script:
        run("--server", script.address, *line.split())
    assert script.asked[0] == request_
    assert (json.loads(script.bodies[0]) if script.bodies[0] else None) == body


def test_versions_of_a_definition_that_is_not_there() -> None:
    """As what `get` does not find: exit code 3, and where to look."""
    with answering(items()) as script:
        done = run("--server", script.address, "kinds", "versions", "nope")
    assert (done.code, done.out) == (3, "")
    assert "there is no Karta nope" in done.err
    assert "List the existing ones: roadstead kinds versions" in done.err
