"""The hub's half of the one exchange with agents: take what they observe, answer what they should hold.

`AgentSync` lives in every replica. It holds the index of desired sets and the sessions, both rebuilt
from the store; a sync without news costs no SQL. `shared.wire.agent_v1` is the contract.
"""

import asyncio
import functools
from collections.abc import Callable, Collection, Mapping

import orjson
import structlog

from hub.services.context import awaited, timeline
from hub.services.context.timeline import StoreTimeline
from hub.services.leftovers import left_cron_jobs
from hub.services.members import desired as desired_sets, forgotten, sessions
from hub.services.members.desired import ClusterSet, Delta, DesiredSets
from hub.services.members.in_step import InStep
from hub.services.members.liveness import Heartbeats, joined_clusters
from hub.services.members.observe import ObservedReport, ReportOutcome, take_reports
from hub.services.members.roll_call import RollCall, is_fresh
from hub.services.members.sessions import Session
from hub.services.members.terms import AgentTerms
from hub.services.works import accounted, declared_rules, offer, reply_pages
from hub.services.works.offer import Ask
from hub.services.works.reply_pages import Composed, ReplyPage
from hub.services.works.sync_reply import HubFacts, SyncAnswer, encoded
from hub.store import clusters, works
from hub.store.engine import Database
from hub.store.feed import Change
from hub.store.records.works import Desired
from hub.store.transaction import Transaction
from shared import retry
from shared.clock import Clock
from shared.errors import Rejected
from shared.failpoints import failpoint
from shared.loop import log_failure
from shared.wire import versions
from shared.wire.agent_v1 import (
    MAX_WORKS_PER_REPLY,
    SUSPECT_AFTER_S,
    Capacity,
    Refused,
    SyncRequest,
)

_LONGEST_WAIT_S = 2.0  # between two tries to read what has changed
_TRIES = 3  # to compose a page while works keep changing

_log = structlog.get_logger(__name__)


class AgentSync:
    """Answers agents. `run` keeps the index in step with the store."""

    def __init__(
        self,
        db: Database,
        clock: Clock,
        *,
        hub_id: str,
        incarnation: str,
        term: Callable[[], int],
        closing: asyncio.Event | None = None,
        suspect_after_s: float = SUSPECT_AFTER_S,
        timeline: StoreTimeline | None = None,
    ) -> None:
        self._timeline = timeline
        self._roll_call = RollCall(suspect_after_s)
        self._db = db
        self._clock = clock
        self.hub_id = hub_id
        self.incarnation = incarnation
        self._term = term
        self._sets = DesiredSets(counts_alone=not db.shared)
        self._sessions = sessions.LiveSessions(db, clock)
        self._for_all = desired_sets.ForAll({"revision": 0, "keys": []}, declared_rules.NONE)
        self._ready = asyncio.Event()
        self._closing = closing or asyncio.Event()
        # An agent without news reports three times before its cluster is suspect.
        self._hold_s = suspect_after_s / 3
        self.heartbeats = Heartbeats()
        self._in_step = InStep(db, clock)
        self._accounts = accounted.Accounts()
        self._left: Mapping[str, set[str]] = {}

    # --- following the store ------------------------------------------------------------------

    async def run(self) -> None:
        """Load the desired sets, then follow the feed until cancelled.

        What can not be read is read again until it can: agents wait meanwhile, and nothing is skipped.
        """
        kinds = ("works", "settings", *(("clusters",) if self._db.shared else ()))
        changes = self._in_step.begin(*kinds)
        begun = self._db.listen(timeline.BEGUN, self._note_runs)
        again = retry.retrying(self._clock, _is_fault, cap_s=_LONGEST_WAIT_S, before_wait=_tell)
        try:
            await again(self._load)
            await self._in_step.follow(changes, lambda change: again(self._follow, change))
        finally:
            begun.close()
            changes.close()

    def _note_runs(self, change: Change) -> None:
        if self._timeline is not None:
            self._timeline.begin_runs(change.keys[timeline.BEGUN], change.revision)

    async def _load(self) -> None:
        if self._timeline is not None:  # others may have begun, or stopped it, meanwhile
            self.incarnation = self._timeline.know(await self._db.read(timeline.told))
        rows, self._for_all = await self._db.read(desired_sets.at_start)
        self._accounts.take(await self._db.read(accounted.standing))
        self._left = await self._db.read(left_cron_jobs.unproven)
        for part in works.chunks(rows):
            self._sets.load(part)
            await self._clock.sleep(0)  # others go on in between
        await asyncio.to_thread(desired_sets.warm)
        self._roll_call.begin(await self._db.write(_call_roll), self._clock.monotonic())
        self._ready.set()

    async def _follow(self, change: Change) -> None:
        keys = change.keys.get("works")
        for part in works.chunks(keys or ()):
            rows = await self._db.read(functools.partial(works.desired, keys=part))
            self._sets.refresh(part, rows)
        if members := change.keys.get("clusters"):
            await self._sessions.look_again(members)
        touched = change.keys.get("settings", frozenset())
        if forgotten.ASKED in touched:
            self._sessions.ask_again()
        if accounted.is_about(touched):
            self._accounts.take(await self._db.read(accounted.standing))
        if left_cron_jobs.is_about(touched):
            self._left = await self._db.read(left_cron_jobs.unproven)
        if desired_sets.FOR_ALL & touched:
            self._for_all = await self._db.read(desired_sets.for_all)
            for session in self._sessions:
                session.end_turn()
        if awaited.NAMES in touched:
            self._still_awaited(await self._db.read(awaited.left))
        if self._timeline is not None and timeline.is_about(touched):
            # At once: under its earlier incarnation nothing is given out or ordered away any more.
            self._timeline.take(await self._db.read(timeline.standing))
            self.incarnation = self._timeline.incarnation
            self._announce()

    async def end_roll_call(self) -> None:
        """Have it end in the store too when this process has waited for long enough."""
        if self._roll_call.has_waited(self._clock.monotonic()):
            await self._db.write(awaited.end)
            self._still_awaited(())

    def _still_awaited(self, names: Collection[str]) -> None:
        if self._roll_call.left(names):
            self._announce()

    def _announce(self) -> None:
        """Have every agent that waits look again."""
        for cluster_set in self._sets:
            cluster_set.announce()

    # --- one request ----------------------------------------------------------------------------

    async def sync(
        self,
        cluster: str,
        request: SyncRequest,
        refused: list[Refused],
        terms: AgentTerms = AgentTerms(),  # noqa: B008 - frozen
    ) -> bytes:
        """Answer one request of `cluster`'s agent with an `agent_v1.SyncReply` as JSON.

        `refused`: entries that could not even be read. Raises Rejected: ClusterIdentityChanged,
        SessionSuperseded, StaleSequence, TooManyRequests (with `retry_after_s`).
        """
        await self._ready.wait()
        session = await self._sessions.of(cluster, request.cluster_uid)
        await self._check_marks(cluster, request)
        follows = request.follows if terms.protocol >= versions.CONFIRMS else None
        try:
            await self._sessions.begin(cluster, session, request.session, terms.facts(), follows)
        except sessions.Unconfirmed as question:  # nothing of the request is taken
            told = SyncAnswer(ReplyPage(), [], [], True, terms.protocol, None, question.live)
            return self._reply(request, told)
        session.protocol = terms.protocol
        replay = session.admit(request)
        turn = session.newer
        self.heartbeats.hear(cluster, self._clock.now())
        if request.capacity is not None and self._roll_call.awaits(cluster):
            # Who has not seen all of its Jobs knows no capacity, nor their marks.
            self._still_awaited(await self._db.write(lambda tx: awaited.spoken(tx, cluster)))
        need_full = not session.observed.complete
        taken = ReportOutcome()
        if not replay:
            taken = await self._store(cluster, session, request)
            refused = refused + taken.refused
            session.stored_up_to(request)
            need_full = not session.observed.take(request.observed)
            whole = session.observed.is_whole and request.incarnation_seen == self.incarnation
            if whole and not need_full and self._for_all.are_kinds_held(request):
                await self._account(cluster, session, request)
        desired = self._sets.of(cluster)
        said = bool(request.observed.entries or request.capacity or refused or need_full)
        if request.wait_s and not said:
            await self._wait(desired, session, turn, request)
        page, rotate = ReplyPage(), None
        if session.is_newest(request):
            page = await self._page(cluster, desired, session, request)
            rotate = await terms.rotation()
        if session.is_newest(request):
            session.told = self._for_all
        told = SyncAnswer(page, refused, taken.orders, need_full, terms.protocol, rotate)
        return self._reply(request, told)

    async def _check_marks(self, cluster: str, request: SyncRequest) -> None:
        """Stop where the agent proves that this store has gone back. Raises Rejected HubRolledBack."""
        known = self._timeline
        if known is None or not request.marks:
            return
        if self._db.shared:
            await self._in_step.reach(known.newest(request.marks))
        mark = known.first_contradiction(request.marks, self._db.revision)
        if mark is None:
            return
        of = known.incarnation
        if why := await self._db.write(lambda tx: timeline.stop(tx, cluster, mark, of, known.key)):
            known.stopped = why
            raise Rejected(timeline.CODE, why, "marks")

    async def _store(self, cluster: str, session: Session, request: SyncRequest) -> ReportOutcome:
        """Write what the request says; what of it was refused, and what is to be removed."""
        told = request.capacity
        reports = request.namespaces_held is not None
        capacity = None
        if told is not None:
            capacity = await self._capacity(cluster, session, told, reports_consent=reports)
        said = request.observed
        if not said.entries and capacity is None:
            return ReportOutcome()
        down = None if told is None else told.api_server
        by = session.id, request.seq, session.protocol
        report = ObservedReport(
            cluster, said.entries, capacity, down, self.incarnation, self._may_order(), *by
        )
        taken = await self._db.write_shared(take_reports, report)
        if said.entries:
            failpoint("H16" if any(each.phase == "Gone" for each in said.entries) else "H12")
        return taken

    async def _account(self, cluster: str, session: Session, request: SyncRequest) -> None:
        """A set is complete: what is not in it, of the kinds that are read, is proven not to be there."""
        reported, unread = session.observed.present, request.kinds_unread
        told = cluster, session.cluster_uid, session.id, reported, session.protocol, unread
        by = cluster, session.id, request.seq, frozenset(reported), request.incarnation_seen
        cron_jobs = frozenset(session.observed.cron_jobs)
        if accounted.is_accounting(request) and self._accounts.is_news(*told):
            await self._db.write(lambda tx: accounted.settle(tx, *by, unread))
        if left_cron_jobs.is_proof(request, self._left.get(cluster, ()), reported):
            await self._db.write(lambda tx: left_cron_jobs.prove(tx, *by, cron_jobs))

    def _is_stopped(self) -> bool:
        """True if nothing is offered or ordered away: the store rolled back, or that is not known yet."""
        at = self._clock.monotonic()
        return bool(self._timeline and self._timeline.stopped) or not self._roll_call.is_over(at)

    def _may_order(self) -> bool:
        """Whether Jobs of before are told by their incarnation: one began as a backup was restored."""
        return not self._is_stopped() or bool(self._timeline and self._timeline.recovering)

    async def _capacity(
        self, cluster: str, session: Session, capacity: Capacity, *, reports_consent: bool
    ) -> bytes:
        """A report as it is stored: kinds and consent that it leaves out stay as they were."""
        told = capacity.model_dump()
        kept = ["kinds"] if capacity.kinds is None else []
        if capacity.consent is None and reports_consent:
            kept.append("consent")
        if kept:
            before = await self._db.read(lambda tx: clusters.get_capacities(tx, [cluster]))
            if cluster in before:
                stored = orjson.loads(before[cluster][0])
                told |= {name: stored.get(name) for name in kept}
        session.queue_managers = frozenset(capacity.queue_managers)
        if reports_consent and told["consent"] is None:
            told["consent"] = {"revision": 0, "states": {}}  # it reports once namespaces are named
        return orjson.dumps(told)

    async def _wait(
        self, desired: ClusterSet, session: Session, turn: asyncio.Event, request: SyncRequest
    ) -> None:
        """Hold the request until there is news, a newer request, the hub closes, or its time is up."""
        number = desired.number
        if self._for_all.is_news(session.told, desired_sets.held_by(request)):
            return  # told while no request of it waited, or in a reply that was lost
        if desired.delta(session.id, request.desired) is not None:
            return
        news = (desired.news(number), turn.wait(), self._closing.wait())
        waits = [asyncio.ensure_future(each) for each in news]
        held_s = min(request.wait_s, self._hold_s)
        try:
            await asyncio.wait(waits, timeout=held_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waits:
                each.cancel()

    async def _page(
        self, cluster: str, desired: ClusterSet, session: Session, request: SyncRequest
    ) -> ReplyPage:
        """The part of the desired set in this reply; works are marked offered before it leaves."""
        ready: dict[str, Composed] = {}
        if self._is_stopped():  # what the agent holds is neither confirmed nor taken away
            return ReplyPage(number=request.desired.revision, digest=request.desired.digest)
        for _ in range(_TRIES):
            delta = desired.delta(session.id, request.desired)
            if delta is None:
                break
            wanted = [
                entry.row.uid
                for entry in delta.entries[:MAX_WORKS_PER_REPLY]
                if not self._is_ready(ready.get(entry.row.uid), entry.row)
            ]
            if not wanted:
                break
            await self._prepare(cluster, desired, session, wanted, ready)
            if not session.is_newest(request):
                return ReplyPage()
        delta = desired.delta(session.id, request.desired)
        if delta is None:
            return ReplyPage(number=desired.number, digest=desired.digest)
        return self._cut(desired, session, delta, ready)

    async def _prepare(
        self,
        cluster: str,
        desired: ClusterSet,
        session: Session,
        wanted: list[str],
        ready: dict[str, Composed],
    ) -> None:
        """Settle and offer works, bring the index to what was committed, and compose what goes out."""
        if session.queue_managers is None:
            session.queue_managers = await self._db.read(
                lambda tx: desired_sets.queue_managers(tx, cluster)
            )
        ask = Ask(cluster, tuple(wanted), session.id, session.queue_managers)
        offered = await self._db.write_shared(offer.offer, ask)
        failpoint("H09")
        found = {one.row.uid for one in offered if desired.settle(one.desired)}
        left = [works.key(cluster, uid) for uid in wanted if uid not in found]
        if left:  # not to be sent as the index has them: look at the rows again
            rows = await self._db.read(lambda tx: works.desired(tx, left))
            self._sets.refresh(left, rows)
        pause, known = functools.partial(self._clock.sleep, 0), (self.hub_id, self.incarnation)
        composed = reply_pages.compose(offered, *known, session.id, pause, session.protocol)
        ready.update(await composed)

    def _is_ready(self, one: Composed | None, row: Desired) -> bool:
        return one is not None and one.matches(row, self.incarnation)

    def _cut(
        self, desired: ClusterSet, session: Session, delta: Delta, ready: dict[str, Composed]
    ) -> ReplyPage:
        """The longest run of the delta that is composed; the rest comes with the next request."""
        page = ReplyPage(full=delta.full)
        cut = 0
        for entry in delta.entries[:MAX_WORKS_PER_REPLY]:
            one = ready.get(entry.row.uid)
            if one is None or not self._is_ready(one, entry.row):
                break
            page.works.append(one.told)
            failpoint("H10")
            cut += 1
        page.more = cut < len(delta.entries)
        last = delta.entries[cut].number - 1 if page.more else desired.number
        page.removed = [uid for number, uid in delta.removed if number <= last]
        session.observed.forget(page.removed)
        page.number = last
        page.digest = desired.sent(session.id, last, more=page.more)
        return page

    def _reply(self, request: SyncRequest, answer: SyncAnswer) -> bytes:
        mark = None if self._timeline is None else self._timeline.mark(self._db.revision)
        told = self._for_all.told(desired_sets.held_by(request))
        hub = HubFacts(self.hub_id, self.incarnation, self._term(), mark, told)
        return encoded(request, answer, hub)


def _call_roll(tx: Transaction) -> set[str]:
    heartbeats = joined_clusters(tx)
    return awaited.call(tx, heartbeats, fresh=is_fresh(heartbeats, tx.now))


def _is_fault(error: BaseException) -> bool:
    return isinstance(error, Exception)  # not the end of the task


def _tell(times: int, fault: BaseException, _wait_s: float) -> None:
    log_failure("agent-sync", times, fault)
