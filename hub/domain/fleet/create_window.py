"""The create window: how many jobs a member may have that it was given and that are not created there yet.

An overloaded API server gets less work, neither none nor all of it. The agent reports how the server
answered its creates in periods of some seconds (`agent_v1.CreateAnswers`), from the first overloaded period
on until a minute has passed without another one. As in TCP,

    overloaded period:  window = max(LEAST, min(window, jobs not created yet) / 2)
    other period:       window = window + creates answered in it        (at most twice as much)
    no report:          no limit

A hub that leads since a moment ago knows no window. As a member reports periods only while it was overloaded
within the last minute, its window then begins at what it answers, `max(LEAST, creates answered in it)`.

A member whose agent reports nothing has no window, so a healthy fleet is not limited, and a window that was
too small does not last.
"""

from typing import Final, NamedTuple

from shared.documents import JsonView

LEAST: Final = 4  # so that a member that recovers is noticed


class CreateAnswers(NamedTuple):
    """One period: creates that were answered in time, and those that were not (429, 5xx, slow, none)."""

    period: int
    answered: int
    overloaded: int


def read_answers(told: JsonView | None) -> CreateAnswers | None:
    """Read the agent's report; None without an overload."""
    if not told:
        return None
    return CreateAnswers(told["period"], told["answered"], told["overloaded"])


def adjust(window: int | None, told: CreateAnswers, unapplied: int) -> int:
    """The window after one more period. `window`: None where none is known of the member yet.

    `unapplied`: jobs that the member was given and that are not created there.
    """
    if told.overloaded:
        most = unapplied if window is None else min(window, unapplied)
        return max(LEAST, most // 2)
    if window is None:
        return max(LEAST, told.answered)
    return min(2 * window, window + told.answered)


class CreateWindows:
    """The windows of all members, kept up to date with their reports."""

    def __init__(self) -> None:
        self._windows: dict[str, tuple[int, int]] = {}  # by member: window, last period

    def report(self, member: str, told: CreateAnswers | None, unapplied: int) -> None:
        """A member reported. A period that was taken in already changes nothing."""
        if told is None:
            self._windows.pop(member, None)
            return
        window, period = self._windows.get(member, (None, -1))
        if told.period != period:
            self._windows[member] = (adjust(window, told, unapplied), told.period)

    def drop(self, member: str) -> None:
        """A member is gone."""
        self._windows.pop(member, None)

    def of(self, member: str) -> int | None:
        """Most jobs that may be on their way to a member; None: no limit."""
        found = self._windows.get(member)
        return None if found is None else found[0]
