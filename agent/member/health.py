"""Does the member's API server answer the agent? A probe asks, and each answered request is a sign of life.

A watch that stays silent proves nothing, and requests under way may wait for minutes. So a probe reads one
small object every few seconds, out of turn and with a short deadline. Three states follow:

- *silent*: two probes in a row had no answer (or 5xx), and no other request was answered meanwhile. Any
  answered request ends it: an overloaded server that answers creates is no server that is down. While its
  answers take long, the agent waits for the next one twice as long as they took, half a minute at most.
- *refused*: the server answered 401, or 403 to the probe. The agent can do nothing there until its
  credential is accepted. Only a probe decides this, and only a probe ends it: a 401 to another request makes
  the next probe due at once, for one aggregated API may refuse what the server accepts.
- *answers*: neither.

403 to another request concerns that kind alone: it is no refusal of the credential, and no sign of life.
"""

import asyncio
from collections.abc import Callable
from typing import Final

import structlog

from shared.clock import Clock
from shared.kube import errors
from shared.kube.client import KubeClient
from shared.wire.agent_v1 import ApiServerDown, DownCause

log = structlog.get_logger(__name__)

EVERY_S: Final = 2.0
DEADLINE_S: Final = 2.5
_DOWN_AFTER: Final = 2  # probes without an answer
_PATIENCE: Final = 2.0  # times what the last answers took
_LONGEST_S: Final = 30.0
_TOLD: Final = 200  # characters of a reason
_UNAUTHORIZED: Final = 401
_FORBIDDEN: Final = 403
# What the API server answers from memory, whatever its store does: `/api/v1`, `/apis/GROUP/VERSION`.
_DISCOVERY_PARTS: Final = {"api": 2, "apis": 3}


def is_sign_of_life(path: str, status: int) -> bool:
    """True if an answer shows that the server and the store behind it serve this agent."""
    if status >= 500 or status in {_UNAUTHORIZED, _FORBIDDEN}:
        return False
    parts = path.strip("/").split("/")
    return len(parts) > _DISCOVERY_PARTS.get(parts[0], len(parts))


class Health:
    """The agent's view of its API server. `revision` grows whenever it changes; `news` is called then."""

    def __init__(self, client: KubeClient, clock: Clock, news: Callable[[], None]) -> None:
        self._client = client
        self._clock = clock
        self._news = news
        self._unanswered = 0
        self._answered_at = clock.monotonic()
        self._took_s = 0.0  # what answers take lately
        self._reason = ""  # "": it answers
        self._cause: DownCause = "NoAnswer"
        self._due = asyncio.Event()  # a probe, before its time
        self.revision = 0

    async def run(self) -> None:
        """Probe until cancelled, and listen to the answers of other requests."""
        self._client.on_answer(self.heard)
        while True:
            await self._probe()
            if not self._unanswered:
                await self._wait(EVERY_S / 2 if self._reason else EVERY_S)
            elif self._unanswered >= _DOWN_AFTER:
                await self._wait(EVERY_S / 2)

    def heard(self, path: str, status: int, took_s: float) -> None:
        """Take in the answer to a request that is no probe."""
        if status == _UNAUTHORIZED:
            self._due.set()
        elif self._cause == "NoAnswer" and is_sign_of_life(path, status):
            self._took_s = max(took_s, self._took_s / 2)
            self._answers()

    async def _wait(self, seconds: float) -> None:
        """Wait for the next probe's time, or until one is due at once; at most one a half second."""
        least = min(seconds, EVERY_S / 4)
        await self._clock.sleep(least)
        if self._due.is_set():
            return
        sleep = asyncio.ensure_future(self._clock.sleep(seconds - least))
        due = asyncio.ensure_future(self._due.wait())
        try:
            await asyncio.wait({sleep, due}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleep.cancel()
            due.cancel()

    async def _probe(self) -> None:
        self._due.clear()
        try:
            await self._client.probe(DEADLINE_S)
        except errors.Unauthorized as refusal:
            self._refused("Unauthorized", refusal)
        except errors.Forbidden as refusal:
            self._refused("Forbidden", refusal)
        except errors.KubeError as failure:
            self._unanswered += 1
            if self._unanswered >= _DOWN_AFTER and not self._reason and not self._is_slow():
                self._down("NoAnswer", f"{failure.reason}: {failure.message}")
        else:
            self._cause = "NoAnswer"
            self._took_s /= 2
            self._answers()

    def _is_slow(self) -> bool:
        """True while the next answer may still come, as long as the last ones took."""
        patience_s = min(_LONGEST_S, _PATIENCE * self._took_s)
        return self._clock.monotonic() - self._answered_at < patience_s

    def _refused(self, cause: DownCause, refusal: errors.KubeError) -> None:
        self._unanswered = 0
        if (self._reason, self._cause) == ("", "NoAnswer") or self._cause != cause:
            self._down(cause, f"{refusal.reason or cause}: {refusal.message}")

    def _answers(self) -> None:
        if self._reason:
            log.info("member.up", down_s=round(self._clock.monotonic() - self._answered_at, 1))
            self._turn("")
        self._unanswered = 0
        self._answered_at = self._clock.monotonic()

    def _down(self, cause: DownCause, reason: str) -> None:
        self._cause = cause
        self._turn(reason[:_TOLD])
        log.warning("member.down", cause=cause, error=self._reason)

    def _turn(self, reason: str) -> None:
        self._reason = reason
        self.revision += 1
        self._news()

    def told(self) -> ApiServerDown | None:
        """The report; None while it answers."""
        if not self._reason:
            return None
        down_s = self._clock.monotonic() - self._answered_at
        return ApiServerDown(reason=self._reason, cause=self._cause, down_s=max(0.0, down_s))
