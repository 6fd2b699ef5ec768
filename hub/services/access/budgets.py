"""Rate limits: a token bucket per principal, or per address, for each kind of request.

A bucket is one number, the instant at which it would be full again (the generic cell rate algorithm,
ITU-T I.371): `burst` requests may come at once, `per_s` each second from then on. An unknown caller has a
full bucket, so a bucket that is full again need not be kept. Each hub process counts separately.
"""

import ipaddress
import math
from typing import Final, Literal

from shared.errors import Rejected
from shared.reject_codes import RejectCode

Kind = Literal["reads", "writes", "streams", "failures"]
KINDS: Final[tuple[Kind, ...]] = ("reads", "writes", "streams", "failures")
MOST_KEYS: Final = 10_000
_SWEEP_S: Final = 1.0
_OTHERS: Final = ""  # all those together for whom there is no bucket of their own left
_SIX: Final = 64  # bits of an address of IPv6 that one network has; the rest is its own to choose


class TooOften(Rejected):
    """429: a bucket is empty. `budget`: which; `retry_after_s`: when it will hold one again."""

    def __init__(self, budget: Kind, per_s: float, wait_s: float) -> None:
        whose = "from this address" if budget == "failures" else "by this credential"
        detail = f"more than {per_s:g} {budget} per second {whose}; wait {math.ceil(wait_s)} s"
        super().__init__(RejectCode.TOO_MANY_REQUESTS, detail)
        self.budget = budget
        self.retry_after_s = wait_s


class Budget:
    """Buckets of one kind. `per_s` 0: there is no bound. `now`: monotonic, s."""

    def __init__(self, kind: Kind, per_s: float, burst: int, most_keys: int = MOST_KEYS) -> None:
        self.kind = kind
        self.per_s = per_s
        self._interval = 1.0 / per_s if per_s > 0 else 0.0
        self._tolerance = self._interval * (max(burst, 1) - 1)
        self._most = most_keys
        self._full_at: dict[str, float] = {}
        self._swept = -math.inf

    def __len__(self) -> int:
        """The number of kept buckets."""
        return len(self._full_at)

    def spend(self, key: str, now: float) -> None:
        """Take one from the key's bucket. Raises TooOften, and takes none, where it is empty."""
        if not self._interval:
            return
        full_at = self._full_at.get(key)
        if full_at is None:
            key = self._key_with_room(key, now)
            full_at = self._full_at.get(key, now)
        full_at = max(full_at, now)
        if full_at - now > self._tolerance:
            raise TooOften(self.kind, self.per_s, full_at - now - self._tolerance)
        self._full_at[key] = full_at + self._interval

    def check(self, key: str, now: float) -> None:
        """Raises TooOften where `spend` would; nothing is taken."""
        full_at = self._full_at.get(key)
        if full_at is None and len(self._full_at) >= self._most:
            full_at = self._full_at.get(_OTHERS)
        if full_at is not None and full_at - now > self._tolerance:
            raise TooOften(self.kind, self.per_s, full_at - now - self._tolerance)

    def _key_with_room(self, key: str, now: float) -> str:
        """`key`, or the one of all others where there are too many and none is full."""
        if len(self._full_at) < self._most:
            return key
        if now - self._swept >= _SWEEP_S:
            self._swept = now
            kept = {each: at for each, at in self._full_at.items() if at > now}
            self._full_at = kept
        return key if len(self._full_at) < self._most else _OTHERS


class Budgets:
    """The hub's budgets: reads, writes and streams by principal, failures to say who one is by address."""

    def __init__(
        self,
        reads: tuple[float, int],
        writes: tuple[float, int],
        streams: tuple[float, int],
        failures: tuple[float, int],
    ) -> None:
        self.by_kind: dict[Kind, Budget] = {
            kind: Budget(kind, *of)
            for kind, of in zip(KINDS, (reads, writes, streams, failures), strict=True)
        }
        self.failures = self.by_kind["failures"]


def network_of(address: str) -> str:
    """Whose an address is: itself, or of IPv6 its network, for whoever has one has all of it."""
    try:
        given = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address[:64]
    if given.version == 4:
        return str(given)
    if given.ipv4_mapped is not None:
        return str(given.ipv4_mapped)
    return str(ipaddress.ip_network((given, _SIX), strict=False))
