"""The hub: the product's answer to agents and its rules of taking back, over rows in memory.

The scheduler is small: a job that waits is placed on some cluster that is heard and not set aside for
it, while the quota lasts. Its choice is not what is looked at here.
"""

import datetime as dt
from dataclasses import dataclass, field
from typing import Any

import orjson

from hub.domain.workloads.apply_options import ApplyOptions
from hub.services.members.roll_call import is_fresh
from shared.errors import Rejected
from shared.reject_codes import RejectCode
from shared.wire.agent_v1 import (
    Mark,
    Pools,
    SyncRequest,
    Work as Wire,
)
from tests import waiting
from tests.simulation import bound, memory
from tests.simulation.checks import Checks
from tests.simulation.memory import Store, Transaction
from tests.simulation.world import START, World, finish
from tests.store.build import a_member

HUB_ID = "hub-1"
_KEEPING = frozenset({"Offered", "Applied", "Running", "Unknown"})


_NO_POOLS = Pools(revision=0, keys=[])


class HubClock:
    def __init__(self, world: World) -> None:
        self.world = world
        self.ahead: dt.timedelta | None = None  # by how much it was set ahead

    def now(self) -> dt.datetime:
        return self.world.wall() if self.ahead is None else self.world.wall() + self.ahead

    def monotonic(self) -> float:
        return self.world.now

    async def sleep(self, seconds: float) -> None:
        """Nobody waits here: the world goes on between calls, not within them."""
        await waiting.turns()


class Answers(bound.sync.AgentSync):  # type: ignore[misc, name-defined]
    """The product's `AgentSync`; its reply stays an object."""

    def _reply(self, request: SyncRequest, answer: Any) -> Any:
        page = answer.page
        mark = None
        if self._timeline is not None:
            mark = self._timeline.mark(self._db.revision)
        works = [_work(each) for each in page.works]
        told = Told(page.full, page.number, page.digest, works, page.removed, page.more)
        return Reply(
            request.session, request.seq, told, answer.refused, answer.orders, mark, answer.need_full,
            self.incarnation,
        )  # fmt: skip


@dataclass(slots=True)
class Told:
    """`agent_v1.Desired`, as quick to make as it gets."""

    full: bool
    revision: int
    digest: str
    works: list[Wire]
    removed: list[str]
    more: bool


@dataclass(slots=True)
class Reply:
    """`agent_v1.SyncReply`, as quick to make as it gets."""

    session: str
    seq: int
    desired: Told
    refused: list[Any]
    orders: list[Any]
    mark: Mark | None
    need_full: bool
    incarnation: str
    pool_keys: Pools = field(default_factory=lambda: _NO_POOLS)
    next_s: float = 10.0
    rotate: None = None  # credentials are none of this world's matter
    availability: None = None  # nor are rules of objects
    confirm: str = ""  # these agents are of before protocol 5
    kinds: None = None  # of definitions no hub of the model tells
    namespaces: None = None  # consent is modelled on levels of the whole hub


def _work(told: Any) -> Wire:
    """A work as the reply holds it: written already, or as it was composed."""
    plain = orjson.loads(orjson.dumps(told)) if isinstance(told, orjson.Fragment) else told
    return Wire(**plain)


class SimHub:
    """One hub over one store; `up` is False between a kill and the next start."""

    def __init__(
        self, world: World, checks: Checks, names: list[str], *, dated: bool = False
    ) -> None:
        """`dated`: it gives marks out, and calls the roll after a start with an older store."""
        self.world, self.checks, self.dated = world, checks, dated
        self.store = Store(world, self._moved)
        self.store.settings["incarnation"] = "inc-1"
        self.store.on_offer = checks.offered
        checks.store = self.store
        checks.silent_for = lambda cluster: world.now - self.heard[cluster]
        self.fenced: set[str] = set()  # clusters that were written off
        self.clock = HubClock(world)
        self.networks: dict[str, Any] = {}
        self.heard: dict[str, float] = {}
        self.limit = 99
        self.up = False
        self.dies_in_request = False  # when it has stored what the next one says
        self._looking = False
        for name in names:
            self.store.clusters[name] = a_member(
                name, cluster_uid=f"uid-{name}", heartbeat_at=world.wall()
            )
        self.start()

    def start(self) -> None:
        """Come up with what the store holds."""
        self.up = True
        timeline = None
        if self.dated:
            timeline = bound.timeline.begin(Transaction(self.store), "inc-1", b"key")
        self.sync = Answers(
            self.store, self.clock, hub_id=HUB_ID, incarnation="inc-1", term=lambda: 1,
            timeline=timeline,
        )  # fmt: skip
        if self.dated:
            beats = {name: each.heartbeat_at for name, each in self.store.clusters.items()}
            fresh = is_fresh(beats, self.world.wall())
            names = bound.awaited.call(Transaction(self.store), beats, fresh=fresh)
            self.sync._roll_call.begin(names, self.world.now)
        self.sync._sets.load(memory.all_desired(Transaction(self.store)))
        self.sync._ready.set()
        self.store.changed = self._changed
        self.heard = dict.fromkeys(self.store.clusters, self.world.now)
        self.look_soon()

    def die(self) -> None:
        self.up = False
        for network in self.networks.values():
            network.unpark()

    # --- agents ----------------------------------------------------------------------------------

    def answer(self, cluster: str, request: SyncRequest) -> Reply | None:
        """One request; None if the hub died over it. Raises Rejected."""
        if cluster in self.fenced:
            raise Rejected(RejectCode.UNAUTHENTICATED, "it was written off")
        self.heard[cluster] = self.world.now
        reply: Reply = finish(self.sync.sync(cluster, request, []))
        held = self.store.clusters
        held[cluster] = held[cluster]._replace(heartbeat_at=self.world.wall())
        if self.dies_in_request:
            self.dies_in_request = False
            self.world.note("the hub dies before its answer is out")
            self.die()
            self.world.after(3.0, self.start)
            return None
        self.checks.answered(cluster, request.session)
        return reply

    def held_out(self, cluster: str, request: SyncRequest) -> "Reply | None":
        """The answer to a request that has waited in vain: nothing; None if it is not as simple."""
        if self.dated:
            return None
        session = self.sync._sessions.get(cluster)
        if not self.up or self.dies_in_request or session is None or session.id != request.session:
            return None
        found = self.sync._sets.of(cluster)
        if request.seq <= session.seq or not session.observed.complete:
            return None
        if found.delta(session.id, request.desired) is not None:
            return None
        self.heard[cluster] = self.world.now
        session.admit(request)
        session.stored_up_to(request)
        told = Told(False, found.number, found.digest, [], [], False)
        return Reply(session.id, request.seq, told, [], [], None, False, self.sync.incarnation)

    def has_news(self, cluster: str, request: SyncRequest) -> bool:
        if self.checks.restored:
            return True  # marks are looked at before a request waits
        found = self.sync._sets.of(cluster).delta(request.session, request.desired)
        return found is not None

    def _changed(self, keys: set[str]) -> None:
        """The index follows the store, a moment later."""
        self.world.after(self.world.random.random() * 0.05, self._follow, self.sync, sorted(keys))

    def _follow(self, sync: Any, keys: list[str]) -> None:
        if sync is not self.sync or not self.up:
            return
        sync._sets.refresh(keys, memory.desired(Transaction(self.store), keys))
        for cluster in sorted({key.partition("/")[0] for key in keys}):
            self.networks[cluster].unpark()

    def _moved(self, row: dict[str, Any], name: str, before: str) -> None:
        self.world.note(f"hub: {row['uid']} epoch {row['epoch']} {name} (was {before})")
        self.checks.moved(row, name, before)
        self.world.happens(name, row["cluster"] or "north")
        if name in {"requeue", "release", "unplace", "unreserve"}:
            self.look_soon()

    # --- the scheduler ---------------------------------------------------------------------------

    def look_soon(self, seconds: float = 0.2) -> None:
        if not self._looking:
            self._looking = True
            self.world.after(seconds, self._look)

    def _look(self) -> None:
        self._looking = False
        if not self.up:
            return
        self.store.commit(self._schedule)
        if any(row["state"] == "Pending" for row in self.store.workloads.values()):
            self.look_soon(3.0)

    def _schedule(self, tx: Transaction) -> None:
        for row in self.store.workloads.values():
            if row["state"] != "Pending":
                continue
            charged = sum(1 for w in self.store.workloads.values() if w["state"] in _CHARGED)
            aside = row["set_aside"] or {}
            now = tx.now
            open_to = [
                name
                for name in self.store.clusters
                if self.world.now - self.heard[name] < 45.0
                and name not in self.fenced
                and not (name in aside and dt.datetime.fromisoformat(aside[name]) > now)
            ]
            if charged < self.limit and open_to:
                self.place(tx, row, self.world.random.choice(open_to))

    def place(self, tx: Transaction, row: dict[str, Any], cluster: str) -> None:
        epoch = row["epoch"]
        memory.transition(tx, "place", [{"uid": row["uid"], "epoch": epoch, "cluster": cluster}])
        memory.upsert(
            tx,
            [
                {
                    "cluster": cluster, "uid": row["uid"], "epoch": epoch + 1,
                    "generation": row["generation"], "namespace": "n", "name": row["name"],
                    "options": ApplyOptions(), "placed_by": "",
                }
            ],
        )  # fmt: skip

    def watch_silence(self) -> None:
        """What follows from silence, as `hub.services.members.liveness` has it."""
        if not self.up:
            return
        silent = [name for name, at in self.heard.items() if self.world.now - at >= 60.0]
        if not silent:
            return

        def lose(tx: Transaction) -> None:
            rows = [row for row in self.store.workloads.values() if row["cluster"] in silent]
            lost = [row for row in rows if row["state"] in _KEEPING - {"Unknown"}]
            memory.transition(tx, "lose", [_mine(row) for row in lost])
            placed = [row["uid"] for row in rows if row["state"] == "Placed"]
            if placed:
                bound.evict.evict(tx, placed, "ClusterUnreachable", "")
            since = {name: START + dt.timedelta(seconds=self.heard[name]) for name in silent}
            bound.cluster_loss.move_lost(tx, since, 1)

        self.store.commit(lose)

    def fence(self, cluster: str) -> None:
        """Somebody types the name of a cluster that is destroyed."""
        self.fenced.add(cluster)

        def fence(tx: Transaction) -> None:
            bound.fence.fence_cluster(
                tx, cluster, cluster, "somebody", 45.0, though_it_answers=True
            )

        self.store.commit(fence)

    # --- users -----------------------------------------------------------------------------------

    def wish(self, uid: str, wish: str) -> None:
        """What a user, or a rule that moves jobs, wants of a job."""
        row = self.store.workloads.get(uid)
        if not self.up or row is None or row["deleted_at"] is not None:
            return
        self.world.note(f"user: {wish} {uid} ({row['state']})")
        self.world.happens(wish, row["cluster"] or "north")
        if wish != "release" or row["state"] == "Deactivated":
            self.checks.wished(uid, wish)
        self.store.commit(lambda tx: self._carry_out(tx, row, wish))

    def _carry_out(self, tx: Transaction, row: dict[str, Any], wish: str) -> None:
        uid, state = row["uid"], row["state"]
        if wish == "release":
            bound.holding.release(tx, [memory.record(row)])
        elif wish == "delete":
            if row["withdraw_to"] != "Deleted":
                bound.withdraw.withdraw_jobs(tx, [uid], "Deleted", "DeletedByUser")
        elif state not in _ENDED:
            self._take_back(tx, row, wish)

    def _take_back(self, tx: Transaction, row: dict[str, Any], wish: str) -> None:
        """What is wished of a job that has not ended."""
        uid, state = row["uid"], row["state"]
        match wish:
            case "hold":
                if row["withdraw_to"] in {"", "Pending"}:
                    bound.evict.evict(tx, [uid], "HeldByUser", "", to="Held")
            case "cancel":
                if row["withdraw_to"] not in {"Cancelled", "Deleted"}:
                    bound.withdraw.withdraw_jobs(tx, [uid], "Cancelled", "CancelledByUser")
            case "deactivate":
                bound.evict.evict(tx, [uid], "Deactivated", "", to="Deactivated")
            case "preempt":
                if state in _KEEPING | {"Placed", "Withdrawing"}:
                    bound.evict.evict(tx, [uid], "Preempted", "")
            case "resize":
                row["generation"] += 1
                row["parallelism"] = row["parallelism"] % 2 + 1
                memory.follow_generation(tx, uid, row["generation"])


_ENDED = frozenset({"Succeeded", "Failed", "Cancelled", "Deactivated"})
_CHARGED = frozenset(
    {"Reserved", "Placed", "Offered", "Applied", "Running", "Withdrawing", "Unknown"}
)


def _mine(row: dict[str, Any]) -> dict[str, Any]:
    return {"uid": row["uid"], "epoch": row["epoch"]}
