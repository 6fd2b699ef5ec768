"""Asks the agent of a cluster while a request waits, and takes the first part of its answer."""

import asyncio
from typing import Final

from starlette.requests import Request

from hub.api.peers import peers_of
from hub.api.policy import hub_of
from hub.services.live.open_streams import OpenStreams
from hub.services.live.stream import Stream
from hub.services.members.api_servers import why_down
from shared.errors import Rejected
from shared.reject_codes import RejectCode
from shared.wire.streams_v1 import StreamPart

LOOK_S: Final = 1.0  # interval of the checks whether a quiet stream continues
UNHEARD_S: Final = 3.0  # for an agent none of whose requests hangs here
ENDED: Final = "Ended"
# What an agent may say instead of an answer; whatever else it says is its member not answering.
OF_AGENTS: Final = frozenset(
    {
        *(RejectCode.NO_PODS_YET, RejectCode.PODS_REMOVED, RejectCode.NOT_BEGUN),
        *(RejectCode.POD_NOT_FOUND, RejectCode.CONTAINER_NOT_FOUND),
        *(RejectCode.LOGS_OFF, RejectCode.REFUSED_BY_MEMBER, RejectCode.MEMBER_NOT_ANSWERING),
    }
)


def open_streams_of(request: Request) -> OpenStreams:
    """The questions to members that wait in this process."""
    streams = request.app.state.open_streams
    assert isinstance(streams, OpenStreams)
    return streams


async def _unanswered(request: Request, cluster: str, waited_s: float) -> Rejected:
    """The reason why no agent has answered: the member's API server is down, or it is not known here."""
    if down := await hub_of(request).read(why_down, cluster):
        text = f"{down}: its pods can be read again once it is Ready (roadstead clusters show {cluster})"
        return Rejected(RejectCode.MEMBER_NOT_ANSWERING, text)
    text = (
        f"no agent of {cluster} has answered at this hub process within {waited_s:g} s: it is busy, or "
        "it asks at another replica that this one does not reach (docs/howto/replicas.md); ask again"
    )
    return Rejected(RejectCode.AGENT_NOT_LISTENING, text)


async def first_part(request: Request, streams: OpenStreams, stream: Stream) -> StreamPart:
    """The first part of the answer. Raises Rejected if none comes, or the agent refuses."""
    hub = hub_of(request)
    clock, began = hub.clock, hub.clock.monotonic()
    heard = streams.is_listening(stream.cluster)
    if hub.db.shared:
        stream.relay = asyncio.create_task(peers_of(request).relay(stream))
    part: StreamPart | None = None
    while part is None and stream.end is None:
        wait_s = streams.limits.answer_s
        if not (heard or stream.is_relayed):
            wait_s = min(wait_s, UNHEARD_S)
        left_s = began + wait_s - clock.monotonic()
        if left_s <= 0:
            raise await _unanswered(request, stream.cluster, wait_s)
        part = await stream.get(min(left_s, LOOK_S))
        streams.why_ended(stream)
    end = stream.end if part is None else part.end
    if end is not None and end.code != ENDED:
        known = end.code in OF_AGENTS
        code = RejectCode(end.code) if known else RejectCode.MEMBER_NOT_ANSWERING
        raise Rejected(code, end.message or f"{stream.cluster}: {end.code}")
    return part or StreamPart(seq=1, end=end)
