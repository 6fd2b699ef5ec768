"""The budget of withdrawals for silence: how many offered jobs the fleet asks back in a minute.

When members fall silent one after another, each withdrawal moves load to the next one. The budget bounds
how fast that continues. It is a bucket of a minute's withdrawals, which fills steadily. Nothing that a person
or a rule asks for (cancel, drain, preemption, stop) takes from it. Each leader begins with a full bucket.
"""

import datetime as dt

_MINUTE_S = 60.0


class WithdrawalBudget:
    """Of one fleet. `per_minute` 0: there is no limit."""

    def __init__(self, per_minute: int) -> None:
        self._per_minute = per_minute
        self._left = float(per_minute)
        self._at: dt.datetime | None = None

    def left(self, now: dt.datetime) -> int | None:
        """The maximum number of jobs that may be asked back now; None: no limit."""
        if not self._per_minute:
            return None
        if self._at is not None:
            passed_s = max(0.0, (now - self._at).total_seconds())
            filled = self._left + passed_s / _MINUTE_S * self._per_minute
            self._left = min(float(self._per_minute), filled)
        self._at = now
        return int(self._left)

    def spend(self, count: int) -> None:
        """Count jobs before the hub asks them back: they stay counted if the outcome is unknown."""
        self._left -= count

    def give_back(self, count: int) -> None:
        """Subtract counted jobs that were not asked back."""
        self._left += count
