"""Several hubs on one database: processes that die, are paused, are cut off from it, or hear late.

Each is the whole hub with a lease, a feed and a memory of its own. The database is SQLite, opened by all
of them as one that is shared; what its notifications tell, and when, is the simulation's to decide. An
agent's requests go to one process for a while, then to another. How PostgreSQL's own transactions behave
is tested beside it (tests/store).
"""

import datetime as dt
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, Final

from sqlalchemy import Engine

from hub.controllers.chains import Chains
from hub.controllers.cron_jobs import CronJobs
from hub.controllers.heartbeats import SilenceLoop
from hub.controllers.last_down import LastDown
from hub.controllers.lease import NOT_LEADING, Lease
from hub.services.context import identity, leadership, timeline
from hub.services.context.hub import Hub
from hub.services.index.reader import FOLLOWED
from hub.services.members.sync import AgentSync
from hub.services.scheduling import commit
from hub.services.scheduling.turn import Scheduler
from hub.store.errors import StaleTerm, StoreUnavailable
from hub.store.transaction import Transaction
from shared.errors import Rejected
from shared.wire.agent_v1 import SyncReply, SyncRequest
from tests import prepared, waiting
from tests.simulation.books import books, links
from tests.simulation.checks import Checks
from tests.simulation.hub import HUB_ID
from tests.simulation.hub_process import Process, Reached, Shared
from tests.simulation.services import Whole
from tests.simulation.world import Violation, World

PROCESSES: Final = 2
_STAYS: Final = 0.8  # how often an agent's next request goes where its last one went


class Replicas(Whole):
    """Processes p0, p1 …; `self.hub`, `self.sync` and so on are those of the one that acts."""

    process: Process

    def __init__(self, world: World, checks: Checks, names: list[str], limit: int) -> None:
        self.processes: dict[str, Process] = {}
        self.cut_until: dict[str, float] = {}  # by process: no way to the database
        self.deaf_until: dict[str, float] = {}  # by process: nobody tells it of commits
        self.another_leads_in_plan = False
        self._places: dict[str, str] = {}  # where an agent's last request went, by session
        self._observing: Engine | None = None
        super().__init__(world, checks, names, limit)
        # What one process heard and could not write down, the others do not know of.
        checks.silent_for = lambda _cluster: 3600.0
        for index in range(PROCESSES):
            world.after(0.2 + 0.1 * index, self._tend, f"p{index}")
        world.after(2.5, self._watch)

    # --- life ------------------------------------------------------------------------------------

    @property
    def up(self) -> bool:
        """Whether there is any process."""
        return bool(self.processes)

    @up.setter
    def up(self, _is_up: bool) -> None:
        """Nothing: the processes say."""

    def start(self) -> None:
        """Start those that are down."""
        for index in range(PROCESSES):
            self._start_process(f"p{index}")
        self.heard = dict.fromkeys(self.names, self.world.now)
        self.look_soon()

    def _start_process(self, name: str) -> None:
        if name in self.processes:
            return
        if self._is_cut(name):  # it ends, and is started again
            self.world.at(self.cut_until[name] + 1.0, self._start_process, name)
            return
        self.world.note(f"{name} starts")
        self.processes[name] = self.run(self._started(name))
        self._be(self.processes[name])

    async def _started(self, name: str) -> Process:
        backend = Shared(f"sqlite:///{self.folder}/hub.db")
        prepared.copy_to(self.folder / "hub.db")
        db = Reached(backend, self.clock)
        db.is_cut = partial(self._is_cut, name)
        hub = Hub(db, self.clock)
        known = await hub.write(identity.load)
        hub.timeline = await hub.write(timeline.begin, known.incarnation, known.page_key)
        lease = Lease(hub, name)
        await lease.start()
        sync = AgentSync(
            db, self.clock, hub_id=HUB_ID, incarnation=known.incarnation, term=lease.term,
            timeline=hub.timeline,
        )  # fmt: skip
        works = sync._in_step.begin("works", "settings", "clusters")
        db.listen(timeline.BEGUN, sync._note_runs)
        news = hub.subscribe(*FOLLOWED)
        await sync._load()
        silence = SilenceLoop(hub, sync, lease.term, LastDown())
        scheduler = Scheduler(hub, lease.term)
        chains = Chains(hub, lease.term)
        chains.follow()
        cron_jobs = CronJobs(hub, lease.term)
        cron_jobs.follow()
        loops = (scheduler, chains, cron_jobs, silence)
        process = Process(name, backend, db, hub, lease, sync, works, news, *loops, hub.write)
        hub.write = partial(self._between, process)  # type: ignore[method-assign]
        return process

    def _be(self, process: Process) -> None:
        """From here on this one acts."""
        self.process = process
        self.db, self.hub, self.sync = process.db, process.hub, process.sync
        self.scheduler, self.chains = process.scheduler, process.chains
        self.cron_jobs = process.cron_jobs
        self._write = process.write
        self._works, self._news = process.works, process.news
        self.term = process.lease.term()

    def die(self) -> None:
        """One of them dies: that which acts, or as likely as not the one that leads."""
        names = [name for name, each in self.processes.items() if each.lease.term()]
        name = names[0] if names and self.world.random.random() < 0.5 else self.process.name
        self.kill(name)
        self.world.after(1.0 + 15.0 * self.world.random.random(), self._start_process, name)
        for network in self.networks.values():
            network.unpark()

    def kill(self, name: str) -> None:
        process = self.processes.pop(name, None)
        if process is not None:
            self.world.note(f"{name} dies")
            process.backend.over.set()
            self.run(process.db.close())

    def close(self) -> None:
        for name in list(self.processes):
            self.kill(name)
        if self._observing is not None:
            self._observing.dispose()
        super().close()

    def mend(self) -> None:
        """All of them run, and reach the database."""
        self.cut_until.clear()
        self.deaf_until.clear()
        self.another_leads_in_plan = False
        for process in self.processes.values():
            process.paused_until = 0.0
            process.db.loses = ""
        self.start()
        for name in self.processes:
            self._hears(name)

    # --- who can do what ---------------------------------------------------------------------------

    def _is_cut(self, name: str) -> bool:
        return self.cut_until.get(name, 0.0) > self.world.now

    def _is_paused(self, process: Process) -> bool:
        return process.paused_until > self.world.now

    def _awake(self) -> list[Process]:
        return [each for each in self.processes.values() if not self._is_paused(each)]

    def _some(self) -> Process | None:
        """One that answers a user."""
        awake = self._awake()
        return self.world.random.choice(awake) if awake else None

    def _of(self, session: str) -> Process | None:
        """Where an agent's request goes: mostly where its last one went."""
        draw = self.world.random
        name = self._places.get(session, "")
        if self.processes and (name not in self.processes or draw.random() > _STAYS):
            name = self._places[session] = draw.choice(sorted(self.processes))
        return self.processes.get(name)

    # --- what was committed ------------------------------------------------------------------------

    def _read_books(self) -> tuple[dict[str, Any], dict[tuple[str, str], Any]]:
        """As the database has them, whoever reaches it."""
        if self._observing is None:
            self._observing = Shared(f"sqlite:///{self.folder}/hub.db").reader_engine(1)
        with self._observing.connect() as conn, conn.begin():
            return books(Transaction(conn, self.world.wall()))

    def _read_links(self) -> list[Any]:
        assert self._observing is not None
        with self._observing.connect() as conn, conn.begin():
            return links(Transaction(conn, self.world.wall()))

    def _follow(self) -> None:
        """Who acts follows at once; the others hear of it."""
        self._take(self.process)
        for name, each in self.processes.items():
            if each.db.revision < self.db.revision:
                draw = self.world.random.random
                late = draw() * (1.0 if draw() < 0.2 else 0.05)
                self.world.after(0.002 + late, self._hears, name)

    def _hears(self, name: str) -> None:
        """A process is told what others have committed, once it can be."""
        process = self.processes.get(name)
        if process is None:
            return
        until = max(
            process.paused_until, self.cut_until.get(name, 0.0), self.deaf_until.get(name, 0.0)
        )
        if until > self.world.now:
            self.world.at(until + 0.001, self._hears, name)
            return
        with process.db._read_engine.connect() as conn:
            process.db._found(conn, 0)
        self.run(waiting.turns(2))
        self._take(process)

    def _take(self, process: Process) -> None:
        """The process follows what it has heard."""
        if process.name not in self.processes or self._is_cut(process.name):
            until = self.cut_until.get(process.name, self.world.now)
            self.world.at(until + 0.001, self._hears, process.name)
            return
        change = process.works.take()
        if change is not None:
            self.run(process.sync._in_step.step(change, process.sync._follow))
            for network in list(self.networks.values()):
                network.unpark()
        if process.hub.stopped:
            raise Violation("R-15", f"{process.name} takes what it has not heard yet for lost")
        if process.news._pending:
            self.look_soon(0.1)

    # --- agents ------------------------------------------------------------------------------------

    def answer(self, cluster: str, request: Any) -> SyncReply | None:
        process = self._of(request.session)
        if process is None:
            return None
        if self._is_paused(process):  # it takes effect all the same, when nobody waits any more
            at = process.paused_until + 0.001
            self.world.at(at, self._answers_late, process, cluster, request)
            return None
        self._be(process)
        try:
            return super().answer(cluster, request)
        except StoreUnavailable:
            self._look_at_the_books()
            return None

    def _answers_late(self, process: Process, cluster: str, request: Any) -> None:
        if self.processes.get(process.name) is process and not self._is_paused(process):
            self._be(process)
            self.dies_in_request = False
            with suppress(Rejected, StoreUnavailable):
                super().answer(cluster, request)
            self._look_at_the_books()

    def _said_by(self, cluster: str, request: SyncRequest) -> SyncReply | None:
        return SyncReply.model_validate_json(self.run(self.sync.sync(cluster, request, [])))

    def has_news(self, cluster: str, request: Any) -> bool:
        process = self.processes.get(self._places.get(request.session, ""))
        if process is None:
            return True
        held = process.sync._sets.of(cluster)
        return held.delta(request.session, request.desired) is not None

    # --- who leads ---------------------------------------------------------------------------------

    def _tend(self, name: str) -> None:
        """Once a second a process renews its lease, or looks whether it can be had."""
        self.world.after(1.0, self._tend, name)
        process = self.processes.get(name)
        if process is None or self._is_paused(process):
            return
        before = process.lease.term()
        with suppress(StoreUnavailable):
            self.run(process.lease._tick())
        if process.lease.term() not in {before, NOT_LEADING}:
            self.world.note(f"{name} leads: term {process.lease.term()}")
            self.world.happens("leads", "north")
            self.look_soon(0.05)

    def watch_silence(self) -> None:
        """Nothing: each process has its own watch."""

    def _watch(self) -> None:
        self.world.after(5.0, self._watch)
        for process in self._awake():
            if process.name in self.processes:
                self._be(process)
                with suppress(StoreUnavailable, StaleTerm):
                    self.run(process.silence.tick())
                self._look_at_the_books()

    def _look(self) -> None:
        self._looking = False
        for process in self._awake():
            if process.name not in self.processes:
                continue
            self._be(process)
            leads = process.lease.term() != NOT_LEADING
            if leads and not self._is_cut(process.name) and self.world.random.random() < 0.1:
                self._old_leader()
            try:
                self.run(self._turn() if leads else self._keep_up())
            except (StoreUnavailable, StaleTerm) as error:
                self.world.note(f"{process.name}: {type(error).__name__} in its turn")
                process.scheduler.loaded = False
            self._look_at_the_books()
        waits = {row["state"] for row in self.books.workloads.values()}
        if waits & {"Pending", "Reserved"} or self._meanwhile:
            self.look_soon(1.0)

    def _old_leader(self) -> None:
        kept, self.another_leads_in_plan = self.another_leads_in_plan, False
        super()._old_leader()
        self.another_leads_in_plan = kept

    async def _keep_up(self) -> None:
        """One that does not lead follows, to say what waits where."""
        change, revision = self._news.take(), self._news.revision
        if not self.scheduler.loaded:
            await self.scheduler.load()
        else:
            await self.scheduler.follow(change.keys if change else {}, revision)

    async def _between(self, process: Process, fn: Any, *args: Any, **named: Any) -> Any:
        """Between a plan and its commit people act, and another process may come to lead."""
        if fn is commit.commit_plan and process is self.process:
            await self._carry_out_wishes()
            if self.another_leads_in_plan:
                await self._another_leads(process)
        return await process.write(fn, *args, **named)

    async def _another_leads(self, than: Process) -> None:
        """One that makes a plan is paused until another has taken its place, and decided."""
        others = [
            each for each in self._awake() if each is not than and not self._is_cut(each.name)
        ]
        if not others or self._is_cut(than.name):
            return
        self.another_leads_in_plan = False
        other = others[0]
        self.world.note(f"{than.name} is paused in its plan, and {other.name} leads")
        lease = other.lease
        lease._term = await other.write(leadership.seize, other.name)
        lease._renewed_at = self.clock.monotonic()
        with other.db._read_engine.connect() as conn:
            other.db._found(conn, 0)
        await waiting.turns(2)
        await other.scheduler.load()
        await other.scheduler.turn()

    async def _carry_out_wishes(self) -> None:
        waiting_now, self._meanwhile = self._meanwhile, []
        for index, wish in enumerate(waiting_now):
            try:
                await self._write(wish)
            except Rejected:
                continue
            except StoreUnavailable:  # who wished it asks again
                self._meanwhile += waiting_now[index:]
                return

    # --- users -------------------------------------------------------------------------------------

    def submit(self, uid: str, name: str, notes: dict[str, str]) -> None:
        """Where nobody answers, or nobody knows how it ended, it is said again."""
        if not self._told(partial(super().submit, uid, name, notes)):
            self.world.after(1.0, self.submit, uid, name, notes)

    def schedule(self, apply: Callable[[Transaction], dt.datetime]) -> bool:
        return self._told(partial(super().schedule, apply))

    def wish(self, uid: str, wish: str) -> None:
        if not self._told(partial(super().wish, uid, wish)):
            self.world.after(1.0, self.wish, uid, wish)

    def _told(self, what: Callable[[], object]) -> bool:
        """Whether a process took what a user says."""
        process = self._some()
        if process is not None:
            self._be(process)
            with suppress(StoreUnavailable):
                what()
                return True
            self._look_at_the_books()
        return False
