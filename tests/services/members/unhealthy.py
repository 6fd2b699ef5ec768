"""Members whose API server is down, and the loop that judges them."""

from typing import Any

from hub.controllers.heartbeats import SilenceLoop
from hub.services.context import leadership
from tests.services.members.hubs import Agent, Running

JOBS = 5


async def watching(hub: Running) -> SilenceLoop:
    term = await hub.write(leadership.seize, "test")
    return SilenceLoop(hub.hub, hub.sync, lambda: term)


def capacity(down_s: float | None = None, **more: str) -> dict[str, Any]:
    """A report of a member without nodes."""
    told: dict[str, Any] = {"pools_revision": 0, "pools": [], "bound": []}
    if down_s is not None:
        told["api_server"] = {"reason": "Timeout: no answer", "down_s": down_s} | more
    return told


async def falls(agent: Agent, down_s: float = 5.0, **more: str) -> None:
    await agent.sync(capacity=capacity(down_s, **more))


async def offered(hub: Running, agent: Agent) -> list[str]:
    """Jobs that the member was offered and never showed."""
    uids = [await hub.placed("north", f"job-{n}") for n in range(JOBS)]
    await agent.sync()
    return uids


async def withdrawn(hub: Running, uids: list[str]) -> int:
    return sum([(await hub.job(uid)).state == "Withdrawing" for uid in uids])
