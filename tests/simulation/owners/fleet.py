"""The hub and its members, each as the product composes it, on the virtual clock."""

import asyncio
import contextlib
import datetime as dt
import shutil
import tempfile
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import httpx

from agent.config import Settings as AgentSettings
from agent.main import Agent
from hub.api import agents
from hub.api.app import create_app
from hub.controllers.chains import Chains
from hub.controllers.heartbeats import SilenceLoop
from hub.controllers.last_down import LastDown
from hub.controllers.lifetimes import Lifetimes
from hub.controllers.placements import Placements
from hub.controllers.scheduling import SchedulingController
from hub.services.access import credentials
from hub.services.context import identity, leadership, timeline
from hub.services.context.hub import Hub
from hub.services.context.settings import Settings
from hub.services.members.sync import AgentSync
from hub.store.engine import Database
from hub.store.errors import StoreUnavailable
from shared.kube.client import KubeClient
from shared.kube.connection import Connection
from shared.kubesim import cluster as kubesim
from shared.kubesim.apimachinery.writer import writer
from shared.kubesim.cluster import SimCluster
from shared.kubesim.requests.call import User
from tests import prepared
from tests.simulation.books import memory_backed
from tests.simulation.owners.ledger import AGENT, HubSide, Ledger
from tests.simulation.owners.users import declare
from tests.simulation.owners.virtual import VirtualClock
from tests.simulation.owners.wire import HubLine, Line, MemberLine

T = TypeVar("T")
POOLS = [
    {"name": "cpu", "count": 1, "allocatable": {"cpu": "64", "memory": "64Gi", "pods": "110"}}
]
USERS = (AGENT, "people", "tool")
_A_DAY = dt.timedelta(days=1)
_IDLE_S = (3.0, 4.0)  # idle turns of scheduler and heartbeats: rarer than in a process
_CERTIFICATES: dict[str, Any] = {}


def _kept_certificates(folder: Path, name: str, now: Any) -> Any:
    """Made once for a process: nobody speaks TLS here."""
    if "one" not in _CERTIFICATES:
        where = Path(tempfile.mkdtemp(prefix="owners-pki-"))
        _CERTIFICATES["one"] = _made_certificates(where, name, now)
    return _CERTIFICATES["one"]


_KUBESIM: Any = kubesim
_made_certificates = _KUBESIM.ensure_certificates


class HubProcess:
    """The whole hub over one store; killed and started again on the same file."""

    def __init__(self, folder: Path, clock: VirtualClock) -> None:
        self.folder, self.clock = folder, clock
        self.up = False
        self.hub_id = ""
        self._loops: list[asyncio.Task[Any]] = []
        self._requests: set[asyncio.Task[Any]] = set()

    async def start(self) -> None:
        prepared.copy_to(self.folder / "hub.db")
        self.db = Database.open(f"sqlite:///{self.folder}/hub.db", self.clock)
        known = await self.db.write(identity.load)
        self.hub_id = known.hub_id
        self.hub = Hub(self.db, self.clock, Settings(), page_key=known.page_key)
        self.hub.timeline = await self.hub.write(timeline.begin, known.incarnation, known.page_key)
        term = await self.hub.write(leadership.seize, "owners")
        sync = AgentSync(
            self.db, self.clock, hub_id=known.hub_id, incarnation=known.incarnation,
            term=lambda: term, closing=self.hub.closing, timeline=self.hub.timeline,
        )  # fmt: skip
        self.app = create_app(self.hub, (agents.router,))
        self.app.state.agent_sync = sync
        scheduling = SchedulingController(self.hub, lambda: term)
        self.app.state.schedule_index = lambda: scheduling.scheduler.index
        self.hub.settings.token_reviews.do_without_cluster()
        last_down = LastDown()
        silence = SilenceLoop(self.hub, sync, lambda: term, last_down)
        scheduling.loop._every_s, silence.loop._every_s = _IDLE_S
        runs: list[Coroutine[Any, Any, Any]] = [
            sync.run(),
            scheduling.run(),
            silence.run(),
            Lifetimes(self.hub, lambda: term, last_down).run(),
            Chains(self.hub, lambda: term).run(),
            Placements(self.hub, lambda: term).run(),
        ]
        self._loops = [asyncio.create_task(run) for run in runs]
        self.up = True

    async def guarded(self, request: Coroutine[Any, Any, httpx.Response]) -> httpx.Response:
        """Answer a request, or lose it with the process."""
        task = asyncio.create_task(request)
        self._requests.add(task)
        try:
            return await task
        except asyncio.CancelledError:
            if self.up:  # who asked is gone
                task.cancel()
                raise
            raise httpx.ReadError("the hub is gone") from None
        except StoreUnavailable:
            raise httpx.ReadError("the hub is gone") from None
        finally:
            self._requests.discard(task)

    async def stop(self) -> None:
        """Kill it: what was committed is kept."""
        self.up = False
        tasks = [*self._loops, *self._requests]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.db.close()

    def fault(self) -> BaseException | None:
        """What one of its loops died of."""
        for task in self._loops:
            if task.done() and not task.cancelled() and task.exception() is not None:
                return task.exception()
        return None


class Member:
    """One cluster, its ledger, and its agent while one runs."""

    def __init__(self, fleet: "Fleet", name: str) -> None:
        self.fleet, self.name = fleet, name
        self.cluster = SimCluster(
            name, clock=fleet.clock, pools=POOLS, events="none",
            tokens={f"token-{user}": User(user, ("system:masters",)) for user in USERS},
        )  # fmt: skip
        self.ledger = Ledger(name, "", fleet.clock.monotonic, fleet.hub_side)
        self.ledger.follow(self.cluster.store, writer)
        self.is_cut = False
        self.line: Line | None = None
        self.running: asyncio.Task[int] | None = None
        self._count = 0

    async def open(self) -> None:
        self.ledger.hub_id = self.fleet.hub.hub_id
        self.cluster.crds.bootstrap()
        self.cluster.namespaces.bootstrap()
        await self.cluster.garbage.start()
        await self.cluster.behaviours.start()
        self.kube = {user: self._client(user) for user in USERS if user != AGENT}

    def _client(self, user: str) -> KubeClient:
        line = self._a_line(user)
        line.delay = lambda: 0.0
        return KubeClient(MemberLine(line, self.fleet.clock))

    def _a_line(self, user: str) -> Line:
        dice = self.fleet.dice
        line = Line(self.cluster.server, f"token-{user}", lambda: 0.001 + 0.02 * dice.random())
        line.dice = dice
        return line

    async def close(self) -> None:
        await self.kill()
        await self.cluster.behaviours.stop()
        await self.cluster.garbage.stop()
        self.cluster.watch_hub.end_all()

    # --- the agent -------------------------------------------------------------------------------

    def start(self) -> None:
        """Start an agent process, if none runs."""
        if self.running is not None:
            return
        self._count += 1
        self.line = line = self._a_line(AGENT)
        line.loses = self.fleet.loses
        folder = self.fleet.folder / self.name
        folder.mkdir(exist_ok=True)
        config = folder / f"agent-{self._count}"
        self.fleet.lines[str(config)] = line
        settings = AgentSettings(
            hub_url="http://hub", credential=folder / "credential.json", kubeconfig=config,
            join_token=folder / "join.token", stand_by=False,
        )  # fmt: skip
        transport = HubLine(self, line, self.fleet.hub_side.sent)
        agent = Agent(settings, clock=self.fleet.clock, transport=transport)
        self.running = asyncio.create_task(agent.run())
        line.killed = self._was_killed

    def _was_killed(self) -> None:
        self.fleet.note(f"{self.name}: the agent is killed in a write")
        asyncio.get_running_loop().call_soon(lambda: asyncio.ensure_future(self.kill()))

    async def kill(self) -> None:
        """SIGKILL: nothing it does from here on reaches anybody."""
        if self.line is not None:
            self.line.dead = True
        running, self.running = self.running, None
        if running is not None:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


class Fleet:
    """One hub and its members. `loses`: the share of answers to writes that agents do not hear."""

    def __init__(self, clock: VirtualClock, dice: Any, note: Any) -> None:
        self.clock, self.dice, self.note = clock, dice, note
        self.folder = Path(tempfile.mkdtemp(prefix="owners-", dir=memory_backed()))
        self.hub_side = HubSide()
        self.lines: dict[str, Line] = {}
        self.loses = 0.0
        self.hub = HubProcess(self.folder, clock)
        self.members: dict[str, Member] = {}

    async def start(self, names: tuple[str, ...]) -> None:
        await self.hub.start()
        for name in names:
            member = self.members[name] = Member(self, name)
            await member.open()

            await declare(self.hub, name)
            token, _ = await self.hub.hub.write(credentials.issue_join, name, _A_DAY)
            (self.folder / name).mkdir(exist_ok=True)
            (self.folder / name / "join.token").write_text(token)
            member.start()

    async def stop(self) -> None:
        for member in self.members.values():
            await member.close()
        if self.hub.up:
            await self.hub.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    @contextlib.contextmanager
    def wired(self) -> Any:
        """Within, clients of members go by lines."""
        kept, certificates = Connection.__dict__["open"], _KUBESIM.ensure_certificates

        async def open_line(_cls: Any, /, kubeconfig: Any, **_: Any) -> MemberLine:
            return MemberLine(self.lines[str(kubeconfig)], self.clock)

        line: Any = Connection
        line.open = classmethod(open_line)
        _KUBESIM.ensure_certificates = _kept_certificates
        try:
            yield
        finally:
            line.open = kept
            _KUBESIM.ensure_certificates = certificates
