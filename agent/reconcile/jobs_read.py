"""Proof for a restored hub that a report is complete: it holds every Job of the hub in this member.

A cache proves nothing about what it lacks: its watch may be frozen, and a request of an earlier session may
still take effect. So each session lists its Jobs, and objects of other kinds that may be jobs, once past
every cache, in a read that begins when no earlier session can start anything (docs/explain/exactly-once.md,
rules 4 and 12). Once the report holds each of them, it says so (`SyncRequest.jobs_read`). It reads each
kind by itself, and names those that it has not read (`SyncRequest.kinds_unread`): nothing is proven of them.
An object may be gone without its pods: while one lives whose uid the report lacks, no kind counts as read.
It reads placed CronJobs as well, whatever its profile: the hub runs none beside a member that may have one of
its name, which an earlier agent of another profile may have placed.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import structlog

from agent.member.observer import KindKey, Observer
from agent.objects.facts import Object, owner_of
from agent.reconcile.kind_readings import KindReadings
from agent.works.lease import Lease
from shared import labels
from shared.clock import Clock
from shared.kube import errors, served
from shared.kube.client import KubeClient
from shared.wire.agent_v1 import Observed
from shared.wire.left_objects import CRON_JOB

log = structlog.get_logger(__name__)

RETRY_S = 2.0
AGAIN_S: Final = 300.0  # after a refusal: rights are rarely granted, and each refusal is audited
IDLE_S: Final = 30.0  # between two looks for kinds that are new
_CRON_JOB: Final = ("batch/v1", "CronJob")
_REFUSED: Final = 403
_OVER: Final = frozenset({"Gone", "Missing"})
_ALIVE: Final = "status.phase!=Succeeded,status.phase!=Failed"


class JobsRead:
    """One read of all objects of each kind of jobs per session; `done` once the report holds them all.

    `reported`: the entries of the report, by uid. `kinds`: theirs; None while they are not known.
    `places`: the agent places objects and reports CronJobs; else each that is there keeps them unread.
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
        *,
        places: bool = False,
    ) -> None:
        self._client = client
        self._hub_id = hub_id
        self._lease = lease
        self._reported = reported
        self._kinds = kinds
        self._clock = clock
        self._news = news
        self._places = places
        self._begun = False  # no earlier session can start Jobs
        self._read: set[KindKey] = set()
        self._pods_are_told = False  # a list of them found none whose uid the report lacks
        self._refused: dict[KindKey, float] = {}  # until then

    @property
    def done(self) -> bool:
        """True if the session has read and reported the objects of all kinds of jobs."""
        return self._unread() in ([], [CRON_JOB])

    def told(self) -> dict[str, Any]:
        """The fields of a request that tell the hub what was read."""
        return {"jobs_read": self.done, "kinds_unread": self._unread()}

    async def run(self) -> None:
        """Read each kind until the report has its objects; then the kinds that the hub tells later."""
        while True:
            is_idle = self._unread() == []
            await self._clock.sleep(IDLE_S if is_idle else RETRY_S)
            await self.look()

    async def look(self) -> None:
        """Read what is unread, unless an earlier session may still start Jobs; a refused read is retried."""
        kinds, now = self._kinds(), self._clock.monotonic()
        if kinds is None or self._lease.settled_at(now) is None:
            return
        self._begun = True
        before = len(self._read)
        for key in [*kinds, _CRON_JOB]:
            if key not in self._read and self._refused.get(key, now) <= now:
                await self._look_at(key)
        had_pods, self._pods_are_told = self._pods_are_told, await self._look_at_pods()
        if len(self._read) > before or self._pods_are_told > had_pods:
            self._news()

    def leaves(self, uid: str) -> None:
        """The report is about to lack this uid. If nothing has said that it ended, its pods may be there."""
        entry = self._reported.get(uid)
        if entry is not None and entry.epoch and entry.phase not in _OVER:
            self._pods_are_told = False

    async def _look_at_pods(self) -> bool:
        if self._pods_are_told:
            return True
        selector = f"{labels.MANAGED_BY}={self._hub_id},{labels.JOB_UID},{labels.EPOCH}"
        try:
            given = None, selector, _ALIVE
            listing = await self._client.list(
                "v1", "Pod", *given, slim=_job_of, metadata_only=True
            )
        except errors.KubeError as failure:
            log.info("jobs.pods_not_read", error=failure.message)
            return False
        told = {str(pod["job"]) for pod in listing.items if not self._is_reported(pod["job"])}
        for uid in sorted(told)[:3]:
            log.info("jobs.pods_of_none", uid=uid)
        return not told

    async def _look_at(self, key: KindKey) -> None:
        selector = f"{labels.MANAGED_BY}={self._hub_id}"
        try:
            given = None, selector
            listing = await served.list_all(self._client, *key, *given, slim=self._owner)
        except errors.KindNotServed:  # in no version, so that nothing of it is there
            self._read.add(key)
            return
        except errors.KubeError as failure:
            log.info("jobs.not_read", kind="/".join(key), error=failure.message)
            if failure.status == _REFUSED:
                self._refused[key] = self._clock.monotonic() + AGAIN_S
            return
        owners = {str(each["owner"]) for each in listing.items if each["owner"]}
        if all(self._is_reported(uid) for uid in owners):
            self._read.add(key)
        elif key == _CRON_JOB and not self._places:
            self._refused[key] = self._clock.monotonic() + AGAIN_S

    def _unread(self) -> list[str] | None:
        """Kinds that are not read; None while nothing is, or while the kinds are not known."""
        kinds = self._kinds()
        if kinds is None or not self._begun:
            return None
        read = self._read if self._pods_are_told else self._read & {_CRON_JOB}
        return ["/".join(key) for key in [*kinds, _CRON_JOB] if key not in read]

    def _is_reported(self, uid: str) -> bool:
        entry = self._reported.get(uid)
        return entry is not None and entry.phase != "Gone"

    def _owner(self, job: Object) -> Object:
        """All that is kept of a listed Job."""
        return {"owner": owner_of(job, self._hub_id)}


def _job_of(pod: Object) -> Object:
    """All that is kept of a listed pod."""
    return {"job": (pod["metadata"].get("labels") or {}).get(labels.JOB_UID) or ""}


def kinds_to_read(observer: Observer, readings: KindReadings) -> list[KindKey] | None:
    """Kinds of jobs that the agent and the hub know; None while one of them may be missing.

    Those that are not served are among them: a group whose API server does not answer is not served
    either, and a list tells them apart.
    """
    return observer.job_kinds(served=False) if readings.is_current else None
