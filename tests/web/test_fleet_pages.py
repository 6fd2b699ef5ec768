"""Pages of queues and clusters: what they show, to whom, and what is said of what is not there."""

import pytest

from tests.api.serving import a_job
from tests.web.acting import bind, signed_in, with_queues
from tests.web.pages import Read, served_page

pytestmark = pytest.mark.anyio
HTML = {"Accept": "text/html"}


async def page(http, path):
    reply = await http.get(path, headers=HTML)
    assert reply.status_code == 200, reply.text
    return Read(reply.text)


async def test_queues_are_listed_and_lead_to_their_pages(tmp_path):
    """Quota, who waits, and a link for each; a part of a name narrows them down, in the address."""
    async with served_page(tmp_path) as hub, hub.signed_in() as http:
        await with_queues(hub)
        found = await page(http, "/queues")
        assert "/queues/all" in found.values("href")
        assert "0 of 4" in found.words
        assert "team-a/lq" in found.words
        narrowed = await page(http, "/queues?q=nothing-like-it")
        assert "No queue has this in its name" in narrowed.words
        assert narrowed.values("data-stream") == ["/live/queues?q=nothing-like-it"]


async def test_a_queue_has_a_page(tmp_path):
    """Its quota, its doors, its cohort, who waits with what they wait for, and its actions."""
    async with served_page(tmp_path) as hub, hub.signed_in() as http:
        await with_queues(hub)
        found = await page(http, "/queues/all")
        for words in (
            "all ClusterQueue",
            "cpu f",
            "0 of 4",
            "team-a/ lq",
            "No job waits",
            "Quota",
        ):
            assert words in found.words, words
        assert "/queues/team-a/lq" in found.values("href")
        assert "/actions/queues/all" in found.values("data-acts")
        door = await page(http, "/queues/team-a/lq")
        assert "lq LocalQueue" in door.words
        assert "/queues/all" in door.values("href")
        assert "/actions/localqueues/team-a/lq" in door.values("data-acts")


async def test_a_queue_in_a_cohort_shows_where_it_is_in_the_tree(tmp_path):
    """From its own cohort to the root, with the queues beside it."""
    async with served_page(tmp_path) as hub, hub.signed_in() as http:
        await with_queues(hub)
        told = (await hub.api.get("/v1/objects/kueue.x-k8s.io/ClusterQueue/all")).json()
        kept = {"apiVersion": told["apiVersion"], "kind": "ClusterQueue"}
        queues = [
            {**kept, "metadata": {"name": name}, "spec": {**told["spec"], "cohortName": "inner"}}
            for name in ("all", "beside")
        ]
        cohorts = [
            {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Cohort", "metadata": {"name": "inner"},
             "spec": {"parentName": "outer"}},
        ]  # fmt: skip
        assert (await hub.api.post("/v1/apply", json=[*cohorts, *queues])).status_code == 200
        found = await page(http, "/queues/all")
        assert "inner in outer" in found.words
        assert "beside all: beside" in found.words
        assert "may borrow up to 8 in all" in found.words
        assert "/queues/beside" in found.values("href")


async def test_a_cluster_has_a_page_that_says_what_it_lacks(tmp_path):
    """Declared and never joined: what to type; its actions; nothing there yet."""
    async with served_page(tmp_path) as hub, hub.signed_in() as http:
        await hub.api.post("/v1/clusters", json={"name": "m1", "labels": {"site": "north"}})
        listed = await page(http, "/clusters")
        assert "/clusters/m1" in listed.values("href")
        found = await page(http, "/clusters/m1")
        for words in ("m1 member cluster", "Declared", "never heard", "roadstead clusters token m1",
                      "site=north", "Its agent has not said what it has"):  # fmt: skip
            assert words in found.words, words
        assert "/actions/clusters/m1" in found.values("data-acts")


async def test_of_objects_on_a_member_that_is_not_heard_nothing_is_claimed(tmp_path):
    """Where no agent says how objects are, the page says why it is not known."""
    async with served_page(tmp_path) as hub, hub.signed_in() as http:
        await hub.api.post("/v1/clusters", json={"name": "m1"})
        found = await page(http, "/clusters/m1")
        assert "Not known: no agent has joined it yet." in found.words
        assert "as the hub wants it" not in found.words


@pytest.mark.parametrize(
    "path",
    ["/queues/none", "/queues/team-a/none", "/clusters/none", "/nowhere", "/queues/a/b/c",
     "/clusters/%3Cscript%3Ealert(1)%3C%2Fscript%3E"],
)  # fmt: skip
async def test_what_is_not_there_is_a_page_that_says_so(tmp_path, path):
    """404 as a page, with the way back, and the name as a text."""
    async with served_page(tmp_path) as hub, hub.signed_in() as http:
        reply = await http.get(path, headers=HTML)
        assert reply.status_code == 404
        assert "Nothing here" in reply.text
        assert "<script>" not in reply.text
        assert "/" in Read(reply.text).values("href")


@pytest.mark.parametrize("path", ["/queues", "/queues/all", "/clusters", "/clusters/m1"])
async def test_strangers_find_the_way_in(tmp_path, path):
    """No queue and no cluster is named to who is not signed in, and no stream is opened."""
    async with served_page(tmp_path) as hub, hub.browser() as stranger:
        await with_queues(hub)
        reply = await stranger.get(path, headers=HTML)
        assert "Access token" in reply.text
        assert "team-a" not in reply.text
        assert (await stranger.get(f"/live{path}")).status_code == 401


async def test_who_is_bound_to_a_namespace_sees_its_queues_and_no_clusters(tmp_path):
    """ClusterQueues that their LocalQueues lead to, as REST shows them; members are not there."""
    async with served_page(tmp_path) as hub:
        await with_queues(hub)
        await hub.api.post("/v1/clusters", json={"name": "m1"})
        await bind(hub, "a", "viewer", users=["ann"], namespaces=["team-a"])
        await bind(hub, "b", "viewer", users=["bob"], namespaces=["team-b"])
        async with await signed_in(hub, "ann") as ann, await signed_in(hub, "bob") as bob:
            assert "/queues/all" in (await page(ann, "/queues")).values("href")
            assert "Quota" in (await page(ann, "/queues/all")).words
            assert "/queues/all" not in (await page(bob, "/queues")).values("href")
            for path in ("/queues/all", "/queues/team-a/lq"):
                assert (await bob.get(path, headers=HTML)).status_code == 404
            for path in ("/clusters", "/clusters/m1"):
                assert (await ann.get(path, headers=HTML)).status_code == 404
                assert (await ann.get(f"/live{path}")).status_code in {200, 404}


async def test_texts_of_others_are_texts_on_these_pages(tmp_path):
    """Labels, messages and names that carry markup are shown as they are written."""
    async with served_page(tmp_path) as hub, hub.signed_in() as http:
        await with_queues(hub)
        await hub.api.post("/v1/clusters", json={"name": "m1"})
        (uid,) = (await hub.api.post("/v1/jobs:batch", json=[a_job("train", queue="lq")])).json()[
            "items"
        ]
        evil = "<img src=x onerror=alert(1)>"
        await hub.alter("workloads", f"uid = '{uid['uid']}'", state="Running", cluster="m1",
                        cluster_queue="all", owner=evil)  # fmt: skip
        await hub.alter("clusters", "name = 'm1'", labels=f'{{"a": "{evil}"}}')
        for path in ("/queues/all", "/queues/team-a/lq", "/clusters/m1", "/clusters"):
            found = await page(http, path)
            assert "onerror" not in dict(found.attributes), path
        assert evil in (await page(http, "/clusters/m1")).words
