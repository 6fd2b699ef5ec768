"""A world with queues of REST, in which Jobs of REST are shown."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from hub.services.context.settings import BridgeSettings, Settings
from shared.kubesim.cluster import SimCluster
from tests.bridge.hub_cluster import World, world
from tests.bridge.rest import QUEUES, apply


@contextlib.asynccontextmanager
async def showing(
    tmp_path: Path, cluster: SimCluster | None = None, **bridge: Any
) -> AsyncIterator[World]:
    """`bridge`: settings of it that differ."""
    settings = Settings(bridge=BridgeSettings(**{"jobs": "On", **bridge}))
    async with world(tmp_path, cluster, limits=settings) as it:
        await apply(it, QUEUES)
        yield it
