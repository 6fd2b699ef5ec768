"""Workloads whose back-off after an eviction has not passed: not in line, and woken in time.

Kept by the scheduler's index; `now` is that of its last look at the store or of its last cycle.
"""

import datetime as dt
import heapq

from hub.domain.plan import Reason
from hub.services.routes import Route
from hub.store.schedule import Standing

_NEVER = dt.datetime.min.replace(tzinfo=dt.UTC)


class BackingOff:
    """Rows that wait out their time, soonest first."""

    def __init__(self) -> None:
        self.now = _NEVER
        self._rows: dict[str, Standing] = {}
        self._times: list[tuple[dt.datetime, str]] = []

    def route(self, row: Standing) -> Route | None:
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

    def due(self, now: dt.datetime) -> list[Standing]:
        """Those whose time has come."""
        self.now = max(self.now, now)
        found = []
        while self._times and self._times[0][0] <= self.now:
            at, uid = heapq.heappop(self._times)
            row = self._rows.get(uid)
            if row is not None and row.requeue_at == at:
                found.append(self._rows.pop(uid))
        return found
