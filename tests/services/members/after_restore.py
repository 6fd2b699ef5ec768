"""Steps of an agent and of a person after a restore."""

from typing import Any

from hub.services.jobs import hold
from hub.services.works import accounted
from hub.store import settings
from shared.wire.agent_v1 import LEASE_S
from tests import waiting
from tests.services.members.hubs import Agent, Running


async def accounts(hub: Running, agent: Agent, *said: Any) -> None:
    """After a restore, the agent begins a session and reports all that it sees until that counts."""
    hub.clock.advance(1)
    agent.restart(f"{agent.session}-next")
    await agent.sync(*said)
    hub.clock.advance(LEASE_S * 1.2)
    for _ in range(15):
        await agent.sync()
        done = await hub.hub.read(lambda tx: settings.get(tx, accounted.MEMBERS) or {})
        if agent.name in done:
            return
        await waiting.span(0.02, why="for the process to follow the store")
    raise AssertionError(f"{agent.name} has not accounted for its Jobs")


async def until_released(hub: Running, uid: str, agent: Agent) -> None:
    """The agent reports until the release is accepted."""
    for _ in range(15):
        await agent.sync()
        if not await hub.hub.read(lambda tx: hold.why_not_released(tx, uid)):
            await hub.write(hold.release_job, uid, "ann")
            return
        await waiting.span(0.02, why="for the process to follow the store")
    raise AssertionError("it is not released")
