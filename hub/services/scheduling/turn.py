"""Live scheduling, one turn at a time: bring the index up to date, decide, write.

The cycle itself runs in a thread on a snapshot; everything else happens in the event loop. If a plan can
not be written, the index is read again: it is only a copy of committed rows.
"""

import asyncio
import datetime as dt
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

import structlog

from hub.domain.cycle.cycle import schedule as decide
from hub.domain.cycle.profile import Profile
from hub.domain.cycle.snapshot import Snapshot
from hub.domain.placement import registry
from hub.domain.placement.framework import Filter
from hub.domain.plan import Plan
from hub.domain.quota.declared import EVERYTHING
from hub.services.consent.namespaces import require as require_names
from hub.services.context.decisions import refusal_view
from hub.services.context.hub import Hub
from hub.services.context.listening import Listening
from hub.services.context.rules import rules_of
from hub.services.index import fair_usage, pool_keys, reader
from hub.services.index.catalog import drained
from hub.services.index.check_catalog import Gate
from hub.services.index.index import ScheduleIndex
from hub.services.index.reader import PART, Affected, News
from hub.services.jobs import resize
from hub.services.questions import gauges as queue_gauges
from hub.services.queues import terminating
from hub.services.scheduling import commit, preempt, settle
from hub.services.scheduling.commit import PreparedPlan
from hub.services.scheduling.grounds import Grounds
from hub.store.workloads import TERMS
from shared.collector import collector_at_rest
from shared.failpoints import failpoint

_log = structlog.get_logger()

# Rows told why they wait in one transaction: few beside placements, more when there are none.
TOLD_BESIDE: Final = 200
TOLD_IDLE: Final = 2000
HEARTBEATS_EVERY_S: Final = 1.0


class Scheduler:
    """The leader's scheduler. `index` answers positions and reasons."""

    def __init__(self, hub: Hub, term: Callable[[], int]) -> None:
        self._hub = hub
        self._term = term
        everything = hub.settings.intake.missing_namespace_selector == "Everything"
        rules_of(
            hub.settings.queueing, hub.clock.now()
        )  # what can not be read is refused at start
        self._missing_selector = EVERYTHING if everything else None
        self._history = fair_usage.history_of(hub.settings.queueing)
        self.index = self._new_index()
        self.loaded = False  # set False after a fault: what was decided may or may not be written
        self.placed_total = 0
        self._notes: tuple[str, ...] = ()
        self._heard_at = -HEARTBEATS_EVERY_S
        self._listening = Listening()

    def _new_index(self) -> ScheduleIndex:
        suspect_after_s = self._hub.settings.scheduling.suspect_after_s
        balanced = self._hub.settings.scheduling.profile == "Balance"
        return ScheduleIndex(
            self._missing_selector, suspect_after_s, self._history, balanced=balanced
        )

    async def load(self) -> None:
        """Read everything anew, beside the event loop: a million rows take many seconds."""
        with collector_at_rest():
            news = await self._hub.read(reader.read_all)
            self.index = await asyncio.to_thread(self._index_of, news)
        self.loaded = True

    def _index_of(self, news: News) -> ScheduleIndex:
        index = self._new_index()
        for part in news.parts():
            index.apply(part)
        index.trim()
        return index

    async def _apply(self, news: News) -> Affected:
        """Take rows in, letting others go on in between."""
        affected = Affected()
        for part in news.parts():
            affected = self.index.apply(part) or affected
            await self._hub.clock.sleep(0)
        self.index.trim()
        return affected

    async def follow(self, keys: Mapping[str, frozenset[str]], revision: int = 0) -> None:
        """Read again what was touched, and whose way into a queue that changed.

        `revision`: of the feed, if `keys` is all that has come up to it.
        """
        await self._read(keys)
        self.index.revision = max(self.index.revision, revision)

    async def _read(self, keys: Mapping[str, frozenset[str]]) -> None:
        known = self.index.known()
        now = self._hub.clock.monotonic()
        heartbeats = now - self._heard_at >= HEARTBEATS_EVERY_S
        if heartbeats:
            self._heard_at = now
        elif not keys:
            return
        news = await self._hub.read(reader.read_news, keys, known, heartbeats=heartbeats)
        affected = await self._apply(news)
        if affected:
            known = self.index.known()
            news = await self._hub.read(reader.read_affected, affected, known)
            await self._apply(news)

    async def turn(self) -> bool:
        """One cycle; True if there is more to do at once."""
        await self._ask_agents()
        await self._sample()
        await self._drain()
        await self._settle_reservations()
        limits = self._hub.settings.scheduling
        now = self._hub.clock.now()
        gate = self.index.routes.gate()
        self.index.limits = rules_of(self._hub.settings.queueing, now).limits
        snapshot = self.index.snapshot(now, limits.cycle_placements, self._since_we_listen())
        grounds = Grounds.of(self.index, self._profile(), snapshot)
        plan, prepared = Plan((), ()), PreparedPlan()
        if snapshot is not None:
            plan, prepared = await asyncio.to_thread(self._decide, snapshot, gate, grounds.profile)
            self._note(plan)
            refused = self.index.settle(plan, now)
            explained = {key: refusal_view(r) for key, r in refused.items()}
            prepared = replace(prepared, explanations=explained)
        told = self.index.tell(TOLD_BESIDE if prepared.moves else TOLD_IDLE, now)
        prepared = replace(prepared, reasons=told)
        if prepared:
            await self._commit(prepared, grounds, gate, now)
        await self._note_gone()
        await self._shrink()
        unfinished = plan.unfinished or bool(plan.placements) or bool(plan.evictions)
        if not unfinished and (wishes := self.index.grow(now)):
            grounds = Grounds.of(self.index, self._profile())
            grown = await self._hub.write(resize.grow, wishes, self._term(), grounds.stays_small)
            uids = frozenset(grown)
            await self.follow({"workloads": uids, TERMS: uids})
        return unfinished or bool(self.index.pending_reasons)

    async def _drain(self) -> None:
        """Evict what stopped queues admitted; remove Terminating queues from which all jobs have gone."""
        if leaving := drained(self.index.routes, self.index.holders):
            grounds = Grounds.of(self.index, self._profile())
            await self._hub.write(preempt.drain, leaving, self._term(), grounds)
            uids = frozenset(uid for those in leaving.values() for uid in those)
            await self.follow({"workloads": uids})
        names, holders = self.index.routes.terminating.values(), self.index.holders
        if empty := [name for name in names if not holders.get(name)]:
            removed = await self._hub.write(terminating.finish, empty, self._term())
            await self.follow({"objects": frozenset(removed)})

    async def _commit(
        self, prepared: PreparedPlan, grounds: Grounds, gate: Gate, now: dt.datetime
    ) -> None:
        """Write a plan, and bring the index up to date with the result."""
        plan, term = prepared.plan, self._term()
        committed = await self._hub.write(commit.commit_plan, prepared, term, grounds, gate)
        placed = set(committed.placed)
        failpoint("H07" if placed else "H05" if prepared.reserves else "")
        if committed.left_out:
            _log.info(
                "placements left out",
                **Counter(str(why) for why in committed.left_out.values()),
            )
        self.placed_total += len(placed)
        evicted = tuple(e for e in plan.evictions if e.by not in committed.left_out)
        await self._take_in(replace(plan, evictions=evicted), placed, now)
        stale = set(committed.left_out) | {row["uid"] for row in prepared.reserves}
        stale |= {e.uid for e in plan.evictions} | {n.uid for n in prepared.nominations}
        if stale:
            await self.follow({"workloads": frozenset(stale)})

    async def _note_gone(self) -> None:
        """Tell rows of preemptors since when their victims are gone, or that the claim has ended.

        The next leader counts on.
        """
        if gone := self.index.claims.untold():
            await self._hub.write(preempt.note_gone, gone, self._term())
            await self.follow({"workloads": frozenset(gone)})
        if ended := self.index.claims.ended():
            await self._hub.write(preempt.end_claims, ended, self._term())
            await self.follow({"workloads": frozenset(ended)})

    async def _shrink(self) -> None:
        """Give back the quota of pods that members say are gone."""
        shrinking = self.index.wishes.shrinking
        if shrinking and (uids := await self._hub.read(resize.confirmed, tuple(shrinking))):
            changed = frozenset(await self._hub.write(resize.shrink, uids, self._term()))
            await self.follow({"workloads": changed, TERMS: changed})

    async def _take_in(self, plan: Plan, placed: set[str], now: dt.datetime) -> None:
        """Count and charge what was committed, letting others go on in between."""
        for start in range(0, max(1, len(plan.placements)), PART):
            some = plan.placements[start : start + PART]
            part = replace(plan, placements=some, evictions=() if start else plan.evictions)
            queue_gauges.decided(part, placed, self.index, now)
            self.index.placed(part, placed, now)
            await self._hub.clock.sleep(0)

    async def _settle_reservations(self) -> None:
        """Place those whose admission checks are all Ready, take back those that can not stay."""
        self._listening.turn(self._hub.clock.now())
        if not self.index.reservations:
            return
        self.index.refresh_room()
        filters, now = self._since_we_listen(), self._hub.clock.now()
        settled = self.index.reservations.settle(
            filters,
            now,
            self.index.keys.since,
            self.index.starts(now),
        )
        if settled:
            gate, term = self.index.routes.gate(), self._term()
            grounds = Grounds.of(self.index, Profile(filters))
            placed = await self._hub.write(settle.carry_out, settled, gate, term, grounds)
            self.placed_total += len(placed)
            queue_gauges.settled(settled, placed, self._hub.clock.now())
            await self.follow({"workloads": settled.uids})

    def _since_we_listen(self) -> tuple[Filter, ...]:
        """Filters for what a cluster was given already: it is silent only to a hub that listened."""
        suspect_after_s = self._hub.settings.scheduling.suspect_after_s
        return registry.filters(suspect_after_s, self._listening.since)

    def _profile(self) -> Profile:
        """The rules and limits of the cycle that begins now."""
        limits, clock = self._hub.settings.scheduling, self._hub.clock
        deadline = clock.monotonic() + limits.cycle_s
        return Profile(
            rules=rules_of(self._hub.settings.queueing, clock.now()),
            filters=registry.filters(
                limits.suspect_after_s, reports_due=self.index.consents.named.reports_due
            ),
            may_go_on=lambda _: clock.monotonic() < deadline,
            max_placements=limits.cycle_placements,
        )

    def _decide(
        self, snapshot: Snapshot, gate: Gate, profile: Profile
    ) -> tuple[Plan, PreparedPlan]:
        plan = decide(snapshot, self._hub.clock.now(), profile)
        return plan, commit.prepare(plan, gate, commit.kept_nodes(snapshot, plan))

    async def _ask_agents(self) -> None:
        """See that agents report what the next decision looks at."""
        await self._require_keys()
        await self._name_namespaces()

    async def _require_keys(self) -> None:
        """See that agents group nodes by every label key that flavors and waiting jobs look at."""
        if self.index.keys.covers(self.index.seen_keys):
            return
        needed = self.index.needed_keys()
        if not self.index.keys.covers(needed):
            self.index.keys = await self._hub.write(pool_keys.require, self.index.keys, needed)
            self.index.waiting.wake_all_for_room()

    async def _name_namespaces(self) -> None:
        """See that agents report the consent of every namespace in which something waits."""
        consents = self.index.consents
        if (needed := consents.unnamed(self._hub.clock.now())) is not None:
            consents.took(await self._hub.write(require_names, needed))

    async def _sample(self) -> None:
        """Bring what LocalQueues have consumed up to date, when it is time."""
        now = self._hub.clock.now()
        if self.index.consumption.due(now):
            sample = await asyncio.to_thread(
                self.index.consumption.sample, self.index.holders, now
            )
            await self._hub.write(fair_usage.store, sample, self._term())
            self.index.consumption.read(sample[0])

    def _note(self, plan: Plan) -> None:
        if plan.notes and plan.notes != self._notes:
            _log.warning("left out of the picture", notes=list(plan.notes[:10]))
        self._notes = plan.notes
