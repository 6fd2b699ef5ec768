"""A served hub with a scheduler that a test drives."""

import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path

from hub.services.context import leadership
from hub.services.index.reader import FOLLOWED
from hub.services.scheduling.turn import Scheduler
from tests.api.serving import Served, served
from tests.services.hubs import Running, a_pool, a_queue
from tests.services.outside.controller import a_check, checked


@contextlib.asynccontextmanager
async def scheduling(folder: Path) -> AsyncIterator[tuple[Served, Running]]:
    """A served hub with one cluster, its scheduler, and queue `gold` that asks for check `budget`."""
    async with served(folder) as hub:
        term = await hub.hub.write(leadership.seize, "test")
        feed = hub.hub.subscribe(*FOLLOWED)
        live = Running(hub.hub, Scheduler(hub.hub, lambda: term), feed)
        await live.cluster("c", a_pool(cpu="100", memory="100Gi"))
        spec = checked("budget")
        queue = a_queue("gold", spec=spec, quota={"cpu": "100", "memory": "100Gi"})
        documents = [a_check("budget"), *queue]
        text = "\n---\n".join(json.dumps(document) for document in documents)
        reply = await hub.admin.post(
            "/v1/apply", content=text, headers={"content-type": "application/yaml"}
        )
        assert reply.status_code == 200, reply.text
        yield hub, live
        feed.close()
