"""Open streams of a person: counted while they last, however they end."""

from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest

from hub.api.streams import counted

pytestmark = pytest.mark.anyio


async def events(fails: bool) -> AsyncIterator[int]:
    yield 1
    yield 2
    if fails:
        raise RuntimeError("the hub stops")


async def test_a_stream_that_was_read_to_its_end_is_open_no_more():
    """Otherwise the limit would refuse each later stream of that person."""
    streams: Counter[str] = Counter()
    seen = [(each, streams["ana"]) async for each in counted(streams, "ana", events(fails=False))]
    assert seen == [(1, 1), (2, 1)]
    assert streams["ana"] == 0


async def test_a_stream_whose_reader_has_gone_is_open_no_more():
    """Other streams of the same person go on."""
    streams: Counter[str] = Counter(ana=1)
    stream: Any = counted(streams, "ana", events(fails=False))
    assert await anext(stream) == 1
    assert streams["ana"] == 2
    await stream.aclose()
    assert streams["ana"] == 1


async def test_a_stream_that_fails_is_open_no_more():
    """The error reaches the caller, and the count falls all the same."""
    streams: Counter[str] = Counter()
    with pytest.raises(RuntimeError):
        [each async for each in counted(streams, "ana", events(fails=True))]
    assert streams["ana"] == 0
