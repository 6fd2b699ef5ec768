"""The outcome of reconciling a placement: the data of its status."""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from hub.domain.placement.pick import Decisions
from hub.domain.placement.plugins.consent import is_awaiting
from hub.domain.placement.rungs import Rung
from hub.domain.plan import Rejection
from hub.services.placements.history.rolled_back import Pin
from hub.services.placements.selecting import Selection
from hub.store.records.objects import StoredObject
from hub.store.records.placements import Binding, SelectedObject
from hub.store.records.workloads import Workload
from hub.store.records.works import Work
from shared.consent import NOT_ACCEPTED
from shared.documents import JsonView

_NEVER_ASKED: Final = Decisions((), None, fulfilled=True, message="")


@dataclass(slots=True)
class Given:
    """The objects that one cluster of a placement has received. `index` "": nothing yet.

    `held`: why it is not given the newest, or not taken back, in words; "" where it is.
    """

    wanted: bool
    index: str
    objects: Sequence[SelectedObject] = ()
    settled_at: dt.datetime | None = (
        None  # since when all of it is there, and nothing not available
    )
    held: str = ""
    leaving: bool = False
    overrides: Sequence[JsonView] = ()  # of what it was given, as bindings keep them
    fault: str = ""  # why overrides make nothing that it could be given
    closed: str = ""  # why its member takes nothing new


@dataclass(slots=True)
class ReconcileOutcome:
    """The selection, the decisions, and the result of each Job."""

    row: StoredObject
    selection: Selection
    scheduled: Rung
    decisions: Decisions = _NEVER_ASKED
    before: dict[str, Binding] = field(default_factory=dict)  # by cluster, as they stood
    words: dict[str, str] = field(default_factory=dict)  # of each binding as it stands, by cluster
    given: dict[str, Given] = field(default_factory=dict)  # by cluster, those being left included
    jobs: list[Workload] = field(default_factory=list)  # those it chose or chooses a cluster for
    of_queues: list[Workload] = field(
        default_factory=list
    )  # selected; their queue will place them
    conflicts: dict[tuple[str, str], str] = field(default_factory=dict)  # (cluster, uid) → owner
    resource_index: int = 0
    overrides_of_jobs: Sequence[str] = ()  # that name Jobs, which nothing overrides
    idle_overrides: Sequence[
        str
    ] = ()  # that mean this placement and change nothing: why, in words
    again_at: dt.datetime | None = None  # when something is due though nothing changes until then
    driven: str | None = None  # where staged update runs give the versions: by which, in words
    abandoned: list[Work] = field(default_factory=list)  # told to be, and not yet
    refusals: dict[str, Rejection] = field(
        default_factory=dict
    )  # chosen clusters: why nothing new
    bound: Mapping[str, Binding] = field(default_factory=dict)  # by cluster, as they stand now
    rests: bool = (
        False  # every chosen cluster has the newest, no other has any: reports change no version
    )
    pin: Pin | None = None  # it was rolled back: `selection` has the objects as they were then

    def await_reports(self) -> None:
        """Look again when the last report that is awaited is due."""
        times = [self.again_at, self.decisions.again_at]
        times += [each.hold_until for each in self.refusals.values()]
        self.again_at = min((at for at in times if at is not None), default=None)

    @property
    def awaits(self) -> frozenset[str]:
        """Clusters that are given nothing, or nothing new, until their agents report consent."""
        late = {name for name, each in self.refusals.items() if is_awaiting(each)}
        return frozenset(late.union(self.decisions.awaited))

    @property
    def unaccepted(self) -> dict[str, str]:
        """Clusters that miss something because their people do not accept the hub, and why in words.

        Those that the policy could do without are not named.
        """
        decided = self.decisions
        missed = {
            each.cluster: each.message
            for each in decided.decisions
            if not each.selected
            and each.cause == NOT_ACCEPTED
            and (decided.wanted is None or not decided.fulfilled)
        }
        kept = {
            cluster: f'Cluster "{cluster}" keeps its objects and gets nothing new: {each.message}'
            for cluster, each in self.refusals.items()
            if each.reason == NOT_ACCEPTED
        }
        return dict(sorted({**missed, **kept}.items()))

    @property
    def unfulfilled(self) -> bool:
        """Would another cluster, or another state of one, change the decision for the objects?"""
        return bool(self.selection.objects) and not self.decisions.fulfilled

    @property
    def leaving(self) -> frozenset[str]:
        """Clusters that still hold withdrawn objects: others may wait for them."""
        return frozenset(name for name, each in self.given.items() if each.leaving)
