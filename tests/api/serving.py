"""A hub in this process, reached by its real HTTP surface, on a real SQLite file."""

import contextlib
import datetime as dt
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI

from hub.api.app import create_app
from hub.services.access import credentials
from hub.services.context.hub import Hub
from hub.services.context.settings import Intake, Settings
from hub.store.engine import Database
from shared.clock import ManualClock
from tests.openapi.conformance import Conformance
from tests.prepared import url_of

START = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
NO_QUEUE_NEEDED = Settings(intake=Intake(unqueued_jobs="Default"))


@dataclass
class Served:
    """The hub, a client with the administrator's token, and the clock they share."""

    hub: Hub
    db: Database
    clock: ManualClock
    admin: httpx.AsyncClient
    viewer: httpx.AsyncClient
    nobody: httpx.AsyncClient
    agent: httpx.AsyncClient
    app: FastAPI


@contextlib.asynccontextmanager
async def served(folder: Path, limits: Settings | None = None) -> AsyncIterator[Served]:
    """Serve a fresh hub for the length of the block; without `limits` jobs need no queue."""
    clock = ManualClock(START)
    db = Database.open(url_of(folder), clock)
    hub = Hub(db, clock, limits or NO_QUEUE_NEEDED, page_key=b"k" * 32)
    app = create_app(hub)
    described = Conformance(app.routes)  # whatever a test asks: the answer is as it is described
    async with contextlib.AsyncExitStack() as stack:
        stack.push_async_callback(db.close)

        async def client(role: str) -> httpx.AsyncClient:
            headers = {}
            if role:
                cluster = "c1" if role == "agent" else ""
                token = await db.write(
                    lambda unit: credentials.issue_bearer(unit, role, f"the-{role}", cluster)
                )
                headers = {"Authorization": f"Bearer {token}"}
            return await stack.enter_async_context(
                httpx.AsyncClient(
                    transport=httpx.ASGITransport(app),
                    base_url="http://hub",
                    headers=headers,
                    event_hooks={"response": [described.check]},
                )
            )

        yield Served(
            hub=hub,
            db=db,
            clock=clock,
            admin=await client("administrator"),
            viewer=await client("viewer"),
            nobody=await client(""),
            agent=await client("agent"),
            app=app,
        )


def a_job(
    name: str = "ok", namespace: str = "team-a", queue: str = "", **spec: Any
) -> dict[str, Any]:
    """A Job of one CPU and 1 GiB."""
    amounts = {"cpu": "1", "memory": "1Gi"}
    metadata: dict[str, Any] = {"name": name, "namespace": namespace}
    if queue:
        metadata["labels"] = {"kueue.x-k8s.io/queue-name": queue}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {
            "parallelism": 1,
            "completions": 1,
            "backoffLimit": 0,
            **spec,
            "template": {
                "spec": {
                    "restartPolicy": "Never",
                    "containers": [
                        {
                            "name": "main",
                            "image": "busybox:1.36",
                            "command": ["true"],
                            "resources": {"requests": amounts, "limits": amounts},
                        }
                    ],
                }
            },
        },
    }
