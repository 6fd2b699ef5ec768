"""The reply to one request of an agent, as JSON."""

from dataclasses import dataclass
from typing import Final

import orjson

from hub.services.works.reply_pages import ReplyPage
from shared.documents import Json
from shared.wire.agent_v1 import Mark, Order, Refused, SyncRequest

NEXT_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class SyncAnswer:
    """The contents of one reply, without its counters."""

    page: ReplyPage
    refused: list[Refused]
    orders: list[Order]
    need_full: bool
    protocol: int
    rotate: Json | None
    confirm: str = ""  # the live session, which that of the request has to name


@dataclass(frozen=True, slots=True)
class HubFacts:
    """The fields of a reply that describe the hub."""

    hub_id: str
    incarnation: str
    term: int
    mark: Mark | None
    for_all: Json  # fields that every agent gets


def encoded(request: SyncRequest, answer: SyncAnswer, hub: HubFacts) -> bytes:
    """The reply as JSON; manifests are in it as they were composed."""
    page, need_full = answer.page, answer.need_full
    return orjson.dumps(
        {
            "proto": answer.protocol,
            "hub_id": hub.hub_id,
            "incarnation": hub.incarnation,
            "term": hub.term,
            "session": request.session,
            "seq": request.seq,
            "desired": {
                "full": page.full,
                "revision": page.number,
                "digest": page.digest,
                "works": page.works,
                "removed": page.removed,
                "more": page.more,
            },
            **hub.for_all,
            "refused": [each.model_dump() for each in answer.refused],
            "orders": [each.model_dump() for each in answer.orders],
            "mark": None if hub.mark is None else hub.mark.model_dump(),
            "need_full": need_full,
            "next_s": 0.0 if page.more or need_full else NEXT_S,
            **({} if answer.rotate is None else {"rotate": answer.rotate}),
            **({"confirm": answer.confirm} if answer.confirm else {}),
        }
    )
