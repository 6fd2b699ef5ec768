"""How high a request reaches in a tree of quota, and what is borrowed to the last unit."""

from fractions import Fraction

import pytest

from hub.domain.quota.declared import ClusterQueue, FlavorResource, Quota
from hub.domain.quota.dominant_share import NONE, Dominance, Share, dominance
from hub.domain.quota.tree import Cohort, QuotaTree

CPU, GPU = FlavorResource("any", "cpu"), FlavorResource("any", "gpu")


def a_queue(
    name: str, cohort: str, cpu: int, lends: int | None = None, **more: Quota
) -> ClusterQueue:
    quotas = {
        CPU: Quota(cpu, None, lends),
        **{FlavorResource("any", r): q for r, q in more.items()},
    }
    return ClusterQueue(name, {}, (), quotas, cohort=cohort)


def a_tree() -> QuotaTree:
    """q (2, lends 1) and r (3) below left, left (1, lends 2) and s (4) below root; all of them cpu.

             root
            /    \\
        left(1)   s(4)
        /    \\
      q(2)   r(3)
    """
    queues = [a_queue("q", "left", 2, 1), a_queue("r", "left", 3), a_queue("s", "root", 4)]
    left = Cohort("left", parent="root", quotas={CPU: Quota(1, None, 2)})
    return QuotaTree(queues, [left, Cohort("root")])


def test_heights_are_those_of_the_longest_way_down() -> None:
    """Whatever stands beside it."""
    tree = a_tree()
    assert {n: tree.cohorts[n].height for n in ("left", "root")} == {"left": 1, "root": 2}


@pytest.mark.parametrize(
    ("amount", "level"),
    [(0, (0, True)), (2, (0, True)), (3, (1, True)), (6, (1, True)), (7, (2, False)), (99, (2, False))],
)  # fmt: skip
def test_the_lowest_subtree_that_holds_it(amount: int, level: tuple[int, bool]) -> None:
    """Inside its own quota, to the last unit; beyond all of them the whole tree."""
    tree = a_tree()
    assert tree.level(tree.queues["q"], CPU, amount) == level


@pytest.mark.parametrize(("amount", "level"), [(2, 1), (3, 1), (4, 2), (8, 2)])
def test_what_others_use_raises_the_level(amount: int, level: int) -> None:
    """r has all of its three: q's subtree has three left."""
    tree = a_tree()
    tree.charge("r", {CPU: 3})
    tree.charge("q", {CPU: 0})
    assert tree.level(tree.queues["q"], CPU, amount + 0)[0] == (0 if amount <= 2 else level)


def test_what_a_cohort_never_lends_is_taken_before_what_stands_above_it() -> None:
    """Of five three are the lower cohort's own: the one above holds the other two inside its quota."""
    cohorts = [
        Cohort("low", parent="middle", quotas={CPU: Quota(4, None, 1)}),
        Cohort("middle", parent="root", quotas={CPU: Quota(2)}),
        Cohort("root", quotas={CPU: Quota(9)}),
    ]
    tree = QuotaTree([a_queue("q", "low", 0)], cohorts)
    assert tree.level(tree.queues["q"], CPU, 5) == (2, True)
    assert tree.level(tree.queues["q"], CPU, 7) == (3, False)


def test_of_a_queue_without_cohort_nothing_is_borrowed() -> None:
    """Its level is that of itself, however much is asked."""
    tree = QuotaTree([a_queue("q", "", 2)], [])
    assert tree.level(tree.queues["q"], CPU, 9) == (0, False)


@pytest.mark.parametrize(("used", "borrows"), [(1, False), (2, False), (3, True)])
def test_a_quota_that_is_used_up_is_not_borrowed_from_others(used: int, *, borrows: bool) -> None:
    """Exactly at its quota a node is inside it, and has no share."""
    tree = a_tree()
    node = tree.queues["q"]
    assert tree.borrows(node, CPU, used) is borrows
    tree.charge("q", {CPU: used})
    assert tree.borrows(node, CPU) is borrows
    assert tree.within(node, [GPU, CPU]) is not borrows
    assert list(tree.over(node.root(), CPU)) == ([node] if borrows else [])
    assert dominance(tree, node).borrows is borrows
    if not borrows:
        assert dominance(tree, node) == Dominance(NONE, borrows=False)


def test_who_exceeds_its_quota_is_kept_up_to_date() -> None:
    """As quota is charged and released, to the last unit."""
    tree = a_tree()
    q, root = tree.queues["q"], tree.cohorts["root"]
    assert list(tree.over(root, CPU)) == []
    for change, over in ((2, []), (1, [q]), (-1, []), (4, [q])):
        if change > 0:
            tree.charge("q", {CPU: change})
        else:
            tree.release("q", {CPU: -change})
        assert list(tree.over(root, CPU)) == over


def test_the_resource_that_dominates_is_the_share() -> None:
    """Whichever comes first; in thousandths of what the cohort could lend, rounded up when reported."""
    for one, other in ((CPU, GPU), (GPU, CPU)):
        queues = [
            ClusterQueue("q", {}, (), {one: Quota(0), other: Quota(0)}, cohort="all"),
            ClusterQueue("r", {}, (), {one: Quota(3), other: Quota(3)}, cohort="all"),
        ]
        tree = QuotaTree(queues, [])
        tree.charge("q", {one: 2, other: 1})
        share = dominance(tree, tree.queues["q"]).share
        assert share == Share(infinite=False, value=Fraction(2000, 3))
        assert share.reported() == 667


def test_flavors_of_one_resource_are_added_up() -> None:
    """What is borrowed of either, over what all of them could lend."""
    spot = FlavorResource("spot", "cpu")
    queues = [
        ClusterQueue("q", {}, (), {CPU: Quota(1), spot: Quota(0)}, cohort="all"),
        ClusterQueue("r", {}, (), {CPU: Quota(4), spot: Quota(5)}, cohort="all"),
    ]
    tree = QuotaTree(queues, [])
    tree.charge("q", {CPU: 2, spot: 3})
    assert dominance(tree, tree.queues["q"]).share.value == Fraction(4000, 10)


def test_cohorts_in_a_cycle_stand_apart() -> None:
    """Neither they nor queues below them are joined to anything; others are not touched."""
    cohorts = [Cohort("a", parent="b"), Cohort("b", parent="a"), Cohort("d", parent="c")]
    queues = [a_queue("q", "a", 1), a_queue("r", "d", 1), a_queue("s", "c", 1)]
    tree = QuotaTree(queues, cohorts)
    assert set(tree.inactive) == {"q"}
    assert (tree.queues["q"].parent, tree.cohorts["a"].parent) == (None, None)
    assert tree.queues["r"].root() is tree.queues["s"].root() is tree.cohorts["c"]


def test_what_nobody_has_quota_for_can_be_charged() -> None:
    """It is known, and available nowhere."""
    tree = a_tree()
    tree.charge("q", {GPU: 2})
    node = tree.queues["q"]
    assert (tree.used_of(node, GPU), tree.available(node, GPU)) == (2, 0)
    copy = tree.copy()
    tree.release("q", {GPU: 2})
    assert (tree.usage("q"), copy.usage("q")) == ({CPU: 0}, {CPU: 0, GPU: 2})


@pytest.mark.parametrize(("used", "free"), [(0, -1), (1, -2)])
def test_a_cohort_that_is_overdrawn_has_less_than_nothing(used: int, free: int) -> None:
    """A queue in it has nothing."""
    tree = QuotaTree([a_queue("q", "all", 2)], [])
    tree.charge("q", {CPU: 3 + used})
    assert tree.available(tree.cohorts["all"], CPU) == free
    assert tree.available(tree.queues["q"], CPU) == 0
