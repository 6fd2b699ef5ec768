"""The agent reports failed pods over one connection, which it reuses."""

import asyncio
from typing import Any

import pytest

from agent.decide.member_policy import MemberPolicy
from agent.hub.client import HubError
from agent.hub.streams import Streams
from agent.metrics import Meters
from shared.clock import ManualClock
from tests import waiting

pytestmark = pytest.mark.anyio


class Line:
    """A connection to a hub that asks nothing, and accepts or refuses reports."""

    def __init__(self, refusal: HubError | None) -> None:
        self.refusal = refusal
        self.told = 0
        self.closed = False

    async def asked(self, _secret: str) -> Any:
        await asyncio.Event().wait()

    async def bring_failures(self, *_told: Any) -> None:
        self.told += 1
        if self.refusal is not None:
            raise self.refusal

    async def close(self) -> None:
        self.closed = True


class Words:
    """Pods fail three times."""

    def __init__(self) -> None:
        self.over = False

    async def run(self, _kube: Any, tell: Any) -> None:
        for _ in range(3):
            await tell([])
        self.over = True
        await asyncio.Event().wait()


@pytest.mark.parametrize(
    "refusal", [None, HubError(422, "Invalid", "no", None)], ids=["taken", "refused"]
)
async def test_each_telling_uses_the_same_connection(refusal: HubError | None):
    """The agent returns it to its pool after each report, accepted or refused."""
    lines: list[Line] = []

    def connect() -> Any:
        lines.append(Line(refusal))
        return lines[-1]

    words: Any = Words()
    member: Any = None
    held: Any = None
    streams = Streams(
        connect, lambda: "x", member, MemberPolicy(), ManualClock(), Meters(), words, "hub-1", held
    )
    running = asyncio.create_task(streams.run())
    await waiting.eventually(lambda: words.over)
    assert sorted(each.told for each in lines) == [0, 3]
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert all(each.closed for each in lines)
