"""`roadstead.transport` for event loops: the same options, requests and failures, awaited."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Self, TypeVar

import httpx

from roadstead.method import AsyncStream
from roadstead.models.record import Json
from roadstead.responses import Address, EventDecoder, Response
from roadstead.retries import send_async
from roadstead.steps import EventStream, Request
from roadstead.transport import (
    events_request,
    options,
    refuse_closed,
    request_arguments,
    response_of,
    translated_errors,
)

T = TypeVar("T")


class AsyncTransport:
    """A pool of connections of one event loop; its tasks may share it."""

    def __init__(self, address: Address, timeout_s: float) -> None:
        self._address, self._timeout_s = address, timeout_s
        self._http = httpx.AsyncClient(**options(address, timeout_s))

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def answer(self, ask: Request) -> Json:
        """Return the JSON object of the hub's answer. Raises errors of `roadstead.errors`."""
        refuse_closed(self._http)
        return self._address.decode(await send_async(ask, self._send))

    def follow(self, follow: EventStream[T]) -> AsyncStream[T]:
        """Return the stream, not open yet."""
        refuse_closed(self._http)
        return _OpenAsyncStream(self._http, follow, self._address)

    async def _send(self, ask: Request) -> Response:
        with translated_errors(self._address):
            asked = request_arguments(self._address, ask, self._timeout_s)
            return response_of(await self._http.request(**asked))


class _OpenAsyncStream(AsyncStream[T]):
    """A stream with its own connection, opened on entry or on the first iteration."""

    def __init__(self, http: httpx.AsyncClient, follow: EventStream[T], address: Address) -> None:
        self._http, self._follow, self._address = http, follow, address
        self._answer: httpx.Response | None = None
        self._items = self._read()

    async def __aenter__(self) -> Self:
        await self._opened()
        return self

    async def __anext__(self) -> T:
        return await anext(self._items)

    async def aclose(self) -> None:
        """Close the connection."""
        await self._items.aclose()
        if self._answer is not None:
            await self._answer.aclose()

    async def _opened(self) -> httpx.Response:
        if self._answer is None:
            with translated_errors(self._address):
                asked = events_request(self._http, self._address, self._follow)
                answer = await self._http.send(asked, stream=True)
                if answer.status_code != httpx.codes.OK:
                    await answer.aread()
                    self._address.decode(response_of(answer))
            self._answer = answer
        return self._answer

    async def _read(self) -> AsyncGenerator[T, None]:
        events = EventDecoder()
        async with aclosing(await self._opened()) as answer:
            with translated_errors(self._address):
                async for chunk in answer.aiter_bytes():
                    for event in events.feed(chunk):
                        for each in self._follow.read(event):
                            yield each
