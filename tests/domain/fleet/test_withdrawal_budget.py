"""The budget of withdrawals for silence, per fleet and minute."""

import datetime as dt

from hub.domain.fleet.withdrawal_budget import WithdrawalBudget

START = dt.datetime(2026, 5, 1, tzinfo=dt.UTC)


def at(seconds: float) -> dt.datetime:
    return START + dt.timedelta(seconds=seconds)


def test_a_minute_has_so_many():
    """What was spent comes back steadily, a minute's worth at most."""
    budget = WithdrawalBudget(60)
    assert budget.left(at(0)) == 60
    budget.spend(60)
    assert budget.left(at(0)) == 0
    assert budget.left(at(10)) == 10
    assert budget.left(at(3600)) == 60


def test_a_clock_that_goes_back_fills_nothing():
    """The hub's clock may be set."""
    budget = WithdrawalBudget(60)
    assert budget.left(at(100)) == 60
    budget.spend(60)
    assert budget.left(at(0)) == 0


def test_zero_is_no_limit():
    """An administrator may switch the damping off."""
    budget = WithdrawalBudget(0)
    budget.spend(1000)
    assert budget.left(at(0)) is None


def test_what_was_not_asked_back_is_given_back():
    """A write that failed, or asked for fewer; without a limit nothing is counted."""
    budget = WithdrawalBudget(10)
    assert budget.left(at(0)) == 10
    budget.spend(10)
    budget.give_back(4)
    assert budget.left(at(0)) == 4
    assert WithdrawalBudget(0).left(at(0)) is None
