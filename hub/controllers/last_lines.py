"""Asks for the last lines of pods whose job has failed, and keeps them with the job.

One question to the store every few seconds, however many jobs end; a few questions to agents at a time. Of
a storm of failures only those are kept that can be asked for within a minute. It asks where the agent
listens.
"""

import asyncio
from collections import OrderedDict
from typing import Final

from hub.services.context.hub import Hub
from hub.services.live import last_lines
from hub.services.live.open_streams import OpenStreams
from hub.services.live.places import PodsPlace
from hub.services.live.stream import Stream
from shared.errors import Rejected
from shared.loop import Loop, Observer, unobserved
from shared.wire.streams_v1 import StreamPart, StreamRequest

EVERY_S: Final = 2.0
AT_ONCE: Final = 8
_TRIES: Final = 3
_REMEMBERED: Final = 5000  # jobs already asked about
_OWN: Final = "last-lines"  # budget of its questions: no principal's id


class LastLines:
    """One turn: jobs that failed lately and were not asked about."""

    def __init__(self, hub: Hub, streams: OpenStreams, observe: Observer = unobserved) -> None:
        self._hub, self._streams = hub, streams
        self._tried: OrderedDict[str, int] = OrderedDict()
        self.loop = Loop("last_lines", self.tick, hub.clock, every_s=EVERY_S, observe=observe)

    async def run(self) -> None:
        """Until cancelled."""
        await self.loop.run()

    async def tick(self) -> float | None:
        """One turn; 0 to take the next at once."""
        done = {uid for uid, tries in self._tried.items() if tries >= _TRIES}
        suspect_s = self._hub.settings.scheduling.suspect_after_s
        heard = self._streams.listening
        if not heard:
            return None
        due = await self._hub.read(last_lines.due, heard, done, AT_ONCE, suspect_s)
        await asyncio.gather(*(self._ask(place) for place in due))
        return 0.0 if len(due) == AT_ONCE else None

    async def _ask(self, place: PodsPlace) -> None:
        self._tried[place.uid] = self._tried.get(place.uid, 0) + 1
        while len(self._tried) > _REMEMBERED:
            self._tried.popitem(last=False)
        wanted = StreamRequest(
            id="", what="last", uid=place.uid, namespace=place.namespace, name=place.name
        )
        try:
            stream = self._streams.ask(_OWN, place.cluster, wanted)
        except Rejected:
            return  # too many others ask
        try:
            part = await self._answer(stream)
        finally:
            self._streams.leave(stream, "Ended")
        if part is not None and part.pods:
            await self._hub.write(last_lines.keep, place, part)
            self._tried[place.uid] = _TRIES

    async def _answer(self, stream: Stream) -> StreamPart | None:
        """The answer, if it comes in time."""
        return await stream.get(self._streams.limits.answer_s)
