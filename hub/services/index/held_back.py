"""Workloads that wait and can not be considered, or whose back-off after an eviction has not passed."""

import datetime as dt
import heapq
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from hub.domain.plan import Reason
from hub.services.index.catalog import Route
from hub.store.schedule import SchedulingRow

LocalQueueKey = tuple[str, str]  # namespace and name of a LocalQueue


@dataclass(frozen=True, slots=True)
class HeldBack:
    """One of them: why, and what its row says."""

    namespace: str
    queue: str
    reason: str
    message: str

    @property
    def local_queue(self) -> LocalQueueKey:
        """The LocalQueue that it waits before."""
        return self.namespace, self.queue or "default"


class Aside:
    """All of them."""

    def __init__(self) -> None:
        self._rows: dict[str, HeldBack] = {}
        self._local_queues: Counter[LocalQueueKey] = Counter()

    def __contains__(self, uid: object) -> bool:
        return uid in self._rows

    def __len__(self) -> int:
        return len(self._rows)

    def put(self, uid: str, held: HeldBack) -> None:
        """It waits, for this reason."""
        self.drop(uid)
        self._rows[uid] = held
        self._local_queues[held.local_queue] += 1

    def drop(self, uid: str) -> None:
        """It waits no longer, or is in line."""
        held = self._rows.pop(uid, None)
        if held is not None:
            self._local_queues[held.local_queue] -= 1
            if not self._local_queues[held.local_queue]:
                del self._local_queues[held.local_queue]

    def get(self, uid: str) -> HeldBack | None:
        """The reason why one is held back; None if it is not."""
        return self._rows.get(uid)

    def copy(self) -> dict[str, HeldBack]:
        """All of them by uid, as they are now."""
        return dict(self._rows)

    def by_local_queue(self) -> Mapping[LocalQueueKey, int]:
        """The number of waiting workloads before each LocalQueue."""
        return self._local_queues


_NEVER = dt.datetime.min.replace(tzinfo=dt.UTC)


class BackingOff:
    """Rows that wait out their time, soonest first."""

    def __init__(self) -> None:
        self.now = _NEVER
        self._rows: dict[str, SchedulingRow] = {}
        self._times: list[tuple[dt.datetime, str]] = []

    def route(self, row: SchedulingRow) -> Route | None:
        """Why a waiting workload is not considered yet; None if its time has come, or it has none."""
        at = row.requeue_at
        if at is None or at <= self.now:
            self._rows.pop(row.uid, None)
            return None
        self._rows[row.uid] = row
        heapq.heappush(self._times, (at, row.uid))
        until = at.isoformat(timespec="seconds").replace("+00:00", "Z")
        text = f"it was evicted and backs off: not considered before {until}"
        return Route(reason=Reason.REQUEUE_BACK_OFF, message=text)

    def forget(self, uid: str) -> None:
        """It waits no longer."""
        self._rows.pop(uid, None)

    def due(self, now: dt.datetime) -> list[SchedulingRow]:
        """Those whose time has come."""
        self.now = max(self.now, now)
        found = []
        while self._times and self._times[0][0] <= self.now:
            at, uid = heapq.heappop(self._times)
            row = self._rows.get(uid)
            if row is not None and row.requeue_at == at:
                found.append(self._rows.pop(uid))
        return found
