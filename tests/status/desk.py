"""Rows of workloads for views, and a scheduling hub that is reached by its HTTP surface."""

import contextlib
import datetime as dt
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx

from hub.api.app import create_app
from hub.services.access import credentials
from hub.services.context.settings import Settings
from hub.store.records.workloads import Workload
from tests.openapi.conformance import Conformance
from tests.scheduling.hubs import Running, running
from tests.store.build import a_workload

NOW = dt.datetime(2026, 5, 1, 12, tzinfo=dt.UTC)


def minutes(count: float) -> dt.datetime:
    """`count` minutes after NOW."""
    return NOW + dt.timedelta(minutes=count)


def a_row(**columns: Any) -> Workload:
    """A row of `workloads`: a Job of one pod that waits, has not been looked at, and never moved."""
    row = a_workload("u-1", name="train", queue="gpu", created_at=NOW, queued_at=NOW)
    return row._replace(**columns)


def an_admitted_row(**columns: Any) -> Workload:
    """The same, placed on cluster north one minute later, charged 1 cpu of flavor spot."""
    given = {
        "state": "Running",
        "cluster": "north",
        "cluster_queue": "all",
        "epoch": 1,
        "placed_at": minutes(1),
        "started_at": minutes(2),
        "admission": {
            "podSets": [
                {"name": "main", "count": 1, "flavors": {"cpu": "spot"}, "usage": {"cpu": 1000}}
            ]
        },
    }
    return a_row(**(given | columns))


def evicted(
    reason: str, message: str = "told so", cause: str = "", at: float = 5
) -> dict[str, str]:
    """What a row remembers of its last eviction."""
    said = {"reason": reason, "message": message, "at": minutes(at).isoformat()}
    return said | ({"cause": cause} if cause else {})


A_SHAPE = [
    {
        "name": "main", "count": 1, "requests": {"cpu": 1000}, "nodeSelector": {},
        "affinity": None, "tolerations": [], "minCount": None,
    }
]  # fmt: skip


class Desk:
    """A hub that schedules, and a client with an administrator's token."""

    def __init__(self, hub: Running, http: httpx.AsyncClient) -> None:
        self.hub, self.http = hub, http

    async def get(self, path: str, **query: Any) -> Any:
        """The body of a 200."""
        reply = await self.http.get(path, params=query)
        assert reply.status_code == 200, reply.text
        return reply.json()


@contextlib.asynccontextmanager
async def desk(folder: Path, limits: Settings | None = None) -> AsyncIterator[Desk]:
    """Serve a hub with a scheduler for the length of the block."""
    async with running(folder, limits) as hub:
        app = create_app(hub.hub)
        app.state.schedule_index = lambda: hub.scheduler.index
        token = await hub.hub.write(credentials.issue_bearer, "administrator", "somebody", "")
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(app),
            base_url="http://hub",
            headers={"Authorization": f"Bearer {token}"},
            event_hooks={"response": [Conformance(app.routes).check]},
        ) as http:
            yield Desk(hub, http)
