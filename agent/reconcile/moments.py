"""The moment of a decision: what caches, lease and waves say of one work's kind now."""

from agent.decide.decision import Moment
from agent.decide.waves import Waves
from agent.member.namespace_watch import NamespaceWatch
from agent.member.observer import KindKey, Observer
from agent.objects.facts import is_of_job
from agent.objects.holds import JOB, is_job_work
from agent.reconcile.waiting import with_consent
from agent.works.lease import Lease
from agent.works.tracked import TrackedWork
from shared.clock import Clock
from shared.wire.agent_v1 import Work


class Moments:
    """Made anew for each decision."""

    def __init__(
        self,
        hub_id: str,
        observer: Observer,
        lease: Lease,
        waves: Waves,
        watch: NamespaceWatch,
        clock: Clock,
    ) -> None:
        self._hub_id, self._observer, self._lease = hub_id, observer, lease
        self._waves, self._watch, self._clock = waves, watch, clock

    def of_work(self, work: Work) -> Moment:
        """For a desired work. Jobs wait for no wave; their namespaces may refuse the hub."""
        key = (work.api_version, work.kind)
        if not is_job_work(work):
            wave_open = self._waves.is_open(work.kind, work.namespace)
            return self._picture_of(key, wave_open=wave_open)
        return with_consent(self._picture_of(key, wave_open=True), work, self._watch)

    def of_orphan(self, tracked: TrackedWork) -> Moment:
        """For an object that nothing desires."""
        live = tracked.seen.live
        key = JOB
        if live is not None and is_of_job(live):
            key = (live["apiVersion"], live["kind"])
        return self._picture_of(key, wave_open=True)

    def _picture_of(self, key: KindKey, *, wave_open: bool) -> Moment:
        now = self._clock.monotonic()
        return Moment(
            hub_id=self._hub_id,
            now=now,
            wall=self._clock.now(),
            may_start=self._lease.left(now) > 0,
            settled_at=self._lease.settled_at(now),
            synced=self._observer.is_synced(*key),
            served=self._observer.is_served(*key),
            refused=self._observer.refused(*key),
            wave_open=wave_open,
        )
