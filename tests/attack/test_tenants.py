"""Two tenants in one cohort: no answer to one names anything of the other, on any route or page (S-05).

Whatever the other has is called `zebra…`; its uids are looked for too.
"""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute

from hub.api.app import create_app
from hub.api.policy import AGENT, PUBLIC, policy_of
from hub.services.access import bindings, people
from hub.services.access.bindings import WantedBinding
from hub.services.context.settings import Api, Settings
from hub.web import access, pages
from tests import waiting
from tests.services.build import RECLAIM, a_class, in_cohort, start
from tests.services.hubs import Running, a_job, a_pool, running

pytestmark = pytest.mark.anyio
WIDE = Settings(api=Api(failures_per_s=0, reads_per_s=0, writes_per_s=0, streams_per_s=0))
MINE, THEIRS = "team-a", "zebra-ns"
PLACEMENT = "placement.kubernetes-fleet.io"
STREAMS = {"/v1/changes", "/v1/workloads:watch"}


class Fleet:
    """A hub with both tenants, everybody who asks, and the uids of each tenant."""

    def __init__(self, hub: Running, app: FastAPI) -> None:
        self.hub, self.app = hub, app
        self.http: dict[str, httpx.AsyncClient] = {}
        self.tokens: dict[str, str] = {}
        self.mine: list[str] = []
        self.theirs: list[str] = []

    async def person(self, name: str, role: str, **where: list[str]) -> None:
        """A user with that role there, by bearer."""
        made = await self.hub.hub.write(people.issue, "user", name, "root")
        given = WantedBinding(f"b-{name}", role, users=[name], **where)
        await self.hub.hub.write(bindings.bind, given, "root")
        self.tokens[name] = made["token"]
        self.http[name] = self.client(Authorization=f"Bearer {made['token']}")

    def client(self, **headers: str) -> httpx.AsyncClient:
        return httpx.AsyncClient(
            transport=httpx.ASGITransport(self.app), base_url="http://hub", headers=headers
        )

    async def submit(self, who: str, name: str, queue: str, cpu: str, priority: str = "") -> str:
        """A job of theirs; its uid."""
        namespace = MINE if who == "ana" else THEIRS
        labels = {"kueue.x-k8s.io/priority-class": priority} if priority else {}
        job = a_job(name, namespace, queue=queue, requests={"cpu": cpu}, labels=labels)
        reply = await self.http[who].post(
            "/v1/jobs", json=job, headers={"Idempotency-Key": f"key-{name.removeprefix('zebra-')}"}
        )
        assert reply.status_code == 201, reply.text
        uid: str = reply.json()["uid"]
        assert reply.json()["namespace"] == namespace
        (self.mine if who == "ana" else self.theirs).append(uid)
        self.hub.clock.advance(1)
        return uid

    def leak(self, text: str) -> str:
        """What of the other tenant is in a text."""
        if "zebra" in text.lower():
            at = text.lower().index("zebra")
            return text[max(0, at - 200) : at + 80]
        found = next((uid for uid in self.theirs if uid in text), "")
        return "" if not found else text[max(0, text.index(found) - 200) :][:300]


def objects_of(namespace: str, called: str) -> list[dict[str, Any]]:
    """A namespace with an object, a placement and a run of it."""
    selector = {"group": "", "version": "v1", "kind": "ConfigMap", "name": f"{called}-config"}
    run = {"placementName": f"{called}-placement", "stagedRolloutStrategyName": f"{called}-stages"}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}},
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": f"{called}-config", "namespace": namespace},
        },
        {
            "apiVersion": f"{PLACEMENT}/v1",
            "kind": "ResourcePlacement",
            "metadata": {"name": f"{called}-placement", "namespace": namespace},
            "spec": {"resourceSelectors": [selector]},
        },
        {
            "apiVersion": f"{PLACEMENT}/v1",
            "kind": "StagedUpdateRun",
            "metadata": {"name": f"{called}-run", "namespace": namespace},
            "spec": run,
        },
    ]


def door(name: str, namespace: str, leads_to: str) -> dict[str, Any]:
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "LocalQueue",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"clusterQueue": leads_to},
    }


@contextlib.asynccontextmanager
async def fleet(folder: Path) -> AsyncIterator[Fleet]:
    """Each preempts the other, waits for the other's end and stands behind the other."""
    async with running(folder, WIDE) as hub:
        app = create_app(hub.hub, (pages.router,), pages.nothing_here, access.signed_in)
        app.state.schedule_index = lambda: hub.scheduler.index
        it = Fleet(hub, app)
        await hub.cluster("c", a_pool(nodes=1, cpu="16"))
        for name in ("own-cq", "zebra-cq"):
            queue, *_ = [
                each
                for each in in_cohort(name, "6", preemption=RECLAIM)
                if each["kind"] == "ClusterQueue"
            ]
            await hub.apply(
                *[e for e in in_cohort(name, "6") if e["kind"] == "ResourceFlavor"], queue
            )
        strict = in_cohort("shared-cq", "2", cohort="", strict=True)
        await hub.apply(*[each for each in strict if each["kind"] != "LocalQueue"])
        await hub.apply(
            door("own-door", MINE, "own-cq"), door("zebra-door", THEIRS, "zebra-cq"),
            door("own-strict", MINE, "shared-cq"), door("zebra-strict", THEIRS, "shared-cq"),
        )  # fmt: skip
        await hub.apply(a_class("high", 100))
        await hub.apply(*objects_of(MINE, "own"), *objects_of(THEIRS, "zebra"))
        everywhere = {"namespaces": [MINE]}
        await it.person("ana", "batch-administrator", **everywhere)
        await it.person("kim", "submitter", namespaces=[MINE], queues=["own-door"])
        await it.person("zebra-owner", "submitter", namespaces=[THEIRS])
        borrowed = [await it.submit("ana", f"own-{n}", "own-door", "2") for n in range(4)]
        await hub.settle()
        await start(hub, *borrowed)
        await it.submit("zebra-owner", "zebra-1", "zebra-door", "2", "high")
        await it.submit("zebra-owner", "zebra-2", "zebra-door", "4", "high")
        await hub.settle()  # takes back what was lent
        gone = [uid for uid in borrowed if (await hub.job(uid)).state == "Withdrawing"]
        assert gone, "one was preempted for the other tenant's"
        await it.submit("ana", "own-urgent", "own-door", "4", "high")
        await it.submit("ana", "own-large", "own-door", "9")
        await it.submit("zebra-owner", "zebra-first", "zebra-strict", "2")
        await hub.settle()
        await it.submit("zebra-owner", "zebra-head", "zebra-strict", "2")
        await it.submit("ana", "own-behind", "own-strict", "1")
        await hub.settle()
        for uid in [each for each in it.theirs if (await hub.job(each)).state == "Placed"]:
            await start(hub, uid)
        await hub.settle()
        for uid in await uids_of_objects(it):
            it.theirs.append(uid)
        yield it
        for each in it.http.values():
            await each.aclose()


async def uids_of_objects(it: Fleet) -> list[str]:
    """Of what the other tenant has besides jobs."""
    made = await it.hub.hub.write(people.issue, "administrator", "root", "test")
    it.http["root"] = it.client(Authorization=f"Bearer {made['token']}")
    found = []
    for kind in ("ResourcePlacement", "StagedUpdateRun"):
        listed = (await it.http["root"].get(f"/v1/objects/{PLACEMENT}/{kind}")).json()["items"]
        found += [e["metadata"]["uid"] for e in listed if e["metadata"]["namespace"] == THEIRS]
    assert len(found) == 2
    return found


def filled(it: Fleet, path: str, theirs: bool) -> list[str]:
    """The path with everything that one tenant has in its places."""
    namespace, called = (THEIRS, "zebra") if theirs else (MINE, "own")
    names = [
        f"{called}-{what}" for what in ("1", "urgent", "door", "cq", "config", "placement", "run")
    ]
    values = {
        "uid": it.theirs if theirs else it.mine,
        "namespace": [namespace],
        "name": names,
        "group": ["core", "kueue.x-k8s.io", PLACEMENT],
        "kind": ["ConfigMap", "LocalQueue", "ResourcePlacement", "StagedUpdateRun"],
        "check": ["x"],
        "role": ["user"],
    }
    parts = [values[part[1:-1]] if part.startswith("{") else [part] for part in path.split("/")]
    return ["/".join(each) for each in itertools.product(*parts)]


FILTERS = (
    "", f"?namespace={THEIRS}", "?owner=zebra-owner", "?queue=zebra-door", "?clusterQueue=zebra-cq",
    f"?placement={THEIRS}/zebra-placement", "?name=zebra", "?cluster=c",
)  # fmt: skip


def known_routes(app: FastAPI) -> list[str]:
    """What is asked with GET by people."""
    return sorted(
        route.path
        for route in app.routes
        if isinstance(route, APIRoute)
        and "GET" in route.methods
        and not {PUBLIC, AGENT} & (policy_of(route.endpoint) or frozenset())
        and route.path not in STREAMS
    )


async def test_no_answer_names_anything_of_another_tenant(tmp_path: Path) -> None:
    """Each route with ids of one's own: no name, uid or owner of the other; with the other's: what is said
    of one that is not there. A key that the other used gives one's own job.
    """
    async with fleet(tmp_path) as it:
        for who, path in itertools.product(("ana", "kim"), known_routes(it.app)):
            if path.endswith(("/logs", "/pods")):
                continue  # they wait for an agent: tests/api/test_part_of_the_fleet.py
            asked = filled(it, path, theirs=False)
            for each in asked if "{" in path else [path + query for query in FILTERS]:
                text = (await it.http[who].get(each)).text
                if "zebra" in each:  # what was asked is said again
                    text = text.replace(each.rpartition("=")[2], "")
                assert not it.leak(text), (who, each, it.leak(text))
            others = filled(it, path, theirs=True) if "{" in path else []
            for each in filter(it.leak, others):
                found, absent = [await it.http[who].get(e) for e in (each, unlike(it, each))]
                assert found.status_code in {403, 404, 422}, (who, each, found.text)
                told = unlike(it, found.json()["detail"])
                assert (found.status_code, told) == (absent.status_code, absent.json()["detail"])
        again = {"Idempotency-Key": "key-first"}
        job = a_job("zebra-first", MINE, queue="own-strict")
        reply = await it.http["ana"].post("/v1/jobs", json=job, headers=again)
        assert (reply.status_code, reply.json()["namespace"]) == (201, MINE)


def unlike(it: Fleet, text: str) -> str:
    """The same of something that is not there."""
    for uid in it.theirs:
        text = text.replace(uid, "0" * len(uid))
    return text.replace("zebra", "zobra")


PAGES = ("/", "/queues", "/queues/own-cq", f"/queues/{MINE}/own-door", "/clusters", "/clusters/c")
VERBS = ("", "/cancel", "/hold", "/release", "/delete", "/resubmit", "/priority?class=high")
THEIR_PAGES = ("/queues/zebra-cq", f"/queues/{THEIRS}/zebra-door", f"/queues/{MINE}/zebra-door")


async def test_no_page_and_no_stream_names_anything_of_another_tenant(tmp_path: Path) -> None:
    """The front page, the page and the dialogs of each job, and what streams bring, until the role is taken
    away.
    """
    async with fleet(tmp_path) as it:
        for who in ("ana", "kim"):
            async with it.client() as browser:
                reply = await browser.post("/login", data={"token": it.tokens[who]})
                assert reply.headers["location"] == "/"
                for path in (*PAGES, *(f"/jobs/{uid}" for uid in it.mine)):
                    text = (await browser.get(path)).text
                    assert not it.leak(text), (who, path, it.leak(text))
                for path in (*(f"/jobs/{uid}" for uid in it.theirs), *THEIR_PAGES):
                    assert (await browser.get(path)).status_code == 404, path
                for uid, verb in itertools.product(it.mine, VERBS):
                    text = (await browser.get(f"/actions/jobs/{uid}{verb}")).text
                    assert not it.leak(text), (who, verb, it.leak(text))
        paths = ("/v1/changes?revision=0", "/v1/workloads:watch?revision=0")
        following = [asyncio.create_task(it.http["ana"].get(path)) for path in paths]
        counts = it.app.state
        await waiting.eventually(lambda: sum(getattr(counts, "streams", {}).values()) == 2)
        await waiting.turns(200)
        await it.hub.hub.write(bindings.unbind, "b-ana", "root")
        for each in following:
            await waiting.eventually(each.done)
            text = (await each).text
            assert any(uid in text for uid in it.mine), text
            assert not it.leak(text)
