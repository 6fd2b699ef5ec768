"""Does the member's API server answer? Asked every few seconds, out of turn, with a short deadline.

A watch that stays silent says nothing of itself, and requests under way may wait for minutes: so the
agent asks for something small. Two questions without an answer in a row make the server count as down,
one answer makes it count as up; any answer below 500 is one, a refusal too.
"""

from collections.abc import Callable
from typing import Final

import structlog

from shared.clock import Clock
from shared.kube import errors
from shared.kube.client import KubeClient
from shared.wire.agent_v1 import ApiServerDown

log = structlog.get_logger(__name__)

EVERY_S: Final = 2.0
DEADLINE_S: Final = 2.5
_DOWN_AFTER: Final = 2  # questions without an answer
_TOLD: Final = 200  # characters of a reason


class Health:
    """The agent's view of its API server. `revision` grows whenever it changes; `news` is told then."""

    def __init__(self, client: KubeClient, clock: Clock, news: Callable[[], None]) -> None:
        self._client = client
        self._clock = clock
        self._news = news
        self._unanswered = 0
        self._answered_at = clock.monotonic()
        self._reason = ""  # "": it answers
        self.revision = 0

    async def run(self) -> None:
        """Ask until cancelled."""
        while True:
            if await self._answers():
                await self._clock.sleep(EVERY_S)
            elif self._unanswered >= _DOWN_AFTER:
                await self._clock.sleep(EVERY_S / 2)

    async def _answers(self) -> bool:
        try:
            await self._client.probe(DEADLINE_S)
        except errors.KubeError as failure:
            self._unanswered += 1
            reason = f"{failure.reason}: {failure.message}"[:_TOLD]
            if self._unanswered >= _DOWN_AFTER and not self._reason:
                self._turn(reason)
                log.warning("member.down", error=reason)
            return False
        if self._reason:
            self._turn("")
            log.info("member.up", down_s=round(self._clock.monotonic() - self._answered_at, 1))
        self._unanswered = 0
        self._answered_at = self._clock.monotonic()
        return True

    def _turn(self, reason: str) -> None:
        self._reason = reason
        self.revision += 1
        self._news()

    def told(self) -> ApiServerDown | None:
        """What is reported; None while it answers."""
        if not self._reason:
            return None
        down_s = self._clock.monotonic() - self._answered_at
        return ApiServerDown(reason=self._reason, down_s=max(0.0, down_s))
