"""Creates the Jobs of CronJobs when their times come, while this process leads.

It follows the feed and keeps in memory when each CronJob is due: one that is not due costs nothing. A new
leader looks at all of them once.
"""

import datetime as dt
from collections.abc import Callable
from typing import Final

from hub.controllers.followed_work import FollowedWork
from hub.services.context.hub import Hub
from hub.services.jobs.cron import turns as cron_jobs
from shared.loop import Observer, unobserved

PART: Final = 100  # CronJobs of one transaction
_FOLLOWED: Final = ("objects", "workloads")


class CronJobs(FollowedWork):
    """One turn: the CronJobs that are due, that have changed, or of which a Job has changed."""

    def __init__(self, hub: Hub, term: Callable[[], int], observe: Observer = unobserved) -> None:
        super().__init__("cron-jobs", _FOLLOWED, hub, term, observe)
        self._look_at: dict[str, dt.datetime | None] = {}  # by CronJob
        self._parents: dict[str, str] = {}  # by child that has not ended

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

    async def _decide(self, term: int) -> bool:
        part = self._part(PART)
        if not part:
            return False
        intake = self._hub.settings.intake
        looked = await self._hub.write(cron_jobs.take_turns, part, intake, term)
        decided = frozenset(part)
        self._parents = {uid: of for uid, of in self._parents.items() if of not in decided}
        for uid in part:
            self._look_at.pop(uid, None)
            if (found := looked.get(uid)) is not None:
                self._look_at[uid] = found.look_at
                self._parents |= dict.fromkeys(found.children, uid)
        return bool(self._open)
