"""A scheduling hub that is reached by its HTTP surface."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx

from hub.api.app import create_app
from hub.services.access import credentials
from hub.services.context.settings import Settings
from tests.openapi.conformance import Conformance
from tests.services.hubs import Running, running


class HttpHub:
    """A hub that schedules, and a client with an administrator's token."""

    def __init__(self, hub: Running, http: httpx.AsyncClient) -> None:
        self.hub, self.http = hub, http

    async def get(self, path: str, **query: Any) -> Any:
        """The body of a 200."""
        reply = await self.http.get(path, params=query)
        assert reply.status_code == 200, reply.text
        return reply.json()


@contextlib.asynccontextmanager
async def http_hub(folder: Path, limits: Settings | None = None) -> AsyncIterator[HttpHub]:
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
            yield HttpHub(hub, http)
