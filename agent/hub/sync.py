"""The exchange with the hub: what is observed goes up, what is desired comes down, for ever.

News starts a new request at once (at most five a second), whether or not an older one still hangs;
without news a request hangs at the hub for 20 s. A reply counts only if it answers the newest
request of this session. Unacknowledged entries are sent again; a full set settles doubts.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

import structlog

from agent.hub.client import HubClient, HubError
from agent.hub.stored_parts import StoredParts
from agent.hub.tries import TOO_LARGE, ignore, may_pass, note, wanted_wait
from agent.member.declared import DeclaredProperties
from agent.member.health import Health
from agent.member.rights import unread_kinds
from agent.metrics import Meters
from agent.reconcile.declared import take_rules
from agent.reconcile.reconciler import Reconciler
from agent.works.desired_set import DesiredSet
from agent.works.lease import Lease
from shared.clock import Clock
from shared.failpoints import failpoint
from shared.retry import retrying
from shared.wire import versions
from shared.wire.agent_v1 import (
    FULL_EVERY_S,
    MAX_OBSERVED_PER_REQUEST,
    Capacity,
    Observed,
    ObservedSet,
    Pools,
    Rotate,
    SyncReply,
    SyncRequest,
)

log = structlog.get_logger(__name__)

# At most five syncs a second; under a steady stream of news fewer, each with more to say.
_SHORTEST_GAP_S = 0.2
_STEADY_GAP_S = 0.7
_POLL_S = 20.0
_CAPACITY_GAP_S = 1.0
_RETRY_BASE_S = 0.2
_RETRY_CAP_S = 10.0
_SUPERSEDED = "SessionSuperseded"
_NOT_LET_IN = 401  # the credential was revoked: the cluster has left, or has joined again
_SMALLEST_PAGE = 50


class SupersededError(Exception):
    """Another agent runs with this credential and has taken over."""


class AcceptedError(Exception):
    """The hub continues from a rolled-back store: this session's orders may be of the lost time."""


class RevokedError(Exception):
    """The hub does not let this credential in any more; `code` says why."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code


@dataclass(slots=True)
class _Sent:
    """One request under way, and what it will have told when it is answered."""

    request: SyncRequest
    at: float
    entries: list[Observed]
    capacity_mark: tuple[int, int, int] | None
    task: asyncio.Task[SyncReply] = field(init=False)


class Exchange:
    """One session with the hub."""

    def __init__(
        self,
        hub: HubClient,
        secret: str,
        session: str,
        cluster_uid: str,
        reconciler: Reconciler,
        lease: Lease,
        *,
        lease_s: float,
        clock: Clock,
        meters: Meters,
        health: Health,
        declared: DeclaredProperties,
        incarnation: str = "",
        adopt: Callable[[Rotate], str],
    ) -> None:
        self._adopt = adopt
        self._hub = hub
        self._health = health
        self._declared = declared
        self._secret = secret
        self._session = session
        self._cluster_uid = cluster_uid
        self._reconciler = reconciler
        self._lease = lease
        self._clock = clock
        self._meters = meters
        self._poll_s = min(_POLL_S, lease_s * 2 / 3)
        self.desired = DesiredSet()
        self.incarnation = incarnation  # of the hub, as last heard
        self._answered = False
        self._follows = ""  # the session that this one is to supersede, as the hub says
        self._seq = 0
        self._news = asyncio.Event()
        self._pools = Pools(revision=0, keys=[])
        self._full = True  # the next request carries the whole observed set
        self._full_at = clock.monotonic()
        self._more = False
        self._page_size = MAX_OBSERVED_PER_REQUEST
        self._capacity_sent: tuple[int, int, int] | None = None  # acknowledged
        self._capacity_at = float("-inf")
        self._started_at = float("-inf")
        self._telling = self._steady = False  # the last request said something; the last two did
        self._hanging: _Sent | None = None
        self._under_way: set[asyncio.Task[SyncReply]] = set()  # none outlives the session
        self._stored = StoredParts()

    def news(self) -> None:
        """There is something to report."""
        self._news.set()

    async def run(self) -> None:
        """Exchange until cancelled. Raises `SupersededError`, `RevokedError`, `AcceptedError`."""
        again = retrying(
            self._clock,
            may_pass,
            base_s=_RETRY_BASE_S,
            cap_s=_RETRY_CAP_S,
            asked=wanted_wait,
            before_wait=note,
        )
        ticker = asyncio.create_task(self._watch_capacity())
        try:
            while True:
                await again(self._exchange)
        finally:
            left = (ticker, *self._under_way)
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)

    # --- one request -----------------------------------------------------------------------------

    async def _exchange(self) -> None:
        """Ask until there is an answer, and take it in. Raises `HubError`."""
        while True:
            await self._gap()
            sent = self._send()
            if not await self._interrupted(sent):
                break
        await self._finish(sent)

    async def _gap(self) -> None:
        gap = _STEADY_GAP_S if self._steady else _SHORTEST_GAP_S
        left = self._started_at + gap - self._clock.monotonic()
        if left > 0:
            await self._clock.sleep(left)

    def _send(self) -> _Sent:
        """Compose and start a request. No awaits: all of it shows one state of the caches."""
        self._news.clear()
        now = self._started_at = self._clock.monotonic()
        if now - self._full_at >= FULL_EVERY_S:
            self._full = True
            self.desired.distrust()
        observed = self._reconciler.observed
        if self._full:
            observed.resend()
        entries = observed.page(self._page_size)
        capacity, mark = self._capacity(now, len(entries) < self._page_size)
        quiet = not (entries or capacity or self._full or self._more)
        said = bool(entries) and not self._more
        self._steady, self._telling = self._telling and said, said
        self._seq += 1
        request = SyncRequest(
            session=self._session,
            follows=self._follows,
            seq=self._seq,
            cluster_uid=self._cluster_uid,
            incarnation_seen=self.incarnation,
            marks=self._reconciler.marks.tell(everything=self._full),
            wait_s=self._poll_s if quiet else 0,
            desired=self.desired.base,
            observed=ObservedSet.model_construct(
                full=self._full,
                digest=observed.digest,
                entries=list(entries),
                more=len(entries) < observed.unsent,
            ),
            capacity=capacity,
            availability=self._reconciler.rules.revision,
            kinds_held=self._reconciler.kinds.revision,
            **self._reconciler.watch.holds,
            **self._reconciler.jobs_read.told(),
        )
        sent = _Sent(request, now, entries, mark)
        sent.task = asyncio.create_task(self._hub.sync(self._secret, request))
        self._under_way.add(sent.task)
        sent.task.add_done_callback(self._under_way.discard)
        return sent

    async def _interrupted(self, sent: _Sent) -> bool:
        """Wait for the answer; True if news came while the request hung, so that a newer one goes out.

        The hub ends the older request when it gets the newer one; its answer then counts for nothing.
        """
        if not sent.request.wait_s:
            return False
        news = asyncio.create_task(self._news.wait())
        try:
            await asyncio.wait({sent.task, news}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            news.cancel()
        if sent.task.done():
            return False
        self._drop_hanging()
        self._hanging = sent
        return True

    def _drop_hanging(self) -> None:
        hanging, self._hanging = self._hanging, None
        if hanging is None:
            return
        hanging.task.add_done_callback(ignore)
        if not hanging.task.done():
            hanging.task.cancel()

    async def _finish(self, sent: _Sent) -> None:
        try:
            reply = await sent.task
        except HubError as refusal:
            self._refused(refusal)
            raise
        finally:
            self._drop_hanging()
        if (reply.session, reply.seq) != (self._session, self._seq):
            self._meters.syncs.labels("stale").inc()
            return
        if reply.confirm:  # no answer: it renews no lease, and nothing of the request was taken
            self._follows = reply.confirm
            self._capacity_at = float("-inf")
            self._meters.syncs.labels("confirm").inc()
            return
        self._meters.syncs.labels("answered").inc()
        took = self._clock.monotonic() - sent.at
        if not sent.request.wait_s:
            self._meters.sync_seconds.observe(took)
        if sent.entries:
            failpoint("A09")
        self._take(sent, reply)
        said = reply.desired.works or reply.desired.removed or self._more or self._full
        if sent.request.wait_s and not said and took < 0.5:
            await self._pause(min(1.0, reply.next_s))  # a hub that does not hold requests

    def _refused(self, refusal: HubError) -> None:
        self._meters.syncs.labels(refusal.code or "failed").inc()
        if refusal.status == 409 and refusal.code == _SUPERSEDED:
            self._lease.revoked = True
            raise SupersededError(refusal.detail)
        if refusal.status == _NOT_LET_IN:
            self._lease.revoked = True
            raise RevokedError(refusal.code, refusal.detail)
        if refusal.status == TOO_LARGE:
            self._page_size = max(_SMALLEST_PAGE, self._page_size // 2)

    async def _pause(self, seconds: float) -> None:
        """Wait, but not past news."""
        sleep = asyncio.ensure_future(self._clock.sleep(seconds))
        news = asyncio.ensure_future(self._news.wait())
        try:
            await asyncio.wait({sleep, news}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleep.cancel()
            news.cancel()

    # --- one reply -------------------------------------------------------------------------------

    def _take(self, sent: _Sent, reply: SyncReply) -> None:
        """Take in a reply to the newest request of this session."""
        if reply.desired.works:
            failpoint("A01")
        before, self.incarnation = self.incarnation, reply.incarnation
        if self._answered and before != reply.incarnation:
            self._lease.revoked = True
            raise AcceptedError(reply.incarnation)
        self._answered = True
        self._lease.answered(sent.at, self._clock.monotonic())
        if sent.request.observed.full:
            self._full = False
            self._full_at = sent.at
        if reply.rotate is not None:
            self._rotate(reply.rotate)
        if sent.capacity_mark is not None:
            self._capacity_sent = sent.capacity_mark
            self._stored.acknowledge(sent.request.capacity)
        for refused in reply.refused:
            log.warning("entry.refused", uid=refused.uid, code=refused.code, detail=refused.detail)
        self._reconciler.marks.answered(reply.mark)
        self._more = reply.desired.more
        self._pools = reply.pool_keys
        take_rules(self._reconciler, reply.availability)
        self._reconciler.kinds.declare(reply.kinds)
        self._reconciler.watch.name(reply.namespaces)
        changed, removed = self.desired.take(reply.desired)
        self._reconciler.acknowledged(sent.entries)
        if changed or removed:
            self._reconciler.desire(changed, removed)
        self._reconciler.order(reply.orders)
        if reply.need_full:
            self._full = True
            self._capacity_sent = None
            self._stored.forget()
            self._capacity_at = float("-inf")
        self._reconciler.lease_renewed()
        self._meters.works.set(len(self.desired.works))
        self._meters.observed.set(len(self._reconciler.observed.entries))

    def _rotate(self, given: Rotate) -> None:
        """Go on with another secret, once it is kept; until then with the one there is."""
        failpoint("A10")
        try:
            self._secret = self._adopt(given)
        except OSError as fault:
            log.warning("credential.not_kept", error=str(fault), meaning="the earlier one goes on")
            return
        failpoint("A11")
        log.info("credential.replaced")

    # --- capacity --------------------------------------------------------------------------------

    def _capacity_mark(self) -> tuple[int, int, int]:
        observer = self._reconciler.observer
        other = observer.revision + self._health.revision + self._declared.revision
        other += self._reconciler.carrier.creates.revision + self._reconciler.rights.revision
        other += self._reconciler.watch.revision
        other += self._hub.protocol + len(unread_kinds(observer))  # another hub may know more
        return observer.ledger.revision, other, self._pools.revision

    def _capacity(
        self, now: float, complete: bool
    ) -> tuple[Capacity | None, tuple[int, int, int] | None]:
        """The capacity to send, if it changed and a second has passed, and what it is marked with.

        It goes only with all entries of the same state: `complete`.
        """
        observer = self._reconciler.observer
        if (
            not complete
            or not observer.capacity_known
            or not self._reconciler.rights.is_settled
            or now - self._capacity_at < _CAPACITY_GAP_S
        ):
            return None, None
        mark = self._capacity_mark()
        if mark == self._capacity_sent:
            return None, None
        self._capacity_at = now
        capacity = observer.ledger.snapshot(
            self._pools,
            self._reconciler.unfinished,
            with_nodes=self._hub.protocol >= versions.POD_NODES,
        )
        capacity.kubernetes_version = observer.kubernetes_version
        declared = self._declared.told()
        capacity.properties |= declared.values
        capacity.property_faults = list(declared.faults)
        capacity.queue_managers = observer.queue_managers()
        capacity.stopped_queues = observer.stopped_queues()
        capacity.api_server = self._health.told()
        capacity.creates = self._reconciler.carrier.creates.told()
        rights = self._reconciler.rights
        capacity.jobs_forbidden_in = rights.told() if rights.is_asked else rights.told() or []
        capacity.unread_kinds = unread_kinds(observer, self._hub.protocol)
        self._stored.fill(capacity, observer, self._reconciler.watch)
        return capacity, mark

    async def _watch_capacity(self) -> None:
        """Make a change of capacity news once it may be sent."""
        while True:
            await self._clock.sleep(_SHORTEST_GAP_S)
            if self._clock.monotonic() - self._capacity_at < _CAPACITY_GAP_S:
                continue
            known = self._reconciler.observer.capacity_known and self._reconciler.rights.is_settled
            if known and self._capacity_mark() != self._capacity_sent:
                self._news.set()
