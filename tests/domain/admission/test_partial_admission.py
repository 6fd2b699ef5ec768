"""Partial admission: the largest size that fits, down to the least that is allowed."""

import pytest
from hypothesis import given, strategies as st

from hub.domain.admission.partial_admission import largest, may_shrink
from tests.domain.build import a_pod_set
from tests.offline.build import a_holder, a_queue, a_workload, play, pods

PARTIAL = {"partialAdmission": True}


def test_a1_the_largest_count_that_fits() -> None:
    """50 pods of 2 against 50: with at least 20, 25 are admitted."""
    played = play(
        a_queue("q", 50), a_workload("new", "q", pod_sets=[pods(2, 50, 20)]), settings=PARTIAL
    )
    assert (played.verdict("new"), played.counts("new")) == (("admitted", None), [25])


_GANG = [pods(1, 20, name="a"), pods(1, 30, 10, name="b"), pods(1, 15, 5, name="c")]


def test_a2_several_pod_sets_shrink_together() -> None:
    """20 fixed, 30 (at least 10), 15 (at least 5) against 50: 20, 20, 10."""
    played = play(a_queue("q", 50), a_workload("new", "q", pod_sets=_GANG), settings=PARTIAL)
    assert played.counts("new") == [20, 20, 10]


def test_a2_all_or_nothing_without_partial_admission() -> None:
    """With the setting off nothing is admitted: a gang."""
    played = play(a_queue("q", 50), a_workload("new", "q", pod_sets=_GANG))
    assert played.verdict("new") == ("pending", "parked")


@pytest.mark.parametrize(("quota", "counts"), [(4, [4]), (3, [3]), (2, [2]), (1, [])])
def test_the_least_size_is_tried_too(quota: int, counts: list[int]) -> None:
    """Partial admission goes down to minCount itself, and no further."""
    played = play(
        a_queue("q", quota), a_workload("new", "q", pod_sets=[pods(1, 4, 2)]), settings=PARTIAL
    )
    assert played.counts("new") == counts


def test_fewer_pods_at_the_cost_of_others() -> None:
    """2.6: the largest size that fits or may preempt; here 10 of 12, with the low priority gone."""
    played = play(
        a_queue("q", 10, within="LowerPriority"),
        a_holder("low", "q", 6, prio=-1),
        a_workload("w", "q", pod_sets=[pods(1, 12, 4)]),
        settings={"partialAdmission": True},
    )
    assert played.counts("w") == [10]
    assert played.victims("w") == {"low": "InClusterQueue"}


sizes = st.lists(
    st.integers(1, 12).flatmap(lambda n: st.tuples(st.just(n), st.none() | st.integers(1, n + 2))),
    min_size=1,
    max_size=3,
)


@given(sizes, st.integers(0, 40))
def test_no_larger_size_on_the_way_down_would_do(
    given_sizes: list[tuple[int, int | None]], most: int
) -> None:
    """Of all steps down to the least, each rounded down per pod set, the first that is taken."""
    pod_sets = [a_pod_set(count=count, min_count=least) for count, least in given_sizes]
    spans = [max(0, p.count - (p.count if p.min_count is None else p.min_count)) for p in pod_sets]
    total = sum(spans)
    steps = [
        tuple(p.count - span * step // total for p, span in zip(pod_sets, spans, strict=True))
        for step in range(total + 1)
        if total
    ]
    expected = next((step for step in steps if sum(step) <= most), None)
    assert largest(pod_sets, lambda counts: counts if sum(counts) <= most else None) == expected
    assert may_shrink(pod_sets) == (total > 0)
    if expected is not None and not most < sum(steps[-1]):
        assert all(
            n >= p.count - span for n, p, span in zip(expected, pod_sets, spans, strict=True)
        )


def test_what_can_not_shrink_is_not_asked_about() -> None:
    """Without fewer pods to try there is no answer, though the whole would do."""
    assert largest([a_pod_set(count=3), a_pod_set(count=2, min_count=2)], lambda c: c) is None
