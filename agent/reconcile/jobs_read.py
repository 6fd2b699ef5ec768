"""Proof for a restored hub that a report is complete: it holds every Job of the hub in this member.

A cache proves nothing about what it lacks: its watch may be frozen, and a request of an earlier session may
still take effect. So each session lists its Jobs, and objects of other kinds that may be jobs, once past
every cache, in a read that begins when no earlier session can start anything (docs/explain/exactly-once.md,
rules 4 and 12). Once the report holds each of them, it says so (`SyncRequest.jobs_read`).
"""

from collections.abc import Callable, Mapping

import structlog

from agent.member.observer import KindKey
from agent.objects.facts import Object, owner_of
from agent.works.lease import Lease
from shared import labels
from shared.clock import Clock
from shared.kube import errors
from shared.kube.client import KubeClient
from shared.wire.agent_v1 import Observed

log = structlog.get_logger(__name__)

RETRY_S = 2.0


class JobsRead:
    """One read of all objects of jobs per session; `done` once the report holds them all.

    `reported`: the entries of the report, by uid. `kinds`: theirs; None while they are not known.
    """

    def __init__(
        self,
        client: KubeClient,
        hub_id: str,
        lease: Lease,
        reported: Mapping[str, Observed],
        kinds: Callable[[], list[KindKey] | None],
        clock: Clock,
        news: Callable[[], None],
    ) -> None:
        self._client = client
        self._hub_id = hub_id
        self._lease = lease
        self._reported = reported
        self._kinds = kinds
        self._clock = clock
        self._news = news
        self.done = False

    async def run(self) -> None:
        """Retry until the Jobs have been read and reported."""
        while not self.done:
            await self._clock.sleep(RETRY_S)
            await self.look()

    async def look(self) -> None:
        """Read once, unless an earlier session may still start Jobs; a refused read is retried."""
        kinds = self._kinds()
        if self.done or kinds is None or self._lease.settled_at(self._clock.monotonic()) is None:
            return
        owners: set[str] = set()
        selector = f"{labels.MANAGED_BY}={self._hub_id}"
        try:
            for key in kinds:
                listing = await self._client.list(*key, None, selector, slim=self._owner)
                owners |= {str(each["owner"]) for each in listing.items if each["owner"]}
        except errors.KubeError as failure:
            log.info("jobs.not_read", error=failure.message)
            return
        if all(self._is_reported(uid) for uid in owners):
            self.done = True
            self._news()

    def _is_reported(self, uid: str) -> bool:
        entry = self._reported.get(uid)
        return entry is not None and entry.phase != "Gone"

    def _owner(self, job: Object) -> Object:
        """All that is kept of a listed Job."""
        return {"owner": owner_of(job, self._hub_id)}
