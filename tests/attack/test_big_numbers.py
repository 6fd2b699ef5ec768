"""Numbers that no column holds, in labels that users of a member write."""

import json
from pathlib import Path

import pytest

from tests.services.members.hubs import running_hub, seen

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("digits", [12, 18, 19, 20, 60])
async def test_a_stray_of_an_absurd_epoch_does_not_cut_an_agent_off(tmp_path: Path, digits):
    """A Job with an epoch label of many digits is one refused entry: the rest is taken in."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north")
        await agent.sync()
        stray = seen("u-9", "Applied", int("9" * digits), object_uid="m-9", job={})
        body = agent.request(seen(uid, "Applied", object_uid="m-1", job={}), stray)
        reply = await hub.http.post(
            "/agent/v1/sync",
            content=json.dumps(body),
            headers={"Authorization": f"Bearer {agent.credential}"},
        )
        assert reply.status_code == 200
        assert (await hub.job(uid)).state == "Applied"
        assert not reply.json()["need_full"]
