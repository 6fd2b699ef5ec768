"""One scheduling cycle: a snapshot in, a plan out. The page to read first.

Nothing here reads a clock, a database or a cluster; equal input gives an equal plan. Rounds of one head
per queue repeat until nothing changes. A queue that shares no quota and preempts nothing is *plain*:
`plain_rounds` admits its equal workloads in runs. All others go through `shared_rounds`, which is
Kueue's own cycle; both look at one tree of quota and one room. Both have Kueue's six steps, as functions
of these names:

1. `heads`: whose turn it is in each queue;
2. `snapshot`: the present quota and room, which the round charges as it proceeds; 3. `nominate`: which
flavors each head could get, and at whose cost;
4. `order`: who goes first among heads;
5. `admit`: each in its turn, against what the earlier ones took;
6. `requeue`: where the others wait next, and why. A preemptor that waits for its victims has no other turn
in the cycle: in each later round it takes the same quota again before all others, with its victims gone.
"""

import datetime as dt

from hub.domain.cycle.plain_rounds import PlainRounds, is_plain
from hub.domain.cycle.profile import Profile
from hub.domain.cycle.shared_rounds import SharedRounds
from hub.domain.cycle.snapshot import Snapshot
from hub.domain.fleet.free_capacity import Room
from hub.domain.placement.cluster_search import ClusterSearch
from hub.domain.plan import Placement, Plan
from hub.domain.queueing.lanes import Line
from hub.domain.quota.ledger import Ledger


def schedule(snapshot: Snapshot, now: dt.datetime, profile: Profile) -> Plan:
    """Decide who is placed where, and why the others wait, on one picture of queues and fleet."""
    cycle = _Cycle(snapshot, now, profile)
    while cycle.goes_on() and cycle.round():
        if profile.one_round:
            break
    return cycle.plan()


class _Cycle:
    """The decisions so far, and the remaining room and quota."""

    def __init__(self, snapshot: Snapshot, now: dt.datetime, profile: Profile) -> None:
        ledger, room = self.snapshot(snapshot)
        self._clusters = ClusterSearch(
            snapshot.clusters, room, profile.filters, now, snapshot.starts
        )
        self._profile = profile
        self._placements: list[Placement] = []
        plain, contended = [], False
        for queue, lanes in snapshot.queues:
            if is_plain(queue.name, snapshot, profile):
                plain.append(Line(queue, lanes))
            else:
                contended = True
        self._plain_rounds = PlainRounds(
            plain, snapshot, ledger, self._clusters, profile, self._placements
        )
        self._shared_rounds = (
            SharedRounds(
                snapshot, ledger.tree, self._clusters, room, profile, now, self._placements,
                self._plain_rounds.take_turns,
            )
            if contended
            else None
        )  # fmt: skip
        self._contended = contended  # may another round among them change anything?
        self._unfinished = False

    @staticmethod
    def snapshot(given: Snapshot) -> tuple[Ledger, Room]:
        """2. Quota and room of the cycle's own: what is given stays as it is."""
        return given.ledger.copy(), given.room.copy()

    def goes_on(self) -> bool:
        """Is there time left, and may more be placed?"""
        placed = len(self._placements)
        if placed >= self._profile.max_placements or (
            self._contended and not self._profile.may_go_on(placed)
        ):
            self._unfinished = True
        return not self._is_unfinished

    @property
    def _is_unfinished(self) -> bool:
        return self._unfinished or self._plain_rounds.unfinished

    def round(self) -> bool:
        """The six steps once; False when every line is empty, blocked or waits."""
        some = self._plain_rounds.begin_round(contended=self._contended)
        if self._contended and self._shared_rounds is not None:
            self._contended = self._shared_rounds.round()
        else:
            self._plain_rounds.take_turns(None)
        return (some or self._contended) and not self._is_unfinished

    def plan(self) -> Plan:
        """Everything decided."""
        shared_rounds = self._shared_rounds
        if shared_rounds is None:
            refusals = tuple(self._plain_rounds.refusals.values())
            return Plan(
                tuple(self._placements), refusals, notes=self._clusters.notes(),
                unfinished=self._is_unfinished,
            )  # fmt: skip
        return Plan(
            tuple(self._placements),
            (*self._plain_rounds.refusals.values(), *shared_rounds.refusals.values()),
            tuple(shared_rounds.evictions.values()),
            tuple(shared_rounds.nominated.values()),
            (*shared_rounds.live_fleet.faults, *self._clusters.notes()),
            tuple(shared_rounds.starts),
            shared_rounds.admitted,
            self._is_unfinished,
        )
