"""A cache of one kind that stays level with the API server: list, watch, and list again.

Events may be lost by any stream: after 410, a broken connection or 90 s of silence the informer
resumes or lists again and derives what it missed by comparing, deletions included. Deletions are
concluded from a complete list only. Of a burst the last state of each object is taken. A kind that is
served in no version is an empty cache until it is; of one that may not be read, or not in this version,
`refused` says why, and the cache stays as it was.
"""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Generic, Literal, TypeVar

import structlog

from shared.clock import Clock, SystemClock
from shared.kube import errors
from shared.kube.client import KubeClient, Object
from shared.kube.watch import STALL_S, STATES, WatchEvent, newest
from shared.retry import retrying

T = TypeVar("T")
Key = tuple[str, str]  # namespace ("" for cluster-scoped), name
EventType = Literal["ADDED", "MODIFIED", "DELETED"]
Transform = Callable[[Object, T | None], T]
Callback = Callable[[EventType, T | None, T | None], None]

_FIRST_DELAY_S = 0.1
_LONGEST_DELAY_S = 10.0
_NOT_SERVED_DELAY_S = 30.0
_WAKEABLE_S = 1.0
_BRIEF_S = 1.0  # a stream that ends sooner counts as broken: servers hold them for minutes
_RESUMES = 3  # a server restored from an old copy may know nothing of our version: list again

log = structlog.get_logger(__name__)


def as_is(obj: Object, _previous: Object | None) -> Object:
    """The transform that keeps the whole object."""
    return obj


class Informer(Generic[T]):
    """List and watch one kind. `await run()` in a task; read `cache`; `on_event` is called with changes.

    `transform(object, previous)` slims what is cached; `on_event(type, old, new)` runs in the event
    loop and must not block. For DELETED `new` is the final state if the watch carried it, else None.
    `slim` cuts what is listed page by page, before `transform`.
    A callback or transform that raises is logged and loses that event alone.
    """

    def __init__(
        self,
        client: KubeClient,
        api_version: str,
        kind: str,
        *,
        transform: Transform[T],
        on_event: Callback[T] | None = None,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        stall_s: float = STALL_S,
        not_served_s: float = _NOT_SERVED_DELAY_S,
        forbidden_s: float | None = None,
        clock: Clock | None = None,
        slim: Callable[[Object], Object] | None = None,
        on_served: Callable[[], None] | None = None,
        every_state: bool = False,
    ) -> None:
        """`on_served`: told when a kind comes that was not served, or one goes that was.

        `every_state`: also states that a later one in the same burst replaces, as of pods, whose exit
        codes are gone once they are being deleted or have started again.
        """
        self.api_version = api_version
        self.kind = kind
        self.cache: dict[Key, T] = {}
        self.synced = asyncio.Event()
        self.served: bool | None = None  # None: not known yet
        self.refused = ""  # why the kind may not be read
        self.resource_version = ""
        self.relists = 0
        self._client = client
        self._transform = transform
        self._on_event = on_event
        self._namespace = namespace
        self._label_selector = label_selector
        self._field_selector = field_selector
        self._stall_s = stall_s
        self._not_served_s = not_served_s
        self._forbidden_s = forbidden_s  # None: as after any other failure
        self._slim = slim
        self._on_served = on_served
        self._every_state = every_state
        self._clock = clock or SystemClock()
        self._marks: dict[Key, tuple[str, str]] = {}  # uid, resourceVersion of what is cached
        self._heard = False
        self._woken = asyncio.Event()
        self._log = log.bind(kind=f"{api_version}/{kind}")

    async def run(self) -> None:
        """Keep the cache level until cancelled; never raises."""
        again = retrying(
            self._clock,
            base_s=_FIRST_DELAY_S,
            cap_s=_LONGEST_DELAY_S,
            asked=self._fixed_delay,
            fresh=self._has_heard,
            before_wait=self._failed,
            sleep=self._pause,
        )
        while True:
            await again(self._once)
            await self._clock.sleep(0)

    def _has_heard(self) -> bool:
        """True if the broken stream had delivered anything."""
        return self._heard

    def _fixed_delay(self, fault: BaseException) -> float | None:
        """Seconds until what will not pass soon is tried again; None: as after any failure."""
        if isinstance(fault, errors.NotServed):
            return self._not_served_s
        return self._forbidden_s if isinstance(fault, errors.Forbidden) else None

    def _failed(self, times: int, fault: BaseException, _wait_s: float) -> None:
        """Whether to resume or to list again, and the changes to report."""
        match fault:
            case errors.Gone():
                self.resource_version = ""
            case errors.KindNotServed():
                self._not_served()
            case errors.VersionNotServed():
                self._not_in_this_version(fault)
            case errors.Forbidden():
                self._not_allowed(fault)
            case errors.KubeError():
                self._log.info("informer.retry", reason=fault.reason, error=fault.message)
                if not isinstance(fault, errors.Unavailable) or times > _RESUMES:
                    self.resource_version = ""
            case _:
                self.resource_version = ""
                self._log.error("informer.failed", exc_info=fault)

    def wake(self) -> None:
        """Try again now instead of waiting out a delay: the kind is known to be served."""
        self._woken.set()

    async def _pause(self, delay: float) -> None:
        if delay >= _WAKEABLE_S:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), delay)
            self._woken.clear()
        else:
            await self._clock.sleep(delay)

    def _not_allowed(self, refusal: errors.KubeError) -> None:
        """Said once."""
        if not self.refused:
            self._log.warning("informer.forbidden", error=refusal.message)
        self.refused = refusal.message or "forbidden"
        self.resource_version = ""

    async def _once(self) -> None:
        self._heard = False
        if not self.resource_version:
            await self._relist()
        stream = self._client.watch_batches(
            self.api_version,
            self.kind,
            namespace=self._namespace,
            label_selector=self._label_selector,
            field_selector=self._field_selector,
            resource_version=self.resource_version,
            stall_s=self._stall_s,
        )
        opened_at = self._clock.monotonic()
        async for batch in stream:
            self._heard = True
            for event in batch if self._every_state else newest(batch):
                self._take(event)
        if self._clock.monotonic() - opened_at < _BRIEF_S:
            raise errors.Unavailable(0, "Ended", "the watch ended as soon as it was open")

    async def _relist(self) -> None:
        listing = await self._client.list(
            self.api_version,
            self.kind,
            self._namespace,
            self._label_selector,
            self._field_selector,
            slim=self._slim,
        )
        before, self.served = self.served, True
        self.refused = ""
        self.relists += 1
        self._replace(listing.items)
        self.resource_version = listing.resource_version
        self.synced.set()
        if before is False:
            self._tell_served()

    def _replace(self, items: Iterable[Object]) -> None:
        """Make the cache equal to a complete list, telling of every difference."""
        absent = set(self.cache)
        for obj in items:
            key, mark = key_of(obj), _mark(obj)
            absent.discard(key)
            held = self._marks.get(key)
            if held == mark:
                continue
            if held is not None and held[0] != mark[0]:
                self._drop(key, None)  # deleted and created again in the gap
            self._put(key, mark, obj)
        for key in absent:
            self._drop(key, None)

    def _not_served(self) -> None:
        before, self.served = self.served, False
        self.resource_version = self.refused = ""
        self._replace(())
        self.synced.set()
        if before is True:
            self._tell_served()

    def _not_in_this_version(self, refusal: errors.VersionNotServed) -> None:
        """Nothing is concluded from it: the objects may be there in another version."""
        before, self.served = self.served, False
        self._not_allowed(refusal)
        if before is not False:
            self._tell_served()

    def _tell_served(self) -> None:
        if self._on_served is not None:
            self._on_served()

    def _take(self, event: WatchEvent) -> None:
        metadata = event.object.get("metadata") or {}
        version = metadata.get("resourceVersion")
        if event.type == "DELETED":
            self._drop(key_of(event.object), event.object)
        elif event.type in STATES:
            key, mark = key_of(event.object), _mark(event.object)
            held = self._marks.get(key)
            if held is not None and held[0] != mark[0]:
                self._drop(key, None)
            self._put(key, mark, event.object)
        if version:
            self.resource_version = version

    def _put(self, key: Key, mark: tuple[str, str], obj: Object) -> None:
        old = self.cache.get(key)
        try:
            new = self._transform(obj, old)
        except Exception:  # noqa: BLE001 - one bad object loses itself alone
            self._log.exception("informer.poison", object=key)
            return
        self.cache[key] = new
        self._marks[key] = mark
        self._tell("ADDED" if old is None else "MODIFIED", old, new)

    def _drop(self, key: Key, final: Object | None) -> None:
        old = self.cache.pop(key, None)
        self._marks.pop(key, None)
        if old is None:
            return
        new = None
        if final is not None:
            try:
                new = self._transform(final, old)
            except Exception:  # noqa: BLE001 - one bad object loses itself alone
                self._log.exception("informer.poison", object=key)
        self._tell("DELETED", old, new)

    def _tell(self, event_type: EventType, old: T | None, new: T | None) -> None:
        if self._on_event is None:
            return
        try:
            self._on_event(event_type, old, new)
        except Exception:  # noqa: BLE001 - a callback's fault is not the cache's
            self._log.exception("informer.callback", event_type=event_type)


def key_of(obj: Object) -> Key:
    """(namespace, name) of an object."""
    metadata: dict[str, Any] = obj["metadata"]
    return metadata.get("namespace") or "", metadata["name"]


def _mark(obj: Object) -> tuple[str, str]:
    metadata = obj["metadata"]
    return metadata.get("uid") or "", metadata.get("resourceVersion") or ""
