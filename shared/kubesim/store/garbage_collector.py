"""Owner-reference garbage collection: background, foreground and orphan.

Follows the store and works through a queue in its own task, as the real collector does, so that a
delete answers before its dependents are gone.
"""

import asyncio
from collections import deque

from shared.kubesim.apimachinery import metadata
from shared.kubesim.apimachinery.errors import ApiError
from shared.kubesim.apimachinery.strategies import Object
from shared.kubesim.store.lifecycle import FOREGROUND_FINALIZER, ORPHAN_FINALIZER
from shared.kubesim.store.objects import Event, ObjectStore

_PER_TURN = 200
Ref = tuple[str, str, str]


class GarbageCollector:
    """Deletes what its last owner left behind."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._queue: deque[Ref] = deque()
        self._queued: set[Ref] = set()
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        store.subscribe(self._note)

    async def start(self) -> None:
        """Begin; whatever a stop left undone is found by looking at everything once."""
        for key in self._store.resource_keys():
            for obj in self._store.iterate(key):
                if metadata.owner_uids(obj) or "deletionTimestamp" in obj["metadata"]:
                    self._ask((key, *metadata.identity(obj)))
        self._task = asyncio.create_task(self._run(), name="kubesim-garbage")

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    def _note(self, event: Event) -> None:
        meta = event.object["metadata"]
        if event.type == "DELETED":
            for reference in self._store.dependents(meta["uid"]):
                self._ask(reference)
            for uid in metadata.owner_uids(event.object):
                owner = self._store.by_uid(uid)
                if owner is not None:
                    self._ask(owner)
        elif "deletionTimestamp" in meta or (event.type == "ADDED" and "ownerReferences" in meta):
            self._ask((event.resource_key, *metadata.identity(event.object)))

    def _ask(self, reference: Ref) -> None:
        if reference not in self._queued:
            self._queued.add(reference)
            self._queue.append(reference)
            self._wake.set()

    async def _run(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._queue:
                for _ in range(min(_PER_TURN, len(self._queue))):
                    reference = self._queue.popleft()
                    self._queued.discard(reference)
                    self.collect(reference)
                await self._store.clock.sleep(0)

    def collect(self, reference: Ref) -> None:
        """Look at one object and do what its owners and finalizers ask for."""
        key, namespace, name = reference
        obj = self._store.get(key, namespace, name)
        if obj is None:
            return
        try:
            finalizers = obj["metadata"].get("finalizers") or ()
            if "deletionTimestamp" in obj["metadata"]:
                if ORPHAN_FINALIZER in finalizers:
                    self._orphan(key, obj)
                elif FOREGROUND_FINALIZER in finalizers:
                    self._delete_in_foreground(key, obj)
            elif obj["metadata"].get("ownerReferences"):
                self._check_owners(key, obj)
        except ApiError as error:
            if error.status not in (404, 409):
                raise
            self._ask(reference)  # it changed meanwhile: look again

    def _check_owners(self, key: str, obj: Object) -> None:
        solid, waiting, absent = [], [], []
        for reference in obj["metadata"]["ownerReferences"]:
            owner = self._owner(obj, reference["uid"])
            if owner is None:
                absent.append(reference)
            elif _is_foreground(owner):
                waiting.append(reference)
            else:
                solid.append(reference)
        namespace, name = metadata.identity(obj)
        uid = obj["metadata"]["uid"]
        if solid:
            if absent or waiting:
                self._store.update(key, metadata.with_metadata(obj, ownerReferences=solid))
        elif waiting and self._store.dependents(uid):
            self._store.delete(key, namespace, name, uid=uid, propagation="Foreground")
        else:
            self._store.delete(key, namespace, name, uid=uid, propagation="Background")

    def _owner(self, dependent: Object, uid: str) -> Object | None:
        """A live owner; one in another namespace does not count."""
        found = self._store.by_uid(uid)
        if found is None or found[1] not in ("", metadata.namespace_of(dependent)):
            return None
        return self._store.get(*found)

    def _orphan(self, key: str, owner: Object) -> None:
        uid = owner["metadata"]["uid"]
        for reference in self._store.dependents(uid):
            dependent = self._store.get(*reference)
            if dependent is None:
                continue
            left = [ref for ref in dependent["metadata"]["ownerReferences"] if ref["uid"] != uid]
            freed = metadata.with_metadata(dependent, ownerReferences=left or None)
            self._store.update(reference[0], freed)
        self._drop_finalizer(key, owner, ORPHAN_FINALIZER)

    def _delete_in_foreground(self, key: str, owner: Object) -> None:
        uid = owner["metadata"]["uid"]
        blocked = False
        for reference in self._store.dependents(uid):
            dependent = self._store.get(*reference)
            if dependent is None:
                continue
            blocked = blocked or any(
                ref["uid"] == uid and ref.get("blockOwnerDeletion")
                for ref in dependent["metadata"]["ownerReferences"]
            )
            if "deletionTimestamp" not in dependent["metadata"]:
                self._ask(reference)
        if not blocked:
            self._drop_finalizer(key, owner, FOREGROUND_FINALIZER)

    def _drop_finalizer(self, key: str, obj: Object, finalizer: str) -> None:
        live = self._store.get(key, *metadata.identity(obj))
        if live is None:
            return
        left = [one for one in live["metadata"].get("finalizers", ()) if one != finalizer]
        self._store.update(key, metadata.with_metadata(live, finalizers=left or None))


def _is_foreground(owner: Object) -> bool:
    meta = owner["metadata"]
    return "deletionTimestamp" in meta and FOREGROUND_FINALIZER in (meta.get("finalizers") or ())
