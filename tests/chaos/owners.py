"""Schedules of three owners on real processes: the acts of the simulation's level `owners`.

The members keep the ledger (`tests.chaos.owned_member`); links read what the agents send to the hub.
"""

import asyncio
import json
import random
import threading
import time
from pathlib import Path
from typing import Any

import yaml

from roadstead.errors import NotFound, Rejected, RoadsteadError
from shared.kinds.placement_v1 import GROUP as PLACEMENT
from shared.kube.client import KubeClient
from tests import waiting
from tests.chaos import manifests, owned_member
from tests.chaos.fleet import Fleet, running
from tests.chaos.member import Member
from tests.chaos.parts import Hubs
from tests.chaos.sighted import Violation
from tests.e2e.running import REPOSITORY
from tests.simulation.owners import acts
from tests.simulation.owners.acts import MEMBERS, PLACED, PLACEMENTS, SPACES, Act
from tests.simulation.owners.ledger import CANARY, MADE
from tests.simulation.owners.locals import Locals
from tests.simulation.owners.users import a_class, a_placement, a_timed_job, declared

Json = dict[str, Any]
_PACE = 0.6  # of the simulation's seconds
_SETTLED_S = 60.0
_REAPPLY_S = 3.0
_TRIES, _AGAIN_S = 6, 2.0  # of a namespace that is made again, in the simulation's seconds
_USERS = ("agent", "people", "tool")
_KEPT_BYTES = 64


def draw(seed: int) -> list[Act]:
    """The acts of a seed that can be played on processes."""
    drawn = acts.draw(random.Random(seed ^ 0x0E2))
    return [each for each in drawn if each.what not in acts.OF_THE_STORE]


def play(seed: int, folder: Path, source: Path = REPOSITORY) -> list[Violation]:
    """Play the acts of a seed on processes; what was found. AssertionError if the fleet does not start."""
    drawn = draw(seed)
    env = {
        "ROADSTEAD_AGENT_ACCEPTED_NAMESPACES": "",
        owned_member.TAKE_OVERS: ",".join(sorted(_rules_of(drawn))),
    }
    pools = {name: manifests.pools() for name in MEMBERS}
    hubs = Hubs(members="tests.chaos.owned_member")
    fleet = Fleet(folder, pools, env, 4.0, source=source, hubs=hubs)
    for name in MEMBERS:
        _give_tokens(folder / f"sim-{name}")
        fleet.agent_tokens[name] = f"token-{name}-agent"
    with running(fleet):
        return asyncio.run(_Player(fleet, folder, drawn).play())


def a_namespace(name: str) -> Json:
    """A Namespace of the hub."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def _rules_of(drawn: list[Act]) -> set[str]:
    given = [dict(act.given[2]) for act in drawn if act.what == "place"]
    return {e.get("whenToTakeOver", "IfNoDiff") for e in given if e.get("type") != "ReportDiff"}


def _give_tokens(data: Path) -> None:
    """Tokens of agent, people and tool, in a member that has yet to start."""
    data.mkdir(parents=True)
    name = data.name.removeprefix("sim-")
    rows = [
        {"token": f"token-{name}-{user}", "user": user, "groups": ["system:masters"]}
        for user in _USERS
    ]
    (data / "tokens.json").write_text(json.dumps(rows))


class _Seen:
    """A member as `Locals` sees it: clients of its people and tool, its objects, who created them."""

    def __init__(self, name: str, fleet: Fleet, hub_id: str) -> None:
        self.name = name
        self.api = Member(name, fleet.kubeconfig(name))
        self.cluster = self.ledger = self.store = self.entries = self
        self.kube: dict[str, KubeClient] = {}
        self.asked("hub", hub_id)
        self._tail = b""
        self._lock = threading.Lock()
        self._values: set[str] = set()
        fleet.links.listen_in(f"hub-{name}", self._hear)

    async def connect(self, folder: Path) -> None:
        plain = yaml.safe_load((folder / f"{self.name}.kubeconfig").read_text())
        for user in ("people", "tool"):
            plain["users"][0]["user"]["token"] = f"token-{self.name}-{user}"
            path = folder / f"{self.name}-{user}.kubeconfig"
            path.write_text(json.dumps(plain))
            self.kube[user] = await KubeClient.connect(path)

    def asked(self, name: str = "uid", value: str = "") -> Json:
        return self.api.request("GET", f"/_owners?{name}={value}")

    def get(self, *at: str) -> Any:
        """An object by plural, namespace and name; the ledger's entry by uid."""
        if len(at) == 1:
            creator = self.asked("uid", at[0])["creator"]
            return _Entry(creator) if creator else None
        plural, namespace, name = at
        try:
            return self.api.request("GET", f"/api/v1/namespaces/{namespace}/{plural}/{name}")
        except OSError:
            return None

    def _hear(self, data: bytes) -> None:
        found = CANARY.findall((self._tail + data).decode("utf-8", "replace"))
        self._tail = data[-_KEPT_BYTES:]
        with self._lock:
            self._values.update(found)

    def leaked(self) -> list[Violation]:
        """What has been sent since the last look that may not leave this member."""
        with self._lock:
            values, self._values = self._values, set()
        told = {value: self.asked("value", value) for value in sorted(values)}
        return [
            Violation("O-3", self.name, f"sends {value}")
            for value, each in told.items()
            if each["known"] and not each["mayLeave"]
        ]


class _Entry:
    def __init__(self, creator: str) -> None:
        self.creator = creator


class _Hub:
    """What `Locals` asks of a hub."""

    def __init__(self, hub_id: str) -> None:
        self.hub_id = hub_id


class _Player:
    """Carries the acts out, heals, removes everything, and waits until nothing of the hub is left."""

    def __init__(self, fleet: Fleet, folder: Path, drawn: list[Act]) -> None:
        self.fleet, self.folder, self.drawn = fleet, folder, drawn
        credential = json.loads((folder / "agents" / "m1" / "credential").read_text())
        hub_id = credential["hub_id"]
        self.hub = _Hub(hub_id)
        self.members = {name: _Seen(name, fleet, hub_id) for name in MEMBERS}
        self.locals = Locals(self)
        self.placed: set[str] = set()
        self.found: list[Violation] = []
        self._numbers = dict.fromkeys(SPACES, 0)  # how often each namespace was made again
        self._due: list[tuple[float, str, tuple[Any, ...]]] = []
        self._calm = False

    def later(self, seconds: float, what: str, given: tuple[Any, ...]) -> None:
        """For `Locals`: in so many of the simulation's seconds."""
        self._due.append((time.monotonic() + seconds * _PACE, what, given))

    async def play(self) -> list[Violation]:
        for member in self.members.values():
            await member.connect(self.folder)
        self._open()
        began = time.monotonic()
        self._due += [(began + act.at * _PACE, act.what, act.given) for act in self.drawn]
        reapplied = began
        while self._due and not self.found:
            await self._turn()
            if time.monotonic() - reapplied > _REAPPLY_S:
                reapplied = time.monotonic()
                await self._reapply()
        if not self.found:
            await self._settle()
        for member in self.members.values():
            for client in member.kube.values():
                await client.close()
        return self.found

    async def _turn(self) -> None:
        self._due.sort(key=lambda each: each[0])
        if self._due and self._due[0][0] <= time.monotonic():
            _, what, given = self._due.pop(0)
            await self._act(what.replace("-", "_"), given)
        self.fleet.tick()
        self._look()
        await waiting.span(0.1, why="the acts of a schedule have their instants")

    async def _reapply(self) -> None:
        for (member, _, _), body in list(self.locals.reapplied.items()):
            await self.locals.reapply_once(member, body)

    async def _act(self, what: str, given: tuple[Any, ...]) -> None:
        local = getattr(self.locals, what, None)
        if local is not None:
            await local(*given)
            return
        try:
            getattr(self, what)(*given)
        except (RoadsteadError, OSError):
            return  # the hub is down, or refuses

    # --- the hub's users -------------------------------------------------------------------------

    def _apply(self, *documents: Json) -> None:
        self.fleet.request("POST", "/v1/apply", body=json.dumps(list(documents)).encode())

    def _open(self) -> None:
        self._apply(
            *map(a_namespace, SPACES),
            *(declared(s, *each, 0) for s in SPACES for each in PLACED),
            a_class(),
        )

    def place(self, name: str, policy: str, apply: Any, end: str, scope: str) -> None:
        self.placed.add(name)
        self._apply(a_placement(name, policy, apply, end, scope))

    def unplace(self, name: str) -> None:
        space, _, own = name.rpartition("/")
        kind = f"ResourcePlacement/namespaces/{space}" if space else "ClusterResourcePlacement"
        self.fleet.request("DELETE", f"/v1/objects/{PLACEMENT}/{kind}/{own}")

    def drain(self, member: str, seconds: float) -> None:
        self.later(seconds, "uncordon", (member,))
        self.fleet.request("POST", f"/v1/clusters/{member}/drain", body=b"{}")

    def uncordon(self, member: str) -> None:
        self.fleet.request("POST", f"/v1/clusters/{member}/uncordon")

    def submit(self, space: str, name: str, seconds: int) -> None:
        job = a_timed_job(space, name, round(seconds * _PACE))
        job["metadata"]["annotations"] = {MADE: str(self._numbers[space])}
        self._apply(job)

    def remake(self, space: str) -> None:
        """A user deletes a Namespace with everything in it, and makes another of its name."""
        self.unsubmit(space)
        self.empty(space, _TRIES)

    def empty(self, space: str, tries: int) -> None:
        """The new one is made when the old one is gone; until then what it holds is deleted again."""
        held = [(f"core/{kind}", name) for _, kind, name in PLACED]
        placed = [each.partition("/")[2] for each in PLACEMENTS if each.startswith(f"{space}/")]
        held += [(f"{PLACEMENT}/ResourcePlacement", name) for name in sorted(set(placed))]
        paths = [f"{kind}/namespaces/{space}/{name}" for kind, name in held]
        gone = [self._delete(path) for path in (*paths, f"core/Namespace/{space}")][-1]
        if not gone and tries > 1:
            self.later(_AGAIN_S, "empty", (space, tries - 1))
            return
        self._numbers[space] += gone
        self._apply(a_namespace(space), *(declared(space, *each, 0) for each in PLACED))

    def _delete(self, path: str) -> bool:
        """True once the hub no longer has it."""
        try:
            self.fleet.request("DELETE", f"/v1/objects/{path}")
        except NotFound:
            return True
        except Rejected:
            return False
        return True

    def unsubmit(self, space: str = "") -> None:
        for job in self.fleet.jobs():
            if job["namespace"] == space or not space:
                self.fleet.request("DELETE", f"/v1/jobs/{job['uid']}")

    def change(self, space: str, which: tuple[str, str, str], version: int) -> None:
        self._apply(declared(space, *which, version))

    # --- faults ----------------------------------------------------------------------------------

    def agent_dies(self, member: str, _writes: int, _when: str, back: float) -> None:
        self.fleet.kill(f"agent-{member}", back * _PACE)

    def hub_dies(self, seconds: float) -> None:
        self.fleet.kill("hub", seconds * _PACE)

    def cut(self, member: str, seconds: float) -> None:
        self.fleet.links.set(f"hub-{member}", "cut")
        self.later(seconds, "mend", (member,))

    def mend(self, member: str) -> None:
        self.fleet.links.set(f"hub-{member}", "pass")

    def lossy(self, share: float) -> None:
        """Answers of one member's API server are lost for a while."""
        name = MEMBERS[int(share * 100) % 2]
        self.fleet.links.set(f"api-{name}", "lose")
        self.later(3.0, "hear", (name,))

    def hear(self, member: str) -> None:
        self.fleet.links.set(f"api-{member}", "pass")

    # --- what is found ---------------------------------------------------------------------------

    def _look(self) -> None:
        for name, member in self.members.items():
            for text in member.asked()["found"]:
                invariant, _, detail = text.partition(": ")
                self.found.append(Violation(invariant, name, detail))
            self.found += member.leaked()

    async def _settle(self) -> None:
        self.fleet.links.heal()
        until, left = time.monotonic() + _SETTLED_S, "?"
        for part in self.fleet.parts.values():
            part.down_until = 0.0
        await self.locals.let_go()
        while left and not self.found and time.monotonic() < until:
            await self._turn()
            try:
                self._take_everything_back()
            except (RoadsteadError, OSError):
                continue
            left = next(
                (m.asked()["left"] for m in self.members.values() if m.asked()["left"]), ""
            )
            if self.placed:
                left = left or "placements"
            await waiting.span(0.5, why="agents and hub are given time to remove what is left")
        if left and not self.found:
            self.found.append(Violation("O-4", "at rest", left))

    def _take_everything_back(self) -> None:
        for name in MEMBERS:
            self.uncordon(name)
        for name in sorted(self.placed):
            try:
                self.unplace(name)
            except RoadsteadError as refusal:
                if "NotFound" not in str(refusal) and getattr(refusal, "code", "") != "NotFound":
                    raise
                self.placed.discard(name)
        self.unsubmit()
