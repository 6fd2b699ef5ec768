"""Answers of the member's API server to creates of Jobs, counted in periods and reported during overload.

The hub gives an overloaded member less work (`hub.domain.fleet.create_window`). A period in which a create
was throttled, failed, was late or is still without an answer after `LATE_S` is overloaded. Periods are
reported from the first overloaded one on, until none was overloaded for `QUIET_S`; a healthy member
reports none, and its capacity report does not grow.
"""

from collections.abc import Awaitable
from typing import Final

from agent.decide.decision import Outcome
from shared.clock import Clock
from shared.wire.agent_v1 import CreateAnswers

PERIOD_S: Final = 5.0
LATE_S: Final = 3.0
QUIET_S: Final = 60.0
_OVERLOADED: Final = frozenset({"Throttled", "Unavailable"})  # reasons of a create's trouble


class Creates:
    """The creates of one session."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._under_way: dict[int, float] = {}  # by number: when it began
        self._number = 0
        self._period = 0
        self._ends_at = clock.monotonic() + PERIOD_S
        self._answered = self._overloaded = 0  # in this period
        self._quiet_at = float("-inf")  # no report from then on
        self._report: CreateAnswers | None = None  # of the last period
        self._revision = 0

    async def count(self, create: Awaitable[Outcome]) -> Outcome:
        """Carry out a create, and count how it was answered."""
        self._number += 1
        number, began = self._number, self._clock.monotonic()
        self._under_way[number] = began
        try:
            outcome = await create
        finally:
            del self._under_way[number]
        self._roll()
        trouble = outcome.trouble
        late = self._clock.monotonic() - began > LATE_S
        if late or (trouble is not None and trouble.reason in _OVERLOADED):
            self._overloaded += 1
        else:
            self._answered += 1
        return outcome

    @property
    def revision(self) -> int:
        """Grows whenever there is something else to report."""
        self._roll()
        return self._revision

    def told(self) -> CreateAnswers | None:
        """The last period; None where nothing was overloaded lately."""
        self._roll()
        return self._report

    def _roll(self) -> None:
        """End the period once its time is over."""
        now = self._clock.monotonic()
        if now < self._ends_at:
            return
        waiting = sum(now - began > LATE_S for began in self._under_way.values())
        overloaded = self._overloaded + waiting
        if overloaded:
            self._quiet_at = now + QUIET_S
        report = None
        if now < self._quiet_at:
            self._period += 1
            report = CreateAnswers(
                period=self._period, answered=self._answered, overloaded=overloaded
            )
        self._revision += report is not None or self._report is not None
        self._report = report
        self._answered = self._overloaded = 0
        self._ends_at = now + PERIOD_S
