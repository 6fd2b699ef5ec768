"""Placements that the hub cluster has and the hub does not: they are taken with what they select.

One that was taken first would be carried out without its objects, which would follow as a second version
and wait, as changes do, until the first is available. So that its kinds are followed and read before it
is taken, for as long as that may last.
"""

from typing import Final

from hub.bridge.following import PLACEMENTS, Following
from hub.bridge.mirror import Mirror
from hub.bridge.sources import Place, Sources
from shared.clock import Clock
from shared.errors import Rejected
from shared.groups import PLACEMENT
from shared.kinds import parse
from shared.kube.client import Object

LEAST_S: Final = (
    0.2  # each kind is watched by itself: what was applied just before may come just after
)
LONGEST_S: Final = 10.0  # that a placement waits for the kinds it selects
AGAIN_S: Final = 0.05  # until it is looked whether they have been read


class Arriving:
    """New placements, from when they are seen until they are taken or refused."""

    def __init__(
        self, sources: Sources, following: Following, mirror: Mirror, clock: Clock
    ) -> None:
        self._sources = sources
        self._following = following
        self._mirror = mirror
        self._clock = clock
        self._since: dict[str, float] = {}  # by uid, when each was first seen

    def look(self) -> None:
        """Learn what new placements select, before anything is taken."""
        for place in self._sources.changed:
            if place[0] == PLACEMENT and place[1] in PLACEMENTS:
                found = self._sources.get(place)
                if found is not None and self._is_new(found[1]):
                    self._expect(found[1])

    def waiting(self) -> frozenset[Place]:
        """Places of those whose kinds are still being read: they are not to be taken in this turn."""
        now = self._clock.monotonic()
        return frozenset(
            place
            for uid, since in self._since.items()
            if now - since < LONGEST_S
            and (now - since < LEAST_S or not self._following.has_read(uid))
            and (place := self._sources.place_of(uid)) is not None
        )

    def settle(self) -> None:
        """What the hub has is followed by its own row; what it refused, or is gone, is not followed."""
        for uid in list(self._since):
            gone = self._sources.place_of(uid) is None
            if gone or uid in self._mirror.refusals:
                self._following.drop(uid)
            elif not self._mirror.has_taken(uid):
                continue
            del self._since[uid]

    def _is_new(self, obj: Object) -> bool:
        metadata = obj["metadata"]
        uid = metadata["uid"]
        return not (
            uid in self._since
            or uid in self._mirror.refusals
            or self._mirror.has_taken(uid)
            or self._sources.is_mirror(obj)
            or metadata.get("deletionTimestamp")
        )

    def _expect(self, obj: Object) -> None:
        try:
            parsed = parse(obj, strict=False, origin="hub-cluster", lenient_versions=True)
        except (Rejected, KeyError, TypeError, ValueError):
            return  # the intake says what is wrong with it
        uid = obj["metadata"]["uid"]
        self._since[uid] = self._clock.monotonic()
        self._following.expect(uid, parsed.kind, parsed.namespace, parsed.spec or {})
