"""People over REST: owners of jobs, roles in namespaces and queues, what others may not see or do."""

import pytest

from hub.services.queues.defaults import DEFAULT
from tests.api.audited import LOCAL, WORKLOAD, filled
from tests.api.people import a_user, bound
from tests.api.serving import Served, a_job, served

pytestmark = pytest.mark.anyio


async def two_tenants(hub: Served) -> dict[str, str]:
    """Jobs `j`, `k` and Workload `w` in team-a, `theirs` in team-b; their uids."""
    uids = await filled(hub)
    made = await hub.admin.post("/v1/jobs", json=a_job("theirs", "team-b"))
    return {**uids, "theirs": made.json()["uid"]}


async def test_a_job_is_owned_by_who_submitted_it(tmp_path):
    """One alone, one of a batch and one that is applied: in lists, by itself, explained, and as a filter."""
    async with served(tmp_path) as hub:
        await filled(hub)
        ana = await a_user(hub, "ana")
        await bound(hub, "ana", "submitter", users=["ana"], namespaces=["team-a"])
        one = await ana.post("/v1/jobs", json=a_job("one", queue="lq"))
        assert (one.status_code, one.json()["owner"]) == (201, "ana")
        await ana.post("/v1/jobs:batch", json=[a_job("two", queue="lq")])
        await ana.post("/v1/apply", json=a_job("three", queue="lq"))
        await ana.post(
            "/v1/workloads", json={**WORKLOAD, "metadata": {"name": "v", "namespace": "team-a"}}
        )
        mine = (await hub.viewer.get("/v1/jobs?owner=ana")).json()["items"]
        assert {each["name"] for each in mine} == {"one", "two", "three", "v"}
        others = (await hub.viewer.get("/v1/jobs?owner=the-administrator")).json()["items"]
        assert {each["name"] for each in others} == {"j", "k", "w"}
        uid = one.json()["uid"]
        for path in (f"jobs/{uid}", f"jobs/{uid}/explain", f"jobs/{uid}/cancel"):
            asked = await ana.request("POST" if "cancel" in path else "GET", f"/v1/{path}")
            assert asked.json()["owner"] == "ana", path


async def test_nobody_says_whose_job_is_theirs(tmp_path):
    """A submitter can not give a job another owner."""
    async with served(tmp_path) as hub:
        forged = a_job("forged")
        forged["metadata"]["annotations"] = {"roadstead.dev/submitted-by": "eve"}
        reply = await hub.admin.post("/v1/jobs", json=forged)
        assert reply.status_code == 422 or reply.json()["owner"] == "the-administrator"


async def test_another_tenants_jobs_look_absent(tmp_path):
    """Each way to one of them answers as if it were not there, and no list shows it."""
    async with served(tmp_path) as hub:
        uids = await two_tenants(hub)
        ana = await a_user(hub, "ana", ["physics"])
        await bound(
            hub, "physics", "batch-administrator", groups=["physics"], namespaces=["team-a"]
        )
        uid = uids["theirs"]
        await hub.admin.post(f"/v1/jobs/{uid}/hold")
        assert (await hub.admin.get(f"/v1/events?uid={uid}")).json()["items"] != []
        ways = [
            ("GET", "jobs/{}"), ("GET", "jobs/{}/events"), ("GET", "jobs/{}/explain"),
            ("GET", "jobs/{}/checks"), ("POST", "jobs/{}/cancel"), ("POST", "jobs/{}/hold"),
            ("POST", "jobs/{}/release"), ("DELETE", "jobs/{}"),
        ]  # fmt: skip
        for method, way in ways:
            found = await ana.request(method, f"/v1/{way.format(uid)}")
            absent = await ana.request(method, f"/v1/{way.format('0' * len(uid))}")
            assert found.status_code == absent.status_code == 404, way
            assert found.json()["detail"] == absent.json()["detail"].replace("0" * len(uid), uid)
        for method in ("GET", "DELETE"):
            found = await ana.request(method, "/v1/namespaces/team-b/jobs/theirs")
            absent = await ana.request(method, "/v1/namespaces/team-b/jobs/others")
            assert found.status_code == absent.status_code == 404
            assert found.json()["detail"] == absent.json()["detail"].replace("others", "theirs")
        assert (await ana.get(f"/v1/events?uid={uid}")).json()["items"] == []
        for path in (
            "jobs",
            "workloads",
            "events",
            "jobs?namespace=team-b",
            "events?namespace=team-b",
        ):
            assert "theirs" not in (await ana.get(f"/v1/{path}")).text, path
        listed = (await ana.get("/v1/jobs?limit=2")).json()
        rest = (await ana.get(f"/v1/jobs?limit=2&continue={listed['continue']}")).json()
        assert [len(listed["items"]), len(rest["items"])] == [2, 1]


async def test_a_submitter_ends_their_own_jobs_alone(tmp_path):
    """Others' are seen and refused; without a role in a namespace nothing is handed in there."""
    async with served(tmp_path) as hub:
        uids = await two_tenants(hub)
        ana = await a_user(hub, "ana")
        await bound(hub, "ana", "submitter", users=["ana"], namespaces=["team-a"])
        own = (await ana.post("/v1/jobs", json=a_job("own", queue="lq"))).json()["uid"]
        for verb in ("hold", "release", "cancel"):
            assert (await ana.post(f"/v1/jobs/{own}/{verb}")).status_code == 200
            assert (await ana.post(f"/v1/jobs/{uids['j']}/{verb}")).status_code == 403
        assert (await ana.delete(f"/v1/jobs/{uids['j']}")).status_code == 403
        assert (await ana.delete("/v1/workloads/team-a/w")).status_code == 403
        assert (
            await ana.patch("/v1/workloads/team-a/w", json={"spec": {"active": False}})
        ).status_code == 403
        assert (await ana.delete(f"/v1/jobs/{own}")).status_code == 200
        for path in ("jobs", "apply"):
            there = await ana.post(f"/v1/{path}", json=a_job("x", "team-b"))
            assert there.status_code == 403, there.text
        mixed = await ana.post(
            "/v1/jobs:batch", json=[a_job("y", queue="lq"), a_job("y", "team-b")]
        )
        assert [each.get("code", "") for each in mixed.json()["items"]] == ["", "Forbidden"]
        others = a_job("k", queue="lq", parallelism=7)
        assert (await ana.post("/v1/apply", json=others)).json()["code"] == "Forbidden"
        for document in (
            LOCAL,
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": "c", "namespace": "team-a"},
            },
        ):
            assert (await ana.post("/v1/apply", json=document)).status_code == 403


async def test_a_viewer_of_a_namespace_looks_and_no_more(tmp_path):
    """And sees nothing that has no namespace."""
    async with served(tmp_path) as hub:
        uids = await two_tenants(hub)
        eve = await a_user(hub, "eve")
        assert (await eve.get("/v1/jobs")).status_code == 403
        await bound(hub, "eve", "viewer", users=["eve"], namespaces=["team-b"])
        assert [each["name"] for each in (await eve.get("/v1/jobs")).json()["items"]] == ["theirs"]
        assert (await eve.post(f"/v1/jobs/{uids['theirs']}/cancel")).status_code == 403
        assert (await eve.post("/v1/jobs", json=a_job("n", "team-b"))).status_code == 403
        for path in (
            "clusters",
            "overview",
            "tokens",
            "audit",
            "access/bindings",
        ):
            assert (await eve.get(f"/v1/{path}")).status_code == 403, path
        kinds = {each["kind"] for each in (await eve.get("/v1/objects")).json()["items"]}
        assert kinds <= {"LocalQueue"}
        queues = (await eve.get("/v1/queues")).json()["items"]
        assert {q["namespace"] for each in queues for q in each["localQueues"]} <= {"team-b"}
        group = "kueue.x-k8s.io"
        path = f"/v1/objects/{group}/LocalQueue/namespaces"
        assert (await eve.get(f"{path}/team-a/lq")).status_code == 404
        assert (await eve.get("/v1/queues/team-a/lq")).status_code == 404
        assert (await eve.get("/v1/queues/q")).status_code == 404
        await hub.admin.delete("/v1/access/bindings/eve")
        assert (await eve.get("/v1/jobs")).status_code == 403


async def test_a_role_in_queues_is_for_their_jobs(tmp_path):
    """Jobs of other queues of the namespace are absent; nothing but jobs is shown."""
    async with served(tmp_path) as hub:
        uids = await two_tenants(hub)
        await hub.admin.post(f"/v1/jobs/{uids['j']}/hold")
        await hub.admin.post("/v1/jobs", json=a_job("elsewhere"))
        bob = await a_user(hub, "bob")
        await bound(hub, "bob", "submitter", users=["bob"], namespaces=["team-a"], queues=["lq"])
        names = {each["name"] for each in (await bob.get("/v1/jobs")).json()["items"]}
        assert names == {"j", "k", "w"}
        assert (await bob.post("/v1/jobs", json=a_job("b"))).status_code == 403
        assert (await bob.post("/v1/jobs", json=a_job("b", queue="lq"))).status_code == 201
        assert (await bob.get("/v1/events")).status_code == 403
        seen = (await bob.get(f"/v1/jobs/{uids['j']}/events")).json()["items"]
        assert "HeldByUser" in {each["reason"] for each in seen}


async def test_a_role_everywhere_is_what_a_token_of_it_is(tmp_path):
    """A cluster administrator does everything, a viewer of all namespaces sees everything."""
    async with served(tmp_path) as hub:
        await two_tenants(hub)
        root, all_seeing = await a_user(hub, "root"), await a_user(hub, "seer")
        await bound(hub, "root", "cluster-administrator", users=["root"])
        await bound(hub, "seer", "viewer", users=["seer"])
        assert (await root.post("/v1/clusters", json={"name": "c1"})).status_code == 201
        assert (await all_seeing.get("/v1/clusters/c1")).status_code == 200
        assert (await all_seeing.post("/v1/clusters/c1/cordon")).status_code == 403


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"role": "king", "users": ["a"]}, "InvalidRole"),
        ({"role": "viewer"}, "Required"),
        ({"role": "viewer", "users": ["a"], "namespaces": []}, "Required"),
        ({"role": "viewer", "users": ["a"], "namespaces": ["Not a label"]}, "InvalidName"),
        ({"role": "viewer", "users": ["\u0007"]}, "InvalidValue"),
        ({"role": "cluster-administrator", "users": ["a"], "namespaces": ["x"]}, "InvalidValue"),
        ({"role": "viewer", "users": [str(n) for n in range(201)]}, "TooManyItems"),
    ],
)
async def test_bindings_that_could_not_be_kept_to_are_refused(tmp_path, given, code):
    """With their code, and nothing is stored."""
    async with served(tmp_path) as hub:
        reply = await hub.admin.put("/v1/access/bindings/x", json=given)
        told = reply.json()
        assert code in {told["code"], *(each["code"] for each in told["errors"])}, told
        assert (await hub.admin.get("/v1/access/bindings")).json()["items"] == []


async def test_who_am_i_and_what_can_i(tmp_path):
    """By the same rules as the routes: for a user by their bindings, for others by what they are."""
    async with served(tmp_path) as hub:
        ana = await a_user(hub, "ana", ["physics"])
        assert (await ana.get("/v1/whoami")).json() == {
            "name": "ana", "role": "user", "groups": ["physics"], "roles": [],
        }  # fmt: skip
        await bound(hub, "p", "submitter", groups=["physics"], namespaces=["team-a"])
        roles = (await ana.get("/v1/whoami")).json()["roles"]
        assert roles == [
            {
                "role": "submitter",
                "namespaces": ["team-a"],
                "queues": None,
                "priorityClasses": None,
            }
        ]

        async def can(who, verb, kind, namespace=""):
            asked = await who.get(f"/v1/can-i?verb={verb}&kind={kind}&namespace={namespace}")
            return asked.json()["allowed"]

        assert await can(ana, "submit", "jobs", "team-a")
        assert await can(ana, "cancel", "job")
        assert await can(ana, "create", "cronjob", "team-a")
        assert not await can(ana, "submit", "jobs", "team-b")
        assert not await can(ana, "get", "clusters")
        assert await can(hub.viewer, "get", "clusters")
        assert not await can(hub.viewer, "create", "jobs")
        assert await can(hub.admin, "delete", "tokens")
        assert (await ana.get("/v1/can-i?verb=fly&kind=jobs")).status_code == 422


async def test_where_something_may_be_done_is_told(tmp_path):
    """Asked of no namespace the answer names those where it may be."""
    async with served(tmp_path) as hub:
        ana = await a_user(hub, "ana")
        await bound(hub, "ana", "submitter", users=["ana"], namespaces=["team-b", "team-a"])
        told = (await ana.get("/v1/can-i?verb=submit&kind=jobs")).json()
        assert (told["allowed"], told["reason"]) == (True, "as submitter, in team-a, team-b")
        told = (await ana.get("/v1/can-i?verb=submit&kind=jobs&namespace=team-a")).json()
        assert told["reason"] == "as submitter"


async def test_a_batch_administrator_reads_the_audit_of_their_namespaces(tmp_path):
    """What was done there, by whomever; of others, and of what has no namespace, nothing."""
    async with served(tmp_path) as hub:
        await two_tenants(hub)
        olga = await a_user(hub, "olga")
        await bound(hub, "olga", "submitter", users=["olga"], namespaces=["team-b"])
        assert (await olga.get("/v1/audit")).status_code == 403
        await bound(hub, "olga", "batch-administrator", users=["olga"], namespaces=["team-b"])
        rows = (await olga.get("/v1/audit")).json()["items"]
        assert {row["namespace"] for row in rows} == {"team-b"}
        everything = (await hub.admin.get("/v1/audit")).json()["items"]
        assert rows == [row for row in everything if row["namespace"] == "team-b"]
        assert (await olga.get("/v1/audit?namespace=team-a")).json()["items"] == []


async def test_the_audit_tells_submissions_and_is_filtered(tmp_path):
    """One row for a job, one for a batch with how many it took; by who, what, kind, where and since when."""
    async with served(tmp_path) as hub:
        await filled(hub)
        batch = [a_job(f"n{number}", queue="lq") for number in range(3)]
        await hub.admin.post("/v1/jobs:batch", json=[*batch, {"kind": "Nothing"}])
        rows = (await hub.admin.get("/v1/audit?verb=submit")).json()["items"]
        assert [
            (row["object"].split(" ")[0], row["namespace"], row["outcome"]) for row in rows
        ] == [
            ("Job", "team-a", "3 jobs"),
            ("Workload", "team-a", "created"),
            ("Job", "team-a", "created"),
            ("Job", "team-a", "created"),
        ]
        for query, count in (
            ("principal=the-administrator&verb=submit", 4), ("principal=the", 0), ("kind=LocalQueue", 1),
            ("namespace=team-a", 5), ("kind=Workload&namespace=team-a", 1),
            ("since=2026-03-01T12:00:00Z&verb=submit", 4), ("since=2026-03-01T12:00:01Z", 0),
        ):  # fmt: skip
            found = (await hub.admin.get(f"/v1/audit?{query}")).json()["items"]
            assert len(found) == count, (query, found)
        assert (await hub.admin.get("/v1/audit?since=yesterday")).status_code == 422


async def test_an_instant_that_is_no_instant_is_refused(tmp_path):
    """Nor is nothing one: a filter that was meant and is empty would show everything."""
    async with served(tmp_path) as hub:
        for since in ("", "7", "2026-11-26"):
            reply = await hub.admin.get("/v1/audit", params={"since": since})
            assert (reply.status_code, reply.json()["code"]) == (422, "InvalidValue"), since


async def test_a_job_that_names_no_queue_is_of_the_default_one(tmp_path):
    """Who may submit to that queue may leave it out; who may submit to another may not."""
    async with served(tmp_path) as hub:
        for name, queue, status in (("ana", DEFAULT, 201), ("bea", "other", 403)):
            person = await a_user(hub, name)
            given = {"users": [name], "namespaces": ["team-a"], "queues": [queue]}
            await bound(hub, name, "submitter", **given)
            reply = await person.post("/v1/jobs", json=a_job(f"of-{name}"))
            assert reply.status_code == status, reply.text


async def test_a_dry_run_of_a_jobs_deletion_is_refused_as_the_deletion_is(tmp_path):
    """Or answers with the job, which stays; by whoever may delete it."""
    async with served(tmp_path) as hub:
        made = (await hub.admin.post("/v1/jobs", json=a_job("j"))).json()
        path, asked = f"/v1/jobs/{made['uid']}", {"dryRun": True}
        for body in (asked, {}):
            refused = await hub.viewer.request("DELETE", path, json=body)
            assert (refused.status_code, refused.json()["code"]) == (403, "Forbidden")
        other = {**asked, "preconditions": {"uid": "another"}}
        refused = await hub.admin.request("DELETE", path, json=other)
        assert refused.json()["code"] == "PreconditionFailed"
        told = await hub.admin.request("DELETE", path, json=asked)
        assert (told.status_code, told.json()["uid"]) == (200, made["uid"])
        assert (await hub.admin.get(path)).json()["deletedAt"] is None
