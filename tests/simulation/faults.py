"""What a seed says: the fleet it plays on, and what befalls it, at an instant or on the heels of a moment."""

import random
from dataclasses import dataclass, field, replace
from typing import Final

CLUSTERS: Final = ("north", "south")

# What may befall a fleet: kind → (weight, longest duration in s, the moments after which it is hard).
_DOUBTS: Final[dict[str, tuple[int, float, tuple[str, ...]]]] = {
    "hang": (4, 50.0, ("create", "made", "patch", "delete", "offer", "session")),
    "cut": (3, 60.0, ("offer", "create", "patch", "runs", "withdraw", "over")),
    "replies lost": (3, 20.0, ("offer", "withdraw", "runs", "over", "delete")),
    "a reply late": (2, 0.0, ("offer", "create", "withdraw", "delete", "resize")),
    "requests doubled": (3, 20.0, ("session", "offer", "create")),
    "deaf jobs": (3, 60.0, ("session", "create", "made", "patch", "delete", "gone")),
    "deaf": (2, 60.0, ("listed", "create", "patch", "runs", "delete")),
    "deaf pods": (2, 40.0, ("runs", "delete", "over")),
    "relist": (1, 0.0, ("gone", "made", "delete")),
    "controllers down": (1, 40.0, ("made", "patch", "over", "delete")),
    "agent dies": (3, 20.0, ("create", "made", "patch", "runs", "over", "delete", "withdraw")),
    "agent dies in a call": (3, 10.0, ("offer", "runs", "over", "withdraw")),
    "second agent": (6, 50.0, ("offer", "create", "made", "patch", "withdraw", "session")),
    "slow agent": (3, 45.0, ("offer", "create", "made", "withdraw")),
    "hub dies": (2, 20.0, ("offer", "runs", "over", "withdraw", "requeue")),
    "hub dies in a request": (2, 0.0, ("offer", "over", "withdraw", "delete")),
    "deleted by hand": (3, 0.0, ("made", "runs", "over", "deleted", "deleted", "succeed")),
    "drain": (1, 0.0, ("runs", "delete")),
    "torn out": (2, 0.0, ("made", "runs", "runs", "over", "succeed", "deleted")),
    "replaced": (1, 0.0, ("patch", "delete")),
    "copied": (1, 0.0, ("session", "offer", "runs")),
    "refused": (1, 20.0, ("session", "offer", "requeue")),
}
# What jobs ask for where their cluster is lost, and the moments after which it is.
_POLICIES: Final = (
    "Wait",
    "RescheduleWhenFenced",
    *("RescheduleAfter(60s)",) * 3,
    "RescheduleAfter(90s)",
)
_LOST_AFTER: Final = ("offer", "create", "made", "patch", "runs", "runs", "over", "withdraw")
# Clusters that do not answer for minutes, and those that are destroyed and written off.
OF_LOSSES: Final = frozenset({"lost", "destroyed"})
# Members whose people withdraw their consent, and give it again.
OF_CONSENT: Final = frozenset({"consent withdrawn"})
# People who stop, shrink or delete the queue of all jobs, and make it as it was some time later.
OF_QUEUES: Final = frozenset({"queue stopped", "queue shrunk", "queue deleted"})
# Members that take a right away from their agent, and give it back.
OF_RIGHTS: Final = frozenset({"create denied", "patch denied"})
_DENIED_AFTER: Final = ("submit", "session", "offer", "create", "made", "patch", "over", "requeue")
_BURST_AFTER: Final = ("session", "listed", "create", "made", "patch", "runs", "over", "deleted")
_EDITED_AFTER: Final = ("submit", "submit", "requeue", "requeue", "over", "withdraw", "offer")
_WITHDRAWN_AFTER: Final = (
    "submit", "session", "offer", "create", "made", "patch", "runs", "withdraw", "requeue",
    "requeue", "granted",
)  # fmt: skip
# What only turns a switch: it may come in the middle of something.
AT_ONCE: Final = frozenset(
    {
        "hang", "cut", "replies lost", "a reply late", "requests doubled", "deaf", "deaf jobs",
        "deaf pods",
        "agent dies", "second agent", "slow agent", "consent withdrawn", "create denied",
        "patch denied",
    }
)  # fmt: skip
_WISHES: Final = (
    ("preempt",) * 5 + ("hold",) * 2 + ("cancel",) * 2 + ("delete", "deactivate", "resize")
)
OF_JOBS: Final = frozenset(_WISHES)
_LASTING: Final = frozenset({"hold", "delete"})  # until it is released, its name is taken again
# What is hard together: doubts with the moments they follow, and wishes ("": any) with theirs.
_STORIES: Final[
    tuple[tuple[tuple[tuple[str, str, int], ...], tuple[tuple[str, str], ...]], ...]
] = (
    ((("second agent", "create", 1),), (("", "create"),)),
    ((("second agent", "create", 1),), (("", "session"),)),
    ((("second agent", "offer", 1),), (("", "session"),)),
    ((("second agent", "made", 1),), (("", "session"),)),
    ((("second agent", "patch", 1),), (("", "patch"),)),
    ((("second agent", "offer", 1), ("deaf", "listed", 3)), (("", "session"),)),
    ((("second agent", "create", 1), ("deaf", "listed", 3)), (("", "create"),)),
    ((("slow agent", "offer", 1),), (("", "create"),)),
    ((("hang", "create", 1),), (("", "create"),)),
    ((("hang", "patch", 1),), (("", "patch"),)),
    ((("deaf jobs", "create", 1),), (("", "session"),)),
    ((("deleted by hand", "deleted", 1),), (("", "runs"),)),
    ((("requests doubled", "offer", 1),), (("", "create"),)),
    ((("requests doubled", "offer", 1), ("torn out", "runs", 1)), ()),
    ((("replies lost", "withdraw", 1),), (("", "offer"),)),
    ((("a reply late", "offer", 1),), (("", "create"),)),
    ((), (("resize", "submit"), ("", "submit"))),
    ((("a reply late", "resize", 1),), (("resize", "patch"), ("", "runs"))),
    ((("agent dies in a call", "over", 1),), (("", "over"),)),
    ((("deaf pods", "over", 1),), (("", "runs"),)),
    ((("torn out", "runs", 1), ("agent dies", "gone", 1)), ()),
    ((("replaced", "patch", 1),), (("", "over"),)),
)
_WISHED: Final = (
    "submit",
    "offer",
    "create",
    "create",
    "made",
    "patch",
    "runs",
    "over",
    "session",
    "session",
)


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that befalls the fleet. `draw` decides what else there is to decide."""

    at: float  # seconds from the beginning, or from the moment
    kind: str
    where: str  # a cluster, or the uid of a job; "": the cluster of the moment
    seconds: float
    draw: float
    moment: str = ""  # that it follows; "": it comes by itself
    nth: int = 1  # time that the moment happens

    def __str__(self) -> str:
        span = f" for {self.seconds:.1f} s" if self.seconds else ""
        when = f" after {self.moment} {self.nth}" if self.moment else ""
        return f"{self.at:6.1f}{when} {self.kind} at {self.where}{span} ({self.draw:.2f})"


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
    lag_s: float  # of watches and controllers, at most
    copied_at: float  # of the hub's store: at the end it is put back; 0: it is not
    loss: str = ""  # what its jobs ask for where their cluster is lost
    consent: bool = False  # people give and withdraw their consent
    queue_s: float = 0.0  # how long Jobs wait in queues of members, at most; 0: there are none
    rights: bool = False  # members take rights away from their agents
    retry_on: bool = False  # jobs that are tried again say after which code, whatever the seed
    faults: list[Fault] = field(default_factory=list)


def draw(seed: int) -> Scenario:
    """The scenario of a seed: a few doubts, and wishes that come while they last."""
    die = random.Random(seed)
    chance = die.random
    jobs = die.choice((1, 1, 1, 1, 1, 1, 2, 3))
    scenario = Scenario(
        seed=seed,
        jobs=jobs,
        limit=die.choice((jobs, jobs, 2)),
        trouble=die.choice((0.0, 0.0, 0.02, 0.08, 0.2)),
        run_s=die.choice((0.5, 3.0, 10.0, 20.0)),
        failing=die.choice((0.0, 0.0, 0.3, 0.9)),
        grace_s=die.choice((0.5, 2.0, 15.0)),
        retries=die.choice((1, 3)),
        ttl_s=die.choice((None, 5)),
        rates=(0.95 + 0.1 * chance(), 0.95 + 0.1 * chance()),
        foreign=chance() < 0.05,
        lag_s=die.choice((0.1, 0.3, 1.0)),
        copied_at=0.05 + die.choice((0.3, 3.0)) * chance() if chance() < 0.05 else 0.0,
    )
    if scenario.copied_at:  # a member that hears nothing of what is lost later
        at, where = scenario.copied_at, die.choice(CLUSTERS)
        scenario.faults.append(Fault(at, "cut", where, 60.0 * chance(), chance()))
    if chance() < 0.6:
        doubts, wishes = die.choice(_STORIES)
        for kind, moment, nth in doubts:
            seconds = _DOUBTS[kind][1] * chance()
            scenario.faults.append(Fault(0.0, kind, "", seconds, chance(), moment, nth))
        uid = f"w{die.randrange(jobs)}"
        for kind, moment in wishes:
            at = chance() * die.choice((0.0, 0.05, 0.5, 0.5, 5.0))
            scenario.faults.append(
                replace(_wish(die, uid, moment, kind), at=at, moment=moment, nth=1)
            )
    for kind in die.choices(_KINDS, _WEIGHTS, k=die.choice((0, 1, 1, 2, 3))):
        scenario.faults.append(_doubt(die, kind, die.choice(_DOUBTS[kind][2])))
    for _ in range(die.choice((0, 0, 1, 1, 2))):
        scenario.faults.append(_wish(die, f"w{die.randrange(jobs)}", die.choice(_WISHED)))
    _draw_loss(random.Random(seed ^ 0x1054), scenario)
    _draw_consent(random.Random(seed ^ 0xC095), scenario)
    _draw_queues(random.Random(seed ^ 0x90E5), scenario)
    _draw_denials(random.Random(seed ^ 0x403), scenario)
    _draw_bursts(random.Random(seed ^ 0xB057), scenario)
    scenario.faults.sort(key=lambda fault: fault.at)
    return scenario


def _draw_loss(die: random.Random, scenario: Scenario) -> None:
    """In one seed of seven a cluster is lost for longer than its jobs, perhaps, want to wait."""
    if die.random() > 0.15 or scenario.copied_at:
        return
    scenario.loss = die.choice(_POLICIES)
    # Where a stranger has its name, a job needs the other cluster.
    kind = "destroyed" if die.random() < 0.35 and not scenario.foreign else "lost"
    seconds = die.random() * 40.0 if kind == "destroyed" else 70.0 + 130.0 * die.random()
    moment, nth = die.choice(_LOST_AFTER), die.choice((1, 1, 1, 2))
    at = die.random() * die.choice((0.0, 0.05, 0.5, 3.0))
    scenario.faults.append(Fault(at, kind, "", seconds, die.random(), moment, nth))
    scenario.run_s = die.choice((scenario.run_s, 40.0, 150.0))  # perhaps it runs on meanwhile


def _draw_consent(die: random.Random, scenario: Scenario) -> None:
    """In one seed of four people of members withdraw their consent, some of them before the first job.

    In most of these members have queue managers, in whose queues Jobs wait.
    """
    if die.random() > 0.25:
        return
    scenario.consent = True
    if die.random() < 0.4:  # no member accepts the hub at first
        for where in CLUSTERS:
            seconds = 5.0 + die.random() * 60.0
            scenario.faults.append(Fault(0.0, "consent withdrawn", where, seconds, die.random()))
    for _ in range(die.choice((1, 2, 3))):
        moment, seconds = die.choice(_WITHDRAWN_AFTER), die.random() * 60.0
        at, nth = die.random() * die.choice((0.0, 0.3, 3.0)), die.choice((1, 1, 2))
        where = die.choice(("", *CLUSTERS))  # that of the moment, or one of them
        scenario.faults.append(
            Fault(at, "consent withdrawn", where, seconds, die.random(), moment, nth)
        )
    for _ in range(die.choice((0, 1, 2))):  # jobs are placed once more meanwhile
        uid, moment = f"w{die.randrange(scenario.jobs)}", die.choice(("made", "runs", "runs"))
        scenario.faults.append(
            Fault(die.random() * 3.0, "preempt", uid, 0.0, die.random(), moment, _nth(die))
        )
    scenario.queue_s = die.choice((0.0, 0.5, 5.0, 60.0))
    if scenario.queue_s:  # while a Job waits, perhaps in the moment that it is started
        at, seconds = die.random() * scenario.queue_s, die.random() * 60.0
        scenario.faults.append(
            Fault(at, "consent withdrawn", "", seconds, 0.0, "patch", _nth(die))
        )


def _draw_queues(die: random.Random, scenario: Scenario) -> None:
    """In one seed of four people stop, shrink or delete the queue, mostly while a plan is made."""
    if die.random() > 0.25:
        return
    for _ in range(die.choice((1, 2, 3))):
        kind, moment = die.choice(sorted(OF_QUEUES)), die.choice(_EDITED_AFTER)
        seconds, nth = 0.5 + die.random() * 20.0, die.choice((1, 1, 2))
        at = die.random() * die.choice((0.0, 0.0, 0.1, 1.0))
        scenario.faults.append(Fault(at, kind, "", seconds, die.random(), moment, nth))


def _draw_denials(die: random.Random, scenario: Scenario) -> None:
    """In one seed of five members take a right away from their agent and give it back within a minute."""
    if die.random() > 0.2:
        return
    scenario.rights = True
    for _ in range(die.choice((1, 2, 3))):
        kind, moment = die.choice(sorted(OF_RIGHTS)), die.choice(_DENIED_AFTER)
        seconds, at = die.random() * 60.0, die.random() * die.choice((0.0, 0.0, 0.3, 3.0))
        where = die.choice(("", "", *CLUSTERS))  # that of the moment, or one of them
        scenario.faults.append(Fault(at, kind, where, seconds, 0.0, moment, _nth(die)))
    _retry_by_code(die, scenario)


def _draw_bursts(die: random.Random, scenario: Scenario) -> None:
    """In one seed of five somebody writes the Jobs and pods of a member again and again."""
    if die.random() > 0.2:
        return
    for _ in range(die.choice((1, 2, 4))):
        seconds, moment = die.random() * 8.0, die.choice(_BURST_AFTER)
        at = die.random() * die.choice((0.0, 0.05, 0.5))
        scenario.faults.append(
            Fault(at, "burst of events", "", seconds, die.random(), moment, _nth(die))
        )
    _retry_by_code(die, scenario)


def _retry_by_code(die: random.Random, scenario: Scenario) -> None:
    """In half of these seeds pods fail, and jobs are tried again after one of the codes."""
    if die.random() < 0.5:
        scenario.retry_on, scenario.retries = True, 3
        scenario.failing = max(scenario.failing, 0.3)


def _doubt(die: random.Random, kind: str, moment: str) -> Fault:
    seconds = _DOUBTS[kind][1] * die.random() ** 2
    if die.random() < 0.15:
        at = 0.3 + die.random() ** 1.5 * 20.0
        return Fault(at, kind, die.choice(CLUSTERS), seconds, die.random())
    return Fault(_soon(die), kind, "", seconds, die.random(), moment, _nth(die))


def _wish(die: random.Random, uid: str, moment: str, kind: str = "") -> Fault:
    kind = kind or die.choice(_WISHES)
    seconds = die.random() ** 2 * 20.0 if kind in _LASTING else 0.0
    if die.random() < 0.1:
        return Fault(0.3 + die.random() ** 1.5 * 40.0, kind, uid, seconds, die.random())
    return Fault(_soon(die), kind, uid, seconds, die.random(), moment, _nth(die))


def _soon(die: random.Random) -> float:
    """At once, in the time of a request, of a reply, or about when a lease is over."""
    return die.random() * die.choice((0.0, 0.05, 0.5, 0.5, 3.0, 15.0, 40.0))


def _nth(die: random.Random) -> int:
    return die.choice((1, 1, 1, 1, 2, 3))


_KINDS: Final = list(_DOUBTS)
_WEIGHTS: Final = [weight for weight, _, _ in _DOUBTS.values()]
