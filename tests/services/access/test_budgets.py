"""Token buckets: how much comes through, from whom, and how much is remembered."""

import math

import pytest
from hypothesis import given, strategies as st

from hub.services.access.budgets import Budget, TooOften, network_of


def taken(budget, key, now):
    """Whether one was left."""
    try:
        budget.spend(key, now)
    except TooOften:
        return False
    return True


def test_a_burst_comes_at_once_and_then_the_rate():
    """`burst` requests at one instant, one more for each interval after it."""
    budget = Budget("reads", 2, 5)
    assert [taken(budget, "a", 0.0) for _ in range(7)] == [True] * 5 + [False] * 2
    assert [taken(budget, "a", 0.5) for _ in range(2)] == [True, False]
    assert [taken(budget, "a", 2.0) for _ in range(4)] == [True, True, True, False]


def test_the_refusal_says_how_long():
    """Having waited as long as it was told, the caller gets through; a moment earlier it does not."""
    budget = Budget("writes", 4, 2)
    for _ in range(2):
        budget.spend("a", 10.0)
    with pytest.raises(TooOften) as refusal:
        budget.spend("a", 10.0)
    wait_s = refusal.value.retry_after_s
    assert wait_s == pytest.approx(0.25)
    assert refusal.value.code.status == 429
    assert not taken(budget, "a", 10.0 + wait_s - 0.01)
    assert taken(budget, "a", 10.0 + wait_s)


def test_what_is_refused_costs_nothing():
    """Whoever keeps asking is not put off for longer."""
    budget = Budget("reads", 1, 1)
    budget.spend("a", 0.0)
    assert not any(taken(budget, "a", 0.5) for _ in range(100))
    assert taken(budget, "a", 1.0)


def test_a_bucket_is_one_callers_own():
    """What one has spent, another still has."""
    budget = Budget("reads", 1, 1)
    assert taken(budget, "a", 0.0)
    assert taken(budget, "b", 0.0)


def test_zero_is_no_bound():
    """And nothing is remembered for it."""
    budget = Budget("reads", 0, 1)
    assert all(taken(budget, "a", 0.0) for _ in range(1000))
    assert len(budget) == 0


def test_a_look_takes_nothing():
    """`check` refuses where `spend` would, and leaves the bucket as it is."""
    budget = Budget("failures", 1, 2)
    for _ in range(5):
        budget.check("a", 0.0)
    budget.spend("a", 0.0)
    budget.check("a", 0.0)
    budget.spend("a", 0.0)
    with pytest.raises(TooOften):
        budget.check("a", 0.0)
    budget.check("a", 1.0)


def test_callers_without_number_take_memory_within_bounds():
    """Beyond the most that are kept, new ones share one bucket; full ones are forgotten first."""
    budget = Budget("failures", 1, 1, most_keys=10)
    assert all(taken(budget, f"a{each}", 0.0) for each in range(10))
    assert [taken(budget, f"b{each}", 0.0) for each in range(5)] == [True] + [False] * 4
    assert len(budget) == 11
    with pytest.raises(TooOften):
        budget.check("never seen", 0.0)
    assert all(taken(budget, f"c{each}", 5.0) for each in range(10))
    assert len(budget) <= 11


@given(
    st.floats(0.1, 100),
    st.integers(1, 50),
    st.lists(st.floats(0, 2), min_size=1, max_size=200),
)
def test_never_more_than_burst_and_rate(per_s, burst, pauses):
    """In any span of time at most `burst` and `per_s` for each second come through."""
    budget, now, passed = Budget("reads", per_s, burst), 0.0, []
    for pause in pauses:
        now += pause
        if taken(budget, "a", now):
            passed.append(now)
    for index, since in enumerate(passed):
        count = len(passed) - index
        assert count <= burst + math.ceil((passed[-1] - since) * per_s + 1e-6)


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
        ("x" * 100, "x" * 64),
    ],
)
def test_an_address_of_ipv6_is_its_networks(address, network):
    """Whoever has one address of a network has them all; of IPv4 each is counted by itself."""
    assert network_of(address) == network
