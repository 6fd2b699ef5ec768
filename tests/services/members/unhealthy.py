"""A member whose API server is down, as tests have it: its agent's reports, its jobs, turns of the loop."""

from typing import Any

from hub.controllers.heartbeats import SilenceLoop
from hub.controllers.last_down import LastDown
from hub.services.context import leadership
from hub.services.questions.clusters import get_cluster
from tests.services.members.hubs import Agent, Running

JOBS = 5


async def watching(hub: Running) -> SilenceLoop:
    term = await hub.write(leadership.seize, "test")
    return SilenceLoop(hub.hub, hub.sync, lambda: term, LastDown())


def capacity(down_s: float | None = None, **more: str) -> dict[str, Any]:
    """A report of a member without nodes."""
    told: dict[str, Any] = {"pools_revision": 0, "pools": [], "bound": []}
    if down_s is not None:
        told["api_server"] = {"reason": "Timeout: no answer", "down_s": down_s} | more
    return told


async def falls(agent: Agent, down_s: float = 5.0, **more: str) -> None:
    await agent.sync(capacity=capacity(down_s, **more))


async def goes_on(hub: Running, agent: Agent, heartbeats: SilenceLoop, seconds: int) -> None:
    """The agent goes on to report for so long, and the loop turns."""
    for _ in range(0, seconds, 5):
        hub.clock.advance(5)
        await agent.sync()
        await heartbeats.tick()


async def state(hub: Running, name: str) -> dict[str, Any]:
    return await hub.hub.read(get_cluster, name, hub.hub.settings)


async def offered(hub: Running, agent: Agent) -> list[str]:
    """Jobs that the member was offered and never showed."""
    uids = [await hub.placed("north", f"job-{n}") for n in range(JOBS)]
    await agent.sync()
    return uids


async def withdrawn(hub: Running, uids: list[str]) -> int:
    return sum([(await hub.job(uid)).state == "Withdrawing" for uid in uids])
