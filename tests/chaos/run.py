"""Plays one schedule on real processes: acts, heals, waits until settled, and gives the history."""

import functools
import heapq
import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from roadstead.cli import ports
from roadstead.errors import RoadsteadError
from tests import databases
from tests.chaos import manifests
from tests.chaos.administrator import Administrator
from tests.chaos.drawing import LEADER, LENGTH_S
from tests.chaos.fleet import Fleet, running
from tests.chaos.history import Ending, History, Ledger
from tests.chaos.member import Member
from tests.chaos.parts import Hubs
from tests.chaos.recorder import Recorder
from tests.chaos.schedule import Schedule
from tests.chaos.sighted import TERMINAL
from tests.chaos.user import User
from tests.e2e.running import REPOSITORY

_TURN_S = 0.02
_USERS = 8
# Healed, everything has to settle; it may take longer as long as it gets on.
_STUCK_S = 60.0
_LONGEST_S = 300.0  # a busy host ends one small job of a tight queue in two or three seconds
_CALM_S = 1.5
_USER_VERBS = frozenset({"hold", "release", "cancel", "delete", "prioritise", "replace"})
ADMINISTRATOR_VERBS = frozenset({"queue", "declare", "place", "unplace"})
_SPIN = "import os, sys\nos.nice(int(sys.argv[1]))\nwhile os.getppid() == int(sys.argv[2]): pass"
Json = dict[str, Any]


def play(schedule: Schedule, folder: Path, *, source: Path = REPOSITORY) -> History:
    """The history of one schedule. AssertionError when the fleet does not even start."""
    if schedule.hubs == 1:
        return _play(schedule, folder, source, Hubs())
    with databases.own_server(port=ports.free(1)[0]) as server:
        return _play(schedule, folder, source, Hubs(schedule.hubs, server))


def _play(schedule: Schedule, folder: Path, source: Path, hubs: Hubs) -> History:
    names = [f"m{i}" for i in range(1, schedule.members + 1)]
    pools = {name: manifests.pools() for name in names}
    fleet = Fleet(folder, pools, dict(schedule.env), schedule.lease_s, source=source, hubs=hubs)
    with running(fleet):
        members = {name: Member(name, fleet.kubeconfig(name)) for name in names}
        ledger = Ledger()
        fleet.request("POST", "/v1/apply", body=manifests.queues(schedule.quota))
        for name in ("b01-00", "b02-01"):
            uid = members["m1"].plant(manifests.NAMESPACE, manifests.stranger(name))
            ledger.strangers.add(f"m1/{uid}")
        theirs = manifests.config_map(manifests.MAPS[0], of="people")
        name = f"m1/{manifests.MAPS[0]}"
        ledger.maps[name] = members["m1"].plant_map(manifests.NAMESPACE, theirs)
        kubeconfigs = {name: fleet.kubeconfig(name) for name in names}
        with Recorder(kubeconfigs, manifests.NAMESPACE) as recorder:
            user = User(fleet, recorder, ledger)
            administrator = Administrator(fleet, user, schedule.quota)
            player = _Player(fleet, members, user, administrator, recorder)
            try:
                player.play(schedule)
                ending = player.settle()
            finally:
                player.close()
            recorder.catch_up(members.values())
            return History(
                sightings=recorder.sightings(),
                ledger=ledger,
                ending=ending,
                gaps=list(recorder.gaps),
                quota=max([schedule.quota, *(each["cores"] for each in ledger.windows)]),
                events=administrator.read_events(),
            )


class _Player:
    """Does the actions of one schedule, each in its time, and undoes them."""

    def __init__(
        self,
        fleet: Fleet,
        members: dict[str, Member],
        user: User,
        administrator: Administrator,
        recorder: Recorder,
    ) -> None:
        self._fleet, self._members, self._user = fleet, members, user
        self._administrator = administrator
        self._recorder = recorder
        self._pool = ThreadPoolExecutor(_USERS)
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._count = itertools.count()
        self._load: list[subprocess.Popen[Any]] = []
        self._forgotten: set[str] = set()
        self._joined: dict[str, float] = {}  # when agents that lost their folder joined again
        self._stopped: set[str] = set()

    def play(self, schedule: Schedule) -> None:
        """Everything up to the end of the schedule."""
        began = time.monotonic()
        for action in schedule.actions:
            self._at(began + action.at, functools.partial(self._do, action.do, action.given()))
        while time.monotonic() < began + LENGTH_S:
            self._turn()
            time.sleep(_TURN_S)

    def close(self) -> None:
        """End what the schedule started besides the fleet."""
        for load in self._load:
            load.kill()
            load.wait(10)
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _turn(self) -> None:
        while self._due and self._due[0][0] <= time.monotonic():
            heapq.heappop(self._due)[2]()
        self._fleet.tick()

    def _at(self, when: float, what: Callable[[], None]) -> None:
        heapq.heappush(self._due, (when, next(self._count), what))

    def _after(self, seconds: float, what: Callable[[], None]) -> None:
        self._at(time.monotonic() + seconds, what)

    # --- actions -------------------------------------------------------------------------------------

    def _do(self, what: str, given: Json) -> None:
        if what in _USER_VERBS:
            states = given.pop("states", ["Held"])
            self._ask(lambda: self._user.act(what, states=states, **given))
        elif what in ADMINISTRATOR_VERBS:
            self._ask(lambda: getattr(self._administrator, what)(**given))
        else:
            getattr(self, f"_do_{what}")(**given)

    def _ask(self, what: Callable[[], None]) -> None:
        """Have a user do something; what the hub or the member does not answer is let be."""

        def attempt() -> None:
            try:
                what()
            except (RoadsteadError, OSError):
                return
            except Exception as fault:  # noqa: BLE001 - of the campaign: printed beside the verdict
                self._user.ledger.notes.append(f"{type(fault).__name__}: {fault}"[:400])

        self._pool.submit(attempt)

    def _do_submit(self, key: str, jobs: list[Json]) -> None:
        self._ask(lambda: self._user.submit(key, jobs))

    def _do_resize(self, count: int, to: int) -> None:
        self._ask(lambda: self._user.resize(count, to))

    def _do_cordon(self, members: list[str], on: bool) -> None:
        self._ask(lambda: self._user.cordon(members, on=on))

    def _do_delete_by_hand(self, member: str, seconds: float, count: int) -> None:
        self._ask(lambda: self._user.delete_by_hand(self._members[member], seconds, count))

    def _do_link(self, link: str, mode: Any, seconds: float) -> None:
        self._fleet.links.set(link, mode)
        self._after(seconds, lambda: self._fleet.links.set(link, "pass"))

    def _do_kill(self, part: str, seconds: float) -> None:
        self._fleet.kill(self._hub(part), seconds)

    def _hub(self, part: str) -> str:
        """The part that is meant; where nobody leads, the first hub is."""
        return self._fleet.leader() or "hub" if part == LEADER else part

    def _do_unbase(self, hub: str, mode: Any, seconds: float) -> None:
        self._do_link(f"db-{self._hub(hub)}", mode, seconds)

    def _do_part(self, member: str, hub: str, seconds: float) -> None:
        links, name = self._fleet.links, f"hub-{member}"
        links.bar(name, self._fleet.ports[self._hub(hub)])
        self._after(seconds, lambda: links.bar(name))

    def _do_database(self, how: str, seconds: float) -> None:
        server = self._fleet.hubs.server
        assert server is not None
        if how == "connections":
            server.end_connections("hub")
            return
        server.stop(signal.SIGQUIT if how == "crash" else signal.SIGINT)
        self._after(seconds, server.start)

    def _do_stop(self, part: str, seconds: float) -> None:
        part = self._hub(part)
        self._fleet.signal(part, signal.SIGSTOP)
        self._after(seconds, lambda: self._fleet.signal(part, signal.SIGCONT))

    def _do_fault(self, member: str, **fault: Any) -> None:
        self._ask(lambda: self._members[member].add_fault(**fault))

    def _do_load(self, seconds: float, nice: int) -> None:
        pid = str(os.getpid())
        load = subprocess.Popen([sys.executable, "-c", _SPIN, str(nice), pid])
        self._load.append(load)
        self._after(seconds, load.kill)

    def _do_twin(self, member: str, kind: str, linked: bool, seconds: float) -> None:
        name = f"agent-{member}-twin"
        if name in self._fleet.parts or not self._fleet.has_joined(member):
            return  # there is one, or no credential that it could take over
        self._fleet.start_agent(member, twin=kind, linked=linked)
        self._after(seconds, lambda: self._fleet.end(name))

    def _do_forget(self, member: str) -> None:
        part = self._fleet.parts[f"agent-{member}"]
        part.wanted = False
        self._fleet.forget_agent(member)
        self._forgotten.add(member)
        self._join_again(member)

    def _do_backup(self) -> None:
        self._ask(self._administrator.back_up)

    def _do_restore(self, accept_after: float, acts: list[Any]) -> None:
        taken = self._administrator.restore()
        if not taken:
            return  # the backup has failed
        for member in [name for name, at in self._joined.items() if at > taken]:
            self._fleet.parts[f"agent-{member}"].wanted = False
            self._fleet.forget_agent(member)
            self._forgotten.add(member)

        def join() -> None:
            for member in sorted(self._forgotten):
                self._join_again(member)

        self._ask(lambda: self._administrator.go_on(join, accept_after, acts))

    def _join_again(self, member: str) -> None:
        def join() -> None:
            self._fleet.join(member)
            self._joined[member] = time.time()
            self._forgotten.discard(member)
            self._fleet.parts[f"agent-{member}"].wanted = True

        self._ask(join)

    # --- the end -------------------------------------------------------------------------------------

    def settle(self) -> Ending:
        """Heal everything, then wait until nothing moves any more: all has ended, or it is stuck."""
        self._heal()
        began = moved = time.monotonic()
        calm_since, last = None, ""
        while True:
            self._turn()
            now = time.monotonic()
            picture, calm = self._look()
            if picture != last:
                last, moved = picture, now
            calm_since = (calm_since or now) if calm else None
            if calm_since is not None and now - calm_since >= _CALM_S:
                return self._ending(began, settled=True)
            if now - moved > _STUCK_S or now - began > _LONGEST_S:
                return self._ending(began, settled=False)
            time.sleep(0.3)

    def _heal(self) -> None:
        self._due.clear()
        self._fleet.links.heal()
        if self._fleet.hubs.server is not None:
            self._fleet.hubs.server.start()
        for name in [each for each in self._fleet.parts if each.endswith("-twin")]:
            self._fleet.end(name)
        for part in self._fleet.parts.values():
            part.down_until = 0.0
            self._fleet.signal(part.name, signal.SIGCONT)
        for load in self._load:
            load.kill()

    def _look(self) -> tuple[str, bool]:
        """Do what still has to be done by hand; how everything stands, and whether that is its end."""
        try:
            for name in sorted(self._forgotten):
                self._join_again(name)
            for member in self._members.values():
                member.clear_faults()
            self._user.cordon(list(self._members), on=False)
            self._administrator.mend()
            self._user.submit_unanswered()
            self._user.release_all()
            jobs = self._fleet.jobs()
            charged = self._charged()
            wrong = self._administrator.left(self._members)
        except (RoadsteadError, OSError) as fault:
            return f"no answer: {type(fault).__name__}", False
        picture = sorted((j["uid"], j["state"], j["epoch"]) for j in jobs)
        left = [s.uid for s in self._recorder.live() if s.deleting or not s.result]
        left += wrong
        ended = all(job["state"] in TERMINAL for job in jobs)
        calm = ended and not left and not any(charged.values()) and not self._administrator.is_busy
        return repr((picture, left)), calm

    def _charged(self) -> dict[str, float]:
        queues = self._fleet.request("GET", "/v1/queues")["items"]
        return {
            f"{queue['name']}/{quota['flavor']}/{quota['resource']}": float(quota["used"] != "0")
            for queue in queues
            for quota in queue["quotas"]
        }

    def _ending(self, began: float, *, settled: bool) -> Ending:
        waited = time.monotonic() - began
        self._user.submit_all_again()
        present: set[str] = set()
        maps: dict[str, Json] = {}
        for member in self._members.values():
            present |= member.present(manifests.NAMESPACE)
            maps |= member.maps(manifests.NAMESPACE)
        return Ending(
            jobs=self._fleet.jobs(),
            charged=self._charged(),
            present=present,
            maps=maps,
            settled=settled,
            waited_s=round(waited, 1),
            at=time.time(),
        )
