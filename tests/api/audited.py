"""What is asked of a hub, and what stands in its audit for it."""

from typing import Any

from tests.api.queues import FLAVOR
from tests.api.serving import Served, a_job
from tests.bad_inputs.objects import KUEUE, a_queue

GROUP = KUEUE.partition("/")[0]
CHECK = {
    "apiVersion": KUEUE,
    "kind": "AdmissionCheck",
    "metadata": {"name": "budget"},
    "spec": {"controllerName": "x.io/budget"},
}
LOCAL = {
    "apiVersion": KUEUE,
    "kind": "LocalQueue",
    "metadata": {"name": "lq", "namespace": "team-a"},
    "spec": {"clusterQueue": "q"},
}
WORKLOAD = {
    "apiVersion": KUEUE,
    "kind": "Workload",
    "metadata": {"name": "w", "namespace": "team-a"},
    "spec": {
        "queueName": "lq",
        "podSets": [{"name": "main", "count": 1, "template": a_job()["spec"]["template"]}],
    },
}
ACTIVE = {"conditions": [{"type": "Active", "status": "True", "reason": "r", "message": "m"}]}
ANA = {"role": "viewer", "name": "ana"}
# What is asked, with {j}, {k} and {w} for uids, and what is written down: verb, object and outcome.
ASKED: list[tuple[str, str, Any, list[tuple[str, str, str]]]] = [
    ("POST", "apply", CHECK, [("apply", "AdmissionCheck budget *", "created")]),
    ("POST", "apply", CHECK, []),
    ("POST", "apply", LOCAL | {"spec": {}}, []),
    ("POST", "jobs/{j}/hold", None, [("hold", "Job team-a/j {j}", "ok")]),
    ("POST", "jobs/{j}/release", None, [("release", "Job team-a/j {j}", "ok")]),
    ("POST", "jobs/{j}/cancel", None, [("cancel", "Job team-a/j {j}", "ok")]),
    ("DELETE", "jobs/{j}", None, [("delete", "Job team-a/j {j}", "ok")]),
    ("DELETE", "namespaces/team-a/jobs/k", None, [("delete", "Job team-a/k {k}", "ok")]),
    (
        "PATCH",
        "workloads/team-a/w",
        {"spec": {"active": False}},
        [("patch", "Workload team-a/w {w}", "configured")],
    ),
    ("DELETE", "workloads/team-a/w", None, [("delete", "Workload team-a/w {w}", "ok")]),
    ("POST", "clusters", {"name": "c1"}, [("create", "MemberCluster c1", "ok")]),
    ("POST", "clusters/c1/join-token", None, [("join-token", "MemberCluster c1", "ok")]),
    ("POST", "clusters/c1/cordon", None, [("cordon", "MemberCluster c1", "ok")]),
    ("POST", "clusters/c1/uncordon", None, [("uncordon", "MemberCluster c1", "ok")]),
    (
        "POST",
        "clusters/c1/drain",
        {},
        [("drain", "MemberCluster c1", "0 jobs")],
    ),
    ("POST", "clusters/c1/fence", {"confirm": "c1"}, [("fence", "MemberCluster c1", "ok")]),
    ("DELETE", "clusters/c1", None, [("delete", "MemberCluster/c1", "origin rest")]),
    ("POST", "tokens", ANA, [("issue-token", "viewer ana", "ok")]),
    ("DELETE", "tokens/viewer/ana", None, [("revoke-token", "viewer ana", "ok")]),
    (
        "PUT",
        f"objects/{GROUP}/AdmissionCheck/budget/status",
        ACTIVE,
        [("status", "AdmissionCheck budget", "ok")],
    ),
    (
        "DELETE",
        f"objects/{GROUP}/AdmissionCheck/budget",
        None,
        [("delete", "AdmissionCheck/budget", "origin rest")],
    ),
    (
        "DELETE",
        f"objects/{GROUP}/LocalQueue/namespaces/team-a/lq",
        None,
        [("delete", "LocalQueue/team-a/lq", "origin rest")],
    ),
    (
        "DELETE",
        f"objects/{GROUP}/ClusterQueue/q?drain=true",
        None,
        [("delete", "ClusterQueue/q", "origin rest")],
    ),
]


async def filled(hub: Served) -> dict[str, str]:
    """Queue `q` behind `lq`, jobs `j` and `k` and Workload `w` in it; their uids."""
    for manifest in (FLAVOR, a_queue(), LOCAL):
        await hub.admin.post("/v1/apply", json=manifest)
    uids = {}
    for name in ("j", "k"):
        made = await hub.admin.post("/v1/jobs", json=a_job(name, queue="lq"))
        uids[name] = made.json()["uid"]
    made = await hub.admin.post("/v1/workloads", json=WORKLOAD)
    assert made.status_code == 201, made.text
    return {**uids, "w": made.json()["uid"]}


async def trail(hub: Served) -> list[dict[str, Any]]:
    """What was written down, oldest first."""
    items: list[dict[str, Any]] = (await hub.admin.get("/v1/audit?limit=500")).json()["items"]
    return items[::-1]
