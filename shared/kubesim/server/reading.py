"""get, list and watch over HTTP."""

import asyncio
import base64
import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any

import orjson

from shared.kubesim.apimachinery import errors, metadata, selectors
from shared.kubesim.apimachinery.registry import Resource
from shared.kubesim.apimachinery.selectors import Predicate
from shared.kubesim.apimachinery.strategies import Object
from shared.kubesim.requests.call import Call, Reply
from shared.kubesim.server import tables
from shared.kubesim.store.objects import ObjectStore
from shared.kubesim.store.serializer import WireCache, dumps, list_body, watch_line
from shared.kubesim.store.watch import Interest, Render, Stream, WatchHub

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
_KEPT_SNAPSHOTS = 64
_BOOKMARK_EVERY_S = 15.0
_LONGEST_WATCH_S = 3600.0
_STALL_STEP_S = 0.1


@dataclass(frozen=True, slots=True)
class _Snapshot:
    items: list[Object]
    rv: int


class Reader:
    """Answers reads from the store. Nothing undurable leaves: the server waits before it replies."""

    def __init__(self, store: ObjectStore, hub: WatchHub, wire: WireCache) -> None:
        self._store = store
        self._hub = hub
        self._wire = wire
        self._snapshots: OrderedDict[str, _Snapshot] = OrderedDict()
        self.bookmark_every_s = _BOOKMARK_EVERY_S
        self.selectable_fields: Callable[[str], frozenset[str]] = lambda key: frozenset()

    def get(self, call: Call) -> Reply:
        """One object, or the row of a table."""
        resource = call.served()
        obj = self._store.get(resource.key, call.namespace, call.name)
        if obj is None:
            raise errors.not_found(resource.plural, resource.group, call.name)
        return self.show(call, resource, obj)

    def show(self, call: Call, resource: Resource, obj: Object, status: int = 200) -> Reply:
        """An object in the form that the client accepts."""
        form = tables.wanted_form(call.accept)
        if form == "Table":
            return Reply(status, dumps(self._table(call, resource, [obj], obj["metadata"])))
        if form == "PartialObjectMetadata":
            return Reply(status, dumps(tables.partial(obj)))
        return Reply(status, self._wire.of(obj, resource.api_version))

    def collection(self, call: Call) -> Reply:
        """A collection, whole or in pages of `limit`; later pages show the first one's moment."""
        resource = call.served()
        self._check_version(call)
        token = call.arg("continue")
        snapshot, offset = self._resumed(token) if token else (self._snapshot(call, resource), 0)
        limit = call.number("limit") or 0
        items = snapshot.items[offset:] if offset else snapshot.items
        meta: dict[str, Any] = {"resourceVersion": str(snapshot.rv)}
        if limit and len(items) > limit:
            items = items[:limit]
            meta["continue"] = self._kept(snapshot, offset + limit, token)
            meta["remainingItemCount"] = len(snapshot.items) - offset - limit
        form = tables.wanted_form(call.accept)
        if form == "Table":
            return Reply(200, dumps(self._table(call, resource, items, meta)))
        if form == "PartialObjectMetadataList":
            api_version, kind = tables.META_V1, "PartialObjectMetadataList"
            parts: Iterable[bytes] = [dumps(tables.partial(obj)) for obj in items]
            return Reply(200, list_body(api_version, kind, meta, parts))
        bodies = [self._wire.of(obj, resource.api_version) for obj in items]
        return Reply(200, list_body(resource.api_version, resource.list_kind, meta, bodies))

    def predicate(self, call: Call, resource: Resource) -> Predicate | None:
        """The label and field selectors of a call as one predicate."""
        labels, fields = call.arg("labelSelector"), call.arg("fieldSelector")
        by_label = selectors.label_predicate(labels) if labels else None
        by_field = None
        if fields:
            extra = self.selectable_fields(resource.key)
            by_field = selectors.field_predicate(resource.key, fields, extra)
        return selectors.both(by_label, by_field)

    def selected(self, call: Call, resource: Resource) -> list[Object]:
        """What a list or deletecollection call selects, in order of namespace and name."""
        namespace = call.namespace or None
        if not resource.namespaced:
            namespace = ""
        name = call.name or selectors.name_selected(call.arg("fieldSelector"))
        if name and namespace is not None:
            one = self._store.get(resource.key, namespace, name)
            found = [one] if one is not None else []
        else:
            found = self._store.list(resource.key, namespace)
            found.sort(key=metadata.identity)
        predicate = self.predicate(call, resource)
        return [obj for obj in found if predicate(obj)] if predicate else found

    # --- watch -----------------------------------------------------------------------------------

    async def watch(
        self,
        call: Call,
        receive: Receive,
        send: Send,
        durable: Callable[[int], Awaitable[None]],
    ) -> None:
        """Stream changes until the time is up, the client goes, or the server stops."""
        resource = call.served()
        stream = self._stream(call, resource)
        at = self._store.rv
        refusal = self._open(call, resource, stream)
        headers = [
            (b"content-type", b"application/json"),
            (b"cache-control", b"no-cache, private"),
        ]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        if refusal is not None:
            line = watch_line("ERROR", dumps(refusal.body()))
            await send({"type": "http.response.body", "body": line, "more_body": False})
            return
        listening = asyncio.create_task(_end_on_disconnect(receive, stream))
        try:
            await durable(at)
            await self._pump(call, resource, stream, send)
        finally:
            listening.cancel()
            self._hub.close(stream)

    def _stream(self, call: Call, resource: Resource) -> Stream:
        namespace = call.namespace if resource.namespaced and call.namespace else None
        predicate = self.predicate(call, resource)
        if call.name:
            name = call.name
            predicate = selectors.both(predicate, lambda obj: obj["metadata"]["name"] == name)
        interest = Interest(resource.key, namespace, predicate)
        return Stream(interest, self._renderer(call, resource), self._store.rv)

    def _open(self, call: Call, resource: Resource, stream: Stream) -> errors.ApiError | None:
        """Attach the stream where the client wants to start; the refusal if it cannot."""
        asked = call.number("resourceVersion")
        wants_state = call.flag("sendInitialEvents") or not asked
        if asked and asked > self._store.rv:
            return too_new(asked, self._store.rv)
        if not wants_state:
            stream.rv = asked or 0
            try:
                self._hub.open(stream)
            except errors.ApiError as error:
                return error
            return None
        if call.arg("sendInitialEvents") != "false":
            for obj in self.selected(call, resource):
                stream.push(stream.render("ADDED", obj))
        if call.flag("sendInitialEvents"):
            stream.push(self._bookmark(call, resource, self._store.rv, initial_end=True))
        self._hub.open(stream)
        return None

    async def _pump(self, call: Call, resource: Resource, stream: Stream, send: Send) -> None:
        lasting = min(call.number("timeoutSeconds") or _LONGEST_WATCH_S, _LONGEST_WATCH_S)
        clock = self._store.clock
        ends_at = clock.monotonic() + lasting
        bookmarks = call.flag("allowWatchBookmarks")
        bookmark_at = clock.monotonic() + self.bookmark_every_s
        # An empty chunk sends the headers at once, so that a quiet watch counts as open.
        await send({"type": "http.response.body", "body": b"", "more_body": True})
        while not self._hub.closing and not stream.ended:
            now = clock.monotonic()
            if now >= ends_at:
                break
            silent_until = self._hub.stalled_until(resource.key)
            if now < silent_until:
                await clock.sleep(min(silent_until - now, _STALL_STEP_S))
                continue
            if bookmarks and now >= bookmark_at:
                stream.push(self._bookmark(call, resource, max(stream.rv, self._hub.released_rv)))
                bookmark_at = now + self.bookmark_every_s
            if await stream.wait(min(ends_at, bookmark_at) - now if bookmarks else ends_at - now):
                if clock.monotonic() < self._hub.stalled_until(resource.key):
                    continue  # it was stalled while this watch waited: not this event either
                body = stream.take()
                if body:
                    await send({"type": "http.response.body", "body": body, "more_body": True})
        await send({"type": "http.response.body", "body": stream.take(), "more_body": False})

    def _renderer(self, call: Call, resource: Resource) -> Render:
        form = tables.wanted_form(call.accept)
        if form == "Table":
            rows = tables.WatchRows(self._store, resource, call.arg("includeObject"))
            return lambda kind, obj: rows(kind, self._in_version(obj, resource))
        if form.startswith("PartialObjectMetadata"):
            return lambda kind, obj: watch_line(kind, dumps(tables.partial(obj)))
        wire, api_version = self._wire, resource.api_version
        return lambda kind, obj: watch_line(kind, wire.of(obj, api_version))

    def _bookmark(
        self, call: Call, resource: Resource, rv: int, *, initial_end: bool = False
    ) -> bytes:
        meta: dict[str, Any] = {"resourceVersion": str(rv)}
        if initial_end:
            meta["annotations"] = {"k8s.io/initial-events-end": "true"}
        obj: Object = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": meta}
        if tables.wanted_form(call.accept) == "Table":
            obj = {"kind": "Table", "apiVersion": tables.META_V1, "metadata": meta, "rows": []}
        return watch_line("BOOKMARK", dumps(obj))

    # --- pages and tables ------------------------------------------------------------------------

    def _table(
        self, call: Call, resource: Resource, items: list[Object], meta: dict[str, Any]
    ) -> dict[str, Any]:
        include = call.arg("includeObject") or "Metadata"
        items = [self._in_version(obj, resource) for obj in items]
        return tables.table(self._store, resource, items, meta, include)

    def _in_version(self, obj: Object, resource: Resource) -> Object:
        return self._wire.conversion.shown(obj, resource.api_version)

    def _check_version(self, call: Call) -> None:
        match, asked = call.arg("resourceVersionMatch"), call.number("resourceVersion")
        if match not in ("", "Exact", "NotOlderThan"):
            raise errors.bad_request(f'resourceVersionMatch: Unsupported value: "{match}"')
        if match and asked is None:
            raise errors.bad_request(
                "resourceVersionMatch is forbidden unless resourceVersion is provided"
            )
        if asked and asked > self._store.rv:
            raise too_new(asked, self._store.rv)
        if match == "Exact" and asked and asked < self._store.rv:
            raise errors.gone(f"The provided resourceVersion {asked} is no longer kept.")

    def _snapshot(self, call: Call, resource: Resource) -> _Snapshot:
        return _Snapshot(self.selected(call, resource), self._store.rv)

    def _kept(self, snapshot: _Snapshot, offset: int, token: str) -> str:
        """A continue token for the rest of a snapshot, which is kept under it."""
        key = _decode(token)[0] if token else secrets.token_hex(8)
        self._snapshots[key] = snapshot
        self._snapshots.move_to_end(key)
        while len(self._snapshots) > _KEPT_SNAPSHOTS:
            self._snapshots.popitem(last=False)
        return base64.urlsafe_b64encode(orjson.dumps([key, offset])).decode()

    def _resumed(self, token: str) -> tuple[_Snapshot, int]:
        key, offset = _decode(token)
        snapshot = self._snapshots.get(key)
        if snapshot is None:
            raise errors.gone(
                "The provided continue parameter is too old to display a consistent list result."
                " You can start a new list without the continue parameter."
            )
        return snapshot, offset


async def _end_on_disconnect(receive: Receive, stream: Stream) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    stream.end()


def _decode(token: str) -> tuple[str, int]:
    try:
        key, offset = orjson.loads(base64.urlsafe_b64decode(token))
        return str(key), int(offset)
    except (ValueError, TypeError) as fault:
        raise errors.bad_request("continue key is not valid") from fault


def too_new(asked: int, current: int) -> errors.ApiError:
    """504: the client has seen a version that this server has not."""
    return errors.ApiError(
        504,
        "Timeout",
        f"Too large resource version: {asked}, current: {current}",
        {
            "causes": [
                {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
            ],
            "retryAfterSeconds": 1,
        },
    )
