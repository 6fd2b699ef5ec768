"""What a wait for its start costs a cluster, in points."""

import pytest

from hub.domain.placement.scoring.backlog import Backlog
from hub.domain.placement.scoring.pace import Starts


def a_backlog(pending: int, pace: float | None) -> Backlog:
    return Backlog(["m"], {"m": Starts(pending, 3, pace)})


@pytest.mark.parametrize(
    ("pending", "cost"),
    [(0, 0), (29, 0), (30, 164), (59, 3333), (89, 5000), (209, 7500), (100_000, 9994)],
)
def test_a_wait_beyond_thirty_seconds_costs(pending: int, cost: int) -> None:
    """One start a second: half of all points ninety seconds on, never quite all of them."""
    backlog = a_backlog(pending, 1.0)
    assert backlog.wait_s(0) == pending + 1
    assert backlog.costs.tolist() == [cost]


def test_each_start_that_is_given_counts_at_once() -> None:
    """Where a pace is known; elsewhere nothing changes."""
    known, unknown = a_backlog(29, 1.0), a_backlog(99, None)
    for backlog in (known, unknown):
        backlog.add(0)
    assert (known.wait_s(0), known.costs.tolist(), known.changes) == (31.0, [164], 1)
    assert (unknown.wait_s(0), unknown.costs.tolist(), unknown.changes) == (None, [0], 0)


def test_a_member_nobody_knows_owes_nothing() -> None:
    """Neither pending nor running."""
    backlog = Backlog(["x"], {})
    assert (backlog.wait_s(0), backlog.running.tolist()) == (None, [0])
