"""Bad objects through REST: queues, quotas, placements, their selectors, and members."""

import pytest

from hub.store import clusters
from tests.api.queues import with_a_running_job
from tests.api.scheduling import scheduling
from tests.api.serving import Served, served
from tests.bad_inputs.objects import CASES, TAKEN, THEIRS, UNASKED, a_job, a_queue, queued

pytestmark = pytest.mark.anyio
LISTED = {
    "ClusterQueue": "/v1/objects/kueue.x-k8s.io/ClusterQueue",
    "ClusterResourcePlacement": "/v1/placements",
    "Job": "/v1/jobs",
    "MemberCluster": "/v1/clusters",
}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
async def test_a_bad_object_is_refused_by_its_field(tmp_path, case):
    """422 with code and field, and nothing is stored."""
    async with served(tmp_path) as hub:
        assert (await hub.admin.post("/v1/apply", json=THEIRS)).status_code == 200
        names = await listed(hub, case.kind)
        reply = await hub.admin.post("/v1/apply", json=case.manifest)
        assert (reply.status_code, reply.json()["code"]) == (422, case.code)
        assert reply.json()["errors"][0]["field"].startswith("[0]")
        assert await listed(hub, case.kind) == names


@pytest.mark.parametrize(("name", "manifest"), TAKEN, ids=[name for name, _ in TAKEN])
async def test_what_only_looks_bad_is_taken(tmp_path, name, manifest):
    """Members and their labels come and go, so a job that nothing suits now waits."""
    async with served(tmp_path) as hub:
        reply = await hub.admin.post("/v1/apply", json=manifest)
        assert reply.status_code == 200, reply.text
        jobs = (await hub.admin.get("/v1/jobs")).json()["items"]
        assert [job["state"] for job in jobs] == ["Pending"] * (manifest["kind"] == "Job")


async def test_row_48_a_quota_that_no_pod_can_use_is_warned_of(tmp_path):
    """No container can ask for such a resource: the answer names it, and an Event does."""
    async with served(tmp_path) as hub:
        reply = await hub.admin.post("/v1/apply", json=UNASKED)
        (warning,) = reply.json()["items"][0]["warnings"]
        assert "no container can ask for warp-cores" in warning
        events = (await hub.admin.get("/v1/events")).json()["items"]
        told = [each["message"] for each in events if each["reason"] == "NotActedOn"]
        assert ["warp-cores" in each for each in told] == [True]


@pytest.mark.parametrize("path", ["/v1/jobs", "/v1/jobs:batch"])
async def test_rows_46_and_47_a_queue_that_is_not_there(tmp_path, path):
    """One of another namespace is answered in the words of one that nobody has."""
    async with served(tmp_path) as hub:
        assert (await hub.admin.post("/v1/apply", json=THEIRS)).status_code == 200
        said = []
        for name in ("absent", "theirs"):
            body = queued(name) if path == "/v1/jobs" else [queued(name)]
            answer = (await hub.admin.post(path, json=body)).json()
            refusal = answer if path == "/v1/jobs" else answer["items"][0]
            assert refusal["code"] == "QueueNotFound"
            assert refusal["errors"][0]["field"] == "metadata.labels[kueue.x-k8s.io/queue-name]"
            said.append(refusal["detail"].replace(name, "NAME"))
        assert said[0] == said[1]
        assert (await hub.admin.get("/v1/jobs")).json()["items"] == []


async def test_rows_46_and_47_what_is_applied_waits_for_its_queue(tmp_path):
    """As with kubectl, where queues may come later: Pending with the same reason for both."""
    async with served(tmp_path) as hub:
        await hub.admin.post("/v1/apply", json=THEIRS)
        for name in ("absent", "theirs"):
            job = queued(name)
            job["metadata"]["name"] = name
            assert (await hub.admin.post("/v1/apply", json=job)).status_code == 200
        jobs = (await hub.admin.get("/v1/jobs")).json()["items"]
        assert [(job["state"], job["reason"]) for job in jobs] == [
            ("Pending", "QueueNotFound")
        ] * 2
        told = [(await hub.admin.get(f"/v1/jobs/{job['uid']}")).json() for job in jobs]
        assert len({job["message"].replace(job["queue"], "NAME") for job in told}) == 1


@pytest.mark.parametrize(
    ("declared", "status", "code"),
    [
        ({"name": "prod"}, 409, "AlreadyExists"),
        ({"name": "Prod"}, 422, "InvalidName"),
        ({"name": "new", "labels": {"roadstead.dev/region": "x"}}, 422, "ReservedLabel"),
    ],
)
async def test_rows_63_and_64_a_bad_member_is_refused(tmp_path, declared, status, code):
    """A name that is taken, one in capitals, a label of the hub's own; agents set no labels at all."""
    async with served(tmp_path) as hub:
        assert (await hub.admin.post("/v1/clusters", json={"name": "prod"})).status_code == 201
        reply = await hub.admin.post("/v1/clusters", json=declared)
        assert (reply.status_code, reply.json()["code"]) == (status, code)


@pytest.mark.parametrize(
    ("named", "selector", "status"),
    [
        ("c1", "region=north", 200),
        ("c1", "region=south", 422),
        ("c1, c2", "region=south", 422),
        ("c1,absent", "region=south", 200),
        ("c1,c3", "region=south", 200),
        ("absent", "region=south", 200),
    ],
)
async def test_row_59_names_and_a_selector_that_excludes_them(tmp_path, named, selector, status):
    """422 Contradiction where every member that it names is there, and is none that it selects."""
    async with served(tmp_path) as hub:
        for name, region in (("c1", "north"), ("c2", "west"), ("c3", "south")):
            body = {"name": name, "labels": {"region": region}}
            assert (await hub.admin.post("/v1/clusters", json=body)).status_code == 201
        job = a_job(clusters=named, cluster_selector=selector)
        reply = await hub.admin.post("/v1/apply", json=job)
        assert reply.status_code == status, reply.text
        single = await hub.admin.post(
            "/v1/jobs", json={**job, "metadata": {**job["metadata"], "name": "k"}}
        )
        assert single.status_code == (201 if status == 200 else 422)
        if status == 422:
            assert (reply.json()["code"], single.json()["code"]) == ("Contradiction",) * 2
            field = reply.json()["errors"][0]["field"]
            assert field == "[0].metadata.annotations[roadstead.dev/cluster-selector]"


async def test_row_65_a_stale_resource_version(tmp_path):
    """412 Conflict with the one that it has by now; with that it is changed. A new object has none."""
    async with served(tmp_path) as hub:
        first = a_queue(nominalQuota="1")
        assert (await hub.admin.post("/v1/apply", json=first)).status_code == 200
        path = "/v1/objects/kueue.x-k8s.io/ClusterQueue/q"
        version = (await hub.admin.get(path)).json()["metadata"]["resourceVersion"]
        changed = a_queue(nominalQuota="2")
        for given, status, code in (
            ("1", 412, "Conflict"),
            (version, 200, None),
            (version, 412, "Conflict"),
        ):
            changed["metadata"]["resourceVersion"] = given
            reply = await hub.admin.post("/v1/apply", json=changed)
            assert (reply.status_code, reply.json().get("code")) == (status, code), reply.text
        now = (await hub.admin.get(path)).json()["metadata"]["resourceVersion"]
        assert now != version
        assert now in reply.json()["detail"]
        assert reply.json()["errors"][0]["field"] == "[0].metadata.resourceVersion"


@pytest.mark.parametrize(
    ("wishes", "cordoned"),
    [
        ({"cluster_selector": "region=nowhere"}, False),
        ({"clusters": "absent"}, False),
        ({"clusters": "c"}, True),
    ],
)
async def test_rows_55_and_60_what_nothing_suits_says_why_it_waits(tmp_path, wishes, cordoned):
    """201, Pending, with the reason: no such label, no such member, one that takes nothing now."""
    async with scheduling(tmp_path) as (hub, live):
        if cordoned:
            assert (await hub.admin.post("/v1/clusters/c/cordon")).status_code == 200
        reply = await hub.admin.post("/v1/jobs", json=a_job(**wishes))
        assert reply.status_code == 201, reply.text
        await live.settle()
        told = (await hub.admin.get(f"/v1/jobs/{reply.json()['uid']}")).json()
        assert (told["state"], told["reason"]) == ("Pending", "NoClusterMatches")


async def test_row_66_the_queue_of_a_running_job_stays(tmp_path):
    """422 Immutable by the label, while it is on a cluster; the job runs on in its queue."""
    async with served(tmp_path) as hub:
        await with_a_running_job(hub)
        (job,) = (await hub.admin.get("/v1/jobs")).json()["items"]
        whole = (await hub.admin.get(f"/v1/jobs/{job['uid']}")).json()["manifest"]
        key = "kueue.x-k8s.io/queue-name"
        for labels in ({key: "default"}, {}):
            manifest = {**whole, "metadata": {**whole["metadata"], "labels": labels}}
            reply = await hub.admin.post("/v1/apply", json=manifest)
            assert (reply.status_code, reply.json()["code"]) == (422, "Immutable")
            assert reply.json()["errors"][0]["field"] == f"[0].metadata.labels[{key}]"
        (after,) = (await hub.admin.get("/v1/jobs")).json()["items"]
        assert (after["queue"], after["state"]) == (job["queue"], "Offered")


@pytest.mark.parametrize(
    ("silent_s", "body", "status", "code"),
    [
        (0, {}, 409, "ClusterAlive"),
        (0, {"confirm": "C1"}, 409, "ClusterAlive"),
        (44, {"confirm": "c1"}, 409, "ClusterAlive"),
        (0, {"confirm": "C1", "thoughItAnswers": True}, 422, "ConfirmationMismatch"),
        (0, {"confirm": "c1", "thoughItAnswers": True}, 200, None),
        (60, {}, 422, "ConfirmationMismatch"),
        (60, {"confirm": "c1"}, 200, None),
        (0, {"confirm": 1}, 422, "InvalidType"),
        (0, {"confirmed": "c1"}, 422, "UnknownField"),
    ],
)
async def test_row_67_a_member_that_lives_is_not_fenced(tmp_path, silent_s, body, status, code):
    """409 while it answers, name typed or not, unless a second word says that this is known."""
    async with served(tmp_path) as hub:
        assert (await hub.admin.post("/v1/clusters", json={"name": "c1"})).status_code == 201

        def joined(tx):
            clusters.change(tx, "c1", joined_at=tx.now, heartbeat_at=tx.now)

        await hub.db.write(joined)
        hub.clock.advance(silent_s)
        reply = await hub.admin.post("/v1/clusters/c1/fence", json=body)
        assert (reply.status_code, reply.json().get("code")) == (status, code)
        joined_at = (await hub.admin.get("/v1/clusters/c1")).json()["joinedAt"]
        assert (joined_at is None) is (status == 200)


async def test_row_67_a_viewer_fences_nobody(tmp_path):
    """403."""
    async with served(tmp_path) as hub:
        assert (await hub.admin.post("/v1/clusters", json={"name": "c1"})).status_code == 201
        reply = await hub.viewer.post("/v1/clusters/c1/fence", json={"confirm": "c1"})
        assert (reply.status_code, reply.json()["code"]) == (403, "Forbidden")


async def test_row_67_who_is_not_there_is_not_fenced(tmp_path):
    """404."""
    async with served(tmp_path) as hub:
        reply = await hub.admin.post("/v1/clusters/c1/fence", json={"confirm": "c1"})
        assert (reply.status_code, reply.json()["code"]) == (404, "NotFound")


async def listed(hub: Served, kind: str) -> list[str]:
    return [each.get("name", "") for each in (await hub.admin.get(LISTED[kind])).json()["items"]]
