"""Writes the hub's events of an object as Events to the hub cluster, for `kubectl describe`."""

import asyncio
import datetime as dt
from collections import OrderedDict
from typing import Final, NamedTuple

import structlog

from hub.bridge.sources import Source, Sources
from hub.bridge.work_kinds import idle_note, is_other_work
from hub.services.context.hub import Hub
from hub.services.mirror import objects as mirrored
from shared import labels
from shared.conditions import rfc3339
from shared.documents import Json
from shared.groups import PLACEMENT
from shared.kube import errors
from shared.kube.client import KubeClient, Object
from shared.reject_codes import RejectCode

_REMEMBERED: Final = 20_000
TOGETHER: Final = 50  # Events of one turn
MOST: Final = 2_000  # that wait to be written; older ones are not worth it
_WRITES: Final = 8  # at a time
# Steps of a Job on its way that its own status shows; the rest is worth an Event.
_SILENT: Final = frozenset({"Offered", "Applied", "Submitted", "Created", "Configured"})
log = structlog.get_logger(__name__)


class EventText(NamedTuple):
    """What is said of an object; `at` None: it is so now."""

    type: str
    reason: str
    message: str
    at: dt.datetime | None = None


class EventRecorder:
    """Follows the hub's events, and writes those about objects of the hub cluster."""

    def __init__(self, hub: Hub, client: KubeClient, sources: Sources) -> None:
        self._hub = hub
        self._client = client
        self._sources = sources
        self._last: int | None = None
        self._told: OrderedDict[tuple[str, str, str], None] = OrderedDict()
        self._queue: list[tuple[Source, Object, Json]] = []
        self._count = 0

    def warn(self, source: Source, obj: Object, reason: str, message: str) -> None:
        """Say once what is wrong with an object."""
        self._say(source, obj, EventText("Warning", reason, message))

    def explain(self, source: Source, obj: Object, reason: str, message: str) -> None:
        """Say why a Job waits; once for each reason, for the numbers in it change all the time."""
        mark = (obj["metadata"]["uid"], reason, "")
        if mark not in self._told:
            self._remember(mark)
            self._say(source, obj, EventText("Normal", reason, message))

    def was_left(self, source: Source, obj: Object) -> None:
        """Warn about an object that the hub does not take, and that no operator will run."""
        if is_other_work((source.kind.group, source.kind.kind)) and (text := idle_note(obj)):
            self.warn(source, obj, RejectCode.QUEUE_REQUIRED, text)

    async def turn(self) -> None:
        """Write what has been said since the last turn."""
        if self._last is None:
            self._last = await self._hub.read(mirrored.last_event)
        for event in await self._hub.read(mirrored.events_after, self._last):
            self._last = event.id
            place = None if event.reason in _SILENT else self._sources.place_of(event.uid)
            found = None if place is None else self._sources.get(place)
            if found is not None:
                self._say(*found, EventText(event.type, event.reason, event.message, event.at))
        # Events are not worth a burst: what is over comes with the next turns.
        queue, self._queue = self._queue[:TOGETHER], self._queue[TOGETHER:][-MOST:]
        gate = asyncio.Semaphore(_WRITES)
        await asyncio.gather(*(self._write(gate, *each) for each in queue))

    def _say(self, source: Source, obj: Object, told: EventText) -> None:
        mark = (obj["metadata"]["uid"], told.reason, told.message)
        if mark in self._told:
            return
        self._remember(mark)
        self._queue.append((source, obj, self._event(source, obj, told)))

    def _remember(self, mark: tuple[str, str, str]) -> None:
        self._told[mark] = None
        if len(self._told) > _REMEMBERED:
            self._told.popitem(last=False)

    def _event(self, source: Source, obj: Object, told: EventText) -> Json:
        metadata = obj["metadata"]
        namespace = metadata.get("namespace") or "default"
        now = self._hub.clock.now()
        stamp = rfc3339(told.at or now)
        self._count += 1
        speaker = "placement-controller" if source.kind.group == PLACEMENT else "roadstead"
        unique = f"{int(now.timestamp() * 1e6):x}{self._count:x}"
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{metadata['name'][:200]}.{unique}", "namespace": namespace},
            "involvedObject": {
                "apiVersion": source.informer.api_version,
                "kind": source.kind.kind,
                "name": metadata["name"],
                "namespace": metadata.get("namespace") or "",
                "uid": metadata["uid"],
                "resourceVersion": metadata["resourceVersion"],
            },
            "reason": told.reason,
            "message": told.message.partition("\n")[0][:1024],  # no lines of logs
            "type": told.type,
            "firstTimestamp": stamp,
            "lastTimestamp": stamp,
            "count": 1,
            "source": {"component": speaker},
            "reportingComponent": speaker,
            "reportingInstance": "",
        }

    async def _write(
        self, gate: asyncio.Semaphore, source: Source, obj: Object, event: Json
    ) -> None:
        async with gate:
            try:
                await self._client.create(event, field_manager=labels.BRIDGE_FIELD_MANAGER)
            except errors.KubeError as failure:
                # An Event is a courtesy: it is not worth holding anything up.
                log.info("event.lost", reason=event["reason"], error=str(failure))
