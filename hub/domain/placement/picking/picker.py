"""Pickers place equal workloads one after the other, by their ranking and fitting."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from hub.domain.fleet.scale_up import Growth
from hub.domain.placement.fitting import Fitting
from hub.domain.placement.picking.choice import NOWHERE, Choice
from hub.domain.placement.picking.run import Run
from hub.domain.placement.scoring.backlog import Backlog
from hub.domain.placement.scoring.balance import Balance
from hub.domain.placement.scoring.preferences import Ranking
from hub.domain.plan import Score, Verdict

# A score in room that is not there yet: below what the same preferences give in real room.
BELOW_REAL_ROOM: Final = 20_000


class Anywhere:
    """The picker of workloads that request only quota: they need no room, so there always is some."""

    def place_run(self, uids: Sequence[str]) -> list[Choice]:
        """No room is taken."""
        return [NOWHERE] * len(uids)


class ClusterPicker:
    """Equal workloads looking for clusters: their ranking, their fitting, and who may not."""

    __slots__ = (
        "_backlog", "_fitting", "_growth", "_listed", "_names", "_ranking", "_rejected", "run",
    )  # fmt: skip

    def __init__(
        self,
        names: Sequence[str],
        ranking: Ranking | Balance,
        fitting: Fitting,
        rejected: tuple[Verdict, ...],
        listed: int,
        backlog: Backlog,
        growth: Growth | None = None,
    ) -> None:
        """`growth` is given where nodes that are not there yet count too."""
        self._backlog = backlog
        self._growth = growth
        self._names = names
        self._ranking = ranking
        self._fitting = fitting
        self._rejected = rejected
        self._listed = listed  # how many others a decision shows
        self.run: Run | None = None  # None: jobs are placed one by one
        if (
            listed == 1
            and isinstance(ranking, Balance)
            and ranking.spreads
            and not fitting.guarded
        ):
            self.run = Run(ranking, fitting, backlog)

    def place_run(self, uids: Sequence[str]) -> list[Choice]:
        """`place` for each of `uids`, as far as there is room; no other turn comes between."""
        run = self.run
        if run is not None and run.pays_off(len(uids)):
            return run.place(uids, self._names, self._rejected)
        if len(uids) == 1:
            choice = self.place(uids[0])
            return [] if choice is None else [choice]
        return place_each(self, uids)

    def place(self, uid: str) -> Choice | None:
        """Take room for `uid` in the best cluster; None, with nothing taken, where none can hold it."""
        ranking, fitting = self._ranking, self._fitting
        if self._growth is not None:
            self._growth.opened.clear()
        at = fitting.place(ranking.refresh(), ranking.settle, uid)
        if at is None:
            return None
        chosen = ranking.listed(at)
        self._backlog.add(at)
        shown: list[Score] = []
        if self._listed == 1 and fitting.count > 1:
            shown = [ranking.listed(fitting.runner_up(at))]
        elif fitting.count > 1:
            few = min(fitting.count, self._listed + 1)
            order = np.argsort(-fitting.competing, kind="stable")[:few]
            shown = [ranking.listed(a) for a in order.tolist() if a != at][: self._listed]
        scores = (chosen, *shown)
        others = fitting.count - len(scores)
        if self._growth is not None:
            below = [s._replace(score=s.score - BELOW_REAL_ROOM) for s in shown]
            scores = (in_new_nodes(chosen, self._growth.opened), *below)
        return Choice(self._names[at], scores, self._rejected, others)


def in_new_nodes(score: Score, opened: Mapping[str, int]) -> Score:
    """The rank of a cluster whose pools must add nodes first: below real room."""
    if not opened:
        return score
    return score._replace(
        score=score.score - BELOW_REAL_ROOM, new_nodes=tuple(sorted(opened.items()))
    )


class PreferringPicker:
    """Takes room where `first` finds any, else where `otherwise` does."""

    __slots__ = ("_first", "_otherwise")

    def __init__(self, first: ClusterPicker, otherwise: ClusterPicker) -> None:
        self._first, self._otherwise = first, otherwise

    def place(self, uid: str) -> Choice | None:
        """Take room for `uid`; None, with nothing taken, where no cluster can hold it."""
        return self._first.place(uid) or self._otherwise.place(uid)

    def place_run(self, uids: Sequence[str]) -> list[Choice]:
        """`place` for each of `uids`, as far as there is room."""
        return place_each(self, uids)


def place_each(picker: ClusterPicker | PreferringPicker, uids: Sequence[str]) -> list[Choice]:
    """Choices of `place` for each of `uids`, up to the first that finds none."""
    choices: list[Choice] = []
    for uid in uids:
        choice = picker.place(uid)
        if choice is None:
            break
        choices.append(choice)
    return choices


Picker = ClusterPicker | PreferringPicker | Anywhere
