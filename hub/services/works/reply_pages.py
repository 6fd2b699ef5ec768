"""The content of one reply to an agent, composed in parts: a thousand manifests would block other requests.

A work is composed after it was marked offered, and only goes out while the index of desired sets and
the incarnation still are what it was composed from.
"""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import orjson
import structlog

from hub.services.works import offer
from hub.services.works.offer import PreparedOffer
from hub.store.records.works import Composable, Desired
from shared.wire.versions import NEWEST

log = structlog.get_logger(__name__)
PART_BYTES: Final = 256 * 1024  # composed in one go, about 10 ms


@dataclass(slots=True)
class ReplyPage:
    """One reply's worth of the desired set."""

    full: bool = False
    works: list[orjson.Fragment] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    number: int = 0
    digest: str = ""
    more: bool = False


class Composed(NamedTuple):
    """A work as it is sent, an `agent_v1.Work` as JSON, and what it was composed from."""

    row: Composable
    incarnation: str
    told: orjson.Fragment

    def matches(self, row: Desired, incarnation: str) -> bool:
        """Is it still what the index has?"""
        held = self.row
        known = (held.epoch, held.generation, held.action, self.incarnation)
        return known == (row.epoch, row.generation, row.action, incarnation)


async def compose(
    ready: Iterable[PreparedOffer],
    hub_id: str,
    incarnation: str,
    session: str,
    pause: Callable[[], Awaitable[None]],
    protocol: int = NEWEST,
) -> dict[str, Composed]:
    """The works as they are sent, by uid; `pause` lets others go on after each `PART_BYTES`."""
    found: dict[str, Composed] = {}
    size = 0
    for one in ready:
        if size >= PART_BYTES:
            size = 0
            await pause()
        try:
            told = orjson.dumps(offer.work_of(one, hub_id, incarnation, session, protocol))
        except Exception:  # what can not be composed keeps nothing else of the cluster
            log.exception(
                "work.not_composed", uid=one.row.uid, kind=one.row.kind, name=one.row.name
            )
            told = orjson.dumps(offer.without_manifest(one, session))
        size += len(told)
        found[one.row.uid] = Composed(one.row, incarnation, orjson.Fragment(told))
    return found
