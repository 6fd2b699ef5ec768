"""A hub with something of everything in it, and a client for each credential: what the API is held by.

Time stands still, streams end after what is kept, and no poll hangs.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI

from hub.api import agents
from hub.api.app import create_app
from hub.domain.workloads.states import TERMINAL
from hub.services.context import leadership
from hub.services.context.settings import Settings
from hub.services.index.reader import FOLLOWED
from hub.services.members.sync import AgentSync
from hub.services.scheduling.turn import Scheduler
from shared.wire.agent_v1 import REGISTER_PATH
from tests.api.serving import Served, a_job, served
from tests.services.hubs import KUEUE, Running, a_placement, a_pool, a_queue
from tests.services.jobs.cron_jobs import a_cron_job
from tests.services.outside.controller import a_check, checked

A_WORKLOAD: dict[str, Any] = {
    "apiVersion": KUEUE,
    "kind": "Workload",
    "metadata": {"name": "bare", "namespace": "team-a"},
    "spec": {"queueName": "all", "podSets": [{"name": "main", "count": 1, "template": {
        "spec": {"restartPolicy": "Never", "containers": [
            {"name": "main", "image": "busybox:1.36", "resources": {"requests": {"cpu": "1"}}}
        ]}
    }}]},
}  # fmt: skip
AMOUNTS = {"cpu": "4", "memory": "64Gi"}


@dataclass
class Seeded:
    """The hub, its scheduler, and the jobs that are there by state."""

    served: Served
    live: Running
    http: dict[str, httpx.AsyncClient]  # by security scheme; "" without a credential
    app: FastAPI
    uids: list[str] = field(default_factory=list)
    _rounds: int = 0

    async def seed(self) -> None:
        """Put back what may have gone, and jobs in every state that needs no agent."""
        self._rounds += 1
        await self._clear()
        admin = self.http["token"]
        for document in _documents():
            await admin.post("/v1/apply", json=document)
        active = {"type": "Active", "status": "True", "reason": "Served", "message": "it answers"}
        check = "/v1/objects/kueue.x-k8s.io/AdmissionCheck/budget/status"
        await admin.put(check, json={"conditions": [active]})
        await admin.post("/v1/tokens", json={"role": "viewer", "name": "ana"})
        await admin.post("/v1/workloads", json=A_WORKLOAD)
        names = [f"j{self._rounds}-{n}" for n in range(8)]
        queues = ["all", "all", "all", "all", "gold", "gold", "all", "all"]
        jobs = [a_job(name, queue=queue) for name, queue in zip(names, queues, strict=True)]
        jobs[7]["spec"]["parallelism"] = jobs[7]["spec"]["completions"] = 50
        reply = await admin.post("/v1/jobs:batch", json=jobs)
        assert reply.status_code == 200, reply.text
        self.uids = [each["uid"] for each in reply.json()["items"]]
        await self.live.settle()
        await admin.post(f"/v1/jobs/{self.uids[1]}/cancel")
        await admin.post(f"/v1/jobs/{self.uids[2]}/hold")
        await self.live.settle()
        for step in ("offer", "start"):
            await self.live.transition(step, self.uids[3])

    async def _clear(self) -> None:
        """Give back all quota: whatever runs is done, whatever waits is cancelled."""
        admin = self.http["token"]
        for job in (await admin.get("/v1/jobs", params={"limit": 500})).json()["items"]:
            if job["state"] in {"Offered", "Applied", "Running", "Withdrawing"}:
                await self.live.transition("succeed", job["uid"])
            elif job["state"] not in TERMINAL:
                await admin.post(f"/v1/jobs/{job['uid']}/cancel")


def _documents() -> list[dict[str, Any]]:
    gold = a_queue("gold", quota=AMOUNTS, spec=checked("budget"))
    every = a_queue("all", quota=AMOUNTS, spec={"cohortName": "everyone"})
    config = {"apiVersion": "v1", "kind": "ConfigMap"}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-a"}},
        {"apiVersion": KUEUE, "kind": "Cohort", "metadata": {"name": "everyone"}},
        a_check("budget"),
        *gold,
        *every,
        config | {"metadata": {"name": "settings", "namespace": "team-a"}, "data": {"a": "1"}},
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "password", "namespace": "team-a"},
            "stringData": {"p": "not shown"},
        },
        a_cron_job(schedule="0 0 1 1 *", queue="all"),
        a_placement("everywhere", "", "Namespace", "team-a"),
        a_placement("settings", "", "ConfigMap", "settings", namespace="team-a"),
    ]


@contextlib.asynccontextmanager
async def seeded(folder: Path, settings: Settings | None = None) -> AsyncIterator[Seeded]:
    """Serve it for the length of the block."""
    async with served(folder, settings) as hub, contextlib.AsyncExitStack() as stack:
        term = await hub.hub.write(leadership.seize, "test")
        feed = hub.hub.subscribe(*FOLLOWED)
        stack.callback(feed.close)
        live = Running(hub.hub, Scheduler(hub.hub, lambda: term), feed)
        await live.cluster("c1", a_pool(cpu="6", memory="64Gi"))
        app = create_app(hub.hub, (agents.router,))
        app.state.schedule_index = lambda: live.scheduler.index
        hub.hub.closing.set()
        app.state.agent_sync = AgentSync(
            hub.db, hub.clock, hub_id="hub", incarnation="one", term=lambda: 1,
            closing=hub.hub.closing,
        )  # fmt: skip
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)

        async def client(headers: dict[str, str]) -> httpx.AsyncClient:
            return await stack.enter_async_context(
                httpx.AsyncClient(transport=transport, base_url="http://hub", headers=headers)
            )

        http = {
            "token": await client(dict(hub.admin.headers)),
            "viewer": await client(dict(hub.viewer.headers)),
            "credential": await client(dict(hub.agent.headers)),
            "": await client({}),
        }
        following = asyncio.create_task(app.state.agent_sync.run())
        stack.callback(following.cancel)
        made = await http["token"].post("/v1/clusters", json={"name": "c2"})
        http["joinToken"] = await client({"Authorization": f"Bearer {made.json()['joinToken']}"})
        assert REGISTER_PATH in {getattr(route, "path", "") for route in app.routes}
        yield Seeded(hub, live, http, app)
