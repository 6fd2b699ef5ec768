"""Adds to the list of a removal what is inside the namespaces that it deletes if they are empty.

Only the member's agent can tell. The hub asks it while the request waits, and stores nothing. Without an
answer in time, the list says that the contents are not reported.
"""

import asyncio
from collections.abc import Sequence
from typing import Final

from starlette.requests import Request

from hub.api.asking import first_part, open_streams_of
from hub.domain.rollout.removal import Fate
from hub.services.removals.before import not_asked, with_contents
from shared.documents import Json
from shared.errors import Rejected
from shared.wire.streams_v1 import NamespaceTold, StreamRequest

MOST_ASKED: Final = 20  # namespaces of one list
_AT_ONCE: Final = 5
_WAIT_S: Final = 4.0
_LEFT: Final = "ReaderGone"


async def tell_inside(request: Request, who: str, members: Sequence[Json]) -> None:
    """Fill in `members`, as `before.told` made it. `who`: the id of the principal that asks."""
    wanted = [
        (member, each)
        for member in members
        for each in member["objects"]
        if each["fate"] == Fate.DELETED_IF_EMPTY
    ]
    asked = wanted[:MOST_ASKED]
    for _, each in wanted[MOST_ASKED:]:
        not_asked(each, MOST_ASKED)
    places = asyncio.Semaphore(_AT_ONCE)

    async def one(member: Json, each: Json) -> None:
        async with places:
            found = await _ask(request, who, member["cluster"], each["name"])
        if found is not None:
            with_contents(member, each, found)

    await asyncio.gather(*(one(*each) for each in asked))


async def _ask(request: Request, who: str, cluster: str, name: str) -> NamespaceTold | None:
    """Ask the agent of a cluster about a namespace; None without an answer in time."""
    streams = open_streams_of(request)
    wanted = StreamRequest(id="", what="namespace", uid=name, namespace=name, name=name)
    try:
        stream = streams.ask(who, cluster, wanted)
    except Rejected:
        return None
    try:
        async with asyncio.timeout(_WAIT_S):
            part = await first_part(request, streams, stream)
    except (Rejected, TimeoutError):
        return None
    finally:
        streams.leave(stream, _LEFT)
    return part.namespace
