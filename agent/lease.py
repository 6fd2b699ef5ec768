"""Until when a session may create Jobs, and since when nobody else can. Pure.

Both are counted from when the last answered request was sent, never from when the answer came, so
that the hub's view of the lease always ends first (wire module, LEASE_S).
"""


class Lease:
    """Until when this session may create Jobs, and since when nobody else can (wire module, LEASE_S)."""

    def __init__(self, length_s: float) -> None:
        self._length_s = length_s
        self._answered_from: float | None = None
        self._settled_at: float | None = None
        self.revoked = False

    def answered(self, sent_at: float) -> None:
        """The hub answered the newest request, which was sent at this monotonic instant."""
        self._answered_from = sent_at
        if self._settled_at is None:
            self._settled_at = sent_at + self._length_s

    def left(self, now: float) -> float:
        """Seconds for which Jobs may still be created."""
        if self._answered_from is None or self.revoked:
            return 0.0
        return max(0.0, self._answered_from + self._length_s - now)

    def settled(self, now: float) -> bool:
        """Whether no earlier session of this credential can act any more."""
        return not self.revoked and self._settled_at is not None and now >= self._settled_at

    @property
    def settles_at(self) -> float | None:
        return self._settled_at
