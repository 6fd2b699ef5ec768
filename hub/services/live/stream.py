"""One question to an agent and what it brings: a buffer of few bytes between two connections.

The agent's requests wait while the buffer is full, so nothing is read faster than somebody takes it; and
who asked finds the end of it, with its reason, whatever becomes of the agent.
"""

import asyncio
from collections import deque
from typing import Final

from shared.clock import Clock
from shared.wire.streams_v1 import StreamEnd, StreamPart, StreamRequest

ROOM_S: Final = 8.0  # a part waits this long for room before its agent must send it again
MOST_PUTS: Final = 2  # parts that wait for room: one, and its copy after a lost connection
AGENT_SILENT: Final = "AgentSilent"
OUT_OF_ORDER: Final = "OutOfOrder"
_BEATS: Final = 2.5  # of an agent that says how often it is heard; after so many it is silent


class Stream:
    """Between an agent that brings parts and one who takes them; `most_bytes` of them wait at a time."""

    def __init__(
        self, cluster: str, who: str, request: StreamRequest, clock: Clock, most_bytes: int
    ) -> None:
        self.cluster, self.who, self.request = cluster, who, request
        self.asked_at = self.heard_at = clock.monotonic()
        self.end: StreamEnd | None = None  # closed for writing; waiting parts can still be read
        self.relay: asyncio.Task[None] | None = None  # brings it from another hub process
        self.is_relayed = False  # another hub process has the answer brought to it
        self._clock = clock
        self._most_bytes = most_bytes
        self._parts: deque[tuple[StreamPart, int]] = deque()
        self._bytes = 0
        self._seq = 0  # of the last part that was taken
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._one_at_a_time = asyncio.Lock()
        self._puts = 0
        self._beat_s = 0.0  # interval of the agent's keep-alives; 0: none

    @property
    def seq(self) -> int:
        """Number of the last part that was taken; 0: the agent has not answered yet."""
        return self._seq

    @property
    def waiting_bytes(self) -> int:
        """Bytes of parts that wait for the reader."""
        return self._bytes

    async def put(self, part: StreamPart, size: int, room_s: float = ROOM_S) -> int:
        """Take a part of `size` bytes when there is room for it; the number of the last one taken.

        A part that came before is known, and not taken twice. The stream ends where one is missing.
        While others wait for room one more is not taken: the bodies of all that wait are in memory.
        """
        self.heard_at = self._clock.monotonic()
        self._beat_s = part.beat_s
        if self._puts >= MOST_PUTS:
            return self._seq
        self._puts += 1
        try:
            return await self._put(part, size, room_s)
        finally:
            self._puts -= 1
            self.heard_at = self._clock.monotonic()

    async def _put(self, part: StreamPart, size: int, room_s: float) -> int:
        async with self._one_at_a_time:
            if part.seq <= self._seq or self.end is not None:
                return self._seq
            if part.seq != self._seq + 1:
                self.finish(OUT_OF_ORDER, f"part {self._seq + 1} of the answer is missing")
                return self._seq
            if not await self._has_room(size, room_s):
                return self._seq
            self._parts.append((part, size))
            self._bytes += size
            self._seq = part.seq
            if part.end is not None:
                self.end = part.end
            self._news.set()
            return self._seq

    async def get(self, wait_s: float) -> StreamPart | None:
        """The next part; None if none comes in time, or the stream is over (`end`)."""
        if not self._parts and self.end is None:
            self._news.clear()
            await _in_time(self._news, wait_s)
        if not self._parts:
            return None
        part, size = self._parts.popleft()
        self._bytes -= size
        self._room.set()
        return part

    def finish(self, code: str, message: str) -> None:
        """No further part is accepted, for this reason; the first reason counts."""
        if self.end is None:
            self.end = StreamEnd(code=code, message=message)
        self._news.set()
        self._room.set()

    def is_silent(self, after_s: float) -> bool:
        """True if the agent has been silent for this long since it began to answer.

        Sooner where it says how often it is heard. While a part of its waits for room it is there.
        """
        if not self._seq or self._puts:
            return False
        if self._beat_s:
            after_s = min(after_s, _BEATS * self._beat_s)
        return self._clock.monotonic() - self.heard_at > after_s

    async def _has_room(self, size: int, room_s: float) -> bool:
        """Wait for room; False if none comes in time. One part has room where none waits."""
        until = self._clock.monotonic() + room_s
        while self._bytes and self._bytes + size > self._most_bytes:
            left_s = until - self._clock.monotonic()
            self._room.clear()
            if left_s <= 0 or not await _in_time(self._room, left_s):
                return False
            self.heard_at = self._clock.monotonic()
            if self.end is not None:
                return False
        return True


async def _in_time(event: asyncio.Event, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return False
    return True
