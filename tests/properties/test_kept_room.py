"""Histories of one member whose own scheduler puts pods on nodes: who gets the room that victims leave.

The hub's cycle, its promises and its claims are the real ones. The member reports late, its scheduler spreads
(LeastAllocated) and follows preferences while they fit; victims take their time. Rule 26 of
docs/explain/exactly-once.md.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from hypothesis import given, strategies as st

from hub.domain.admission.nomination import Rules
from hub.domain.cycle.profile import Profile
from hub.domain.cycle.snapshot import Nomination, Snapshot
from hub.domain.fleet.clusters import BoundPods, Cluster, pool
from hub.domain.fleet.free_capacity import NodeAsk
from hub.domain.fleet.promises import Members, Promise
from hub.domain.plan import Placement, Plan
from hub.domain.preemption.search import PreemptionLimits
from hub.domain.quota.holders import AdmittedWorkload, Pods
from hub.domain.quota.ledger import Ledger
from hub.domain.quota.queue_policy import QueuePolicy
from shared.resources import Resources
from tests.domain.build import (
    a_cluster,
    a_demand,
    a_lane,
    a_pod_set,
    a_queue,
    a_snapshot,
    decide,
)
from tests.domain.preemption.seats import CPU
from tests.examples import Contents, examples, sample

PROFILE = Profile(rules=Rules(for_room=True, limits=PreemptionLimits(budget=3)))
QUEUE = a_queue(cpu=1000)
WAITS, PLACED, RUNS, LEAVES = "waits", "placed", "runs", "leaves"
Step = tuple[str, int]


@dataclass
class Job:
    """One pod of `cpu`. `nodes`: where room is kept for it, claimed or reserved."""

    cpu: int
    priority: int
    state: str = WAITS
    epoch: int = 1
    node: int = -1
    nodes: tuple[str, ...] = ()
    avoids: frozenset[str] = frozenset()
    victims: frozenset[str] = frozenset()

    @property
    def pods(self) -> Pods:
        return ((Resources({"cpu": self.cpu * 1000}), NodeAsk(), 1),)


@dataclass
class Play:
    """The fleet, and what its member last reported: node by uid and epoch."""

    sizes: list[int]
    jobs: dict[str, Job] = field(default_factory=dict)
    reported: dict[tuple[str, int], int] = field(default_factory=dict)
    members: Members = field(default_factory=Members)
    evicted: int = 0

    def submit(self, cpu: int, priority: int) -> None:
        self.jobs[f"j{len(self.jobs)}"] = Job(cpu, priority)

    def of(self, *states: str) -> list[str]:
        return [uid for uid, job in self.jobs.items() if job.state in states]

    def free(self, seats: Iterable[tuple[str, int]]) -> list[int]:
        """Cpu that pods on these nodes leave."""
        left = list(self.sizes)
        for uid, node in seats:
            left[node] -= self.jobs[uid].cpu
        return left

    # --- the member -----------------------------------------------------------------------------

    def bind(self) -> None:
        """Its scheduler: filters by room, then follows preferences, then takes the emptiest node."""
        for uid in self.of(PLACED):
            job = self.jobs[uid]
            free = self.free(self.seats())
            fitting = [at for at, left in enumerate(free) if left >= job.cpu]
            if fitting:
                job.node = max(fitting, key=lambda at: (self.points(job, at), free[at], -at))
                job.state = RUNS

    @staticmethod
    def points(job: Job, at: int) -> int:
        return (f"n{at}" in job.nodes) - (f"n{at}" in job.avoids)

    def seats(self) -> list[tuple[str, int]]:
        return [(uid, job.node) for uid, job in self.jobs.items() if job.node >= 0]

    def leave(self, uid: str) -> None:
        """A victim is gone, and waits again."""
        epoch = self.jobs[uid].epoch
        self.members.release(uid)
        self.jobs[uid] = Job(self.jobs[uid].cpu, self.jobs[uid].priority, epoch=epoch + 1)

    def end(self, uid: str) -> None:
        self.members.release(uid)
        del self.jobs[uid]
        self.reported = {key: node for key, node in self.reported.items() if key[0] != uid}

    def report(self) -> None:
        self.reported = {(uid, self.jobs[uid].epoch): node for uid, node in self.seats()}

    # --- the hub --------------------------------------------------------------------------------

    def cluster(self) -> Cluster:
        free = self.free((uid, node) for (uid, _), node in self.reported.items())
        rows = {f"n{at}": ([size * 1000], [free[at] * 1000]) for at, size in enumerate(self.sizes)}
        bound = {key: BoundPods(1, 0, ((node, 1),)) for key, node in self.reported.items()}
        return a_cluster(pool({}, ("cpu",), rows), bound=bound)

    def holder(self, uid: str) -> AdmittedWorkload:
        job = self.jobs[uid]
        return AdmittedWorkload(
            uid, "ns", uid, "q", {CPU: job.cpu * 1000}, priority=job.priority, cluster="c",
            epoch=job.epoch, completions=1, started_at=1, pods=job.pods, evicted=job.state == LEAVES,
        )  # fmt: skip

    def snapshot(self) -> Snapshot:
        self.members.put(self.cluster())
        self.members.refresh(lambda best, left: None)
        holders = {uid: self.holder(uid) for uid in self.of(PLACED, RUNS, LEAVES)}
        claims, lanes = {}, []
        for number, uid in enumerate(self.of(WAITS)):
            job = self.jobs[uid]
            demand = a_demand(a_pod_set(requests={"cpu": job.cpu}), priority=job.priority)
            lanes.append(a_lane(replace(demand, key=f"{demand.key}#{uid}"), uid, since=number))
            if job.nodes:
                leaving = tuple(
                    holders[v] for v in sorted(job.victims & holders.keys()) if holders[v].evicted
                )
                claims[uid] = Nomination("c", job.pods, leaving, job.nodes)
        charged = sum(self.jobs[uid].cpu for uid in holders) * 1000
        return replace(
            a_snapshot(lanes, [self.members.clusters["c"]], QUEUE),
            ledger=Ledger([QUEUE], {"q": {CPU: charged}}),
            room=self.members.room.copy(),
            policies={"q": QueuePolicy(within="LowerPriority")},
            holders={"q": holders},
            nominations=claims,
        )

    def cycle(self) -> None:
        plan = decide(self.snapshot(), PROFILE)
        before = {uid: job.nodes for uid, job in self.jobs.items() if job.nodes}
        for placement in plan.placements:
            self.check(placement, before)
        self.carry_out(plan)

    def check(self, placement: Placement, kept: dict[str, tuple[str, ...]]) -> None:
        """By the report alone: there is a node for it beside all that is kept for others."""
        free = self.free((uid, node) for (uid, _), node in self.reported.items())
        seen = {uid for uid, _ in self.reported}
        for uid, nodes in kept.items():
            if uid != placement.uid and uid not in seen:
                free[int(nodes[0].removeprefix("n"))] -= self.jobs[uid].cpu
        assert max(free) >= self.jobs[placement.uid].cpu

    def carry_out(self, plan: Plan) -> None:
        for eviction in plan.evictions:
            self.jobs[eviction.uid].state = LEAVES
            self.evicted += 1
        for claim in plan.nominated:
            job = self.jobs[claim.uid]
            job.nodes, job.victims = claim.nodes, job.victims | {*claim.victims}
        for placement in plan.placements:
            job = self.jobs[placement.uid]
            job.state, job.nodes = PLACED, placement.nodes
            others = [
                self.jobs[uid].nodes for uid in self.of(WAITS, PLACED) if uid != placement.uid
            ]
            job.avoids = frozenset(node for nodes in others for node in nodes)
            promise = Promise(placement.uid, job.epoch, "c", job.pods, 1, 0, job.nodes, 1)
            self.members.promise(promise)

    def step(self, step: Step) -> None:
        kind, number = step
        if kind in {"leave", "end"}:
            some = self.of(LEAVES) if kind == "leave" else self.of(RUNS)
            if some:
                getattr(self, kind)(some[number % len(some)])
        elif kind == "submit":
            self.submit(2 + number % 5, number // 6)
        else:
            getattr(self, kind)()

    def rest(self) -> None:
        """Nobody comes any more, and everybody does what is due, until nothing is left to do."""
        for _ in range(30):
            for uid in self.of(LEAVES):
                self.leave(uid)
            self.report()
            self.cycle()
            self.bind()
            for uid in self.of(PLACED):  # its pods pend for too long: it is taken back
                self.leave(uid)
            if not self.of(LEAVES) and not any(self.jobs[uid].nodes for uid in self.of(WAITS)):
                self.report()
                return


steps = st.lists(
    st.tuples(
        st.sampled_from(["submit", "submit", "cycle", "cycle", "bind", "report", "leave", "end"]),
        st.integers(0, 23),
    ),
    min_size=8,
    max_size=40,
)
fleets = st.lists(st.integers(4, 8), min_size=1, max_size=3)
crowds = st.lists(st.integers(1, 4), min_size=4, max_size=9)


def played(sizes: list[int], first: list[int], history: list[Step]) -> Play:
    """`first`: cpu of jobs of the lowest priority, which run when the history begins."""
    play = Play(sizes)
    for cpu in first:
        play.submit(cpu, 0)
    play.rest()
    for step in history:
        play.step(step)
    play.rest()
    return play


@examples(80)
@given(fleets, crowds, steps)
def test_nobody_is_placed_into_room_that_is_kept(
    sizes: list[int], first: list[int], history: list[Step]
) -> None:
    """Looked at with each placement. In the end nobody waits for victims any more."""
    play = played(sizes, first, history)
    assert not play.of(LEAVES)
    assert not [uid for uid in play.of(WAITS) if play.jobs[uid].nodes]


def test_in_many_histories_somebody_makes_room() -> None:
    """The rule above has something to say: in one of five."""
    contents = Contents()

    @sample(30)
    @given(fleets, crowds, steps)
    def play(sizes: list[int], first: list[int], history: list[Step]) -> None:
        contents.note(played(sizes, first, history).evicted)

    play()
    assert contents.are_in(0.2), contents.seen
