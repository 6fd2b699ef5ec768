"""A hub with one job in a cluster, everybody who asks about it, and an agent that a test speaks for."""

import asyncio
import contextlib
import dataclasses
import json
from typing import Any

import httpx
from fastapi import FastAPI

from hub.api.app import create_app
from hub.services.access import credentials
from hub.services.context.settings import Logs, Settings
from hub.services.live.open_streams import OpenStreams
from tests.api.serving import a_job
from tests.openapi.conformance import Conformance
from tests.services.hubs import Running, a_pool, a_queue, running

STREAMS = "/agent/v1/streams"


@dataclasses.dataclass
class World:
    """A hub with one job that runs in c1, and everybody who asks."""

    hub: Running
    app: FastAPI
    http: dict[str, httpx.AsyncClient]
    uid: str

    @property
    def open(self) -> int:
        streams: OpenStreams = self.app.state.open_streams
        return streams.open

    def ask(self, what="logs", who="administrator", **query):
        """A question of a person's, under way."""
        asked = self.http[who].get(f"/v1/jobs/{self.uid}/{what}", params=query)
        return asyncio.create_task(asked)

    async def question(self):
        """What the agent is asked."""
        reply = await self.http["agent"].get(STREAMS)
        assert reply.status_code == 200, reply.text
        (found,) = reply.json()["requests"]
        return found

    async def bring(self, asked, seq, who="agent", **part):
        """One part of the answer."""
        return await self.http[who].post(f"{STREAMS}/{asked['id']}", json={"seq": seq, **part})


def a_line(text, pod="p-1", **more):
    return {"pod": pod, "container": "main", "line": text, **more}


def records(reply):
    return [json.loads(line) for line in reply.text.splitlines() if line]


@contextlib.asynccontextmanager
async def world(folder, **limits):
    async with (
        running(folder, Settings(logs=Logs(**limits))) as hub,
        contextlib.AsyncExitStack() as on,
    ):
        app = create_app(hub.hub)
        http = {}
        people = [("administrator", ""), ("viewer", ""), ("agent", "c1"), ("agent", "c2")]
        await hub.cluster("c1", a_pool(cpu="8", memory="64Gi"))
        await hub.cluster("c2", a_pool(cpu="8", memory="64Gi"))
        for role, cluster in people:
            token = await hub.hub.write(
                credentials.issue_bearer, role, f"{role}{cluster}", cluster
            )
            http["other" if cluster == "c2" else role] = await on.enter_async_context(
                httpx.AsyncClient(
                    transport=httpx.ASGITransport(app),
                    base_url="http://hub",
                    headers={"Authorization": f"Bearer {token}"},
                    event_hooks={"response": [Conformance(app.routes).check]},
                )
            )
        await hub.apply(*a_queue("all", quota={"cpu": "8", "memory": "64Gi"}))
        job = a_job("talk", queue="all")
        container = job["spec"]["template"]["spec"]["containers"][0]
        container["env"] = [{"name": "PASSWORD", "value": "open sesame"}]
        reply = await http["administrator"].post("/v1/jobs", json=job)
        uid = reply.json()["uid"]
        await hub.settle()
        yield World(hub, app, http, uid)


@contextlib.asynccontextmanager
async def running_world(folder, **limits):
    """The job runs in c1."""
    async with world(folder, **limits) as w:
        await w.hub.change(w.uid, cluster="c1")
        for step in ("offer", "start"):
            await w.hub.transition(step, w.uid)
        yield w


async def with_values(w: World, values: list[str]) -> World:
    """The same world about another job, whose variables have these values."""
    job: dict[str, Any] = a_job("many", queue="all")
    (container,) = job["spec"]["template"]["spec"]["containers"]
    container["env"] = [{"name": f"V{n}", "value": value} for n, value in enumerate(values)]
    made = await w.http["administrator"].post("/v1/jobs", json=job)
    uid = made.json()["uid"]
    await w.hub.settle()
    await w.hub.change(uid, cluster="c1")
    for step in ("offer", "start"):
        await w.hub.transition(step, uid)
    return dataclasses.replace(w, uid=uid)
