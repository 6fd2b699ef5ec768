"""Sessions of agents: who may speak for a cluster now, in which order, and how often.

Kept in memory per cluster and backed by its row: a new session supersedes the old one for good (an
id that was superseded never comes back, nor one that began before), requests of one session are
ordered by `seq`, and what the agent said it sees is summed up in a digest: a lost report is noticed.
"""

import asyncio
import datetime as dt
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from hub.services.leftovers import left_objects
from hub.services.members import report_order
from hub.services.members.desired import ForAll
from hub.services.members.speaking import SpeakingSessions
from hub.store import clusters
from hub.store.engine import Database
from hub.store.transaction import Transaction
from shared.clock import Clock
from shared.documents import Json
from shared.errors import Rejected
from shared.reject_codes import RejectCode
from shared.session_ids import began_at, mark_of
from shared.wire.agent_v1 import Observed, ObservedSet, SyncRequest
from shared.wire.set_digest import SetDigest
from shared.wire.versions import OBJECT_UIDS, OLDEST

SYNCS_PER_S: Final = 5.0
BURST: Final = 20.0
# Superseded session ids remembered per cluster.
MAX_RETIRED: Final = 256
# Objects of one cluster of which it is remembered what was said: more than any holds, some 30 MB.
MAX_REMEMBERED: Final = 100_000


class Slow(Rejected):
    """429: more requests than an agent may send."""

    def __init__(self, retry_after_s: float) -> None:
        super().__init__(RejectCode.TOO_MANY_REQUESTS, f"at most {SYNCS_PER_S:g} syncs per second")
        self.retry_after_s = retry_after_s


class Unconfirmed(Exception):
    """A new session that does not name the live one may be a late message of an earlier process.

    `live`: what a process that lives names in its next request.
    """

    def __init__(self, live: str) -> None:
        super().__init__("the session does not name the live one")
        self.live = live


class ObservedDigest:
    """What one session has said it sees: uid → its digest line.

    Beyond `most` uids nothing more is remembered, and the whole is not judged any more until it is told
    anew: what is said is taken all the same.
    """

    def __init__(self, most: int = MAX_REMEMBERED) -> None:
        self._most = most
        self._too_many = False
        self._lines: dict[str, str] = {}
        self.present: set[str] = set()  # those of them of which something is there
        self.cron_jobs: set[str] = set()  # those of them that are left CronJobs
        self._digest = SetDigest()
        self.complete = False  # a full set has come in this process's life

    def take(self, said: ObservedSet) -> bool:
        """Take what a request said; False if the whole does not add up: the full set is needed.

        A request that more is to follow is one page of several: it is not judged.
        """
        if said.full:
            self._lines, self._digest = {}, SetDigest()
            self.present, self.cron_jobs = set(), set()
            self.complete, self._too_many = True, False
        for entry in said.entries:
            line = entry.digest_line()
            old = self._lines.get(entry.uid)
            if old is None and len(self._lines) >= self._most:
                self._too_many = True
            elif old != line:
                if old is not None:
                    self._digest.remove(old)
                self._lines[entry.uid] = line
                self._digest.add(line)
                self._note(entry)
        if not self.complete:
            return False
        return said.more or self._too_many or self._digest.hex() == said.digest

    def _note(self, entry: Observed) -> None:
        if entry.phase == "Gone":
            self.present.discard(entry.uid)
        else:
            self.present.add(entry.uid)
        if entry.phase != "Gone" and entry.left is not None and entry.left.is_cron_job:
            self.cron_jobs.add(entry.uid)
        else:
            self.cron_jobs.discard(entry.uid)

    @property
    def is_whole(self) -> bool:
        """True if this process remembers the whole report of the session."""
        return self.complete and not self._too_many

    def __len__(self) -> int:
        return len(self._lines)

    def forget(self, uids: Sequence[str]) -> None:
        """Drop entries of works that are neither desired nor there any more."""
        for uid in uids:
            self.present.discard(uid)
            self.cron_jobs.discard(uid)
            line = self._lines.pop(uid, None)
            if line is not None:
                self._digest.remove(line)


@dataclass(slots=True)
class Session:
    """The live session of one cluster."""

    cluster_uid: str
    id: str = ""
    began: dt.datetime | None = None  # None: it does not say
    seq: int = 0
    stored: int = 0  # the newest request whose report is in the store
    retired: list[str] = field(default_factory=list)
    observed: ObservedDigest = field(default_factory=ObservedDigest)
    queue_managers: frozenset[str] | None = None  # None: not read yet
    protocol: int = OLDEST  # of its newest request
    told: ForAll | None = None  # in the newest reply
    tokens: float = BURST
    refilled_at: float = 0.0
    _turn: asyncio.Event = field(default_factory=asyncio.Event)

    def spend(self, now: float) -> None:
        """Count one request at monotonic `now`. Raises Slow beyond the burst."""
        self.tokens = min(BURST, self.tokens + (now - self.refilled_at) * SYNCS_PER_S)
        self.refilled_at = now
        if self.tokens < 1:
            raise Slow((1 - self.tokens) / SYNCS_PER_S)
        self.tokens -= 1

    def admit(self, request: SyncRequest) -> bool:
        """Place a request in order; True if it is a replay, to be recomputed and never stored.

        Raises Rejected: SessionSuperseded, StaleSequence.
        """
        if request.session != self.id:
            raise report_order.superseded()
        if request.seq < self.seq:
            text = f"request {request.seq} after {self.seq}"
            raise Rejected(RejectCode.STALE_SEQUENCE, text, "seq")
        replay = request.seq == self.stored
        self.seq = request.seq
        self._turn.set()  # ends the request that hangs
        self._turn = asyncio.Event()
        return replay

    def retired_by(self, session: str, follows: str | None = None) -> list[str]:
        """The ids that are over once `session` speaks.

        `follows`: the live session as the agent was told of it; None: an agent that does not know the
        question. Raises Rejected SessionSuperseded for one that had its time; Unconfirmed if another session
        than `follows` is live (a restored store may know none). One of an agent of before that began before
        the live one is superseded too: what it sent then has only just come.
        """
        if session in self.retired:
            raise Rejected(
                RejectCode.SESSION_SUPERSEDED, "this session was superseded and is over"
            )
        if follows is not None:
            if self.id and follows != mark_of(self.id):
                raise Unconfirmed(mark_of(self.id))
            return self._with_this()
        began = began_at(session)
        if began is not None and self.began is not None and began < self.began:
            text = "a later session is live for this cluster"
            raise Rejected(RejectCode.SESSION_SUPERSEDED, text)
        return self._with_this()

    def _with_this(self) -> list[str]:
        return [*self.retired, self.id][-MAX_RETIRED:] if self.id else self.retired

    def supersede(self, session: str, now: dt.datetime, follows: str | None = None) -> None:
        """Go on as a new session. Raises as `retired_by`."""
        self.retired = self.retired_by(session, follows)
        self.id, self.began = session, _began(session, now)
        self.seq, self.stored = 0, 0

    def become(self, standing: "Session") -> None:
        """Go on as the session that has been written down."""
        self.id, self.began, self.retired = standing.id, standing.began, standing.retired
        self.seq, self.stored = standing.seq, standing.stored
        self.observed = ObservedDigest()
        self.told = None
        self.end_turn()

    def stored_up_to(self, request: SyncRequest) -> None:
        """A request's report is in the store; one of a session that has ended meanwhile counts not."""
        if request.session == self.id:
            self.stored = max(self.stored, request.seq)

    def is_newest(self, request: SyncRequest) -> bool:
        """Is this still the newest request of the live session?"""
        return request.session == self.id and request.seq == self.seq

    @property
    def newer(self) -> asyncio.Event:
        """Set when a newer request of this session, or a newer session, has come."""
        return self._turn

    def end(self) -> None:
        """The name is another cluster's now: what hangs is answered with nothing."""
        self.id = ""
        self.end_turn()

    def end_turn(self) -> None:
        """End the hanging request, whichever client sent it."""
        self._turn.set()
        self._turn = asyncio.Event()


def load(tx: Transaction, cluster: str) -> Session:
    """The session as the cluster's row has it."""
    member = clusters.get(tx, cluster)
    if member is None:
        raise Rejected(RejectCode.NOT_FOUND, f"cluster {cluster} does not exist")
    return Session(
        cluster_uid=member.cluster_uid,
        id=member.session,
        began=_began(member.session, member.session_at),
        seq=member.session_seq,
        stored=member.session_seq,
        retired=list(member.retired_sessions or ()),
    )


def open_session(
    tx: Transaction,
    cluster: str,
    session: str,
    agent: Json | None = None,
    follows: str | None = None,
) -> Session:
    """The session as it now stands in the store: begun if it is new, before anything is answered in it.

    Another hub may have begun it, or a later one. Raises Rejected: NotFound, SessionSuperseded; Unconfirmed.
    """
    standing = load(tx, cluster)
    if standing.id != session:
        before = standing.retired_by(session, follows)
        if int((agent or {}).get("protocol") or OLDEST) < OBJECT_UIDS:
            left_objects.take_back(tx, cluster)
        clusters.change(
            tx,
            cluster,
            session=session,
            session_at=tx.now,
            session_seq=0,
            retired_sessions=before,
            heartbeat_at=tx.now,
            agent=agent,
        )
        standing.supersede(session, tx.now, follows)
    return standing


def _began(session: str, heard_at: dt.datetime | None) -> dt.datetime | None:
    """The beginning of a session: no later than its first request, however far ahead its agent's clock is."""
    began = began_at(session)
    return began if began is None or heard_at is None else min(began, heard_at)


class LiveSessions:
    """The live session of every cluster, as this process knows it."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock
        self._live: dict[str, Session] = {}
        self._begins: dict[str, asyncio.Lock] = {}
        self._speaking = SpeakingSessions(db)

    def __iter__(self) -> Iterator[Session]:
        return iter(list(self._live.values()))

    def get(self, cluster: str) -> Session | None:
        """What is known without looking."""
        return self._live.get(cluster)

    async def of(self, cluster: str, cluster_uid: str) -> Session:
        """The live session of a cluster. Raises Rejected: NotFound, ClusterIdentityChanged, Slow."""
        session = self._live.get(cluster) or await self._load(cluster)
        session.spend(self._clock.monotonic())
        if cluster_uid != session.cluster_uid:  # perhaps forgotten and joined again
            session = await self._load(cluster, anew=True)
        if cluster_uid != session.cluster_uid:
            text = f"{cluster} joined as another cluster than this one (kube-system uid differs)"
            raise Rejected(RejectCode.CLUSTER_IDENTITY_CHANGED, text, "cluster_uid")
        return session

    async def begin(
        self,
        cluster: str,
        session: Session,
        given: str,
        agent: Json | None = None,
        follows: str | None = None,
    ) -> None:
        """A session id that is new supersedes the live one, in the store before anything else.

        Whoever speaks in it meanwhile waits; the earlier one is answered until it is written down. If
        that fails, the next try begins it. Raises Rejected SessionSuperseded; Unconfirmed.
        """
        if session.id == given:
            await self._confirm(cluster, session)
            return
        async with self._begins.setdefault(cluster, asyncio.Lock()):
            if session.id == given:
                return
            if follows is None:  # refused without a transaction, if we know as much
                session.retired_by(given)
            try:
                standing = await self._db.write(
                    lambda tx: open_session(tx, cluster, given, agent, follows)
                )
            except Unconfirmed:
                raise
            except BaseException:
                if self._db.shared:  # `look_again` passed this one by: it is read anew
                    self._live.pop(cluster, None)
                raise
            session.become(standing)

    async def _confirm(self, cluster: str, session: Session) -> None:
        """Another hub may have begun a later one, of which nothing was heard here yet."""
        if not self._db.shared:
            return
        standing = await self._speaking.of(cluster)
        if standing is None or standing.session != session.id:
            session.end()
            if self._live.get(cluster) is session:
                del self._live[cluster]
            raise report_order.has_left() if standing is None else report_order.superseded()

    async def look_again(self, names: Collection[str]) -> None:
        """Other hubs may have begun sessions of these clusters, or heard what queue managers they have.

        A session that goes on meanwhile is passed by: of that commit the feed will tell too.
        """
        known = {name: self._live[name].id for name in names if name in self._live}
        if not known:
            return
        speaking = await self._db.read(lambda tx: clusters.sessions(tx, known))
        for name, before in known.items():
            session, now = self._live.get(name), speaking.get(name)
            if session is None or session.id != before or self._is_beginning(name):
                continue
            session.queue_managers = None
            if now is None or now.session != session.id:
                session.end()
                del self._live[name]

    def ask_again(self) -> None:
        """Make every agent report everything again."""
        for session in self:
            session.observed.complete = False
            session.end_turn()

    def _is_beginning(self, cluster: str) -> bool:
        """True if a session of this cluster is being stored."""
        return cluster in self._begins and self._begins[cluster].locked()

    async def _load(self, cluster: str, *, anew: bool = False) -> Session:
        """The session of the cluster's row; `anew`: in place of that of another cluster of the name."""
        loaded = await self._db.read(lambda tx: load(tx, cluster))
        known = self._live.get(cluster)
        if anew and known is not None and known.cluster_uid != loaded.cluster_uid:
            known.end()
            self._live[cluster] = loaded
        return self._live.setdefault(cluster, loaded)
