"""A refused workload is looked at again when somebody has run for long enough to be preempted."""

import datetime as dt

import pytest

from hub.domain.admission.nomination import Rules
from hub.domain.cycle.profile import Profile
from hub.domain.preemption.search import PreemptionLimits
from tests.domain.build import NOW, a_demand, a_lane, a_pod_set, decide, refusal
from tests.domain.whatif.pictures import LOWER, PRESENT, SECOND, a_holder, a_picture


@pytest.mark.parametrize(
    ("started", "again"),
    [((-5, -9), 21), ((-9, -5), 21), ((-30, -9), 21), ((-31, -30), None), ((None, -9), 21)],
)
def test_the_next_end_of_a_minimum_runtime(
    started: tuple[int | None, ...], again: int | None
) -> None:
    """The earliest that is still to come, of thirty seconds; whoever has run for them counts no more."""
    holders = [
        a_holder(f"h{n}", 2, priority=1, started_at=None if at is None else PRESENT + at * SECOND)
        for n, at in enumerate(started)
    ]
    lane = a_lane(a_demand(a_pod_set(requests={"cpu": 4})), "w")
    limits = PreemptionLimits(minimum_runtime=30 * SECOND, now=PRESENT)
    picture = a_picture(holders, lanes=[lane], policies={"q": LOWER})
    plan = decide(picture, Profile(rules=Rules(limits=limits)))
    expected = None if again is None else NOW + dt.timedelta(seconds=again)
    assert refusal(plan).retry_at == expected
