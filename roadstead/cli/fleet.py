"""A whole fleet on this machine: hub, simulated hub cluster, simulated members, their agents.

The hub and the agents run the code they run in production; only the clusters are simulated. All state is in
one folder:

   admin.token  server  hub.kubeconfig  members/<name>.kubeconfig      for users
   pids/  logs/                                                        of the child processes
   hub/  hub-2/  clusters/<name>/  agents/<name>/                      data of each part
   fleet.json  up.lock                                                 members, ports; the running process
"""

import asyncio
import contextlib
import fcntl
import json
import os
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import structlog

from roadstead.cli import last_start, ports
from roadstead.cli.members import Member, growing_pools
from roadstead.cli.supervisor import Child, Supervisor
from roadstead.client import Client
from roadstead.errors import NotFound, RoadsteadError
from shared.clock import Clock, SystemClock

READY_WITHIN_S = 120.0
# Reasons of a bridge that does not cross yet, and soon will; another is for people to see and decide.
_NOT_YET = frozenset({"", "HubClusterStarting", "HubClusterSilent"})
_ACCEPTED = "ROADSTEAD_AGENT_ACCEPTED_NAMESPACES"
_REFUSED = 1  # exit code of an agent that the hub does not let in …
_REFUSED_REST_S = 30.0  # … and how long it rests before it asks again
_log = structlog.get_logger(__name__)
# A fleet to try things on takes Jobs without a queue beside those with quota, as the examples are.
_HUB_DEFAULTS = {"ROADSTEAD_INTAKE_UNQUEUED_JOBS": "Default"}
_HUB_SIM = "sim-hub"
_SIMULATOR = "shared.kubesim"
_LOOPBACK = "127.0.0.1"


class CannotStart(RoadsteadError):
    """The fleet failed to start; the message has the part, the reason, and the path of its log."""


class Fleet:
    """Starts the parts in order and waits until all of them answer."""

    def __init__(
        self,
        folder: Path,
        listen: tuple[str, int],
        members: Sequence[Member],
        *,
        packed: bool = False,
        replicas: int = 1,
        database: str | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.folder = folder.resolve()
        self.members = tuple(members)
        self._packed = packed
        self._replicas = replicas
        self._database = database  # of PostgreSQL; None: a file of SQLite's
        self._removed: set[str] = (
            set()
        )  # members that joined earlier and were removed from the hub
        self.clock = self._clock = clock or SystemClock()
        self._listen = listen
        self._make_folders()
        self._supervisor = Supervisor(self.folder, clock=self._clock)
        self._ports = self._known_ports()
        self._claim = contextlib.ExitStack()

    @property
    def server(self) -> str:
        """The hub's address; set by `start`, and the same after a restart on the same folder."""
        return f"http://{self._listen[0]}:{self._ports['hub']}"

    @property
    def hub_kubeconfig(self) -> Path:
        """Kubeconfig of users for the simulated hub cluster."""
        return self.folder / "hub.kubeconfig"

    @property
    def hubs_own_kubeconfig(self) -> Path:
        """Kubeconfig of the hub for it: some objects only the hub may write."""
        return self.folder / "clusters" / "hubs-own.kubeconfig"

    def member_kubeconfig(self, name: str) -> Path:
        """Kubeconfig for one simulated member."""
        return self.folder / "members" / f"{name}.kubeconfig"

    def client(self) -> Client:
        """A client with the administrator's token."""
        return Client(self.server, (self.folder / "admin.token").read_text().strip())

    async def start(self) -> None:
        """Start every part; returns when all of them answer. Raises CannotStart."""
        self._claim.enter_context(_claimed(self.folder))
        await self._supervisor.open()
        self._settle_ports()
        for member in self.members:
            if not self._credential(member.name).exists():  # of a start that was cut short
                self._join_token(member.name).unlink(missing_ok=True)
        (self.folder / "server").write_text(self.server + "\n")
        if self._packed:
            await self._start_packed()
        else:
            await self._start_apart()
        await self._until("the agents", "hub", self._all_joined)
        await self._until("the hub's kinds on the hub cluster", "hub", self._kinds_served)

    async def stop(self) -> None:
        """Stop every part."""
        await self._supervisor.stop()
        self._claim.close()

    # Starting is mostly loading Python modules, so that everything starts as soon as it can: the hub
    # looks for its hub cluster until it is there, agents wait for their join token.

    async def _start_apart(self) -> None:
        await self._start_hub()
        await self._supervisor.start(self._simulator(_HUB_SIM, None))
        for member in self.members:
            await self._supervisor.start(self._simulator(f"sim-{member.name}", member))
        await self._clusters_answer(_HUB_SIM)
        for member in self.members:
            await self._supervisor.start(self._agent(member))
        await self._hubs_answer()
        await self._settle_members()

    async def _start_packed(self) -> None:
        await self._start_hub()
        (self.folder / "pack.json").write_text(json.dumps(self._pack_plan()))
        await self._supervisor.start(Child("pack", "roadstead.cli.pack", [str(self.folder)]))
        await self._clusters_answer("pack")
        await self._hubs_answer()
        await self._settle_members()

    async def _clusters_answer(self, log: str) -> None:
        paths = [self.hub_kubeconfig, *(self.member_kubeconfig(m.name) for m in self.members)]
        names = [_HUB_SIM, *(f"sim-{m.name}" for m in self.members)]

        async def answer() -> bool:
            return all(p.exists() for p in paths) and all(
                ports.answers(_LOOPBACK, self._ports[name]) for name in names
            )

        await self._until("the simulated clusters", log, answer)

    async def _start_hub(self, replica: int = 1) -> None:
        """All replicas listen on one port; each has its own folder."""
        name = "hub" if replica == 1 else f"hub-{replica}"
        shared = [f"--database={self._database}", "--share-port"] if self._database else []
        if self._replicas > 1:
            shared.append(f"--own-listen={_LOOPBACK}:0")  # where the others reach it
        await self._supervisor.start(
            Child(
                name,
                "hub",
                [
                    f"--data={self.folder / name}",
                    f"--listen={self._listen[0]}:{self._ports['hub']}",
                    f"--hub-kubeconfig={self.hubs_own_kubeconfig}",
                    f"--admin-token-file={self.folder / 'admin.token'}",
                    *shared,
                    "--die-with-parent",
                ],
                defaults=_HUB_DEFAULTS,
            )
        )

    async def _hubs_answer(self) -> None:
        """Start the first hub, which creates the tables and the administrator's token for the others."""
        await self._until("the hub", "hub", self._hub_answers)
        for replica in range(2, self._replicas + 1):
            await self._start_hub(replica)

    async def _settle_members(self) -> None:
        """Declare new members; skip those that were removed from the fleet."""
        await asyncio.to_thread(self._declare_members)
        for name in sorted(self._removed):
            await self._supervisor.end(f"agent-{name}")
            _log.warning(
                "member was removed from the hub; its agent is not started",
                member=name,
                to_have_it_back=f"delete {self._credential(name).parent} and start again",
            )

    async def _hub_answers(self) -> bool:
        return await asyncio.to_thread(self._asks, lambda hub: hub.overview() is not None)

    async def _all_joined(self) -> bool:
        return await asyncio.to_thread(self._asks, self._joined)

    async def _kinds_served(self) -> bool:
        return await asyncio.to_thread(self._asks, _takes_what_is_applied)

    def _joined(self, hub: Client) -> bool:
        ready = {c.name for c in hub.clusters() if c.ready}
        return ready >= {m.name for m in self.members} - self._removed

    def _asks(self, question: Callable[[Client], bool]) -> bool:
        try:
            with self.client() as hub:
                return question(hub)
        except (RoadsteadError, OSError):
            return False

    def _declare_members(self) -> None:
        with self.client() as hub:
            known = {each.name for each in hub.clusters()}
            for member in self.members:
                if self._credential(member.name).exists():
                    if member.name not in known:
                        self._removed.add(member.name)
                    continue
                try:
                    hub.cluster(member.name)
                    answer = hub.join_token(member.name)
                except NotFound:
                    answer = hub.add_cluster(
                        member.name,
                        dict(member.labels),
                        [dict(t) for t in member.taints],
                        growing_pools(member),
                    )
                _write_private(self._join_token(member.name), answer.join_token)

    def _simulator(self, name: str, member: Member | None) -> Child:
        short = "hub" if member is None else member.name
        kubeconfig = self.hub_kubeconfig if member is None else self.member_kubeconfig(short)
        arguments = [
            f"--name={short}",
            f"--data={self.folder / 'clusters' / name}",
            f"--listen=127.0.0.1:{self._ports[name]}",
            f"--kubeconfig={kubeconfig}",
            "--die-with-parent",
        ]
        if member is None:
            arguments += ["--hub", f"--hubs-own={self.hubs_own_kubeconfig}"]
            return Child(name, _SIMULATOR, arguments)
        pools = self.folder / "clusters" / name / "pools.json"
        pools.parent.mkdir(parents=True, exist_ok=True)
        pools.write_text(json.dumps([dict(p) for p in member.pools]))
        arguments.append(f"--pools={pools}")
        if member.queue_manager:
            arguments.append("--queue-manager")
        return Child(name, _SIMULATOR, arguments)

    def _agent(self, member: Member) -> Child:
        return Child(
            f"agent-{member.name}",
            "agent",
            [
                f"--hub={self.server}",
                "--hub-plain-http",  # one machine, whatever address it listens on
                f"--kubeconfig={self.member_kubeconfig(member.name)}",
                f"--credential={self._credential(member.name)}",
                f"--join-token={self._join_token(member.name)}",
                f"--logs={os.environ.get('ROADSTEAD_AGENT_LOGS') or 'on'}",
                f"--accepted-namespaces={os.environ.get(_ACCEPTED) or 'default'}",
                "--die-with-parent",
            ],
            rests={_REFUSED: _REFUSED_REST_S},
        )

    def _pack_plan(self) -> dict[str, Any]:
        return {
            "server": self.server,
            "hub": {
                "port": self._ports[_HUB_SIM],
                "data": str(self.folder / "clusters" / _HUB_SIM),
                "kubeconfig": str(self.hub_kubeconfig),
                "hubs_own": str(self.hubs_own_kubeconfig),
            },
            "members": [
                {
                    **asdict(m),
                    "port": self._ports[f"sim-{m.name}"],
                    "data": str(self.folder / "clusters" / f"sim-{m.name}"),
                    "kubeconfig": str(self.member_kubeconfig(m.name)),
                    "credential": str(self._credential(m.name)),
                    "join_token": str(self._join_token(m.name)),
                }
                for m in self.members
            ],
        }

    def _credential(self, name: str) -> Path:
        return self.folder / "agents" / name / "credential"

    def _join_token(self, name: str) -> Path:
        return self.folder / "agents" / name / "join.token"

    def _make_folders(self) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            for part in ("hub", "members", "clusters", "agents"):
                (self.folder / part).mkdir(exist_ok=True, mode=0o700)
            for member in self.members:
                self._credential(member.name).parent.mkdir(exist_ok=True, mode=0o700)
        except OSError as failure:
            raise CannotStart(
                f"the data folder cannot be used: {failure.filename}: {failure.strerror}"
            ) from failure

    def _known_ports(self) -> dict[str, int]:
        """Choose a port per server: those of the last start on this folder, else free ones."""
        known = last_start.read(self.folder).ports
        wanted = ["hub", _HUB_SIM, *(f"sim-{m.name}" for m in self.members)]
        free = ports.free(len(wanted))
        found = {name: known.get(name) or port for name, port in zip(wanted, free, strict=True)}
        return {**found, "hub": self._listen[1] or found["hub"]}

    def _settle_ports(self) -> None:
        """Replace ports that are in use now, except the requested one."""
        host, asked = self._listen
        for name, port in self._ports.items():
            place = host if name == "hub" else _LOOPBACK
            failure = ports.why_taken(place, port)
            if failure and name == "hub" and (asked or failure.is_for_good):
                raise CannotStart(
                    f"cannot listen on {host}:{port}: {failure}; choose another with --listen"
                )
            if failure:
                self._ports[name] = ports.free(1)[0]
        last_start.write(self.folder, host, self._ports, self.members)

    async def _until(self, what: str, log: str, ready: Callable[[], Awaitable[bool]]) -> None:
        deadline = self._clock.monotonic() + READY_WITHIN_S
        while not await ready():
            if self._supervisor.hopeless:
                raise CannotStart(self._supervisor.hopeless)
            if self._clock.monotonic() > deadline:
                raise CannotStart(
                    f"{what} did not answer within {READY_WITHIN_S:.0f} s; "
                    f"see {self._supervisor.log_path(log)}"
                )
            await self._clock.sleep(0.1)


@contextlib.contextmanager
def _claimed(folder: Path) -> Iterator[None]:
    """Lock the folder until this process ends. Raises CannotStart."""
    with (folder / "up.lock").open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise CannotStart(
                f"{folder} is in use by another `roadstead up`, process {file.read().strip()}"
            ) from None
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield


def _takes_what_is_applied(hub: Client) -> bool:
    """Return whether the hub cluster serves the hub's kinds. Does not wait for a stopped bridge."""
    told = hub.hub_cluster()
    return told.running or told.reason not in _NOT_YET


def _write_private(path: Path, text: str) -> None:
    fresh = path.with_name(f".{path.name}")
    fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(fd, "w") as file:
        file.write(text + "\n")
    fresh.replace(path)
