"""The page of who sees part of the fleet: that part, in every section, and never another's rendered view."""

import asyncio

import pytest

from hub.services.access import bindings, people
from hub.services.access.bindings import WantedBinding
from tests import waiting
from tests.api.serving import a_job
from tests.web.pages import ServedPage, served_page

pytestmark = pytest.mark.anyio


async def a_user(hub: ServedPage, name: str, **binding: list[str]) -> None:
    """A user with the viewer's role there, who may sign in."""
    hub.tokens[name] = (await hub.hub.write(people.issue, "user", name, "test"))["token"]
    given = WantedBinding(name, "viewer", users=[name], **binding)
    await hub.hub.write(bindings.bind, given, "test")


def a_queue(namespace: str) -> list[dict[str, object]]:
    """A ClusterQueue `cq-of-<namespace>` and a LocalQueue that leads there."""
    spec: dict[str, object] = {"namespaceSelector": {}, "resourceGroups": []}
    return [
        {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "ClusterQueue",
            "metadata": {"name": f"cq-of-{namespace}"},
            "spec": spec,
        },
        {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "LocalQueue",
            "metadata": {"name": f"lq-of-{namespace}", "namespace": namespace},
            "spec": {"clusterQueue": f"cq-of-{namespace}"},
        },
    ]


async def two_tenants(hub: ServedPage) -> dict[str, str]:
    """One job, queue and event in each of two namespaces, and a member; uids by namespace."""
    uids = {}
    await hub.api.post("/v1/clusters", json={"name": "member-one"})
    for namespace in ("team-a", "team-b"):
        reply = await hub.api.post("/v1/apply", json=a_queue(namespace))
        assert reply.status_code == 200, reply.text
        job = a_job(f"job-of-{namespace}", namespace, queue=f"lq-of-{namespace}")
        uids[namespace] = (await hub.api.post("/v1/jobs", json=job)).json()["uid"]
        await hub.api.post(f"/v1/jobs/{uids[namespace]}/hold")
    return uids


async def test_each_sees_their_part(tmp_path):
    """Jobs, counts, queues and events by namespace; clusters not at all; one after the other as at once."""
    async with served_page(tmp_path) as hub:
        uids = await two_tenants(hub)
        await a_user(hub, "ana", namespaces=["team-a"])
        await a_user(hub, "bob", namespaces=["team-b"])
        await a_user(hub, "kim", namespaces=["team-a"], queues=["other"])
        await a_user(hub, "all")
        async with (
            hub.signed_in("ana") as ana,
            hub.signed_in("bob") as bob,
            hub.signed_in("kim") as kim,
            hub.signed_in("all") as everybody,
            hub.signed_in() as admin,
        ):
            for _ in range(2):  # the second time all views are kept
                replies = [await each.get("/") for each in (ana, bob, kim, everybody, admin)]
                a, b, k, whole, root = [each.text for each in replies]
                assert "ana (user)" in a
                assert "job-of-team-a" in a
                assert "cq-of-team-a" in a
                assert "HeldByUser" in a
                assert "<strong>1</strong> <span>All" in a
                for other in ("team-b", "member-one"):
                    assert other not in a
                assert "job-of-team-b" in b
                assert "team-a" not in b
                assert "team-" not in k
                assert "<strong>0</strong> <span>All" in k
                for text in (whole, root):
                    assert all(name in text for name in ("team-a", "team-b", "member-one"))
                    assert "<strong>2</strong> <span>All" in text
            own = await ana.get(f"/jobs/{uids['team-a']}")
            assert own.status_code == 200
            found = await ana.get(f"/jobs/{uids['team-b']}")
            absent = await ana.get(f"/jobs/{'0' * 36}")
            assert found.status_code == absent.status_code == 404
            assert found.text.replace(uids["team-b"], "0" * 36) == absent.text
            assert "job-of-team-b" not in (await ana.get("/?q=team-b")).text


async def test_a_page_that_others_have_open_is_absent_for_who_may_not_see_it(tmp_path):
    """It was read for them a moment ago, and is kept for those alone who see the same."""
    async with served_page(tmp_path) as hub:
        uids = await two_tenants(hub)
        await a_user(hub, "ana", namespaces=["team-a"])
        await a_user(hub, "bob", namespaces=["team-b"])
        await a_user(hub, "all")
        pages = (
            f"/jobs/{uids['team-a']}", "/queues/cq-of-team-a", "/queues/team-a/lq-of-team-a",
            "/clusters/member-one",
        )  # fmt: skip
        async with (
            hub.signed_in("ana") as ana,
            hub.signed_in("bob") as bob,
            hub.signed_in("all") as everybody,
        ):
            for page in pages:
                assert (await everybody.get(page)).status_code == 200, page
                if page.startswith(("/jobs", "/queues")):
                    assert (await ana.get(page)).status_code == 200, page
                assert (await bob.get(page)).status_code == 404, page
            assert "cq-of-team-a" in (await ana.get("/queues")).text
            assert "cq-of-team-a" not in (await bob.get("/queues")).text


async def test_without_a_role_nobody_signs_in(tmp_path):
    """And whoever loses the last one sees no more."""
    async with served_page(tmp_path) as hub:
        await two_tenants(hub)
        await a_user(hub, "ana", namespaces=["team-a"])
        hub.tokens["eve"] = (await hub.hub.write(people.issue, "user", "eve", "test"))["token"]
        async with hub.browser() as eve:
            reply = await eve.post("/login", data={"token": hub.tokens["eve"]})
            assert reply.headers["location"] == "/?no-role"
            assert "has no role here yet" in (await eve.get("/?no-role")).text
        async with hub.signed_in("ana") as ana:
            assert "job-of-team-a" in (await ana.get("/")).text
            following = asyncio.create_task(ana.get("/live"))
            await waiting.turns(50)
            given = WantedBinding("ana", "viewer", users=["ana"], namespaces=["team-b"])
            await hub.hub.write(bindings.bind, given, "test")
            assert "team-a" not in (await ana.get("/")).text
            await hub.hub.write(bindings.unbind, "ana", "test")
            for _ in range(4):
                hub.clock.advance(5)
                await waiting.turns(50)
            assert (await following).text.endswith("event: ended\ndata: {}\n\n")
            assert "Access token" in (await ana.get("/")).text


async def test_nothing_leads_to_clusters_for_who_does_not_see_them(tmp_path):
    """A job's page names them without a link, and an address of one says who they are shown to."""
    async with served_page(tmp_path) as hub:
        uid = (await two_tenants(hub))["team-a"]
        await hub.alter("workloads", f"uid = '{uid}'", cluster="member-one", state="Running")
        await a_user(hub, "ana", namespaces=["team-a"])
        async with hub.signed_in() as root, hub.signed_in("ana") as ana:
            assert 'href="/clusters/member-one"' in (await root.get(f"/jobs/{uid}")).text
            own = (await ana.get(f"/jobs/{uid}")).text
            assert "member-one" in own
            assert "/clusters/" not in own
            found = await ana.get("/clusters/member-one")
            assert found.status_code == 404
            assert "shown to who has a role in all namespaces" in found.text
            assert 'href="/clusters"' not in found.text
