"""What is charged stays charged while queues and cohorts come, change and go."""

import pytest

from hub.domain.quota.declared import ClusterQueue, FlavorResource, Quota
from hub.domain.quota.ledger import Ledger
from hub.domain.quota.tree import UNLIMITED, Cohort
from tests.domain.build import a_queue

CPU = FlavorResource("any", "cpu")
GPU = FlavorResource("any", "gpu")


def in_cohort(name: str, cpu: int, cohort: str = "all") -> ClusterQueue:
    """A queue with a quota of this many thousandths of a cpu."""
    queue = a_queue(name=name)
    quotas = {CPU: Quota(cpu)}
    return ClusterQueue(queue.name, {}, queue.groups, quotas=quotas, cohort=cohort)


def test_charges_add_up_and_are_taken_back() -> None:
    """What is used is what was charged less what was released; amounts of zero are not listed."""
    ledger = Ledger([in_cohort("q", 10)])
    ledger.charge("q", {CPU: 3})
    ledger.charge("q", {CPU: 1, GPU: 0}, times=2)
    assert (ledger.used("q", CPU), ledger.available("q", CPU)) == (5, 5)
    ledger.release("q", {CPU: 1}, times=2)
    assert (ledger.usage("q"), ledger.available("q", CPU)) == ({CPU: 3}, 7)
    assert ledger.used("q", GPU) == 0


def test_what_a_new_ledger_is_given_is_charged() -> None:
    """Usage of queues that are declared, and of others."""
    ledger = Ledger([in_cohort("q", 10)], {"q": {CPU: 4}, "gone": {CPU: 2}})
    assert (ledger.used("q", CPU), ledger.used("gone", CPU)) == (4, 2)


def test_a_queue_that_is_not_declared_is_charged_all_the_same() -> None:
    """Nothing is available of it, its charges add up, and count once it is there."""
    ledger = Ledger()
    ledger.charge("q", {CPU: 4})
    ledger.charge("q", {CPU: 3})
    ledger.release("q", {CPU: 2})
    assert (ledger.used("q", CPU), ledger.available("q", CPU), ledger.node("q")) == (5, 0, None)
    ledger.put(in_cohort("q", 8))
    assert (ledger.used("q", CPU), ledger.available("q", CPU)) == (5, 3)


def test_what_is_released_before_it_was_charged_is_owed() -> None:
    """Of a queue that is not there, in whatever order: what is left is the difference."""
    ledger = Ledger()
    ledger.release("q", {CPU: 2})
    ledger.charge("q", {CPU: 5})
    assert ledger.used("q", CPU) == 3


@pytest.mark.parametrize("change", ["put", "drop and put", "cohorts"])
def test_changed_rules_leave_what_is_charged(change: str) -> None:
    """Another quota, a queue that goes and comes back, other cohorts: usage is what it was."""
    ledger = Ledger([in_cohort("q", 10), in_cohort("r", 10)])
    ledger.charge("q", {CPU: 12})
    ledger.charge("r", {CPU: 1})
    assert ledger.available("r", CPU) == 7
    if change == "put":
        ledger.put(in_cohort("q", 20))
    elif change == "drop and put":
        ledger.drop("q")
        assert (ledger.used("q", CPU), ledger.available("q", CPU)) == (12, 0)
        assert ledger.available("r", CPU) == 9  # its cohort is its own now
        ledger.put(in_cohort("q", 20))
    else:
        ledger.put_cohorts([Cohort("all", quotas={CPU: Quota(10)})])
    assert (ledger.used("q", CPU), ledger.used("r", CPU)) == (12, 1)
    assert ledger.available("r", CPU) == 17


def test_a_queue_that_is_forgotten_twice_is_no_fault() -> None:
    """Dropping what is not declared changes nothing."""
    ledger = Ledger([in_cohort("q", 10)], {"q": {CPU: 1}})
    ledger.drop("q")
    ledger.drop("q")
    assert ledger.used("q", CPU) == 1


def test_cohorts_outlive_a_change_of_queues() -> None:
    """What was declared of cohorts holds when a queue is put."""
    ledger = Ledger([in_cohort("q", 1)], cohorts=[Cohort("all", quotas={CPU: Quota(5)})])
    assert ledger.available("q", CPU) == 6
    ledger.put(in_cohort("q", 2))
    assert ledger.available("q", CPU) == 7


def test_a_copy_is_charged_alone() -> None:
    """Of declared queues and of others, and its rules: the original stays as it was."""
    cohort = Cohort("all", quotas={CPU: Quota(5)})
    ledger = Ledger([in_cohort("q", 10)], {"q": {CPU: 1}, "gone": {CPU: 2}}, [cohort])
    copy = ledger.copy()
    copy.charge("q", {CPU: 3})
    copy.charge("gone", {CPU: 3})
    assert (copy.used("q", CPU), copy.used("gone", CPU)) == (4, 5)
    assert (ledger.used("q", CPU), ledger.used("gone", CPU)) == (1, 2)
    copy.put(in_cohort("q", 20))
    assert (copy.available("q", CPU), ledger.available("q", CPU)) == (21, 14)


@pytest.mark.parametrize(
    ("amounts", "most", "times"),
    [
        ({CPU: 3}, 1, 1),
        ({CPU: 3}, 5, 3),
        ({CPU: 5}, 2, 2),  # to the last unit
        ({CPU: 11}, 2, 0),
        ({CPU: 3, GPU: 2}, 5, 2),  # the scarcer of two
        ({GPU: 0}, 7, 7),  # nothing is asked for
    ],
)
def test_as_many_are_taken_as_fit(
    amounts: dict[FlavorResource, int], most: int, times: int
) -> None:
    """What is charged is so many times the amounts, and never more than is there."""
    queue = in_cohort("q", 10)
    quotas = {CPU: Quota(10), GPU: Quota(4)}
    ledger = Ledger([ClusterQueue("q", {}, queue.groups, quotas=quotas)])
    assert ledger.take("q", amounts, most) == times
    assert ledger.usage("q") == {of: n * times for of, n in amounts.items() if n * times}


def test_one_is_taken_unless_more_is_said() -> None:
    """Without a number it is one."""
    assert Ledger([in_cohort("q", 10)]).take("q", {CPU: 1}) == 1


def test_nothing_is_taken_beyond_a_queue_that_is_overdrawn() -> None:
    """Usage above quota, after limits were lowered, is no reason to give back."""
    ledger = Ledger([in_cohort("q", 10)], {"q": {CPU: 25}})
    assert ledger.take("q", {CPU: 4}, 3) == 0
    assert ledger.used("q", CPU) == 25


def test_without_a_limit_all_are_taken() -> None:
    """A quota of 63 bits is none."""
    ledger = Ledger([in_cohort("q", UNLIMITED)])
    assert ledger.take("q", {CPU: UNLIMITED // 2}, 9) == 9
