"""Level 2: the hub's services whole, over a real store, with the real scheduler and its quota.

Members, agents and what lies between are those of the model; the hub is the product's own, driven call
by call: each runs to its end, on an event loop that only runs meanwhile, before the world goes on.
"""

import asyncio
import datetime as dt
import shutil
import tempfile
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

import orjson

from hub.controllers.chains import Chains
from hub.controllers.cron_jobs import CronJobs
from hub.services.context import leadership
from hub.services.context.hub import Hub
from hub.services.index.reader import FOLLOWED
from hub.services.members import liveness
from hub.services.members.sync import AgentSync
from hub.services.members.terms import AgentTerms
from hub.services.objects.apply import apply_documents
from hub.services.objects.fence import fence_cluster
from hub.services.reading.draft import draft
from hub.services.scheduling import commit
from hub.services.scheduling.turn import Scheduler
from hub.services.works import cluster_loss
from hub.store import clusters, workloads
from hub.store.engine import Database
from hub.store.errors import StaleTerm, StoreUnavailable
from hub.store.transaction import Transaction
from shared.errors import Rejected
from shared.kinds.registry import parse
from shared.reject_codes import RejectCode
from shared.wire import versions
from shared.wire.agent_v1 import DesiredBase, ObservedSet, SyncReply, SyncRequest
from tests import prepared
from tests.services.hubs import a_job, a_pool, a_queue
from tests.simulation import chains, cron_jobs
from tests.simulation.books import books, links, memory_backed
from tests.simulation.checks import Checks
from tests.simulation.faults import OF_CONSENT, OF_QUEUES, Scenario
from tests.simulation.hub import HUB_ID, HubClock
from tests.simulation.queue_acts import Queue
from tests.simulation.scenario import Run
from tests.simulation.wishes import HELD, carry_out, goes_on
from tests.simulation.world import START, Violation, World
from tests.store.build import a_member

T = TypeVar("T")
_ENDED = frozenset({"Succeeded", "Failed", "Cancelled"})
_ASKED = ("/retry", "/on-cluster-loss")
# What a job has come to → the moment that is.
_MOMENTS = {
    "Offered": "offer",
    "Withdrawing": "withdraw",
    "Pending": "requeue",
    "Succeeded": "succeed",
}
_RELEASES = {"Pending": "requeue", "Held": "hold", "Cancelled": "cancel", "Deactivated": "deactivate",
             "Failed": "fail", "Succeeded": "succeed"}  # fmt: skip


class Whole:
    """A hub over a store in a folder; `up` is False between a kill and the next start."""

    def __init__(self, world: World, checks: Checks, names: list[str], limit: int) -> None:
        self.world, self.checks, self.limit = world, checks, limit
        self.folder = Path(tempfile.mkdtemp(prefix="simulation-", dir=memory_backed()))
        self.loop = asyncio.new_event_loop()
        self.terms = AgentTerms(protocol=versions.CONFIRMS)
        self.clock = HubClock(world)
        self.networks: dict[str, Any] = {}
        self.names = names
        self.books = SimpleNamespace(workloads={}, works={})
        checks.store = self.books
        checks.silent_for = lambda cluster: world.now - self.heard[cluster]
        checks.chain.links = self._read_links
        self.fenced: set[str] = set()  # clusters that were written off
        self.queue = checks.queue = Queue(limit)
        self.dies_in_request = False
        self.heard: dict[str, float] = {}
        self.up = False
        self._looking = False
        # Written while a plan is being made.
        self._meanwhile: list[Callable[[Transaction], None]] = []
        self.start()
        self.run(self.hub.write(self._equip))

    # --- life ------------------------------------------------------------------------------------

    def run(self, what: Coroutine[Any, Any, T]) -> T:
        """Let a call to the hub come to its end."""
        return self.loop.run_until_complete(what)

    def start(self) -> None:
        self.run(self._start())
        self.up = True
        self.heard = dict.fromkeys(self.names, self.world.now)
        self.look_soon()

    async def _start(self) -> None:
        prepared.copy_to(self.folder / "hub.db")
        self.db = Database.open(f"sqlite:///{self.folder}/hub.db", self.clock)
        self.hub = Hub(self.db, self.clock)
        self.term = await self.hub.write(leadership.seize, "simulation")
        self.sync = await self._agent_sync()
        self._works = self.db.subscribe("works", "settings")
        self._news = self.hub.subscribe(*FOLLOWED)
        await self.sync._load()
        self.scheduler = Scheduler(self.hub, lambda: self.term)
        self.chains = Chains(self.hub, lambda: self.term)
        self.chains.follow()
        self.cron_jobs = CronJobs(self.hub, lambda: self.term)
        self.cron_jobs.follow()
        self._write, self.hub.write = self.hub.write, self._write_between  # type: ignore[method-assign,assignment]

    async def _write_between(self, fn: Any, *args: Any) -> Any:
        """Between a plan and its commit there is room for what people do."""
        if fn is commit.commit_plan:
            await self._carry_out_wishes()
        return await self._write(fn, *args)

    async def _carry_out_wishes(self) -> None:
        waiting, self._meanwhile = self._meanwhile, []
        for wish in waiting:
            with suppress(Rejected):
                await self._write(wish)

    async def _agent_sync(self, **more: Any) -> AgentSync:
        named = {"hub_id": HUB_ID, "term": lambda: self.term, "incarnation": "inc-1", **more}
        return AgentSync(self.db, self.clock, **named)

    def die(self) -> None:
        self.up = False
        self.run(self.db.close())
        for network in self.networks.values():
            network.unpark()

    def close(self) -> None:
        if self.up:
            self.run(self.db.close())
        self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self.loop.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _equip(self, tx: Transaction) -> None:
        """Two members with room for everything, and a queue that has less."""
        for name in self.names:
            joined = {"cluster_uid": f"uid-{name}", "joined_at": tx.now, "heartbeat_at": tx.now}
            clusters.add(tx, a_member(name, created_at=tx.now, **joined))
            report = {"pools_revision": 0, "pools": [a_pool(2, cpu="8")], "bound": []}
            clusters.set_capacity(tx, name, orjson.dumps(report))
        queue = a_queue("q", "n", quota={"cpu": str(self.limit)})
        drafts = [draft(parse(manifest), tx.now) for manifest in queue]
        applied = apply_documents(tx, drafts, self.hub.settings.intake)
        assert all(each.error is None for each in applied), applied

    # --- what has changed ------------------------------------------------------------------------

    def _look_at_the_books(self) -> None:
        """Tell the checks what was committed, and the agents that there is news."""
        rows, works = self._read_books()
        before, self.books.workloads, self.books.works = self.books.workloads, rows, works
        for uid, row in rows.items():
            was = before.get(uid)
            if was is None or (was["state"], was["epoch"]) == (row["state"], row["epoch"]):
                continue
            self.world.note(f"hub: {uid} epoch {row['epoch']} {was['state']} → {row['state']}")
            if row["state"] in _MOMENTS:
                self.world.happens(
                    _MOMENTS[row["state"]], row["cluster"] or was["cluster"] or "north"
                )
            if row["epoch"] > was["epoch"] and goes_on(was, row):
                self.checks.goes_on(row)
            elif row["epoch"] > was["epoch"]:
                self.checks.moved(row, "place", was["state"])
            elif was["state"] in HELD and row["state"] in _RELEASES:
                self.checks.moved(row, _RELEASES[row["state"]], was["state"])
        self.checks.looked_over()
        self._follow()

    def _read_books(self) -> tuple[dict[str, Any], dict[tuple[str, str], Any]]:
        return self.run(self.hub.read(books))

    def _read_links(self) -> list[Any]:
        return self.run(self.hub.read(links))

    def _follow(self) -> None:
        """The hub follows what it has committed."""
        change = self._works.take()
        if change is not None:
            self.run(self.sync._follow(change))
            for network in list(self.networks.values()):
                network.unpark()
        if self._news._pending:
            self.look_soon(0.1)

    # --- agents ----------------------------------------------------------------------------------

    def answer(self, cluster: str, request: Any) -> SyncReply | None:
        if cluster in self.fenced:
            raise Rejected(RejectCode.UNAUTHENTICATED, "it was written off")
        self.heard[cluster] = self.world.now
        given = request.observed
        said = ObservedSet.model_construct(
            full=given.full, digest=given.digest, entries=given.entries, more=False
        )
        held = DesiredBase(revision=request.desired.revision, digest=request.desired.digest)
        wire = SyncRequest.model_construct(
            session=request.session, seq=request.seq, cluster_uid=request.cluster_uid, desired=held,
            incarnation_seen=request.incarnation_seen, marks=request.marks, wait_s=0.0, proto=1,
            follows=request.follows, observed=said, capacity=request.capacity,
            jobs_read=request.jobs_read, kinds_unread=request.kinds_unread)  # fmt: skip
        read = SyncRequest.model_validate_json(wire.model_dump_json())
        read.namespaces_held = request.namespaces_held
        told = self._said_by(cluster, read)
        if told is None or not told.confirm:
            self.checks.answered(cluster, read.session)  # before news of it has others answered
        self.checks.consents.reported(cluster, read)
        self._look_at_the_books()
        if self.dies_in_request:
            self.dies_in_request = False
            self.world.note("the hub dies before its answer is out")
            self.die()
            self.world.after(3.0, self.start)
            return None
        return told

    def _said_by(self, cluster: str, request: SyncRequest) -> SyncReply | None:
        """What the hub's process says; None if it says nothing."""
        answer = self.sync.sync(cluster, request, [], self.terms)
        told = SyncReply.model_validate_json(self.run(answer))
        self.run(self.hub.write(liveness.note_heartbeats, self.sync.heartbeats.take()))
        return told

    def held_out(self, _cluster: str, _request: Any) -> None:
        return None

    def has_news(self, cluster: str, request: Any) -> bool:
        return self.sync._sets.of(cluster).delta(request.session, request.desired) is not None

    # --- scheduler, silence, users ---------------------------------------------------------------

    def look_soon(self, seconds: float = 0.2) -> None:
        if not self._looking:
            self._looking = True
            self.world.after(seconds, self._look)

    def _look(self) -> None:
        self._looking = False
        if not self.up:
            return
        if self.world.random.random() < 0.1:
            self._old_leader()
        more = self.run(self._turn())
        self._look_at_the_books()
        states = {row["state"] for row in self.books.workloads.values()}
        waits = bool(states & {"Pending", "Reserved"})
        if more or waits:
            self.look_soon(0.2 if more else 3.0)

    def _old_leader(self) -> None:
        """One that was paused wakes up, and decides as if it still led."""

        async def decide() -> None:
            old = Scheduler(self.hub, lambda: self.term - 1)
            await old.load()
            await old.turn()

        kept, self._meanwhile = self._meanwhile, []
        with suppress(StaleTerm, StoreUnavailable):  # a commit may break before its term is read
            self.run(decide())
        self._meanwhile = kept
        if self._read_books()[0] != self.books.workloads:
            raise Violation("R-13", "an earlier leader has written")

    async def _turn(self) -> bool:
        change, revision = self._news.take(), self._news.revision
        if not self.scheduler.loaded:
            await self.scheduler.load()
        else:
            await self.scheduler.follow(change.keys if change else {}, revision)
        more = await self.scheduler.turn()
        for controller in (self.chains, self.cron_jobs):
            while await controller.tick() == 0.0:
                pass
        await self._carry_out_wishes()  # where no plan was written
        return more

    def watch_silence(self) -> None:
        if not self.up:
            return
        if silent := {n: None for n, at in self.heard.items() if self.world.now - at >= 60.0}:
            self.run(self.hub.write(liveness.lose_jobs, silent, self.term))
            self.run(self.hub.write(liveness.free_unoffered, silent, self.term))
            since = {name: START + dt.timedelta(seconds=self.heard[name]) for name in silent}
            self.run(self.hub.write(cluster_loss.move_lost, since, self.term))
            self._look_at_the_books()

    def fence(self, cluster: str) -> None:
        """Somebody types the name of a cluster that is destroyed."""
        self.fenced.add(cluster)
        sure = partial(fence_cluster, though_it_answers=True)
        self.run(self.hub.write(sure, cluster, cluster, "somebody", 45.0))
        self._look_at_the_books()

    def submit(self, uid: str, name: str, notes: dict[str, str]) -> None:
        """Submit a job, as a user applies it: now and then twice, as one who heard no answer."""
        if not self.up:
            return
        for _ in range(2 if self.world.random.random() < 0.2 else 1):
            self.run(self.hub.write(self._apply, uid, name, notes, 1))
        self._look_at_the_books()
        self.look_soon(0.05)
        self.world.happens("submit", "north")

    def schedule(self, apply: Callable[[Transaction], dt.datetime]) -> bool:
        """Whether the hub took the CronJob of a user."""
        self.checks.cron_time.at = self.run(self.hub.write(apply))
        self._look_at_the_books()
        self.look_soon(0.05)
        return True

    def _apply(
        self, tx: Transaction, uid: str, name: str, notes: dict[str, str], pods: int
    ) -> None:
        """The manifest of two pods, so many of them at a time."""
        job = a_job(name, "n", queue="q", annotations=notes, count=pods)
        job["spec"]["completions"] = 2
        given = replace(draft(parse(job), tx.now), uid=uid)
        apply_documents(tx, [given], self.hub.settings.intake)

    def wish(self, uid: str, wish: str) -> None:
        row = self.books.workloads.get(uid)
        if not self.up or row is None or row["deleted_at"] is not None:
            return
        if wish == "release" and not self.checks.chain.released(row):
            return
        self.world.note(f"user: {wish} {uid} ({row['state']})")
        self.world.happens(wish, row["cluster"] or "north")
        counts = wish != "release" or row["state"] == "Deactivated"
        carry_out = partial(self._carry_out, uid=uid, row=row, wish=wish)
        if row["state"] == "Pending" and wish in {"resize", "hold"}:
            if counts:
                self.checks.wished(uid, wish)
            self._meanwhile.append(carry_out)
            self.look_soon(0.05)
            return
        try:
            self.run(self.hub.write(carry_out))
        except Rejected:
            self.world.note("refused")
        if counts:  # not before: what could not be stored is wished again
            self.checks.wished(uid, wish)
        self._look_at_the_books()

    def _carry_out(self, tx: Transaction, uid: str, row: dict[str, Any], wish: str) -> None:
        if wish == "resize":
            now = workloads.get(tx, uid)  # it may have ended since it was wished
            if now is not None and now.state not in _ENDED and now.deleted_at is None:
                notes = {k: v for k, v in row["annotations"].items() if k.endswith(_ASKED)}
                self._apply(tx, uid, row["name"], notes, row["parallelism"] % 2 + 1)
        else:
            carry_out(tx, uid, row, wish)


class WholeRun(Run):
    """A scenario played on the whole hub."""

    plays_consent = OF_CONSENT
    plays_queues = OF_QUEUES

    def __init__(self, scenario: Scenario, *, tell: bool = False) -> None:
        super().__init__(scenario, tell=tell)
        chains.begin(self)
        cron_jobs.begin(self)

    def new_hub(self, names: list[str]) -> Any:
        return Whole(self.world, self.checks, names, self.scenario.limit)

    def submit(self, uid: str, name: str) -> None:
        self.hub.submit(uid, name, self.notes())  # type: ignore[attr-defined]

    def mend(self) -> None:
        """What would not fit for good is made small again by its users."""
        super().mend()
        for row in list(self.checks.store.workloads.values()):
            if row["parallelism"] > self.scenario.limit and row["state"] not in _ENDED:
                self.hub.wish(row["uid"], "resize")

    def finish(self) -> None:
        self.hub.close()  # type: ignore[attr-defined]
