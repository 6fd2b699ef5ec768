"""Users' requests to members, waiting for the agents that poll for them. In the memory of one process.

An agent asks again and again whether something is wanted of its cluster; a question is handed to one such
request, and its answer is a `Stream`. All is bounded: by principal, by cluster, in total and in time.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Set as AbstractSet
from typing import Final, TypeVar

from hub.services.context.ids import request_id
from hub.services.context.settings import Logs
from hub.services.live.stream import AGENT_SILENT, Stream
from shared.clock import Clock
from shared.errors import Rejected
from shared.reject_codes import RejectCode
from shared.wire.streams_v1 import OF_PODS, POLL_S, StreamRequest

CLOSING: Final = "HubStopped"
TOO_LONG: Final = "LongestReached"
MOST_POLLS: Final = 4  # of one agent that hang; one more takes the place of the oldest
_TELLS_S: Final = 1.0
_LEAST_S: Final = 0.2  # no answer without a question comes sooner
_FOR_NEWCOMERS: Final = 5  # a fifth of all places is for those who have none yet
IsThere = Callable[[], Awaitable[bool]]
K = TypeVar("K")


class OpenStreams:
    """The questions of one hub process. `closing` is set when it stops."""

    def __init__(self, clock: Clock, limits: Logs, closing: asyncio.Event) -> None:
        self.limits = limits
        self._clock = clock
        self._closing = closing
        self._streams: dict[str, Stream] = {}
        self._by_who: Counter[str] = Counter()
        self._by_cluster: Counter[str] = Counter()
        self._by_both: Counter[tuple[str, str]] = Counter()
        self._asked: dict[str, deque[Stream]] = {}  # by cluster: not taken yet
        self._polls: dict[str, deque[asyncio.Future[None]]] = {}
        self._told_at: dict[str, float] = {}  # by cluster: of pods that failed

    @property
    def open(self) -> int:
        """The number of open questions."""
        return len(self._streams)

    def ask(self, who: str, cluster: str, request: StreamRequest) -> Stream:
        """Ask the agent of a cluster; `request.id` is given here. Raises Rejected: TooManyStreams."""
        self._check_bounds(who, cluster)
        asked = request.model_copy(update={"id": request_id()})
        stream = Stream(cluster, who, asked, self._clock, self.limits.buffer_bytes)
        self._streams[asked.id] = stream
        self._by_who[who] += 1
        self._by_cluster[cluster] += 1
        self._by_both[who, cluster] += 1
        self._asked.setdefault(cluster, deque()).append(stream)
        self._wake(cluster)
        return stream

    def leave(self, stream: Stream, code: str, message: str = "") -> None:
        """The reader has gone, or has everything: the agent's next part is refused, so that it ends too."""
        stream.finish(code, message)
        if stream.relay is not None:
            stream.relay.cancel()
        if self._streams.pop(stream.request.id, None) is None:
            return
        _less(self._by_who, stream.who)
        _less(self._by_cluster, stream.cluster)
        _less(self._by_both, (stream.who, stream.cluster))
        self.withdraw(stream)

    def withdraw(self, stream: Stream) -> bool:
        """Ask no agent here any more; False where one has taken the question."""
        waiting = self._asked.get(stream.cluster)
        there = waiting is not None and stream in waiting
        if waiting is not None and there:
            waiting.remove(stream)
        if not waiting:
            self._asked.pop(stream.cluster, None)
        return there

    def is_open_here(self, stream: Stream) -> bool:
        """True if a question still waits for an agent to take it here."""
        return stream.end is None and stream in self._asked.get(stream.cluster, ())

    def find(self, cluster: str, stream_id: str) -> Stream | None:
        """The stream of this id that an agent of this cluster may answer."""
        stream = self._streams.get(stream_id)
        return stream if stream is not None and stream.cluster == cluster else None

    @property
    def listening(self) -> set[str]:
        """Clusters of whose agents a request hangs here."""
        return set(self._polls)

    def is_listening(self, cluster: str) -> bool:
        """True if a request of its agent hangs here."""
        return bool(self._polls.get(cluster))

    def may_tell(self, cluster: str) -> bool:
        """True if an agent may report failed pods: once a second, because the hub stores the report."""
        now = self._clock.monotonic()
        if now - self._told_at.get(cluster, -_TELLS_S) < _TELLS_S:
            return False
        self._told_at[cluster] = now
        return True

    async def next_for(
        self,
        cluster: str,
        is_there: IsThere,
        wait_s: float = POLL_S,
        answers: AbstractSet[str] = OF_PODS,
    ) -> StreamRequest | None:
        """The next question for a cluster; None if nothing is in time. `is_there`: who asks still waits.

        `answers`: what the agent that asks can answer.
        """
        until = self._clock.monotonic() + wait_s
        while not self._closing.is_set():
            waiting = self._asked.get(cluster)
            if waiting and not await is_there():
                self._wake(cluster)  # whoever else of its agent asks
                break
            if taken := self._take(cluster, answers):
                return taken.request
            left_s = until - self._clock.monotonic()
            if left_s <= 0 or not await self._woken(cluster, left_s):
                break
        return None

    def why_ended(self, stream: Stream) -> None:
        """End a stream whose agent is silent, that lasts too long, or whose hub stops."""
        limits = self.limits
        if self._closing.is_set():
            stream.finish(CLOSING, "this hub process stops; ask again")
        elif stream.is_silent(limits.silent_s):
            quiet_s = self._clock.monotonic() - stream.heard_at
            words = f"the agent of {stream.cluster} has not been heard for {quiet_s:.0f} s"
            stream.finish(AGENT_SILENT, words)
        elif self._clock.monotonic() - stream.asked_at > limits.longest_s:
            words = f"a stream lasts {limits.longest_s:g} s at most; ask again with since"
            stream.finish(TOO_LONG, words)

    def _check_bounds(self, who: str, cluster: str) -> None:
        """No reader has more than half of a cluster's places; one stays free for a reader without any."""
        limits = self.limits
        mine, here = self._by_who[who], self._by_both[who, cluster]
        for count, most, where in (
            (mine, limits.per_principal, "of yours"),
            (here, max(1, limits.per_cluster // 2), f"of yours of cluster {cluster}"),
            (
                self._by_cluster[cluster],
                _places(limits.per_cluster, here),
                f"of cluster {cluster}",
            ),
            (len(self._streams), _places(limits.streams, mine), "of this hub"),
        ):
            if count >= most:
                text = f"{count} logs {where} are being read; close some, or ask later"
                raise Rejected(RejectCode.TOO_MANY_STREAMS, text)

    def _take(self, cluster: str, answers: AbstractSet[str]) -> Stream | None:
        waiting = self._asked.get(cluster, ())
        taken = next((each for each in waiting if each.request.what in answers), None)
        if taken is not None:
            self.withdraw(taken)
        return taken

    def _wake(self, cluster: str) -> None:
        for poll in self._polls.get(cluster, ()):
            if not poll.done():
                poll.set_result(None)
                return

    async def _woken(self, cluster: str, wait_s: float) -> bool:
        """Wait for a question to the cluster; False if nothing is in time."""
        began = self._clock.monotonic()
        poll: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        polls = self._polls.setdefault(cluster, deque())
        polls.append(poll)
        if len(polls) > MOST_POLLS and not polls[0].done():
            polls[0].cancel()
        closing = asyncio.ensure_future(self._closes())
        try:
            await asyncio.wait(
                {poll, closing}, timeout=wait_s, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            closing.cancel()
            polls.remove(poll)
            if not polls:
                self._polls.pop(cluster, None)
        woken = poll.done() and not poll.cancelled()
        if poll.cancelled():
            await self._clock.sleep(max(0.0, _LEAST_S - (self._clock.monotonic() - began)))
        return woken

    async def _closes(self) -> None:
        await self._closing.wait()


def _places(most: int, mine: int) -> int:
    """The number of places for a reader who already has this many."""
    return most - most // _FOR_NEWCOMERS if mine else most


def _less(counts: Counter[K], key: K) -> None:
    counts[key] -= 1
    if counts[key] <= 0:
        del counts[key]
