"""A slow second look at what the event streams may leave open.

Three things no event tells: that an object which is known only from our own write went away before a
watch showed it; why a Job's controller makes no pods (quota, admission): that stands in Events, which
are too many to watch; and that a namespace which is being deleted waits for a Job whose end the hub,
being unreachable, has not taken in.
"""

from collections.abc import Mapping
from typing import Protocol

import structlog

from agent.member.applier import Applier
from agent.member.observer import Observer
from agent.objects.facts import epoch_of, is_deleting, is_held_by_us
from agent.works.tracked import TrackedWork
from shared.clock import Clock

log = structlog.get_logger(__name__)

PERIOD_S = 10.0
_UNSEEN_S = 30.0
STRANDED_S = 60.0
_EXPLAINED_AT_ONCE = 20  # requests a round


class Marker(Protocol):
    """The executor of the resync's findings."""

    def mark(self, uid: str) -> None:
        """Have this uid decided about."""
        ...

    def look_again(self, tracked: TrackedWork) -> None:
        """Read this object back."""
        ...


class Resync:
    """Looks over all tracked works every ten seconds."""

    def __init__(
        self,
        tracked_works: Mapping[str, TrackedWork],
        observer: Observer,
        applier: Applier,
        clock: Clock,
        marker: Marker,
    ) -> None:
        self._tracked_works = tracked_works
        self._observer = observer
        self._applier = applier
        self._clock = clock
        self._marker = marker

    async def run(self) -> None:
        """Look again and again until cancelled."""
        while True:
            await self._clock.sleep(PERIOD_S)
            await self.look()

    async def look(self) -> None:
        """Look over all tracked works once."""
        now = self._clock.monotonic()
        podless = []
        for tracked in list(self._tracked_works.values()):
            if self._is_unseen(tracked, now):
                self._marker.look_again(tracked)
            elif self._is_stranded(tracked, now):
                await self._let_go_with_namespace(tracked)
            elif self._is_podless(tracked, now):
                podless.append(tracked)
        for tracked in podless[:_EXPLAINED_AT_ONCE]:
            await self._explain(tracked)

    def _is_unseen(self, tracked: TrackedWork, now: float) -> bool:
        """Known from our own write only, for longer than a watch needs to show it."""
        work = tracked.work
        if work is None or tracked.seen.live is None or tracked.busy:
            return False
        if now - tracked.since < _UNSEEN_S:
            return False
        at = (work.api_version, work.kind, work.namespace, work.name)
        return self._observer.live(*at) is None

    def _is_podless(self, tracked: TrackedWork, now: float) -> bool:
        """A Job that should have pods, has none, and has had none for a round."""
        live = tracked.seen.live
        if not tracked.is_job or live is None or now - tracked.since < PERIOD_S:
            return False
        hold = tracked.seen.hold
        if hold is None or hold.holds(live) or tracked.seen.ended():
            return False
        return not (live.get("status") or {}).get("active") and not tracked.seen.pods

    def _is_stranded(self, tracked: TrackedWork, now: float) -> bool:
        """An ended Job that a person deletes, and whose end the hub has not stored for a minute.

        One of another epoch than was concluded about is another agent's to remember.
        """
        live, work = tracked.seen.live, tracked.work
        if not tracked.is_job or live is None or work is None or not tracked.seen.closed:
            return False
        if epoch_of(live) != work.epoch:
            return False
        waits = is_deleting(live) and is_held_by_us(live)
        known = tracked.seen.acknowledged == live["metadata"].get("uid")
        return waits and not known and now - tracked.since >= STRANDED_S

    async def _let_go_with_namespace(self, tracked: TrackedWork) -> None:
        """The deletion of a namespace never hangs on us: this agent remembers how its Jobs ended."""
        live = tracked.seen.live
        if live is None:
            return
        if await self._applier.is_namespace_going(live["metadata"].get("namespace") or ""):
            log.warning("result.kept_in_memory", uid=tracked.uid, reason="its namespace goes")
            tracked.seen.acknowledged = live["metadata"].get("uid") or ""
            self._marker.mark(tracked.uid)

    async def _explain(self, tracked: TrackedWork) -> None:
        live = tracked.seen.live
        if live is None:
            return
        hint = await self._applier.explain(live)
        if hint != tracked.hint:
            tracked.hint = hint
            self._marker.mark(tracked.uid)
