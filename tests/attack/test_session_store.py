"""A session that could not be written down is not begun."""

from pathlib import Path

import pytest

from tests.services.members.hubs import away, back, running_hub

pytestmark = pytest.mark.anyio


async def test_a_session_that_was_not_stored_is_stored_by_the_next_try(tmp_path: Path):
    """Else a hub that restarts takes the agent that was superseded for the one that speaks."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        await agent.sync()
        old = agent.session
        agent.restart("session-2")
        request = agent.request()
        await hub.write(away("clusters"))
        failed = await agent.post(request)
        assert failed.status_code >= 500
        await hub.write(back("clusters"))
        agent.restart("session-2")
        await agent.sync()
    async with running_hub(tmp_path) as hub:
        agent.running = hub
        agent.restart(old)
        refused = await agent.post(agent.request())
        assert (refused.status_code, refused.json().get("code")) == (409, "SessionSuperseded")
