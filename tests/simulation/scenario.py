"""One seed: a fleet, what befalls it, and then time to come to rest with everything working again."""

from dataclasses import replace
from functools import partial
from typing import Any

from tests.simulation import consents, memory
from tests.simulation.agent import Agent
from tests.simulation.checks import Checks
from tests.simulation.exits import RETRIED_CODE
from tests.simulation.fault_effects import BEFALLS, a_stranger
from tests.simulation.faults import (
    AT_ONCE,
    CLUSTERS,
    OF_CONSENT,
    OF_JOBS,
    OF_LOSSES,
    OF_QUEUES,
    Fault,
    Scenario,
    draw,
)
from tests.simulation.hub import SimHub
from tests.simulation.member import Member
from tests.simulation.network import Network
from tests.simulation.queues import QueueManager
from tests.simulation.world import Violation, World

_PATIENCE_S = 500.0  # after which what is not at rest is stuck
_LONGEST_S = 150.0  # before everything is mended
_LONGEST_LOSS_S = 330.0  # where a cluster is lost
_SILENCE_S = 15.0  # between two looks at who is silent
_LOOK_S = 2.5  # between two looks at whether all is at rest


class Run:
    """One scenario, played."""

    plays_losses: frozenset[str] = OF_LOSSES  # of clusters
    plays_consent = frozenset[str]()
    plays_queues = frozenset[str]()
    draw = staticmethod(draw)
    member_of = Member

    def __init__(self, scenario: Scenario, *, tell: bool = False) -> None:
        self.scenario = scenario
        world = self.world = World(scenario.seed ^ 0x5EED, tell=tell)
        self.checks = self.new_checks()
        self.checks.limit = scenario.limit
        self.members = {
            name: self.member_of(world, name, self.checks, scenario.run_s) for name in CLUSTERS
        }
        self.checks.members = self.members
        self.hub = self.new_hub(list(CLUSTERS))
        self.agents: list[Agent] = []
        self.checks.agents = self.agents
        self.sessions = 0
        for index, (name, member) in enumerate(self.members.items()):
            member.failing, member.grace_s = scenario.failing, scenario.grace_s
            member.lag_s = scenario.lag_s
            network = self.hub.networks[name] = Network(world, self.hub, member)
            network.trouble = scenario.trouble
            asked = scenario.consent or scenario.rights
            network.space.is_watched = asked and bool(self.plays_consent)
            network.granted.is_asked = scenario.rights and bool(self.plays_consent)
            if network.space.is_watched and scenario.queue_s:
                network.queue_manager = QueueManager(world, member, scenario.queue_s)
            self.start_agent(name, scenario.rates[index])
        if scenario.foreign:
            self.members["north"].create(a_stranger("j0"))
        self.submitted = 0  # of the scenario's own jobs
        self.again = 0  # more, under a name that a deleted one had
        self.mended = False
        self.backup: dict[str, Any] = {}  # of the hub's store
        self.strangers: list[tuple[str, str]] = []  # cluster and name of what people put there
        for index in range(scenario.jobs):
            world.after(0.2 * index, self._submit_first, f"w{index}", f"j{index}")
        self.pending = 0  # faults that come by themselves and are still to come
        self.troubled_until = 0.0
        for fault in scenario.faults:
            if fault.moment:
                world.on(fault.moment, fault.nth, partial(self._follows, fault))
            else:
                self.pending += 1
                world.at(fault.at, self._comes, fault)
        self._watch_silence()

    def new_hub(self, names: list[str]) -> SimHub:
        given = self.scenario
        hub = SimHub(self.world, self.checks, names, dated=given.copied_at > 0.0)
        if given.copied_at:
            self.world.at(given.copied_at, self._copy, hub.store)
        hub.limit = self.scenario.limit
        return hub

    def new_checks(self) -> Checks:
        return Checks()

    def finish(self) -> None:
        """Let go what the run holds."""

    def _submit_first(self, uid: str, name: str) -> None:
        self.submitted += 1
        self.submit(uid, name)

    def notes(self) -> dict[str, str]:
        """The annotations of every job."""
        given = self.scenario
        notes = {"roadstead.dev/retry": str(given.retries)} if given.retries > 1 else {}
        if notes and (given.seed % 2 or given.retry_on):
            notes["roadstead.dev/retry-on"] = str(RETRIED_CODE)
        if given.loss and self.plays_losses:
            notes["roadstead.dev/on-cluster-loss"] = given.loss
        return notes

    def submit(self, uid: str, name: str) -> None:
        given = self.scenario
        notes = self.notes() or None

        def run(tx: memory.Transaction) -> None:
            memory.new_workload(tx, uid, name, annotations=notes, ttl_s=given.ttl_s)

        self.hub.store.commit(run)
        self.hub.look_soon(0.05)
        self.world.happens("submit", "north")

    def start_agent(self, cluster: str, rate: float) -> Agent:
        self.sessions += 1
        network = self.hub.networks[cluster]
        agent = Agent(self.world, network, f"session-{self.sessions}-{cluster}", rate)
        self.world.note(f"{agent.session} starts")
        self.world.happens("session", cluster)
        agent.ended = partial(self.ensure_agent, cluster)
        self.agents.append(agent)
        return agent

    # --- faults ----------------------------------------------------------------------------------

    @property
    def _not_played(self) -> frozenset[str]:
        losses, consent = OF_LOSSES - self.plays_losses, OF_CONSENT - self.plays_consent
        return losses | consent | (OF_QUEUES - self.plays_queues)

    def _watch_silence(self) -> None:
        self.hub.watch_silence()
        self.world.after(_SILENCE_S, self._watch_silence)

    def _comes(self, fault: Fault) -> None:
        self.pending -= 1
        self.befall(fault)

    def _follows(self, fault: Fault, where: str) -> None:
        """Its moment is there: it comes in as many seconds as it says, and where that was."""
        if self.mended:
            return
        self.pending += 1
        there = replace(fault, where=fault.where or where)
        if fault.at == 0.0 and fault.kind in AT_ONCE:
            self._comes(there)  # what follows in this very instant is already under it
        else:
            self.world.after(fault.at, self._comes, there)

    def befall(self, fault: Fault) -> None:
        if self.mended or fault.kind in self._not_played:
            return
        if fault.where in CLUSTERS and self.hub.networks[fault.where].destroyed:
            return
        until = self.world.now + fault.seconds
        self.troubled_until = max(self.troubled_until, until)
        self.world.note(f"* {fault}")
        if fault.kind in OF_JOBS:
            self.hub.wish(fault.where, fault.kind)
            if fault.kind == "hold":
                self.world.after(fault.seconds, self.hub.wish, fault.where, "release")
            elif fault.kind == "delete":
                self.world.after(fault.seconds, self._submit_again, fault.where)
        else:
            BEFALLS[fault.kind](self, fault, until)

    def _submit_again(self, uid: str) -> None:
        """A deleted job's name is given to another."""
        row = self.checks.store.workloads.get(uid)
        jobs = self.scenario.jobs + self.again
        if row is not None and row["live"] is None and jobs < 4 and not self.mended:
            # A uid is given once: not one of those that are still to be submitted either.
            self.again += 1
            self.submit(f"w{jobs}", row["name"])

    def living(self, cluster: str) -> list[Agent]:
        return [a for a in self.agents if a.network.name == cluster and not a.dead]

    def write_off_in(self, seconds: float, cluster: str) -> None:
        """Somebody says that a cluster is destroyed, once the hub takes it."""
        self.pending += 1
        self.world.after(seconds, self._write_off, cluster)

    def _write_off(self, cluster: str) -> None:
        self.pending -= 1
        if not self.hub.up:
            self.write_off_in(3.0, cluster)
            return
        self.world.note(f"user: {cluster} is written off")
        before = self.checks.held_in(cluster)
        self.hub.fence(cluster)
        self.checks.fenced(before)

    def ensure_agent(self, cluster: str) -> None:
        if not self.living(cluster) and not self.hub.networks[cluster].destroyed:
            self.start_agent(cluster, 1.0)

    def ensure_hub(self) -> None:
        if not self.hub.up:
            self.world.note("the hub starts")
            self.hub.start()

    # --- to the end ------------------------------------------------------------------------------

    def play(self) -> None:
        """Raises Violation. It ends when everything is at rest and nothing is on its way."""
        world = self.world
        lost = self.scenario.loss and self.plays_losses
        longest = _LONGEST_LOSS_S if lost else _LONGEST_S
        while world.now < longest and (self.pending or world.now < self.troubled_until + 5.0):
            world.run(world.now + _LOOK_S)
            if not self.pending and self._is_over(held_is_rest=False):
                break
        if self.backup:
            self._restore()
        elif self.pending or not self._is_over(held_is_rest=False):
            self._come_to_rest()

    def _copy(self, store: memory.Store) -> None:
        self.backup = store.copy()

    def _restore(self) -> None:
        """An older copy of its store is put back while the hub is down: it stops, or nothing was lost."""
        world = self.world
        self.mend()
        self.hub.die()
        world.run(world.now + 40.0)
        world.note("* the store is put back")
        self.checks.store_went_back()
        self.hub.store.restore(self.backup)
        self.hub.start()
        world.run(world.now + 60.0)

    def _come_to_rest(self) -> None:
        world = self.world
        self.mend()
        heal = world.now
        patience_s = _PATIENCE_S + (10.0 * self.scenario.run_s if self.scenario.loss else 0.0)
        while not self._is_over(held_is_rest=True):
            world.run(world.now + _LOOK_S)
            if world.now - heal > patience_s:
                raise Violation(
                    *(self.checks.unsettled(self.members) or ("R-01", "it does not end"))
                )

    def _is_over(self, *, held_is_rest: bool) -> bool:
        """Whether nothing more can happen: all is at rest, and no request is on its way."""
        if self.submitted < self.scenario.jobs:
            return False
        if any(network.under_way for network in self.hub.networks.values()):
            return False
        rows = self.checks.store.workloads.values()
        if not held_is_rest and any(row["state"] == "Held" for row in rows):
            return False
        return self.checks.unsettled(self.members) is None

    def mend(self) -> None:
        """Everything works again: an agent for each cluster, the hub, the network, the controllers."""
        self.world.note("* all is mended")
        self.mended = True
        self.ensure_hub()
        for name, network in self.hub.networks.items():
            network.trouble = network.hangs_until = network.cut_until = 0.0
            network.replies_lost_until = 0.0
            network.next_reply_late = False
            network.doubled_until = network.refused_until = 0.0
            network.deaf = {"Job": 0.0, "Pod": 0.0}
            self.members[name].controllers_from = 0.0
            consents.grant(self, name)
            network.granted.allow_all()
            for agent in self.agents:
                agent.calls_left = -1
                agent.cut_until = agent.slow_until = 0.0
            self.ensure_agent(name)
        for cluster, name in self.strangers:
            if name in self.members[cluster].jobs:
                self.members[cluster].delete(name, None, None, "Background", by_hand=True)
        for row in list(self.checks.store.workloads.values()):
            if row["state"] == "Held" or row["withdraw_to"] == "Held":
                self.hub.wish(row["uid"], "release")
