"""The lines of a watch stream, in the bursts in which they arrive.

One JSON document a line; a line may span several reads. The stream's own ERROR events become the
exceptions that a plain request would have raised.
"""

from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import aiohttp
import orjson

from shared.kube import errors

# API servers send a bookmark about every minute: longer silence means a dead connection.
STALL_S = 90.0


class WatchEvent(NamedTuple):
    """`type` is ADDED, MODIFIED, DELETED or BOOKMARK (whose object has only a resourceVersion)."""

    type: str
    object: dict[str, Any]


Batch = list[WatchEvent]
STATES = frozenset({"ADDED", "MODIFIED"})


async def batches(response: aiohttp.ClientResponse) -> AsyncIterator[Batch]:
    """Read events until the server ends the stream; closes the response.

    Raises `Gone` for an expired version, `Unavailable` when the stream breaks or stalls.
    """
    begun: list[bytes] = []  # pieces of a line whose end has not come: a large object's
    try:
        async for chunk in response.content.iter_any():
            first, *lines = chunk.split(b"\n")
            begun.append(first)
            if not lines:
                continue
            lines.insert(0, b"".join(begun))
            begun = [lines.pop()]
            yield [_event(line) for line in lines if line]
    except TimeoutError:
        raise errors.Unavailable(0, "Stalled", "the watch went silent") from None
    except (aiohttp.ClientError, OSError) as failure:
        text = str(failure) or type(failure).__name__
        raise errors.Unavailable(0, "NoConnection", f"the watch broke: {text}") from failure
    finally:
        response.close()


def newest(batch: Batch) -> Batch:
    """A burst without the states that a later one of the same object replaces, as a list would show it.

    A deletion replaces nothing: who is told of it has been told of what was there.
    """
    if len(batch) == 1:
        return batch
    replaced: set[tuple[str | None, ...]] = set()
    kept: Batch = []
    for event in reversed(batch):
        metadata = event.object.get("metadata") or {}
        thing = metadata.get("namespace"), metadata.get("name"), metadata.get("uid")
        if event.type not in STATES:
            replaced.discard(thing)
        elif thing in replaced:
            continue
        else:
            replaced.add(thing)
        kept.append(event)
    kept.reverse()
    return kept


def _event(line: bytes) -> WatchEvent:
    try:
        document = orjson.loads(line)
        event = WatchEvent(document["type"], document["object"])
    except (orjson.JSONDecodeError, KeyError, TypeError) as fault:
        raise errors.Unavailable(0, "BadAnswer", "a watch line is not an event") from fault
    if event.type == "ERROR":
        status = event.object
        raise errors.from_status(int(status.get("code") or 500), status)
    return event
