"""The lease: until when a session may start Jobs, and since when no other session can. Pure.

The right to start is counted from when the last answered request was SENT, so that the hub's view of
it always ends later than the agent's. That no earlier session can start anything is counted from when
the first answer CAME: by then the hub answers no earlier session any more.
"""

from shared.wire.agent_v1 import LEASE_MARGIN


class Lease:
    """One session's right to start Jobs (wire module, LEASE_S). Instants are monotonic seconds."""

    def __init__(self, length_s: float) -> None:
        self._length_s = length_s
        self._answered_from: float | None = None
        self._settles_at: float | None = None
        self.revoked = False

    def answered(self, sent_at: float, now: float) -> None:
        """The hub answered, by `now`, the newest request, which was sent at `sent_at`."""
        self._answered_from = sent_at
        if self._settles_at is None:
            self._settles_at = now + self._length_s * LEASE_MARGIN

    def left(self, now: float) -> float:
        """Seconds for which Jobs may still be started."""
        if self._answered_from is None or self.revoked:
            return 0.0
        return max(0.0, self._answered_from + self._length_s - now)

    def settled_at(self, now: float) -> float | None:
        """Since when no earlier session can start anything; None: that is still to come."""
        if self.revoked or self._settles_at is None or now < self._settles_at:
            return None
        return self._settles_at

    @property
    def settles_at(self) -> float | None:
        """When that will be, once the hub has answered for the first time."""
        return self._settles_at
