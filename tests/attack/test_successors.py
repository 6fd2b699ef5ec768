"""An agent stays let in while others at its address guess, also when its credential is replaced."""

import datetime as dt
from pathlib import Path

import pytest

from hub.services.access.rotation import give_successor
from hub.services.context.settings import Api, Settings
from tests.services.members.hubs import running_hub

pytestmark = pytest.mark.anyio


async def test_a_successor_is_let_in_however_many_guess(tmp_path: Path):
    """Behind one proxy: somebody guesses; the agent, known for long, goes over to its successor."""
    async with running_hub(tmp_path, limits=Settings(api=Api())) as hub:
        north = await hub.join("north")
        await north.sync()
        held = north.credential.partition(".")[0]
        fresh = await hub.write(
            lambda tx: give_successor(tx, held, dt.timedelta(days=1), dt.timedelta(minutes=10))
        )
        assert fresh is not None
        await north.sync()
        codes = set()
        for number in range(500):
            answer = await hub.http.post(
                "/agent/v1/sync",
                content=b"{}",
                headers={"Authorization": f"Bearer {number:032d}.{'x' * 43}"},
            )
            codes.add(answer.status_code)
            if 429 in codes:
                break
        assert 429 in codes
        north.credential = fresh
        answer = await north.post(north.request())
        assert answer.status_code == 200, answer.text
