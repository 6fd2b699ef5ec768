"""The agent reports how its API server answers creates, while that is overloaded."""

import asyncio

import pytest

from agent.decide.decision import Outcome, Trouble
from agent.member.create_answers import LATE_S, PERIOD_S, QUIET_S, Creates
from shared.clock import ManualClock
from tests.waiting import turns

pytestmark = pytest.mark.anyio

ANSWERED = Outcome()
THROTTLED = Outcome(trouble=Trouble("Throttled", "too many requests"))
SILENT = Outcome(trouble=Trouble("Unavailable", "no answer"))
REFUSED = Outcome(trouble=Trouble("ApplyFailed", "denied"))


class Creating:
    """Creates of one session, answered as a test says."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.creates = Creates(self.clock)

    async def create(self, outcome: Outcome, after_s: float = 0.0) -> None:
        async def answered() -> Outcome:
            self.clock.advance(after_s)
            return outcome

        await self.creates.count(answered())

    def told(self):
        """The report of the period that ends now: answered, overloaded; None: there is none."""
        self.clock.advance(PERIOD_S)
        told = self.creates.told()
        return None if told is None else (told.answered, told.overloaded)


async def test_a_server_that_answers_in_time_is_not_reported():
    """A refusal is an answer as well."""
    it = Creating()
    await it.create(ANSWERED)
    await it.create(REFUSED, after_s=1.0)
    assert it.told() is None
    assert it.creates.revision == 0


@pytest.mark.parametrize(
    ("outcome", "after_s"), [(THROTTLED, 0.0), (SILENT, 0.0), (ANSWERED, LATE_S + 1)]
)
async def test_throttled_failed_and_late_creates_are_overload(outcome, after_s):
    """The report has both numbers of the period."""
    it = Creating()
    await it.create(ANSWERED)
    await it.create(outcome, after_s)
    assert it.told() == (1, 1)


async def test_a_create_without_an_answer_counts_while_it_is_awaited():
    """A server that hangs is noticed before the request's deadline."""
    it = Creating()
    never: asyncio.Future[Outcome] = asyncio.Future()
    under_way = asyncio.ensure_future(it.creates.count(never))
    await turns()
    assert it.told() == (0, 1)
    under_way.cancel()


async def test_periods_are_reported_until_a_minute_was_quiet():
    """Each period has its number and is news; then there is nothing more to report."""
    it = Creating()
    await it.create(THROTTLED)
    assert it.told() == (0, 1)
    before = it.creates.revision
    await it.create(ANSWERED)
    assert it.told() == (1, 0)
    assert it.creates.revision == before + 1
    it.clock.advance(QUIET_S)
    assert it.told() is None
    last = it.creates.revision
    assert it.told() is None
    assert it.creates.revision == last
