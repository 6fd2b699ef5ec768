"""Runs of equal jobs of one pod that spread: after each job only the cluster that took it is scored.

Scores are kept as plain numbers, so that a job costs no array; room is taken of all clusters at once, at the
end of the run. The decisions are those of one placement after the other.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from hub.domain.placement.fitting import Fitting
from hub.domain.placement.picking.choice import Choice
from hub.domain.placement.picking.job_order import NOBODY, JobOrder
from hub.domain.placement.scoring.backlog import Backlog
from hub.domain.placement.scoring.balance import Balance
from hub.domain.plan import Score, Verdict

# A run of this share of the clusters, and of at least that many jobs, is worth putting all of them in order.
_SHARE: Final = 32
_JOBS: Final = 4


class Run:
    """Equal jobs and the clusters that compete for them; kept from one run to the next."""

    __slots__ = ("_as_of", "_backlog", "_balance", "_fitting", "_holds", "_order", "_scores")

    def __init__(self, balance: Balance, fitting: Fitting, backlog: Backlog) -> None:
        self._balance = balance
        self._fitting = fitting
        self._backlog = backlog
        self._as_of = (-1, -1)  # room taken, clusters open
        self._order: JobOrder | None = None
        self._holds: list[int] = []  # pods, by cluster
        self._scores: dict[int, Score] = {}

    def pays_off(self, jobs: int) -> bool:
        """Is a run of that many jobs cheaper than one by one?"""
        if jobs >= _JOBS and jobs * _SHARE >= len(self._fitting.open):
            return True
        return jobs > 1 and self._is_current()

    def place(
        self, uids: Sequence[str], names: Sequence[str], rejected: tuple[Verdict, ...]
    ) -> list[Choice]:
        """One job after the other in the best cluster, as far as there is room."""
        choices: list[Choice] = []
        fitting = self._fitting
        while len(choices) < len(uids) and fitting.count:
            order = self._stand()
            self._place_in(order, uids[len(choices) :], names, rejected, choices)
        self._as_of = (self._balance.moment, fitting.count)
        return choices

    def _place_in(
        self,
        order: JobOrder,
        uids: Sequence[str],
        names: Sequence[str],
        rejected: tuple[Verdict, ...],
        choices: list[Choice],
    ) -> None:
        """As many jobs as the order has steps for, while no cluster closes."""
        holds, count, scores = self._holds, self._fitting.count, self._scores
        score = self._balance.scorer(order.points, scores)
        add = None if self._balance.lasts else self._backlog.add
        taken: list[int] = []
        of = tuple.__new__  # half the time of a named tuple's own
        for at, second, below in order.steps(uids):
            if below != below:  # noqa: PLR0124 - only NaN differs from itself
                self._order = None
                break
            best = scores.get(at) or score(at)
            told = (best,) if second == NOBODY else (best, scores.get(second) or score(second))
            choices.append(of(Choice, (names[at], told, rejected, count - len(told))))
            del scores[at]
            holds[at] -= 1
            taken.append(at)
            if add is not None:
                add(at)
        self._fitting.take_singles(taken)
        if add is None:
            self._backlog.add_all(taken)
        if self._order is None and not holds[at]:
            self._fitting.close(at)

    def _is_current(self) -> bool:
        return self._as_of == (self._balance.moment, self._fitting.count)

    def _stand(self) -> JobOrder:
        """All open clusters in order; the same order while no other class took room since the last run."""
        if self._order is not None and self._is_current():
            return self._order
        balance, fitting = self._balance, self._fitting
        held = fitting.pods_held()
        among = np.flatnonzero(fitting.open)
        self._order = JobOrder(among, held, balance.steps(), balance.hashes)
        self._holds = held.tolist()
        self._scores = {}
        return self._order
