"""The quota tree: what a queue may take, and could ever have."""

import pytest

from hub.domain.quota.declared import ClusterQueue, FlavorResource, Quota, ResourceGroup
from hub.domain.quota.tree import QuotaTree
from hub.offline.inputs.documents import Unreadable
from tests.offline.build import Q, a_cohort, a_holder, a_queue, a_workload, play, pods


def test_q1_own_quota_borrowing_and_lending_limits() -> None:
    """A cohort's own quota is shared; B2 caps what cq2 gets; L5 keeps half of cq3 to itself."""
    played = play(
        a_cohort("all", 10),
        a_queue("cq1", 10, "all"),
        a_queue("cq2", Q(10, 2), "all"),
        a_queue("cq3", Q(10, None, 5), "all"),
        a_holder("w1", "cq1", 20),
        a_holder("w2", "cq2", 10),
        a_holder("w3", "cq3", 6),
    )
    assert played.available("cq1", "cq2", "cq3") == ["4", "2", "4"]
    assert played.potential("cq1", "cq2", "cq3") == ["35", "12", "40"]


def test_q2_lending_limit_keeps_a_part_local() -> None:
    """With L9 one of cq2's ten stays its own, and is used first."""
    played = play(
        a_cohort("all", 10),
        a_queue("cq1", 10, "all"),
        a_queue("cq2", Q(10, None, 9), "all"),
        a_holder("w1", "cq1", 1),
        a_holder("w2", "cq2", "500m"),
    )
    assert played.available("cq1", "cq2") == ["28", "28500m"]
    assert played.potential("cq1", "cq2") == ["29", "30"]


def test_q4_two_levels() -> None:
    """Quota of cohorts adds up over levels; L0 lends nothing and borrows all the same."""
    played = play(
        a_cohort("root"),
        a_cohort("left", 10, "root"),
        a_cohort("right", 10, "root"),
        a_queue("cq1", 10, "left"),
        a_queue("cq2", Q(10, None, 0), "right"),
        a_holder("w1", "cq1", 10),
        a_holder("w2", "cq2", 5),
    )
    assert played.available("cq1", "cq2") == ["20", "25"]
    assert played.potential("cq1", "cq2") == ["30", "40"]


def test_q5_borrowing_limit_of_a_cohort() -> None:
    """A cohort's borrowing limit caps everything below it."""
    played = play(
        a_cohort("root"),
        a_cohort("left", Q(10, 5), "root"),
        a_cohort("right", 10, "root"),
        a_queue("lcq1", 10, "left"),
        a_queue("lcq2", Q(10, 5), "left"),
        a_queue("rcq", 10, "right"),
    )
    assert played.available("lcq1", "lcq2", "rcq") == ["35", "15", "50"]


def test_q7_more_than_is_free_waits() -> None:
    """Four could be reached, two are free: three wait, parked."""
    played = play(
        a_queue("lend-a", Q(3, None, 2), "all"),
        a_queue("lend-b", Q(2, None, 2), "all"),
        a_holder("b1", "lend-b", 2),
        a_workload("new", "lend-b", 3),
    )
    assert played.verdict("new") == ("pending", "parked")


@pytest.mark.parametrize(
    ("lending", "asked", "verdict"), [(3, 4, ("pending", "parked")), (5, 5, ("admitted", None))]
)
def test_q8_a_borrower_gets_what_is_lent(
    lending: int, asked: int, verdict: tuple[str, str | None]
) -> None:
    """The lender gives L3 of its ten; a borrower that asks four more waits, with L5 gets five."""
    played = play(
        a_queue("lender", Q(10, None, lending), "all"),
        a_queue("borrower", Q(5, 10), "all"),
        a_holder("b1", "borrower", 5),
        a_workload("new", "borrower", asked),
    )
    assert played.verdict("new") == verdict


def test_unlimited_quota_stays_unlimited() -> None:
    """A quota of 2^63-1 is unlimited: null, whatever is charged, and sums saturate."""
    most = str(2**63 - 1)
    played = play(
        a_queue("a", most, "all", resource="memory"),
        a_queue("b", "1Gi", "all", resource="memory"),
        a_holder("h", "a", "5Gi", resource="memory"),
        a_workload("w", "b", "100Ti", resource="memory"),
    )
    assert played.available("a", "b") == [None, None]
    assert played.potential("a", "b") == [None, None]
    assert played.verdict("w") == ("admitted", None)


def test_a_lending_limit_bounds_even_unlimited_quota() -> None:
    """What an unlimited queue lends is its lending limit and no more."""
    played = play(
        a_queue("a", Q(str(2**63 - 1), None, "1Gi"), "all", resource="memory"),
        a_queue("b", "1Gi", "all", resource="memory"),
    )
    assert played.available("a", "b") == [None, "2Gi"]


def test_requests_whose_sum_overflows_are_refused() -> None:
    """Pods that together ask for more than 63 bits are no workload: file, document and field are named."""
    with pytest.raises(Unreadable, match=r"document 4, spec.podSets.*QuantityTooLarge"):
        play(
            a_queue("a", 1, resource="memory"),
            a_workload("w", "a", pod_sets=[pods(str(2**62), 4, resource="memory")]),
        )


def test_requests_of_several_pod_sets_that_overflow_together_fit_nowhere() -> None:
    """Each alone can be counted; together they are more than any limited quota, and others go on."""
    huge = [pods(str(2**62), name=f"set-{n}", resource="memory") for n in range(3)]
    played = play(
        a_queue("a", 1, "all", resource="memory"),
        a_queue("b", str(2**62), "all", resource="memory"),
        a_workload("many", "a", pod_sets=huge),
        a_workload("few", "b", resource="memory"),
    )
    assert played.verdict("many") == ("pending", "parked")
    assert played.admitted() == {"few"}


def test_what_a_63_bit_request_took_comes_back_exactly() -> None:
    """Charging and releasing amounts near the limit leaves the tree as it was."""
    of = FlavorResource("f", "memory")
    spec = {of: Quota(2**62, None, 2**61)}
    groups = (ResourceGroup(("memory",), ("f",)),)
    queues = [ClusterQueue(name, {}, groups, spec, cohort="all") for name in ("a", "b")]
    tree = QuotaTree(queues)
    before = [tree.available(node, of) for node in tree.nodes]
    for _ in range(3):
        tree.charge("a", {of: 2**63 - 1})
    assert tree.available(tree.queues["a"], of) == 0
    for _ in range(3):
        tree.release("a", {of: 2**63 - 1})
    assert [tree.available(node, of) for node in tree.nodes] == before


def test_lending_limits_of_cohorts() -> None:
    """A cohort that lends 3 of 15 keeps 12: its queue sees 30, its neighbour 18, and 16 once it borrows."""
    root = (
        a_cohort("root", 10),
        a_cohort("left", Q(10, None, 3), "root"),
        a_cohort("right", parent="root"),
        a_queue("l", 5, "left"),
        a_queue("r", 5, "right"),
    )
    idle = play(*root)
    assert idle.potential("l", "r") == ["30", "18"]
    busy = play(*root, a_holder("h", "l", 14))
    assert busy.available("l", "r") == ["16", "16"]


def test_lending_limit_protects_what_is_not_lent() -> None:
    """What a queue does not lend cannot have been borrowed: nobody is preempted for it."""
    played = play(
        a_queue("keeper", Q(6, None, 2), "all", reclaim="Any"),
        a_queue("taker", 2, "all"),
        a_holder("t", "taker", 4),
        a_workload("fits", "keeper", 4),
    )
    assert played.verdict("fits") == ("admitted", None)
