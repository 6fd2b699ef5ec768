"""The hub's side of logs and pods, as a test scripts it: questions put in by hand, and what was brought."""

import asyncio

import httpx

from shared.wire.streams_v1 import (
    FAILED_PATH,
    FailedPod,
    FailedPods,
    StreamPart,
    StreamRequest,
    StreamRequests,
    StreamTaken,
)
from tests import waiting


class ScriptedStreams:
    """Hands questions out, and keeps parts by the question's id. `full`: none is taken; `gone`: 404."""

    def __init__(self) -> None:
        self.asked: asyncio.Queue[StreamRequest] = asyncio.Queue()
        self.parts: dict[str, list[StreamPart]] = {}
        self.gone: set[str] = set()
        self.refused = 0  # parts of a question that nobody waits for any more
        self.full = False
        self.untaken = 0
        self.down = False
        self.failed: list[FailedPod] = []  # that were told of
        self.loses = 0  # answers to parts that were taken

    def ask(self, what: str = "logs", uid: str = "u-1", **fields: object) -> str:
        """Put a question; its id."""
        given = {"namespace": "team", "name": "job", **fields}
        number = len(self.parts)
        asked = StreamRequest.model_validate(
            {"id": f"s-{number}", "what": what, "uid": uid, **given}
        )
        self.parts[asked.id] = []
        self.asked.put_nowait(asked)
        return asked.id

    async def answer(self, request: httpx.Request, body: bytes) -> httpx.Response:
        """What the hub answers."""
        if self.down:
            raise httpx.ConnectError("the hub is down", request=request)
        if request.method == "GET":
            async with asyncio.timeout(20):
                found = [await self.asked.get()]
            return self._told(request, StreamRequests(requests=found))
        if request.url.path == FAILED_PATH:
            self.failed += FailedPods.model_validate_json(body).items
            return httpx.Response(200, json={"kept": 1}, request=request)
        stream = request.url.path.rpartition("/")[2]
        if stream in self.gone:
            self.refused += 1
            return httpx.Response(404, json={"code": "NotFound"}, request=request)
        part = StreamPart.model_validate_json(body)
        taken = self.parts[stream]
        if self.full:
            self.untaken += 1
            await waiting.turns()
        elif part.seq == len(taken) + 1:
            taken.append(part)
        if self.loses:
            self.loses -= 1
            raise httpx.ReadError("the answer is lost", request=request)
        return self._told(request, StreamTaken(seq=len(taken)))

    async def ended(self, stream: str) -> str:
        """Wait until a question is answered to its end; the code of that."""

        def end() -> str:
            parts = self.parts[stream]
            found = parts[-1].end if parts else None
            return found.code if found is not None else ""

        return str(await waiting.eventually(end, within_s=20))

    def lines(self, stream: str) -> list[str]:
        """What was brought, notes left out."""
        told = [line for part in self.parts[stream] for line in part.lines]
        return [line.line for line in told if not line.note]

    def notes(self, stream: str) -> list[str]:
        """Notes that were brought."""
        return [each.line for part in self.parts[stream] for each in part.lines if each.note]

    def _told(
        self, request: httpx.Request, message: StreamRequests | StreamTaken
    ) -> httpx.Response:
        return httpx.Response(200, content=message.model_dump_json(), request=request)
