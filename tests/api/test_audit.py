"""What the audit says of every write, whom a deletion means, and what a filter leaves of a list."""

from typing import Any

import pytest

from tests.api.queues import FLAVOR
from tests.api.serving import Served, a_job, served
from tests.bad_inputs.objects import KUEUE, a_queue

pytestmark = pytest.mark.anyio
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
        [("cordon", "MemberCluster c1", "ok"), ("drain", "MemberCluster c1", "0 jobs")],
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


async def test_every_write_is_told_with_who_did_what_to_what(tmp_path):
    """Once each, in order; what changed nothing, or was refused, is not written down."""
    async with served(tmp_path) as hub:
        uids = await filled(hub)
        since = len(await trail(hub))
        for method, path, body, told in ASKED:
            reply = await hub.admin.request(method, f"/v1/{path.format(**uids)}", json=body)
            assert bool(told) is (reply.status_code < 300) or path == "apply", reply.text
            rows = (await trail(hub))[since:]
            since += len(rows)
            found = [
                (row["principal"], row["verb"], row["object"], row["outcome"]) for row in rows
            ]
            made = found[0][2].rpartition(" ")[2] if found else ""
            assert found == [
                ("the-administrator", verb, what.format(**uids).replace("*", made), outcome)
                for verb, what, outcome in told
            ], (method, path)


@pytest.mark.parametrize(
    "path",
    [
        "jobs/{j}",
        "namespaces/team-a/jobs/k",
        "workloads/team-a/w",
        "clusters/c1",
        f"objects/{GROUP}/ResourceFlavor/f",
        f"objects/{GROUP}/LocalQueue/namespaces/team-a/lq",
    ],
)
async def test_a_deletion_that_means_another_object_deletes_nothing(tmp_path, path):
    """Where the uid that was meant is no longer that of who has the name."""
    async with served(tmp_path) as hub:
        uids = await filled(hub)
        await hub.admin.post("/v1/clusters", json={"name": "c1"})
        place, meant = f"/v1/{path.format(**uids)}", {"preconditions": {"uid": "another"}}
        before = (await hub.admin.get(place)).json()
        refused = await hub.admin.request("DELETE", place, json=meant)
        assert (refused.status_code, refused.json()["code"]) == (409, "PreconditionFailed")
        assert (await hub.admin.get(place)).json() == before


EVENTS = [
    ("namespace=team-a", {"j", "k", "w"}),
    ("namespace=team-b", {"other"}),
    ("kind=Workload", {"w"}),
    ("name=j", {"j"}),
    ("uid={k}", {"k"}),
]
LISTED = [
    ("jobs?namespace=team-b", {"other"}),
    ("jobs?queue=lq", {"j", "k", "w"}),
    ("jobs?state=Held", {"j", "other"}),
    ("jobs?name=ot", {"other"}),
    ("workloads?namespace=team-a&queue=lq&state=Pending", {"k", "w"}),
    ("workloads?clusterQueue=q&namespace=team-a", {"j", "k", "w"}),
    ("workloads?clusterQueue=none", set()),
    (f"objects/{GROUP}/LocalQueue?namespace=team-a", {"lq"}),
    (f"objects/{GROUP}/LocalQueue?namespace=team-c", set()),
]


def whose(item: dict[str, Any]) -> str:
    """The name of a listed job or object, or of the job of a Workload."""
    metadata = item.get("metadata", item)
    owner = next(iter(metadata.get("ownerReferences") or ()), metadata)
    return str(owner["name"])


async def test_every_filter_of_a_list_narrows_it(tmp_path):
    """By the thing that it names, and with others by all of them."""
    async with served(tmp_path) as hub:
        uids = await filled(hub)
        other = await hub.admin.post("/v1/jobs", json=a_job("other", "team-b"))
        for uid in (*uids.values(), other.json()["uid"]):
            assert (await hub.admin.post(f"/v1/jobs/{uid}/hold")).status_code == 200
        for name in ("k", "w"):
            await hub.admin.post(f"/v1/jobs/{uids[name]}/release")
        for query, names in EVENTS:
            asked = await hub.admin.get(f"/v1/events?{query.format(**uids)}")
            about = {
                each["name"]
                for each in asked.json()["items"]
                if each["kind"] in {"Job", "Workload"}
            }
            assert about == names, query
        for query, names in LISTED:
            asked = await hub.admin.get(f"/v1/{query}")
            assert {whose(each) for each in asked.json()["items"]} == names, query
