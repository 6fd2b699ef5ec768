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
from agent.objects.facts import finished, is_deleting, is_held_by_us
from agent.works.tracked import Holding
from shared.clock import Clock

log = structlog.get_logger(__name__)

PERIOD_S = 10.0
_UNSEEN_S = 30.0
STRANDED_S = 60.0
_EXPLAINED_AT_ONCE = 20  # requests a round


class Desk(Protocol):
    """Who carries out what the audit finds."""

    def mark(self, uid: str) -> None:
        """Have this uid decided about."""
        ...

    def look_again(self, holding: Holding) -> None:
        """Read this object back."""
        ...


class Audit:
    """Looks over all holdings every ten seconds."""

    def __init__(
        self,
        holdings: Mapping[str, Holding],
        observer: Observer,
        applier: Applier,
        clock: Clock,
        desk: Desk,
    ) -> None:
        self._holdings = holdings
        self._observer = observer
        self._applier = applier
        self._clock = clock
        self._desk = desk

    async def run(self) -> None:
        """Look again and again until cancelled."""
        while True:
            await self._clock.sleep(PERIOD_S)
            await self.look()

    async def look(self) -> None:
        """Look over all holdings once."""
        now = self._clock.monotonic()
        podless = []
        for holding in list(self._holdings.values()):
            if self._is_unseen(holding, now):
                self._desk.look_again(holding)
            elif self._is_stranded(holding, now):
                await self._let_go_with_namespace(holding)
            elif self._is_podless(holding, now):
                podless.append(holding)
        for holding in podless[:_EXPLAINED_AT_ONCE]:
            await self._explain(holding)

    def _is_unseen(self, holding: Holding, now: float) -> bool:
        """Known from our own write only, for longer than a watch needs to show it."""
        work = holding.work
        if work is None or holding.seen.live is None or holding.busy:
            return False
        if now - holding.since < _UNSEEN_S:
            return False
        at = (work.api_version, work.kind, work.namespace, work.name)
        return self._observer.live(*at) is None

    def _is_podless(self, holding: Holding, now: float) -> bool:
        """A Job that should have pods, has none, and has been so for a round."""
        live = holding.seen.live
        if not holding.is_job or live is None or now - holding.since < PERIOD_S:
            return False
        if (live.get("spec") or {}).get("suspend") or finished(live):
            return False
        return not (live.get("status") or {}).get("active") and not holding.seen.pods

    def _is_stranded(self, holding: Holding, now: float) -> bool:
        """An ended Job that somebody deletes, and whose end the hub has not taken in for a minute."""
        live = holding.seen.live
        if not holding.is_job or live is None or not holding.seen.closed:
            return False
        waits = is_deleting(live) and is_held_by_us(live)
        known = holding.seen.acknowledged == live["metadata"].get("uid")
        return waits and not known and now - holding.since >= STRANDED_S

    async def _let_go_with_namespace(self, holding: Holding) -> None:
        """The deletion of a namespace never hangs on us: this agent remembers how its Jobs ended."""
        live = holding.seen.live
        if live is None:
            return
        if await self._applier.is_namespace_going(live["metadata"].get("namespace") or ""):
            log.warning("result.kept_in_memory", uid=holding.uid, reason="its namespace goes")
            holding.seen.acknowledged = live["metadata"].get("uid") or ""
            self._desk.mark(holding.uid)

    async def _explain(self, holding: Holding) -> None:
        live = holding.seen.live
        if live is None:
            return
        hint = await self._applier.explain(live)
        if hint != holding.hint:
            holding.hint = hint
            self._desk.mark(holding.uid)
