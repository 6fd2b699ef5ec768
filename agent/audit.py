"""A slow second look at what the event streams may leave open.

Two things no event tells: that an object which is known only from our own write went away before a
watch showed it, and why a Job's controller makes no pods (quota, admission): that stands in Events,
which are too many to watch.
"""

from collections.abc import Mapping
from typing import Protocol

from agent.applier import Applier
from agent.holding import Holding
from agent.observer import Observer
from agent.plan import finished
from shared.clock import Clock

PERIOD_S = 10.0
_UNSEEN_S = 30.0
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
            now = self._clock.monotonic()
            podless = []
            for holding in list(self._holdings.values()):
                if self._is_unseen(holding, now):
                    self._desk.look_again(holding)
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

    async def _explain(self, holding: Holding) -> None:
        live = holding.seen.live
        if live is None:
            return
        hint = await self._applier.explain(live)
        if hint != holding.hint:
            holding.hint = hint
            self._desk.mark(holding.uid)
