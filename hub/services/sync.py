"""The hub's half of the one exchange with agents: take what they observe, answer what they should hold.

`AgentSync` lives in every replica. It holds the index of desired sets and the sessions, both rebuilt
from the store; a sync without news costs no SQL. Architecture, section 8; `shared.wire.agent_v1` is
the contract.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import orjson

from hub.services import offers, sessions
from hub.services.desired import ClusterSet, Delta, DesiredSets
from hub.services.observe import Report, take_reports
from hub.services.offers import Ask, Prepared
from hub.services.readings import check_capacity
from hub.services.sessions import Heartbeats, Session
from hub.store import clusters, settings, works
from hub.store.engine import Database
from hub.store.feed import Change
from hub.store.unit import Unit
from shared.clock import Clock
from shared.errors import Rejected
from shared.failpoints import failpoint
from shared.wire.agent_v1 import (
    MAX_WORKS_PER_REPLY,
    PROTO,
    SUSPECT_AFTER_S,
    Capacity,
    Refused,
    SyncRequest,
)

NEXT_S = 10.0
_TRIES = 3  # to compose a page while works keep changing


@dataclass(slots=True)
class _Page:
    """One reply's worth of the desired set."""

    full: bool = False
    works: list[dict[str, Any]] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    number: int = 0
    digest: str = ""
    more: bool = False


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
    ) -> None:
        self._db = db
        self._clock = clock
        self.hub_id = hub_id
        self.incarnation = incarnation
        self._term = term
        self._sets = DesiredSets()
        self._sessions: dict[str, Session] = {}
        self._pool_keys: dict[str, Any] = {"revision": 0, "keys": []}
        self._ready = asyncio.Event()
        self._closing = closing or asyncio.Event()
        # An agent without news is heard three times before its cluster is suspect.
        self._hold_s = suspect_after_s / 3
        self.heartbeats = Heartbeats()

    # --- following the store ------------------------------------------------------------------

    async def run(self) -> None:
        """Load the desired sets, then follow the feed until cancelled."""
        changes = self._db.subscribe("works", "settings")
        try:
            rows, pool_keys = await self._db.read(_load)
            self._sets.load(rows)
            self._pool_keys = pool_keys
            self._ready.set()
            async for change in changes:
                await self._follow(change)
        finally:
            changes.close()

    async def _follow(self, change: Change) -> None:
        keys = change.keys.get("works")
        if keys:
            self._sets.refresh(keys, await self._db.read(lambda unit: works.desired(unit, keys)))
        if "pool_keys" in change.keys.get("settings", ()):
            self._pool_keys = await self._db.read(_pool_keys)
            for session in self._sessions.values():
                session.end_turn()

    # --- one request ----------------------------------------------------------------------------

    async def sync(self, cluster: str, request: SyncRequest, refused: list[Refused]) -> bytes:
        """Answer one request of `cluster`'s agent with an `agent_v1.SyncReply` as JSON.

        `refused`: entries that could not even be read. Raises Rejected: UpgradeRequired,
        ClusterIdentityChanged, SessionSuperseded, StaleSequence, TooManyRequests (with
        `retry_after_s`).
        """
        if request.proto != PROTO:
            raise Rejected("UpgradeRequired", f"the hub speaks protocol {PROTO}", "proto")
        await self._ready.wait()
        session = await self._session(cluster)
        session.spend(self._clock.monotonic())
        if request.cluster_uid != session.cluster_uid:  # perhaps forgotten and joined anew
            session = await self._session(cluster, anew=True)
        if request.cluster_uid != session.cluster_uid:
            text = f"{cluster} joined as another cluster than this one (kube-system uid differs)"
            raise Rejected("ClusterIdentityChanged", text, "cluster_uid")
        await self._begin(cluster, session, request.session)
        replay = session.admit(request)
        turn = session.newer
        self.heartbeats.hear(cluster, self._clock.now())
        need_full = not session.observed.complete
        if not replay:
            refused = refused + await self._store(cluster, session, request)
            session.stored = max(session.stored, request.seq)
            need_full = not session.observed.take(request.observed)
        desired = self._sets.of(cluster)
        said = bool(request.observed.entries or request.capacity or refused or need_full)
        if request.wait_s and not said:
            await self._wait(desired, session, turn, request)
        page = _Page()
        if session.is_newest(request):
            page = await self._page(cluster, desired, session, request)
        return self._reply(request, session, page, refused, need_full=need_full)

    async def _session(self, cluster: str, *, anew: bool = False) -> Session:
        """The live session of a cluster; `anew` reads its row again."""
        session = self._sessions.pop(cluster, None) if anew else self._sessions.get(cluster)
        if session is None or anew:
            loaded = await self._db.read(lambda unit: sessions.load(unit, cluster))
            session = self._sessions.setdefault(cluster, loaded)
        return session

    async def _begin(self, cluster: str, session: Session, given: str) -> None:
        """A session id that is new supersedes the live one, in the store before anything else."""
        if session.id == given:
            return
        session.supersede(given)
        session.end_turn()
        retired = list(session.retired)
        await self._db.write(lambda unit: sessions.open_session(unit, cluster, given, retired))

    async def _store(self, cluster: str, session: Session, request: SyncRequest) -> list[Refused]:
        """Write what the request says; what of it was refused."""
        refused: list[Refused] = []
        capacity: bytes | None = None
        if request.capacity is not None:
            fault = check_capacity(request.capacity)
            if fault is None:
                capacity = await self._capacity(cluster, session, request.capacity)
            else:
                refused.append(Refused(uid="", code="CapacityInvalid", detail=fault))
        if not request.observed.entries and capacity is None:
            return refused
        report = Report(cluster, request.observed.entries, capacity)
        refused += await self._db.write_shared(take_reports, report)
        failpoint("H12")
        return refused

    async def _capacity(self, cluster: str, session: Session, capacity: Capacity) -> bytes:
        """A report as it is stored: kinds that it leaves out stay as they were."""
        told = capacity.model_dump()
        if capacity.kinds is None:
            before = await self._db.read(lambda unit: clusters.get_capacities(unit, [cluster]))
            if cluster in before:
                told["kinds"] = orjson.loads(before[cluster][0]).get("kinds")
        session.queue_managers = frozenset(capacity.queue_managers)
        return orjson.dumps(told)

    async def _wait(
        self, desired: ClusterSet, session: Session, turn: asyncio.Event, request: SyncRequest
    ) -> None:
        """Hold the request until there is news, a newer request, the hub closes, or its time is up."""
        number = desired.number
        if desired.delta(session.id, request.desired) is not None:
            return
        waits = [
            asyncio.ensure_future(desired.news(number)),
            asyncio.ensure_future(turn.wait()),
            asyncio.ensure_future(self._closing.wait()),
        ]
        held_s = min(request.wait_s, self._hold_s)
        try:
            await asyncio.wait(waits, timeout=held_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waits:
                each.cancel()

    async def _page(
        self, cluster: str, desired: ClusterSet, session: Session, request: SyncRequest
    ) -> _Page:
        """What of the desired set this reply carries; works are marked offered before it leaves."""
        prepared: dict[str, Prepared] = {}
        for _ in range(_TRIES):
            delta = desired.delta(session.id, request.desired)
            if delta is None:
                break
            wanted = [
                entry.row.uid
                for entry in delta.entries[:MAX_WORKS_PER_REPLY]
                if not _matches(prepared.get(entry.row.uid), entry.row)
            ]
            if not wanted:
                break
            await self._prepare(cluster, desired, session, wanted, prepared)
            if not session.is_newest(request):
                return _Page()
        delta = desired.delta(session.id, request.desired)
        if delta is None:
            return _Page(number=desired.number, digest=desired.digest)
        return self._cut(desired, session, delta, prepared)

    async def _prepare(
        self,
        cluster: str,
        desired: ClusterSet,
        session: Session,
        wanted: list[str],
        prepared: dict[str, Prepared],
    ) -> None:
        """Settle and offer works, and bring the index to what was committed."""
        if session.queue_managers is None:
            session.queue_managers = await self._db.read(
                lambda unit: _queue_managers(unit, cluster)
            )
        ask = Ask(cluster, tuple(wanted), session.queue_managers)
        ready = await self._db.write_shared(offers.offer, ask)
        failpoint("H09")
        found = {one.row.uid for one in ready}
        for one in ready:
            prepared[one.row.uid] = one
            desired.settle(one.desired)
        left = [works.key(cluster, uid) for uid in wanted if uid not in found]
        if left:  # not to be sent as the index has them: look at the rows again
            rows = await self._db.read(lambda unit: works.desired(unit, left))
            self._sets.refresh(left, rows)

    def _cut(
        self,
        desired: ClusterSet,
        session: Session,
        delta: Delta,
        prepared: dict[str, Prepared],
    ) -> _Page:
        """The longest run of the delta that is prepared; the rest comes with the next request."""
        page = _Page(full=delta.full)
        cut = 0
        for entry in delta.entries[:MAX_WORKS_PER_REPLY]:
            one = prepared.get(entry.row.uid)
            if one is None or not _matches(one, entry.row):
                break
            page.works.append(offers.work_of(one, self.hub_id, self.incarnation))
            cut += 1
        page.more = cut < len(delta.entries)
        last = delta.entries[cut].number - 1 if page.more else desired.number
        page.removed = [uid for number, uid in delta.removed if number <= last]
        session.observed.forget(page.removed)
        page.number = last
        page.digest = desired.sent(session.id, last, more=page.more)
        return page

    def _reply(
        self,
        request: SyncRequest,
        session: Session,
        page: _Page,
        refused: list[Refused],
        *,
        need_full: bool,
    ) -> bytes:
        """The reply as JSON; built from plain values, for it may carry a thousand manifests."""
        return orjson.dumps(
            {
                "proto": PROTO,
                "hub_id": self.hub_id,
                "incarnation": self.incarnation,
                "term": self._term(),
                "session": request.session,
                "seq": request.seq,
                "desired": {
                    "full": page.full,
                    "revision": page.number,
                    "digest": page.digest,
                    "works": page.works,
                    "removed": page.removed,
                    "more": page.more,
                },
                "pool_keys": self._pool_keys,
                "refused": [each.model_dump() for each in refused],
                "need_full": need_full,
                "next_s": 0.0 if page.more or need_full else NEXT_S,
            }
        )


def _matches(one: Prepared | None, row: works.Desired) -> bool:
    """Is what was prepared still what the index has?"""
    if one is None:
        return False
    held = one.row
    return (held.epoch, held.generation, held.action) == (row.epoch, row.generation, row.action)


def _load(unit: Unit) -> tuple[list[works.Desired], dict[str, Any]]:
    return works.all_desired(unit), _pool_keys(unit)


def _pool_keys(unit: Unit) -> dict[str, Any]:
    """The node label keys that agents group by, as the scheduler last set them."""
    stored: dict[str, Any] = settings.get(unit, "pool_keys") or {}
    return {"revision": stored.get("revision", 0), "keys": stored.get("keys", [])}


def _queue_managers(unit: Unit, cluster: str) -> frozenset[str]:
    found = clusters.get_capacities(unit, [cluster])
    if cluster not in found:
        return frozenset()
    return frozenset(orjson.loads(found[cluster][0]).get("queue_managers") or ())
