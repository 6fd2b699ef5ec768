"""Nobody reads Secrets through the hub, and viewers no environment: planted words are looked for."""

import asyncio
import logging

import httpx
import pytest
from fastapi.routing import APIRoute

from hub.api.app import create_app
from hub.web import pages
from shared.secrecy import HIDDEN
from tests.api.secrecy import ENV, NOT_TO_VIEWERS, TO_NOBODY, a_job_with_env, a_secret, encoded
from tests.api.serving import Served, served

pytestmark = pytest.mark.anyio
STREAMS = ("/v1/changes", "/v1/workloads:watch", "/live", "/live/")  # all below the last
VERBS = {"jobs": "resubmit", "clusters": "cordon", "queues": "stop", "localqueues": "stop"}


def a_deployment():
    container = {"name": "c", "image": "nginx:1.27", "env": ENV}
    template = {"metadata": {"labels": {"env": "prod"}}, "spec": {"containers": [container]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "team-a", "labels": {"env": "prod"}},
        "spec": {"selector": {"matchLabels": {"env": "prod"}}, "template": template},
    }


def a_workload():
    template = a_job_with_env()["spec"]["template"]
    pod_sets = [{"name": "main", "count": 1, "template": template}]
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": "w", "namespace": "team-a"},
        "spec": {"queueName": "default", "podSets": pod_sets},
    }


def a_placement():
    selectors = [{"group": "", "version": "v1", "kind": "Secret", "name": "s"}]
    return {
        "apiVersion": "placement.kubernetes-fleet.io/v1",
        "kind": "ResourcePlacement",
        "metadata": {"name": "p", "namespace": "team-a"},
        "spec": {"resourceSelectors": selectors, "policy": {"placementType": "PickAll"}},
    }


async def plant(hub: Served) -> str:
    """Put the words in wherever a manifest comes in, also where it is refused; uid of the Job."""
    job = (await hub.admin.post("/v1/jobs", json=a_job_with_env())).json()
    documents = [a_secret(), a_deployment(), a_workload(), a_placement()]
    reply = await hub.admin.post("/v1/apply", json=documents)
    assert {each["result"] for each in reply.json()["items"]} == {"created"}, reply.text
    await hub.admin.post("/v1/jobs:batch", json=[a_job_with_env()])
    for bad in (
        a_secret("bad-1", data={"password": f"{TO_NOBODY}!"}),
        a_secret("bad-2", stringData={"n": 1, "p": TO_NOBODY}),
        a_secret("bad-3", unknown={"p": TO_NOBODY}),
    ):
        refused = await hub.admin.post("/v1/apply", json=bad)
        assert refused.status_code == 422
        assert TO_NOBODY not in refused.text
    text = f"kind: Secret\nstringData:\n  p: {TO_NOBODY}\n\tx: [\n"
    yaml = {"Content-Type": "application/yaml"}
    assert TO_NOBODY not in (await hub.admin.post("/v1/apply", content=text, headers=yaml)).text
    return str(job["uid"])


def pages_of(hub: Served, uid: str):
    """Every GET route of the hub and its page, with names filled in that exist."""
    app = create_app(hub.hub, (pages.router,))
    places = {
        "/v1/objects/{group}/{kind}/namespaces/{namespace}/{name}": [
            f"/v1/objects/{place}" for place in (
                "core/Secret/namespaces/team-a/s", "apps/Deployment/namespaces/team-a/web",
            )
        ],
        "/v1/objects/{group}/{kind}": ["/v1/objects/core/Secret", "/v1/objects/apps/Deployment"],
        "/v1/workloads/{namespace}/{name}": ["/v1/workloads/team-a/w"],
        "/v1/placements/{namespace}/{name}": ["/v1/placements/team-a/p"],
        "/v1/namespaces/{namespace}/jobs/{name}": ["/v1/namespaces/team-a/jobs/with-env"],
        "/static/{name}": ["/static/page.js"],
        **{
            path: [path.replace("{verb}", verb).format(uid=uid, name="default", namespace="team-a")]
            for kind, verb in VERBS.items()
            for path in (route.path for route in app.routes if isinstance(route, APIRoute))
            if path.startswith(f"/actions/{kind}/") and path.endswith("{verb}")
        },
    }  # fmt: skip
    names = {
        "uid": uid,
        "name": "default",
        "namespace": "team-a",
        "group": "core",
        "kind": "Namespace",
        "verb": "cancel",
    }
    found = {
        path
        for route in app.routes
        if isinstance(route, APIRoute) and "GET" in route.methods
        for path in places.get(route.path, [route.path.format(**names)])
    }
    return app, found


async def told(hub: Served, reader: httpx.AsyncClient, uid: str) -> dict[str, str]:
    """What every GET route answers this reader, streams included."""
    app, paths = pages_of(hub, uid)
    token = reader.headers["Authorization"].removeprefix("Bearer ")
    answers: dict[str, str] = {}
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app),
        base_url="http://hub",
        headers=dict(reader.headers),
    ) as client:
        signed_in = await client.post("/login", data={"token": token})
        assert signed_in.headers["location"] == "/"
        lasting = {path for path in paths if path in STREAMS or path.startswith(STREAMS[-1])}
        for path in sorted(paths - lasting):
            answers[path] = (await client.get(path)).text
        streams = [
            asyncio.create_task(client.get(path, params={"revision": 0} if "/v1" in path else {}))
            for path in sorted(lasting)
        ]
        for _ in range(20):  # streams answer beside these
            await client.get("/v1/overview")
        hub.hub.closing.set()
        for reply in await asyncio.gather(*streams):
            answers[reply.url.path] = reply.text
        hub.hub.closing.clear()
    return answers


async def test_a_secret_is_nowhere(tmp_path, caplog):
    """No GET route, stream or log has a word of a Secret, whoever asks; its keys are there."""
    caplog.set_level(logging.DEBUG)
    async with served(tmp_path) as hub:
        uid = await plant(hub)
        for reader in (hub.admin, hub.viewer):
            answers = await told(hub, reader, uid)
            for word in (TO_NOBODY, encoded(TO_NOBODY)):
                assert [path for path, text in answers.items() if word in text] == []
            assert "password" in answers["/v1/objects/core/Secret/namespaces/team-a/s"]
            for page in ("/", f"/jobs/{uid}", f"/live/jobs/{uid}"):
                assert "with-env" in answers[page], f"{page} was not seen as somebody signed in"
            assert len(answers["/v1/changes"]) > 100
        assert TO_NOBODY not in caplog.text


async def test_viewers_see_no_environment(tmp_path, caplog):
    """Values of environment variables are the administrators': of Jobs, Workloads and Deployments."""
    caplog.set_level(logging.DEBUG)
    async with served(tmp_path) as hub:
        uid = await plant(hub)
        answers = await told(hub, hub.viewer, uid)
        assert [path for path, text in answers.items() if NOT_TO_VIEWERS in text] == []
        for path in (f"/v1/jobs/{uid}", "/v1/workloads/team-a/w", "/v1/objects/apps/Deployment"):
            assert HIDDEN in answers[path]
            assert NOT_TO_VIEWERS in (await hub.admin.get(path)).text
        assert NOT_TO_VIEWERS not in caplog.text


async def test_marks_tell_equal_contents_and_nothing_else(tmp_path):
    """Equal values have equal marks, as text or base64; other values other ones."""
    async with served(tmp_path) as hub:
        await plant(hub)
        secret = (await hub.viewer.get("/v1/objects/core/Secret/namespaces/team-a/s")).json()
        assert secret["stringData"]["plain"] == secret["data"]["password"]
        assert secret["stringData"]["other"] != secret["data"]["password"]
        assert secret["metadata"]["annotations"] == {"kept": "yes"}


async def test_what_only_looks_like_environment_is_shown(tmp_path):
    """A label `env` is no list of variables."""
    async with served(tmp_path) as hub:
        await plant(hub)
        place = "/v1/objects/apps/Deployment/namespaces/team-a/web"
        web = (await hub.viewer.get(place)).json()
        assert web["metadata"]["labels"] == {"env": "prod"}
        assert web["spec"]["selector"] == {"matchLabels": {"env": "prod"}}
