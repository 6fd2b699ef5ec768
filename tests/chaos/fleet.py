"""A fleet of real processes with a breakable link on either side of every agent.

    hub ◄── link hub-m1 ◄── agent-m1 ──► link api-m1 ──► sim-m1        … for every member

Several hubs share a database of PostgreSQL, each over a link of its own (db-hub, db-hub-2); the links of
agents and of the user lead to them in turn, as a load balancer does.

Everything listens on loopback. The processes end with the one that started them; those that die are
started again by `tick`, unless the schedule keeps them down.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import yaml

from roadstead.cli import ports
from roadstead.cli.forks import Forks
from roadstead.errors import RoadsteadError
from roadstead.responses import Address
from roadstead.steps import Request
from roadstead.transport import Transport
from tests import stem
from tests.chaos.links import Links
from tests.chaos.parts import Hubs, Part
from tests.e2e.running import REPOSITORY, until

START_WITHIN_S = 90
_EXIT_SUPERSEDED = 3
_RESTART_AFTER_S = 0.3
_REQUEST_S = 5.0
_ONE_HUB = Hubs()
Json = dict[str, Any]


class Fleet:
    """Hub, members and agents in a folder. Only the thread that made it starts processes."""

    def __init__(
        self, folder: Path, members: dict[str, list[Json]], env: dict[str, str], lease_s: float,
        *, source: Path = REPOSITORY, hubs: Hubs = _ONE_HUB,
    ) -> None:  # fmt: skip
        """`members`: node pools by name. `lease_s` 0: the agents' own. `source`: whose code runs."""
        self.folder, self.members, self._lease_s = folder, members, lease_s
        # The schedules create namespaces in the members, which their people have to accept.
        # Jobs without a queue run beside those of the tight one.
        given = {
            "ROADSTEAD_AGENT_ACCEPTED_NAMESPACES": "*,default",
            "ROADSTEAD_INTAKE_UNQUEUED_JOBS": "Default",
        }
        self._env = {
            **os.environ,
            **given,
            **env,
            "PYTHONPATH": str(source),
            "PYTHONUNBUFFERED": "1",
        }
        self._source = source
        self.links = Links()
        self._link_ports: dict[str, int] = {}
        self.parts: dict[str, Part] = {}
        self.hubs = hubs
        self.agent_tokens: dict[str, str] = {}  # other than the administrator's, by member
        self._forks: Forks | None = None
        listening = [*hubs.names, *(f"sim-{m}" for m in members), "sim-hub"]
        self.ports = dict(zip(listening, ports.free(len(listening)), strict=True))
        self.server = f"http://127.0.0.1:{self.ports['hub']}"

    # --- start and end -----------------------------------------------------------------------------

    def start(self) -> None:
        """Start every part; returns when all agents are in touch. AssertionError after 90 s."""
        for name in ("logs", "agents"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        if self._source == REPOSITORY:  # other sources have to be loaded by each process itself
            self._forks = Forks(
                self.folder, self.folder / "logs" / "template.log", stem.launcher()
            )
        self._start_hub("hub")
        if self.hubs.cluster:
            self._start_simulator("hub", [], "--hub", f"--hubs-own={self._hubs_own}")
        for member, pools in self.members.items():
            self._start_simulator(member, pools)
        until(self.answers, START_WITHIN_S, "the hub answers")
        for name in self.hubs.names[1:]:  # they find the tables and the administrator's token
            self._start_hub(name)
        for member in self.members:
            until(self.kubeconfig(member).exists, START_WITHIN_S, f"{member} answers")
            self.join(member)
            self.start_agent(member)
        until(self._all_ready, START_WITHIN_S, "all agents are in touch")

    def stop(self) -> None:
        """End every process, by its pid, and wait for it."""
        for part in self.parts.values():
            part.wanted = False
            if part.process is not None and part.process.poll() is None:
                part.process.send_signal(signal.SIGCONT)
                part.process.send_signal(signal.SIGKILL)
        for part in self.parts.values():
            if part.process is not None:
                part.process.wait(60)
        if self._forks is not None:
            self._forks.close()

    def tick(self) -> None:
        """Start again what has died and is wanted."""
        now = time.monotonic()
        for part in self.parts.values():
            code = None if part.process is None else part.process.poll()
            if code is None or not part.wanted:
                continue
            if code == _EXIT_SUPERSEDED and self._lives(f"{part.name}-twin"):
                continue  # it would only take turns with its twin
            if not part.down_until:
                part.down_until = now + _RESTART_AFTER_S
            if now >= part.down_until:
                part.ends.append(code)
                part.down_until, part.armed = 0.0, ""
                self._spawn(part)

    # --- parts ---------------------------------------------------------------------------------------

    def kill(self, name: str, down_s: float = 0.0) -> None:
        """kill -9; it is started again after `down_s`."""
        part = self.parts[name]
        if part.process is not None and part.process.poll() is None:
            part.down_until = time.monotonic() + max(down_s, _RESTART_AFTER_S)
            part.process.send_signal(signal.SIGKILL)

    def arm(self, name: str, point: str) -> None:
        """Start a part anew, so that it dies at a failpoint; what is started after that does not."""
        part = self.parts[name]
        assert part.process is not None
        part.process.send_signal(signal.SIGTERM)
        part.process.wait(60)
        part.armed, part.down_until, part.ends = point, 0.0, []
        self._spawn(part)

    def run(self, module: str, *arguments: str) -> None:
        """Run a command to its end. AssertionError where it fails."""
        done = subprocess.run(
            [sys.executable, "-m", module, *arguments], cwd=self._source, env=self._env,
            text=True, capture_output=True, timeout=60, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{module} {arguments}: {done.stdout}{done.stderr}"

    def keep_down(self, name: str) -> None:
        """kill -9; it stays down until `bring_up`."""
        part = self.parts[name]
        part.wanted = False
        self.signal(name, signal.SIGKILL)
        if part.process is not None:
            part.process.wait(60)

    def bring_up(self, name: str) -> None:
        """Start a part that was kept down."""
        part = self.parts[name]
        part.wanted, part.down_until = True, 0.0
        self._spawn(part)

    def leader(self) -> str | None:
        """The hub that leads, as the database has it. None where it cannot be asked."""
        server = self.hubs.server
        if server is None:
            return "hub"
        asked = "SELECT holder FROM leases WHERE name = 'leader' AND expires_at > now()"
        with contextlib.suppress(psycopg.Error), psycopg.connect(server.address("hub")) as conn:
            row = conn.execute(asked).fetchone()
            pid = 0 if row is None else int(row[0].rpartition("/")[2])
            for name in self.hubs.names:
                process = self.parts[name].process
                if process is not None and process.pid == pid:
                    return name
        return None

    def signal(self, name: str, number: int) -> None:
        """Send a signal to a part that lives."""
        part = self.parts.get(name)
        if part is not None and part.process is not None and part.process.poll() is None:
            part.process.send_signal(number)

    def end(self, name: str) -> None:
        """End a part for good."""
        part = self.parts.pop(name, None)
        if part is not None and part.process is not None:
            part.process.send_signal(signal.SIGKILL)
            part.process.wait(60)

    def start_agent(self, member: str, *, twin: str = "", linked: bool = True) -> None:
        """Start the agent of a member, or a second one: `twin` "copy" (of its credential) or "same"."""
        name = f"agent-{member}" + ("-twin" if twin else "")
        home = self.folder / "agents" / member
        credential = home / "credential"
        if twin == "copy":
            credential = self.folder / "agents" / f"{member}-twin" / "credential"
            credential.parent.mkdir(exist_ok=True)
            shutil.copy(home / "credential", credential)
        hub = self.links_port("hub", member) if linked else self.ports["hub"]
        kubeconfig = home / "kubeconfig" if linked else self.kubeconfig(member)
        module = ["agent"]
        if self._lease_s:
            module = ["tests.chaos.quick_agent", f"--lease-s={self._lease_s:g}"]
        self._start(
            name,
            *module,
            f"--hub=http://127.0.0.1:{hub}",
            f"--kubeconfig={kubeconfig}",
            f"--credential={credential}",
            f"--join-token={home / 'join.token'}",
        )
        self.parts[name].wanted = not twin

    def has_joined(self, member: str) -> bool:
        """Whether the member's agent has a credential."""
        return (self.folder / "agents" / member / "credential").exists()

    def forget_agent(self, member: str) -> None:
        """Kill an agent with all it keeps; it has to `join` anew."""
        self.parts[f"agent-{member}"].process.send_signal(signal.SIGKILL)
        for path in (self.folder / "agents" / member).glob("credential*"):
            path.unlink()

    def links_port(self, side: str, member: str) -> int:
        """The port of the link between an agent and its "hub" or "api"."""
        return self._link_ports[f"{side}-{member}"]

    def kubeconfig(self, member: str) -> Path:
        """Of the member's API server itself, past any link."""
        return self.folder / f"{member}.kubeconfig"

    def request(self, method: str, path: str, **given: Any) -> Json:
        """One request to the hub as its administrator. Raises RoadsteadError."""
        transport = Transport(Address(self.server, self._token()), timeout_s=_REQUEST_S)
        try:
            return transport.answer(Request(method, path, repeatable=True, **given))
        finally:
            transport.close()

    def jobs(self, **filters: str) -> list[Json]:
        """All jobs as the hub lists them. Raises RoadsteadError."""
        found: list[Json] = []
        query: Json = {**filters, "limit": 500}
        while True:
            page = self.request("GET", "/v1/jobs", query=query)
            found += page["items"]
            if not page.get("continue"):
                return found
            query["continue"] = page["continue"]

    @property
    def database(self) -> str:
        """The address of the hubs' database, past any link."""
        if self.hubs.server is not None:
            return self.hubs.server.address("hub")
        return f"sqlite:///{self.folder / 'hub' / 'hub.db'}"

    # --- internals -----------------------------------------------------------------------------------

    def open_links(self) -> None:
        """Open the links; before `start`."""
        hubs = [self.ports[name] for name in self.hubs.names]
        if len(hubs) > 1:
            self.server = f"http://127.0.0.1:{self.links.open('user', *hubs, tls=False)}"
        if self.hubs.server is not None:
            for name in self.hubs.names:
                port = self.links.open(f"db-{name}", self.hubs.server.port, tls=False)
                self._link_ports[f"db-{name}"] = port
        for member in self.members:
            api = self.ports[f"sim-{member}"]
            for side, targets, tls in (("hub", hubs, False), ("api", [api], True)):
                port = self.links.open(f"{side}-{member}", *targets, tls=tls)
                self._link_ports[f"{side}-{member}"] = port

    @property
    def _hubs_own(self) -> Path:
        return self.folder / "hubs-own.kubeconfig"

    def _start_hub(self, name: str) -> None:
        more = [f"--hub-kubeconfig={self._hubs_own}"] if self.hubs.cluster else []
        if self.hubs.server is not None:
            self.hubs.server.database("hub")
            address = f"127.0.0.1:{self._link_ports[f'db-{name}']}"
            more.append(f"--database=postgresql://hub@{address}/hub?sslmode=disable")
        self._start(
            name,
            "hub",
            f"--data={self.folder / name}",
            f"--admin-token-file={self.folder / 'hub' / 'admin.token'}",
            f"--listen=127.0.0.1:{self.ports[name]}",
            *more,
        )

    def _start_simulator(self, member: str, pools: list[Json], *more: str) -> None:
        file = self.folder / f"{member}.pools.json"
        file.write_text(json.dumps(pools))
        self._start(
            f"sim-{member}",
            "shared.kubesim" if member == "hub" else self.hubs.members,
            f"--name={member}",
            f"--data={self.folder / f'sim-{member}'}",
            f"--listen=127.0.0.1:{self.ports[f'sim-{member}']}",
            f"--kubeconfig={self.kubeconfig(member)}",
            f"--pools={file}",
            *more,
        )

    def join(self, member: str) -> None:
        """Declare the member, or ask for a fresh token; its agent's kubeconfig leads over the link."""
        try:
            self.request("GET", f"/v1/clusters/{member}")
            answer = self.request("POST", f"/v1/clusters/{member}/join-token")
        except RoadsteadError:
            answer = self.request(
                "POST", "/v1/clusters", body=json.dumps({"name": member}).encode()
            )
        home = self.folder / "agents" / member
        home.mkdir(parents=True, exist_ok=True)
        (home / "join.token").write_text(answer["joinToken"])
        config = yaml.safe_load(self.kubeconfig(member).read_text())
        over_link = f"https://127.0.0.1:{self.links_port('api', member)}"
        config["clusters"][0]["cluster"]["server"] = over_link
        if token := self.agent_tokens.get(member):
            config["users"][0]["user"]["token"] = token
        (home / "kubeconfig").write_text(json.dumps(config))

    def _start(self, name: str, module: str, *arguments: str) -> None:
        command = [sys.executable, "-m", module, *arguments, "--die-with-parent"]
        part = self.parts[name] = Part(name, command)
        self._spawn(part)

    def _lives(self, name: str) -> bool:
        part = self.parts.get(name)
        return part is not None and part.process is not None and part.process.poll() is None

    def _spawn(self, part: Part) -> None:
        env = self._env | ({"ROADSTEAD_FP": part.armed} if part.armed else {})
        log = self.folder / "logs" / f"{part.name}.log"
        if self._forks is not None:
            module, *arguments = part.command[2:]
            begun = self._forks.start(part.name, module, arguments, log, env, self._source)
            part.process = begun.result(START_WITHIN_S)
            return
        with log.open("ab") as output:
            part.process = subprocess.Popen(
                part.command,
                cwd=self._source,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )

    def _token(self) -> str:
        return (self.folder / "hub" / "admin.token").read_text().strip()

    def answers(self) -> bool:
        """Whether a hub answers."""
        try:
            return self.request("GET", "/v1/overview") is not None
        except (RoadsteadError, OSError):
            return False

    def _all_ready(self) -> bool:
        clusters = self.request("GET", "/v1/clusters")["items"]
        return {c["name"] for c in clusters if c["ready"]} >= set(self.members)


@contextlib.contextmanager
def running(fleet: Fleet) -> Iterator[Fleet]:
    """The fleet with its links for the length of the block; every process is gone afterwards."""
    with fleet.links:
        fleet.open_links()
        try:
            fleet.start()
            yield fleet
        finally:
            fleet.stop()
