"""What a head could get, and whether a refused one might get something now."""

from dataclasses import replace

import pytest

from hub.domain.admission.flavor_assigner import Mode, Search
from hub.domain.admission.flavors import FlavorCatalog
from hub.domain.admission.nomination import Nominator, Rules
from hub.domain.plan import Shortage
from hub.domain.preemption.search import PreemptionLimits
from hub.domain.quota.declared import Flavor
from hub.domain.quota.holders import AdmittedWorkload, PendingWorkload, QuotaState
from hub.domain.quota.ledger import Ledger
from hub.domain.quota.queue_policy import QueuePolicy
from tests.domain.build import a_pod_set, a_queue
from tests.domain.whatif.pictures import CPU, a_holder

CATALOG = FlavorCatalog({"any": Flavor("any")}, {})


def a_nominator(
    *holders: AdmittedWorkload, policy: QueuePolicy, rules: Rules | None = None, now: int = 0
) -> Nominator:
    """Queues q and r of one cohort, four cpu each; `policy` is that of q."""
    queues = [replace(a_queue(name=name, cpu=4), cohort="all") for name in "qr"]
    policies = {"q": policy, "r": QueuePolicy()}
    state = QuotaState(Ledger(queues).tree, {q.name: q for q in queues}, policies, holders)
    nominator = Nominator(state, CATALOG, rules or Rules())
    nominator.now = now
    return nominator


def waiting(cpu: int, *, count: int = 1, least: int | None = None) -> PendingWorkload:
    """Of q, with priority 0, queued at 5."""
    pod_set = a_pod_set(count=count, min_count=least, requests={"cpu": cpu})
    return PendingWorkload("w", "ns", "w", "q", (pod_set,), 0, 5)


def mode(nominator: Nominator, who: PendingWorkload) -> Mode:
    return nominator.nominate(who).search.mode


RECLAIM = QueuePolicy(reclaim="Any")
BOTH = QueuePolicy(within="LowerPriority", reclaim="Any")


@pytest.mark.parametrize(
    ("own", "other", "asked", "expected"),
    [
        (2, 6, 2, Mode.RECLAIM),
        (4, 4, 2, Mode.PREEMPT),
        (3, 5, 3, Mode.PREEMPT),
    ],
)
def test_one_victim_of_its_own_makes_it_preemption(
    own: int, other: int, asked: int, expected: Mode
) -> None:
    """Reclaiming is at the cost of other queues only."""
    holders = [a_holder(f"o{n}", 1, priority=-1) for n in range(own)]
    holders += [a_holder(f"r{n}", 1, "r", priority=-1) for n in range(other)]
    assert mode(a_nominator(*holders, policy=BOTH), waiting(asked)) is expected


@pytest.mark.parametrize(("queued_at", "expected"), [(6, Mode.PREEMPT), (5, Mode.NO_CANDIDATES)])
def test_newer_equals_may_be_enough(queued_at: int, expected: Mode) -> None:
    """They count among those who could go."""
    holders = [a_holder("h", 4, queued_at=queued_at), a_holder("r", 4, "r")]
    policy = QueuePolicy(within="LowerOrNewerEqualPriority")
    assert mode(a_nominator(*holders, policy=policy), waiting(4)) is expected


@pytest.mark.parametrize("fair", [False, True])
def test_one_large_borrower_may_give_more_than_it_borrows(*, fair: bool) -> None:
    """r holds one cpu beyond its quota, in one workload of five: all of it goes."""
    nominator = a_nominator(
        a_holder("h", 5, "r"), a_holder("o", 3, priority=9), policy=BOTH, rules=Rules(fair=fair)
    )
    assert mode(nominator, waiting(1)) is Mode.RECLAIM


@pytest.mark.parametrize(("now", "expected"), [(109, Mode.NO_CANDIDATES), (110, Mode.PREEMPT)])
def test_who_has_run_for_long_enough_counts(now: int, expected: Mode) -> None:
    """From the end of its minimum runtime on."""
    rules = Rules(limits=PreemptionLimits(minimum_runtime=10))
    nominator = a_nominator(
        a_holder("h", 4, priority=-1, started_at=100), a_holder("r", 4, "r", priority=9),
        policy=BOTH, rules=rules, now=now,
    )  # fmt: skip
    assert mode(nominator, waiting(2)) is expected


@pytest.mark.parametrize(
    ("asked", "held", "priority", "may"),
    [(2, 4, 1, False), (2, 4, 0, True), (4, 4, -1, True), (5, 4, -1, False), (1, 3, 1, True)],
)
def test_whether_a_refused_head_might_get_something_now(
    asked: int, held: int, priority: int, *, may: bool
) -> None:
    """Only if it fits by now, or if those of no higher priority hold as much as it lacks."""
    nominator = a_nominator(
        a_holder("own", held, priority=priority), a_holder("r", 4, "r"), policy=BOTH
    )
    shortage = Shortage(CPU, asked * 1000, 8000, 8000)
    assert nominator.may_change(waiting(asked), Search(Mode.NO_FIT, shortages=(shortage,))) is may


@pytest.mark.parametrize(("asked", "may"), [(6, True), (7, False)])
def test_the_most_that_a_borrower_could_give(asked: int, *, may: bool) -> None:
    """What r holds beyond its quota of four, and its largest workload with it: four and two of eight."""
    holders = [a_holder(f"r{n}", 2, "r") for n in range(4)]
    shortage = Shortage(CPU, asked * 1000, 8000, 8000)
    nominator = a_nominator(*holders, policy=BOTH)
    assert nominator.may_change(waiting(asked), Search(Mode.NO_FIT, shortages=(shortage,))) is may


@pytest.mark.parametrize(("now", "may"), [(109, False), (110, True)])
def test_whose_runtime_is_too_short_can_give_nothing(now: int, *, may: bool) -> None:
    """A refused head has another look once its minimum runtime is over."""
    rules = Rules(limits=PreemptionLimits(minimum_runtime=10))
    holders = [a_holder("h", 4, priority=-1, started_at=100), a_holder("r", 4, "r")]
    nominator = a_nominator(*holders, policy=BOTH, rules=rules, now=now)
    shortage = Shortage(CPU, 2000, 8000, 8000)
    assert nominator.may_change(waiting(2), Search(Mode.NO_FIT, shortages=(shortage,))) is may


def test_fewer_pods_might_do() -> None:
    """Who may shrink is asked about again, whatever is short."""
    full = [a_holder("own", 4), a_holder("r", 4, "r")]
    for partial in (False, True):
        nominator = a_nominator(*full, policy=RECLAIM, rules=Rules(partial=partial))
        who = waiting(1, count=2, least=1)
        assert nominator.may_change(who, nominator.nominate(who).search) is partial
