"""Creates the Jobs of CronJobs when their times come, while this process leads.

It follows the feed and keeps in memory when each CronJob is due: one that is not due costs nothing. A new
leader looks at all of them once.
"""

import datetime as dt
from collections.abc import Callable, Mapping
from typing import Final

from hub.controllers.lease import NOT_LEADING
from hub.services.context.hub import Hub
from hub.services.jobs.cron import turns as cron_jobs
from hub.store.feed import Subscription
from shared.loop import Loop, Observer, unobserved

EVERY_S: Final = 1.0  # at most so late is a run, once the hub leads
LEAST_S: Final = 0.05
PART: Final = 100  # CronJobs of one transaction
_FOLLOWED: Final = ("objects", "workloads")


class CronJobs:
    """One turn: the CronJobs that are due, that have changed, or of which a Job has changed."""

    def __init__(self, hub: Hub, term: Callable[[], int], observe: Observer = unobserved) -> None:
        self._hub = hub
        self._term = term
        self._look_at: dict[str, dt.datetime | None] = {}  # by CronJob
        self._parents: dict[str, str] = {}  # by child that has not ended
        self._open: set[str] = set()
        self._loaded_for = NOT_LEADING
        self._feed: Subscription | None = None
        self.loop = Loop(
            "cron-jobs", self.tick, hub.clock, every_s=EVERY_S, least_s=LEAST_S, observe=observe
        )

    async def run(self) -> None:
        """Until cancelled or the loop is stopped."""
        self.follow()
        try:
            await self.loop.run()
        finally:
            self._feed = None

    def follow(self) -> None:
        """Hear of what is committed from now on."""
        self._feed = self._hub.subscribe(*_FOLLOWED)

    async def tick(self) -> float | None:
        """One turn; 0 to take the next at once."""
        term = self._term()
        if term == NOT_LEADING or self._hub.stopped:
            self._loaded_for = NOT_LEADING
            self._take()
            return None
        try:
            await self._look(term)
            await self._decide(term)
        except BaseException:
            self._loaded_for = NOT_LEADING  # what was done may or may not be written
            raise
        return 0.0 if self._open else None

    def _take(self) -> Mapping[str, frozenset[str]]:
        change = self._feed.take() if self._feed is not None else None
        return {} if change is None else change.keys

    async def _look(self, term: int) -> None:
        """Find the CronJobs to decide."""
        touched = self._take()  # before the read: the next turn takes later changes
        if self._loaded_for != term:
            self._look_at, self._parents = {}, {}
            self._open = set(await self._hub.read(cron_jobs.scheduled))
            self._loaded_for = term
        elif changed := touched.get("objects"):
            self._open |= set(await self._hub.read(cron_jobs.scheduled, changed))
        ended = touched.get("workloads", frozenset()) & self._parents.keys()
        self._open |= {self._parents[uid] for uid in ended}
        now = self._hub.clock.now()
        self._open |= {uid for uid, at in self._look_at.items() if at is not None and at <= now}

    async def _decide(self, term: int) -> None:
        part = [self._open.pop() for _ in range(min(PART, len(self._open)))]
        if not part:
            return
        intake = self._hub.settings.intake
        looked = await self._hub.write(cron_jobs.take_turns, part, intake, term)
        decided = frozenset(part)
        self._parents = {uid: of for uid, of in self._parents.items() if of not in decided}
        for uid in part:
            self._look_at.pop(uid, None)
            if (found := looked.get(uid)) is not None:
                self._look_at[uid] = found.look_at
                self._parents |= dict.fromkeys(found.children, uid)
