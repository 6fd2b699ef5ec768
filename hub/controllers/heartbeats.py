"""Watches over silence: writes heartbeats down, declares clusters unreachable, frees stuck jobs.

Timers count from the beginning of this process's leadership, so that an outage of the hub, or the time
that agents need to find another one, is never held against a member; and no verdict falls while most of
the fleet is silent at once: then it is the hub that is cut off.
"""

import datetime as dt
from collections.abc import Callable, Mapping
from typing import Final

from hub.controllers.last_down import LastDown
from hub.controllers.lease import Tenure
from hub.domain.fleet.withdrawal_budget import WithdrawalBudget
from hub.services.context.hub import Hub
from hub.services.members import api_servers, liveness
from hub.services.members.sync import AgentSync
from hub.services.queues import multikueue
from hub.services.works import cluster_loss
from hub.store.errors import OutcomeUnknown
from shared.loop import Loop

EVERY_S: Final = 5.0  # at most; a ninth of what makes a cluster suspect, as 5 s are of 45 s
_LOOK_S: Final = 30.0  # between two looks for jobs of lost clusters, at most
_MASS: Final = 0.5  # more than this share silent at once is no evidence against a member


class SilenceLoop:
    """One turn: note reports, judge silence, withdraw jobs that do not start."""

    def __init__(
        self, hub: Hub, sync: AgentSync, term: Callable[[], int], last_down: LastDown
    ) -> None:
        self._hub = hub
        self._sync = sync
        self._term = term
        self._tenure = Tenure(hub)
        self._down: Mapping[str, str] | None = None  # API servers and causes, as of the last turn
        self._told_down: Mapping[str, str] = {}  # by the events, with causes
        self._last_down = last_down
        self._told: frozenset[str] | None = None  # silent by the events; None: not read yet
        self._looked_at: Mapping[
            str, dt.datetime
        ] = {}  # for jobs of lost clusters, since when silent
        self._look_again_at = hub.clock.now()
        self.frozen = False  # verdicts are suspended: most of the fleet is silent
        self.unreachable: frozenset[str] = frozenset()
        self._budget = WithdrawalBudget(hub.settings.scheduling.silence_withdrawals_per_minute)
        every_s = min(EVERY_S, hub.settings.scheduling.suspect_after_s / 9)
        self.loop = Loop("heartbeats", self.tick, hub.clock, every_s=every_s)

    async def run(self) -> None:
        await self.loop.run()

    async def tick(self) -> None:
        """One turn."""
        beats = self._sync.heartbeats.take()
        if beats:
            try:
                await self._hub.write(liveness.note_heartbeats, beats)
            except Exception:
                self._sync.heartbeats.put_back(beats)
                raise
        joined = await self._hub.read(liveness.joined_clusters)
        await self._sync.end_roll_call()
        term = self._term()
        if self._tenure.begins(term):
            self._down = self._told = None
        if not term:
            return
        if self._told is None:
            self._told_down = await self._hub.read(api_servers.told_down)
            self._told = await self._hub.read(liveness.told_silent)
        limits = self._hub.settings.scheduling
        if await self._hub.read(multikueue.is_stale, limits.suspect_after_s):
            await self._hub.write(multikueue.refresh_led, limits.suspect_after_s, term)
        suspect = self._silent(joined, limits.suspect_after_s)
        await self._tell(suspect, joined, term)
        if suspect:
            await self._hub.write(liveness.free_unoffered, suspect, term)
        heard = joined.keys() - suspect.keys()
        await self._hub.write(liveness.find_again, heard, term)
        await self._tend(joined, term)
        silent = self._judge(joined)
        if silent:
            await self._hub.write(liveness.lose_jobs, silent, term)
            await self._move_lost(silent, term)
        await self._take_back(limits.pods_pending_timeout_s, term)
        await self._take_back(limits.elastic_pending_timeout_s, term, awaiting_nodes=True)

    async def _tend(self, joined: Mapping[str, dt.datetime | None], term: int) -> None:
        """Bring jobs in line with the API servers that are down."""
        now = self._hub.clock.now()
        after = dt.timedelta(seconds=self._hub.settings.scheduling.unhealthy_after_s)
        before = joined.keys() if self._down is None else self._down.keys()
        told, most = self._told_down, self._budget.left(now)
        counted = most or 0
        self._budget.spend(counted)
        try:
            tended = await self._hub.write(
                lambda tx: api_servers.tend(
                    tx,
                    after,
                    before,
                    term,
                    heard=joined,
                    since=self._tenure.since,
                    told=told,
                    most=most,
                )
            )
        except OutcomeUnknown:
            raise  # the hub may have asked them back
        except Exception:
            self._budget.give_back(counted)
            raise
        self._budget.give_back(counted - tended.asked_back if most is not None else 0)
        self._down = self._told_down = tended.down
        self._last_down.note(tended.down, now)

    async def _tell(
        self,
        suspect: Mapping[str, dt.datetime | None],
        joined: Mapping[str, dt.datetime | None],
        term: int,
    ) -> None:
        """Write one event for each member that falls silent, and one when its agent reports again.

        No member is suspect as a term begins, so its recovery needs a heartbeat of this term.
        """
        told = (self._told or frozenset()) & joined.keys()
        fallen = {name: at for name, at in suspect.items() if name not in told}
        since = self._tenure.since
        back = {n for n in told - suspect.keys() if (at := joined[n]) is not None and at >= since}
        if fallen or back:
            await self._hub.write(liveness.tell_silence, fallen, back, term)
        self._told = (told | suspect.keys()) - back

    async def _move_lost(self, silent: Mapping[str, dt.datetime | None], term: int) -> None:
        """Jobs that may start elsewhere after a time do, once it is over.

        They are looked for when the next one is due, when other clusters are lost, and every `_LOOK_S`:
        what a job asks for may be changed.
        """
        now, since = self._hub.clock.now(), self._tenure.since
        counted = {name: max(at or since, since) for name, at in silent.items()}
        if counted == self._looked_at and now < self._look_again_at:
            return
        due, soonest = await self._hub.read(cluster_loss.due, counted)
        if due:
            await self._hub.write(cluster_loss.move_lost, counted, term)
        later = now + dt.timedelta(seconds=_LOOK_S)
        self._look_again_at = later if soonest is None else min(soonest, later)
        self._looked_at = counted

    async def _take_back(
        self, timeout_s: float, term: int, *, awaiting_nodes: bool = False
    ) -> None:
        timeout = dt.timedelta(seconds=timeout_s)
        if self._hub.clock.now() - self._tenure.since < timeout:
            return  # what started while no hub led may not have been reported yet
        await self._hub.write(
            lambda unit: liveness.take_back_stuck(
                unit, timeout, self.unreachable, term,
                last_down=self._last_down.at, awaiting_nodes=awaiting_nodes,
            )
        )  # fmt: skip

    def _judge(self, joined: dict[str, dt.datetime | None]) -> dict[str, dt.datetime | None]:
        """The clusters to declare unreachable, with when they were last heard."""
        silent = self._silent(joined, self._hub.settings.scheduling.unreachable_after_s)
        self.unreachable = frozenset(silent)
        self.frozen = len(silent) >= 2 and len(silent) > _MASS * len(joined)
        return {} if self.frozen else silent

    def _silent(
        self, joined: dict[str, dt.datetime | None], after_s: float
    ) -> dict[str, dt.datetime | None]:
        """Clusters that have been silent for `after_s`, counted from the beginning of its term."""
        since = self._tenure.since
        limit = self._hub.clock.now() - dt.timedelta(seconds=after_s)
        return {name: at for name, at in joined.items() if max(at or since, since) < limit}
