"""One seed: a fleet, what befalls it, and then time to come to rest with everything working again."""

import random
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tests.simulation import memory
from tests.simulation.agent import Agent
from tests.simulation.checks import Checks
from tests.simulation.hub import SimHub
from tests.simulation.member import Member
from tests.simulation.network import Network
from tests.simulation.world import Violation, World

CLUSTERS = ("north", "south")
_LAST_FAULT_S = 50.0
_PATIENCE_S = 500.0  # after which what is not at rest is stuck

# What may befall a fleet: kind → (weight, longest duration in s).
_FAULTS: dict[str, tuple[int, float]] = {
    "hang": (4, 90.0),
    "cut": (3, 120.0),
    "replies lost": (2, 40.0),
    "deaf jobs": (2, 60.0),
    "deaf pods": (2, 60.0),
    "relist": (2, 0.0),
    "controllers down": (1, 40.0),
    "agent dies": (3, 20.0),
    "agent dies in a call": (3, 10.0),
    "second agent": (3, 90.0),
    "slow agent": (2, 90.0),
    "hub dies": (2, 20.0),
    "hub dies in a request": (2, 0.0),
    "hold": (3, 20.0),
    "cancel": (2, 0.0),
    "delete": (1, 0.0),
    "deactivate": (1, 0.0),
    "preempt": (4, 0.0),
    "resize": (1, 0.0),
    "deleted by hand": (3, 0.0),
    "drain": (1, 0.0),
    "submit again": (1, 0.0),
}
_OF_JOBS = frozenset({"hold", "cancel", "delete", "deactivate", "preempt", "resize"})


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that befalls the fleet. `draw` decides what else there is to decide."""

    at: float
    kind: str
    where: str  # a cluster, or the uid of a job
    seconds: float
    draw: float

    @property
    def until(self) -> float:
        return self.at + self.seconds

    def __str__(self) -> str:
        span = f" for {self.seconds:.1f} s" if self.seconds else ""
        return f"{self.at:6.1f} {self.kind} at {self.where}{span} ({self.draw:.2f})"


@dataclass(slots=True)
class Scenario:
    """What a seed says. Leaving faults out of it makes a smaller one."""

    seed: int
    jobs: int
    limit: int
    trouble: float
    run_s: float
    failing: float
    grace_s: float
    retries: int
    ttl_s: int | None
    rates: tuple[float, float]
    foreign: bool
    faults: list[Fault] = field(default_factory=list)


def draw(seed: int) -> Scenario:
    """The scenario of a seed. Each has a few kinds of faults, so that some are found in company."""
    die = random.Random(seed)
    jobs = die.choice((1, 1, 1, 2, 2, 3))
    scenario = Scenario(
        seed=seed,
        jobs=jobs,
        limit=die.choice((jobs, jobs, 2)),
        trouble=die.choice((0.0, 0.0, 0.02, 0.08, 0.2)),
        run_s=die.choice((0.5, 3.0, 10.0, 30.0)),
        failing=die.choice((0.0, 0.0, 0.3)),
        grace_s=die.choice((0.5, 2.0, 15.0)),
        retries=die.choice((1, 1, 3)),
        ttl_s=die.choice((None, None, 5)),
        rates=(0.95 + 0.1 * die.random(), 0.95 + 0.1 * die.random()),
        foreign=die.random() < 0.05,
    )
    kinds = die.sample(list(_FAULTS), die.randint(3, 7))
    weights = [_FAULTS[kind][0] for kind in kinds]
    span = die.choice((8.0, 20.0, _LAST_FAULT_S))
    for kind in die.choices(kinds, weights, k=die.randint(2, 9)):
        longest = _FAULTS[kind][1]
        where = f"w{die.randrange(jobs)}" if kind in _OF_JOBS else die.choice(CLUSTERS)
        seconds = longest * die.random() ** 2 if longest else 0.0
        scenario.faults.append(
            Fault(0.3 + die.random() ** 1.5 * span, kind, where, seconds, die.random())
        )
    if die.random() < 0.7:
        scenario.faults += _company(die, scenario)
    scenario.faults.sort(key=lambda fault: fault.at)
    return scenario


def _company(die: random.Random, scenario: Scenario) -> list[Fault]:
    """Wishes that come while something is wrong: what is taken back then is where it is hard."""
    found = []
    for fault in scenario.faults:
        if fault.kind not in _OF_JOBS and die.random() < 0.4:
            at = fault.at + die.random() ** 2 * 40.0
            kind = die.choice(("preempt", "preempt", "hold", "cancel"))
            uid = f"w{die.randrange(scenario.jobs)}"
            found.append(Fault(at, kind, uid, die.random() * 3.0, die.random()))
    return found


class Run:
    """One scenario, played."""

    def __init__(self, scenario: Scenario, *, tell: bool = False) -> None:
        self.scenario = scenario
        world = self.world = World(scenario.seed ^ 0x5EED, tell=tell)
        self.checks = self.new_checks()
        self.checks.limit = scenario.limit
        self.members = {
            name: Member(world, name, self.checks, scenario.run_s) for name in CLUSTERS
        }
        self.hub = self.new_hub(list(CLUSTERS))
        self.agents: list[Agent] = []
        self.sessions = 0
        for index, (name, member) in enumerate(self.members.items()):
            member.failing, member.grace_s = scenario.failing, scenario.grace_s
            network = self.hub.networks[name] = Network(world, self.hub, member)
            network.trouble = scenario.trouble
            self.start_agent(name, scenario.rates[index])
        if scenario.foreign:
            self.members["north"].create(_foreign())
        self.submitted = 0
        for index in range(scenario.jobs):
            world.after(0.2 * index, self.submit, f"w{index}", f"j{index}")
        for fault in scenario.faults:
            world.at(fault.at, self.befall, fault)
        for tick in range(1, 12):
            world.at(15.0 * tick, self.hub.watch_silence)

    def new_hub(self, names: list[str]) -> SimHub:
        hub = SimHub(self.world, self.checks, names)
        hub.limit = self.scenario.limit
        return hub

    def new_checks(self) -> Checks:
        return Checks()

    def finish(self) -> None:
        """Let go what the run holds."""

    def submit(self, uid: str, name: str) -> None:
        given = self.scenario
        notes = {"roadstead.dev/retry": str(given.retries)} if given.retries > 1 else None
        self.submitted += 1

        def run(unit: memory.Unit) -> None:
            memory.new_workload(unit, uid, name, annotations=notes, ttl_s=given.ttl_s)

        self.hub.store.commit(run)
        self.hub.look_soon(0.05)

    def start_agent(self, cluster: str, rate: float) -> Agent:
        self.sessions += 1
        network = self.hub.networks[cluster]
        agent = Agent(self.world, network, f"session-{self.sessions}-{cluster}", rate)
        self.world.note(f"{agent.session} starts")
        agent.ended = partial(self._ensure_agent, cluster)
        self.agents.append(agent)
        return agent

    # --- faults ----------------------------------------------------------------------------------

    def befall(self, fault: Fault) -> None:
        self.world.note(f"* {fault}")
        if fault.kind in _OF_JOBS:
            self.hub.wish(fault.where, fault.kind)
            if fault.kind == "hold":
                self.world.after(fault.seconds, self.hub.wish, fault.where, "release")
            return
        getattr(self, "_" + fault.kind.replace(" ", "_"))(fault)

    def _hang(self, fault: Fault) -> None:
        self.hub.networks[fault.where].hangs_until = fault.until

    def _cut(self, fault: Fault) -> None:
        self.hub.networks[fault.where].cut_until = fault.until

    def _replies_lost(self, fault: Fault) -> None:
        self.hub.networks[fault.where].replies_lost_until = fault.until

    def _deaf_jobs(self, fault: Fault) -> None:
        self.hub.networks[fault.where].deaf["Job"] = fault.until

    def _deaf_pods(self, fault: Fault) -> None:
        self.hub.networks[fault.where].deaf["Pod"] = fault.until

    def _relist(self, fault: Fault) -> None:
        for agent in self._living(fault.where):
            agent.eyes.break_off("Job" if fault.draw < 0.6 else "Pod")

    def _controllers_down(self, fault: Fault) -> None:
        self.members[fault.where].controllers_from = fault.until

    def _agent_dies(self, fault: Fault) -> None:
        for agent in self._living(fault.where):
            agent.die()
        self.world.after(fault.seconds, self._ensure_agent, fault.where)

    def _agent_dies_in_a_call(self, fault: Fault) -> None:
        for agent in self._living(fault.where):
            agent.calls_left = int(fault.draw * 4)
            agent.dies_when = ("before", "sent", "answered")[int(fault.draw * 97) % 3]
        self.world.after(10.0 + fault.seconds, self._ensure_agent, fault.where)

    def _second_agent(self, fault: Fault) -> None:
        """Another with the same credential; the first may not hear of it for a while."""
        for agent in self._living(fault.where):
            agent.cut_until = fault.until
            agent.slow_until = fault.until if fault.draw < 0.5 else 0.0
        self.start_agent(fault.where, 0.95 + 0.1 * fault.draw)

    def _slow_agent(self, fault: Fault) -> None:
        for agent in self._living(fault.where):
            agent.slow_until = fault.until

    def _hub_dies(self, fault: Fault) -> None:
        self.hub.die()
        self.world.after(fault.seconds, self._ensure_hub)

    def _hub_dies_in_a_request(self, _fault: Fault) -> None:
        self.hub.dies_in_request = True

    def _drain(self, fault: Fault) -> None:
        self.members[fault.where].drain()

    def _living(self, cluster: str) -> list[Agent]:
        return [a for a in self.agents if a.network.name == cluster and not a.dead]

    def _ensure_agent(self, cluster: str) -> None:
        if not self._living(cluster):
            self.start_agent(cluster, 1.0)

    def _ensure_hub(self) -> None:
        if not self.hub.up:
            self.world.note("the hub starts")
            self.hub.start()

    def _deleted_by_hand(self, fault: Fault) -> None:
        member, draw = self.members[fault.where], fault.draw
        names = sorted(member.jobs)
        if names:
            name = names[int(draw * 1000) % len(names)]
            if name != "j0" or not self.scenario.foreign or member.name != "north":
                policy = "Background" if draw < 0.6 else "Foreground"
                member.delete(name, None, None, policy, by_hand=True)

    def _submit_again(self, _fault: Fault) -> None:
        """A deleted job's name is given to another."""
        for row in list(self.checks.store.workloads.values()):
            if row["live"] is None and self.submitted < 4:
                self.submit(f"w{self.submitted}", row["name"])
                return

    # --- to the end ------------------------------------------------------------------------------

    def play(self) -> None:
        """Raises Violation."""
        world = self.world
        last = max((fault.at for fault in self.scenario.faults), default=0.0)
        world.run(last + 1.0)
        until = max(
            (f.at + f.seconds for f in self.scenario.faults if f.kind not in _OF_JOBS), default=0.0
        )
        if self._troubled():
            world.run(max(last, min(until, last + 90.0)) + 5.0)
        self._heal()
        heal = world.now
        while True:
            world.run(world.now + 5.0)
            found = self.checks.unsettled(self.members)
            if found is None:
                return
            if world.now - heal > _PATIENCE_S:
                raise Violation(*found)

    def _troubled(self) -> bool:
        return True

    def _heal(self) -> None:
        """Everything works again: an agent for each cluster, the hub, the network, the controllers."""
        self.world.note("* all is mended")
        self._ensure_hub()
        for name, network in self.hub.networks.items():
            network.trouble = network.hangs_until = network.cut_until = 0.0
            network.replies_lost_until = 0.0
            network.deaf = {"Job": 0.0, "Pod": 0.0}
            self.members[name].controllers_from = 0.0
            for agent in self.agents:
                agent.calls_left = -1
                agent.cut_until = agent.slow_until = 0.0
            self._ensure_agent(name)
        for row in list(self.checks.store.workloads.values()):
            if row["state"] == "Held" or row["withdraw_to"] == "Held":
                self.hub.wish(row["uid"], "release")


def _foreign() -> dict[str, Any]:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j0", "namespace": "n", "labels": {}},
        "spec": {"parallelism": 1, "completions": 1, "suspend": True},
    }
