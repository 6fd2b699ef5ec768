"""Kubernetes Events written by the behaviours: repeated ones are counted, old ones removed.

Like client-go's recorder it aggregates equal events and limits their rate, so that a burst of jobs
is not drowned in its own commentary: warnings are always written, ordinary events only while the
budget lasts (`events="few"`), always (`"all"`), or never (`"none"`).
"""

from collections import OrderedDict, deque
from typing import Any, Literal

from shared.kubesim.apimachinery import metadata
from shared.kubesim.apimachinery.errors import ApiError
from shared.kubesim.apimachinery.strategies import Object
from shared.kubesim.store.objects import ObjectStore

Verbosity = Literal["all", "few", "none"]
_BURST = 200.0
_PER_SECOND = 25.0
_REMEMBERED = 4096
_MAX_MESSAGE = 1024

_Same = tuple[str, str, str]


class Recorder:
    """Writes Events for one cluster; at most `most` of them live, none longer than `ttl_s`."""

    def __init__(
        self, store: ObjectStore, verbosity: Verbosity, *, ttl_s: float = 3600, most: int = 5000
    ) -> None:
        self._store = store
        self._verbosity = verbosity
        self._ttl_s = ttl_s
        self._most = most
        self._budget = _BURST
        self._filled_at = 0.0
        self._written = 0
        self._latest: OrderedDict[_Same, str] = OrderedDict()
        self._live: deque[tuple[float, str, str]] = deque()

    def normal(self, about: Object, reason: str, message: str, source: str) -> None:
        """Tell something ordinary; dropped when the budget is spent."""
        if self._verbosity == "all" or (self._verbosity == "few" and self._spend()):
            self._write("Normal", about, reason, message, source)

    def warning(self, about: Object, reason: str, message: str, source: str) -> None:
        """Tell something that a person should see."""
        self._write("Warning", about, reason, message, source)

    def adopt(self) -> None:
        """Take charge of the Events that a restarted cluster brought along."""
        now = self._store.clock.now().timestamp()
        for event in self._store.iterate("events"):
            self._live.append((now, *metadata.identity(event)))

    def expire(self, now: float) -> None:
        """Remove Events that are too old."""
        while self._live and self._live[0][0] <= now - self._ttl_s:
            self._forget_first()

    def next_expiry(self) -> float | None:
        """When `expire` has something to do next, in seconds since 1970."""
        return self._live[0][0] + self._ttl_s if self._live else None

    def _forget_first(self) -> None:
        _, namespace, name = self._live.popleft()
        if self._store.get("events", namespace, name) is not None:
            self._store.delete("events", namespace, name)

    def _spend(self) -> bool:
        now = self._store.clock.monotonic()
        self._budget = min(_BURST, self._budget + (now - self._filled_at) * _PER_SECOND)
        self._filled_at = now
        if self._budget < 1:
            return False
        self._budget -= 1
        return True

    def _write(self, kind: str, about: Object, reason: str, message: str, source: str) -> None:
        message = message[:_MAX_MESSAGE]
        same = (about["metadata"]["uid"], reason, message)
        try:
            if not self._repeat(same, about):
                self._create(kind, about, reason, message, source, same)
        except ApiError:
            # An Event is commentary: where its namespace is going away, nobody misses it.
            return

    def _repeat(self, same: _Same, about: Object) -> bool:
        name = self._latest.get(same)
        namespace = metadata.namespace_of(about) or "default"
        event = name and self._store.get("events", namespace, name)
        if not event:
            return False
        stamp = metadata.stamp(self._store.clock.now())
        again = {**event, "count": event.get("count", 1) + 1, "lastTimestamp": stamp}
        self._store.update("events", again, trusted=True)
        self._latest.move_to_end(same)
        return True

    def _create(
        self, kind: str, about: Object, reason: str, message: str, source: str, same: _Same
    ) -> None:
        now = self._store.clock.now()
        stamp = metadata.stamp(now)
        self._written += 1
        namespace = metadata.namespace_of(about) or "default"
        name = f"{about['metadata']['name']}.{int(now.timestamp()):x}{self._written:08x}"
        event: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": namespace},
            "involvedObject": _reference(about),
            "reason": reason,
            "message": message,
            "source": {"component": source},
            "reportingComponent": source,
            "reportingInstance": "",
            "firstTimestamp": stamp,
            "lastTimestamp": stamp,
            "eventTime": None,
            "count": 1,
            "type": kind,
        }
        self._store.create("events", event, trusted=True)
        self._live.append((now.timestamp(), namespace, name))
        if len(self._live) > self._most:
            self._forget_first()
        self._latest[same] = name
        if len(self._latest) > _REMEMBERED:
            self._latest.popitem(last=False)


def _reference(about: Object) -> dict[str, Any]:
    meta = about["metadata"]
    reference = {
        "kind": about.get("kind", ""),
        "apiVersion": about.get("apiVersion", ""),
        "name": meta["name"],
        "uid": meta["uid"],
        "resourceVersion": meta.get("resourceVersion", ""),
    }
    if meta.get("namespace"):
        reference["namespace"] = meta["namespace"]
    return reference
