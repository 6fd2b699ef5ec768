"""Reserved workloads in memory: who is ready to be placed, and who must give the reservation back.

Part of the scheduler's index. A row is looked at when it changes, and all of them when rules or their
cluster do; so a turn costs nothing while checks merely stay open.
"""

import datetime as dt
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import orjson

from hub.domain import selectors
from hub.domain.admission.flavors import UNKNOWN_KEY
from hub.domain.fleet.clusters import Cluster
from hub.domain.fleet.free_capacity import NodeAsk
from hub.domain.fleet.overcommit import squeezed_out
from hub.domain.fleet.promises import Members
from hub.domain.placement.framework import Filter, first_rejection
from hub.domain.placement.plugins.consent import AWAITING_REPORT
from hub.domain.placement.rehoming import Rehoming
from hub.domain.placement.scoring.pace import NO_STARTS, OpenWindows, Starts
from hub.domain.plan import Assignment, PodSetAssignment, Reason
from hub.domain.workloads import admission_checks
from hub.domain.workloads.admission_checks import Answer, States
from hub.domain.workloads.apply_options import ApplyOptions, steered
from hub.domain.workloads.demand import Constraints, Demand
from hub.domain.workloads.states import State
from hub.services.index.catalog import Route, Routes
from hub.services.index.nominations import Claims, Kept
from hub.store.schedule import SchedulingRow

Line = Callable[[SchedulingRow], tuple[Route, Demand | None]]


@dataclass(frozen=True, slots=True)
class Settlement:
    """The consequence for reserved workloads. `ready` with what their flavors add to the work.

    `back`: (uid, epoch, reason, message).
    """

    ready: list[tuple[SchedulingRow, ApplyOptions]] = field(default_factory=list)
    back: list[tuple[str, int, str, str]] = field(default_factory=list)
    stopped: dict[tuple[str, str], list[str]] = field(default_factory=dict)  # by reason, message
    asked: dict[str, tuple[str, ...]] = field(default_factory=dict)  # other checks than before
    told: dict[str, str] = field(default_factory=dict)  # why they still wait, by uid

    def __bool__(self) -> bool:
        return bool(self.ready or self.back or self.stopped or self.asked or self.told)

    @property
    def uids(self) -> frozenset[str]:
        """Everybody it concerns."""
        held = (uid for uids in self.stopped.values() for uid in uids)
        return frozenset(
            (
                *(row.uid for row, _ in self.ready),
                *(b[0] for b in self.back),
                *held,
                *self.asked,
                *self.told,
            )
        )


class Reservations:
    """Rows in state Reserved. `line` says where a row waits and for what."""

    def __init__(
        self,
        routes: Routes,
        members: Members,
        claims: Claims,
        line: Line,
        needed_keys: set[str],
    ) -> None:
        """`needed_keys` collects node label keys by which members must tell nodes apart."""
        self._routes = routes
        self._members = members
        self._claims = claims
        self._line = line
        self._needed_keys = needed_keys
        self._rehoming: Rehoming | None = None  # of one settlement
        self._kept: Kept | None = None  # likewise
        self._since: Mapping[str, int] = {}
        self._homeless: set[str] = set()  # all checks Ready, and no member takes the pods now
        self._windows = OpenWindows(NO_STARTS)  # of one settlement
        self._late: dict[
            str, str
        ] = {}  # all checks Ready; by uid: the member whose window is full
        self._rows: dict[str, SchedulingRow] = {}
        self._homes: dict[str, set[str]] = {}  # by tentative cluster
        self._seen: dict[str, tuple[Cluster | None, bool]] = {}  # as last looked at; fit for use
        self._dirty: set[str] = set()
        self._added: dict[str, frozenset[str]] = {}  # label keys that its checks look at

    def __len__(self) -> int:
        return len(self._rows)

    def shapes(self) -> set[str]:
        """Digests of what they ask for."""
        return {row.shape for row in self._rows.values()}

    def added_keys(self) -> frozenset[str]:
        """Node label keys that the checks of those who are reserved look at."""
        return frozenset().union(*self._added.values())

    def follow(self, row: SchedulingRow) -> None:
        """A row was read: it is kept while it is Reserved."""
        added = self._added.get(row.uid)
        self.forget(row.uid)
        if row.state == State.RESERVED:
            if added:
                self._added[row.uid] = added
            self._rows[row.uid] = row
            self._homes.setdefault(row.cluster, set()).add(row.uid)
            self._dirty.add(row.uid)

    def forget(self, uid: str) -> None:
        """It holds no reservation any more."""
        row = self._rows.pop(uid, None)
        self._dirty.discard(uid)
        self._homeless.discard(uid)
        self._late.pop(uid, None)
        self._added.pop(uid, None)
        if row is not None:
            self._homes[row.cluster].discard(uid)
            if not self._homes[row.cluster]:
                del self._homes[row.cluster]
                self._seen.pop(row.cluster, None)

    def look_again(self) -> None:
        """Rules have changed."""
        self._dirty.update(self._rows)

    def settle(
        self,
        filters: Sequence[Filter],
        now: dt.datetime,
        since: Mapping[str, int],
        starts: Mapping[str, Starts] = NO_STARTS,
    ) -> Settlement:
        """The workloads that may be placed, and those that may not stay; the room is up to date.

        `since`: from which revision of their reports on members tell nodes apart by a label. `starts`: what
        is on its way to members, and how much may be.
        """
        found = Settlement()
        self._since, self._windows = since, OpenWindows(starts)
        if not self._rows:
            return found
        squeezed = self._look_at_clusters(filters, now)
        self._dirty |= self._homeless
        self._homeless.clear()
        self._dirty.update(self._in_time())
        self._rehoming = self._kept = None
        for uid in sorted(self._dirty):
            row = self._rows[uid]
            self._late.pop(uid, None)
            try:
                self._judge(row, squeezed, filters, now, found)
            except Exception as fault:  # noqa: BLE001 - one unusable workload must not stop the others
                message = f"{type(fault).__name__}: {fault}"[:500]
                found.back.append((uid, row.epoch, str(Reason.UNREADABLE), message))
        self._dirty.clear()
        return found

    def _in_time(self) -> list[str]:
        """Of those who wait for a create window, as many as it has room for by now; the first first."""
        waiting: dict[str, list[str]] = {}
        for uid, member in sorted(self._late.items()):
            waiting.setdefault(member, []).append(uid)
        left = {member: self._windows.left(member) for member in waiting}
        return [uid for member, uids in waiting.items() for uid in uids[: left[member]]]

    def _look_at_clusters(self, filters: Sequence[Filter], now: dt.datetime) -> set[str]:
        """Find clusters that have changed; who no longer fits there."""
        squeezed: set[str] = set()
        common = _common(filters)
        for name, uids in self._homes.items():
            cluster = self._members.clusters.get(name)
            usable = cluster is not None and (
                first_rejection(common, _ANYTHING, cluster, now) is None
            )
            before, was_usable = self._seen.get(name, (None, None))
            if name and (before is not cluster or was_usable is not usable):
                self._seen[name] = (cluster, usable)
                self._dirty |= uids
            if usable and not self._dirty.isdisjoint(uids):
                squeezed.update(squeezed_out(self._members, name, self._in_order(uids)))
        return squeezed

    def _in_order(self, uids: Iterable[str]) -> list[str]:
        """Those who have reserved first keep their room first."""
        rows = self._rows
        return sorted(uids, key=lambda uid: (str(rows[uid].reserved_at or ""), uid))

    def _judge(
        self,
        row: SchedulingRow,
        squeezed: set[str],
        filters: Sequence[Filter],
        now: dt.datetime,
        found: Settlement,
    ) -> None:
        route, demand = self._line(row)
        if route.reason == Reason.QUEUE_STOPPED:
            found.stopped.setdefault((f"{route.stopped}Stopped", route.message), []).append(
                row.uid
            )
            return
        why = self._unfit(row, demand, squeezed, filters, now)
        if why:
            message = f"quota is free again: cluster {row.cluster}, chosen tentatively, {why}"
            found.back.append((row.uid, row.epoch, str(Reason.NO_CLUSTER_FITS), message))
            return
        states: States = orjson.loads(row.checks) if row.checks else {}
        required = self._required(row)
        if states.keys() != set(required):
            found.asked[row.uid] = required
        elif admission_checks.verdict(states) is Answer.READY:
            home = self._home(row, demand, states, filters, now)
            self._place(row, home, found)

    def _place(self, row: SchedulingRow, home: str, found: Settlement) -> None:
        """All its checks are Ready: it goes `home`, or waits and says for what."""
        if not home and row.cluster:
            self._homeless.add(row.uid)
            said = _HOMELESS
        elif not self._windows.take(home):
            self._late[row.uid] = home
            said = _LATE.format(home)
        else:
            moved = row._replace(cluster=home)
            found.ready.append((moved, self._options(moved)))
            return
        if row.message != said:
            found.told[row.uid] = said

    def _home(
        self,
        row: SchedulingRow,
        demand: Demand | None,
        states: States,
        filters: Sequence[Filter],
        now: dt.datetime,
    ) -> str:
        """Its target now that its checks have answered; "" if it must wait."""
        promise = self._members.promised(row.uid)
        if promise is None or demand is None:
            return row.cluster
        admitted = orjson.loads(row.admission) if row.admission else {}
        names = [str(p["name"]) for p in admitted.get("podSets") or ()]
        added = admission_checks.node_asks(states, names)
        if len(added) != len(promise.pod_sets) or _contradict(promise.asks, added):
            return row.cluster
        since = self._since
        asks = []
        keys = frozenset(key for more in added for key in more.node_selector)
        self._added[row.uid] = keys
        self._needed_keys.update(keys)
        for ask, more in zip(promise.asks, added, strict=True):
            newest = max((since.get(k, UNKNOWN_KEY) for k in more.node_selector), default=0)
            asks.append(
                ask._replace(
                    labels=tuple(sorted({**dict(ask.labels), **more.node_selector}.items())),
                    tolerations=(*ask.tolerations, *selectors.read_tolerations(more.tolerations)),
                    revision=max(ask.revision, newest),
                )
            )
        if self._rehoming is None:
            room = self._claims.room_beside(now).copy()
            self._rehoming = Rehoming(self._members.clusters, room, filters, now)
        return self._rehoming.home(promise, demand, tuple(asks))

    def _required(self, row: SchedulingRow) -> tuple[str, ...]:
        policy = self._routes.queue_policies.get(row.cluster_queue)
        if policy is None or not policy.checks:
            return ()
        admitted = orjson.loads(row.admission) if row.admission else {}
        used = (f for p in admitted.get("podSets") or () for f in p["flavors"].values())
        return policy.required_checks(frozenset(used))

    def _options(self, row: SchedulingRow) -> ApplyOptions:
        """The additions of its admission's flavors to the work, and the room kept for it or for others."""
        admitted = orjson.loads(row.admission) if row.admission else {}
        flavors = self._routes.flavors
        pod_sets = tuple(
            PodSetAssignment(
                p["name"],
                p["count"],
                tuple(p["flavors"].items()),
                (),
                tuple(pair for f in used for pair in f.labels),
                tuple(t for f in used for t in f.tolerations),
            )
            for p in admitted.get("podSets") or ()
            for used in ([flavors[n] for n in sorted(set(p["flavors"].values())) if n in flavors],)
        )
        options = Assignment(pod_sets, {}, (), bool(admitted.get("reduced"))).additions()
        promise = self._members.promised(row.uid)
        at_home = promise is not None and promise.cluster == row.cluster
        if self._kept is None:
            self._kept = self._claims.nodes()
        nodes = (admitted.get("nodes") or ()) if at_home else ()
        return steered(options, nodes, self._kept.get(row.cluster, frozenset()))

    def _unfit(
        self,
        row: SchedulingRow,
        demand: Demand | None,
        squeezed: set[str],
        filters: Sequence[Filter],
        now: dt.datetime,
    ) -> str:
        """The reason why its cluster can no longer take it; "" if it can."""
        if not row.cluster:
            return ""  # it asked for quota alone
        cluster = self._members.clusters.get(row.cluster)
        if cluster is None:
            return "has left the fleet"
        if (
            demand is None
        ):  # its queue admits nothing at present: that does not affect reservations
            rejection = first_rejection(_common(filters), _ANYTHING, cluster, now)
        else:
            rejection = first_rejection(filters, demand.constraints, cluster, now)
        if rejection is not None and rejection.reason != AWAITING_REPORT:
            return f"may no longer take it: {rejection.message}"
        return "has no room for it any more" if row.uid in squeezed else ""


def _contradict(asks: Iterable[NodeAsk], added: Iterable[admission_checks.Additions]) -> bool:
    """Do answers contradict each other, or what the pods select already? That evicts, wherever they are."""
    return any(
        more.conflicts
        or any(dict(ask.labels).get(k, v) != v for k, v in more.node_selector.items())
        for ask, more in zip(asks, added, strict=True)
    )


_HOMELESS: Final = (
    "all checks are Ready; waits for a cluster with room on the nodes that they ask for"
)
_LATE: Final = (
    "all checks are Ready; waits until cluster {}, which is overloaded, creates what it was given"
)
_ANYTHING: Final = Constraints()
_COMMON: Final = frozenset({"Eligible", "Healthy", "Uncordoned"})


def _common(filters: Sequence[Filter]) -> tuple[Filter, ...]:
    """Filters that ask about the cluster alone."""
    return tuple(each for each in filters if each.name in _COMMON)
