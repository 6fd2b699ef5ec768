"""The objects of a simulated cluster, in memory: CRUD, resourceVersions, finalizers, owners.

Objects are plain dicts and **immutable by convention**: a writer builds a new dict that shares the
unchanged parts. Every version has its own resourceVersion, from one counter, so a version's bytes
are made once and shared by every reader. Changes are told to subscribers synchronously, in order;
a subscriber may write, and its changes are told after those already under way.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from shared.clock import Clock
from shared.kubesim.apimachinery import errors, metadata
from shared.kubesim.apimachinery.registry import Registry, Resource
from shared.kubesim.apimachinery.strategies import KindStrategy, Object, PlainStrategy
from shared.kubesim.apimachinery.writer import acting_as
from shared.kubesim.store import lifecycle

EventType = Literal["ADDED", "MODIFIED", "DELETED"]
_PLAIN = PlainStrategy()
_WITH_STATUS = KindStrategy()


@dataclass(frozen=True, slots=True)
class Event:
    """One change. `object` is the new version (the last one, for DELETED), `old` the one before."""

    type: EventType
    resource_key: str
    object: Object
    old: Object | None
    rv: int


class AdmissionHook(Protocol):
    """A built-in admission step: may change what is about to be written, or refuse it."""

    def __call__(
        self,
        operation: Literal["CREATE", "UPDATE"],
        resource: Resource,
        new: Object,
        old: Object | None,
    ) -> Object:
        """Return the object to write (the same one if unchanged); raise `ApiError` to refuse."""
        ...


class FieldTracker(Protocol):
    """Keeps `metadata.managedFields` when a named writer changes an object."""

    def __call__(
        self, resource: Resource, new: Object, old: Object | None, manager: str, subresource: str
    ) -> Object: ...


class ObjectStore:
    """All objects of one cluster."""

    def __init__(
        self,
        registry: Registry,
        clock: Clock,
        *,
        strategies: dict[str, KindStrategy] | None = None,
        admissions: Iterable[AdmissionHook] = (),
        tracker: FieldTracker | None = None,
    ) -> None:
        self.registry = registry
        self.clock = clock
        self.strategies: dict[str, KindStrategy] = strategies or {}
        self.admissions: list[AdmissionHook] = list(admissions)
        self.check_delete: Callable[[Resource, Object], None] = lambda resource, obj: None
        self.tracker = tracker
        self.rv = 0
        self._objects: dict[str, dict[str, dict[str, Object]]] = {}
        self._by_uid: dict[str, tuple[str, str, str]] = {}
        self._dependents: dict[str, set[tuple[str, str, str]]] = {}
        self._subscribers: list[Callable[[Event], None]] = []
        self._untold: deque[Event] = deque()
        self._telling = False

    # --- reading ---------------------------------------------------------------------------------

    def get(self, key: str, namespace: str, name: str) -> Object | None:
        """The object, or None. Cluster-wide kinds have namespace ""."""
        return self._objects.get(key, {}).get(namespace, {}).get(name)

    def list(self, key: str, namespace: str | None = None) -> list[Object]:
        """All objects of a kind, of one namespace or (None) of all, in order of creation."""
        return list(self.iterate(key, namespace))

    def iterate(self, key: str, namespace: str | None = None) -> Iterator[Object]:
        """Like `list`, without the copy: do not write while iterating."""
        spaces = self._objects.get(key)
        if not spaces:
            return
        if namespace is not None:
            yield from spaces.get(namespace, {}).values()
            return
        for space in spaces.values():
            yield from space.values()

    def count(self, key: str) -> int:
        return sum(len(space) for space in self._objects.get(key, {}).values())

    def by_uid(self, uid: str) -> tuple[str, str, str] | None:
        """(key, namespace, name) of a live object."""
        return self._by_uid.get(uid)

    def dependents(self, uid: str) -> Sequence[tuple[str, str, str]]:
        """(key, namespace, name) of every object that names `uid` as an owner."""
        return sorted(self._dependents.get(uid, ()))

    def resource_keys(self) -> Sequence[str]:
        """The resource keys under which objects exist."""
        return [key for key, spaces in self._objects.items() if any(spaces.values())]

    # --- writing ---------------------------------------------------------------------------------

    def create(
        self,
        key: str,
        obj: Object,
        *,
        manager: str | None = None,
        dry_run: bool = False,
        trusted: bool = False,
    ) -> Object:
        """Store a new object; the server's part of its metadata is filled in.

        The name is made from `generateName` if there is none. `trusted` skips validation, for
        controllers that build from validated templates. Raises ApiError AlreadyExists, Invalid,
        and what an admission step raises.
        """
        resource = self.registry.get(key)
        obj = self._with_new_metadata(resource, obj)
        if not obj["metadata"].get("name"):
            cause = errors.required("metadata.name", "name or generateName is required")
            raise errors.invalid(resource.kind, resource.group, "", [cause])
        strategy = self.strategy(resource)
        obj = strategy.prepare_create(obj)
        if manager and self.tracker:
            obj = self.tracker(resource, obj, None, manager, "")
        obj = self._admit("CREATE", resource, strategy.generate(obj), None)
        namespace, name = metadata.identity(obj)
        if not trusted:
            causes = [*lifecycle.metadata_faults(resource, obj), *strategy.validate_create(obj)]
            if causes:
                raise errors.invalid(resource.kind, resource.group, name, causes)
        if self.get(key, namespace, name) is not None:
            raise errors.already_exists(resource.plural, resource.group, name)
        if dry_run:
            return obj
        return self._put(key, obj, None)

    def update(
        self,
        key: str,
        obj: Object,
        *,
        subresource: str = "",
        manager: str | None = None,
        dry_run: bool = False,
        trusted: bool = False,
    ) -> Object:
        """Replace an object, or only its status (`subresource="status"`).

        Optimistic if `metadata.resourceVersion` is set; a uid must be the live one. Writing what is
        there already changes nothing. `subresource="*"` takes spec and status at once, for
        controllers. The object goes when its last finalizer does after a delete. Raises ApiError
        NotFound, Conflict, Invalid.
        """
        resource = self.registry.get(key)
        namespace, name = metadata.identity(obj)
        old = self.get(key, namespace, name)
        if old is None:
            raise errors.not_found(resource.plural, resource.group, name)
        lifecycle.check_preconditions(resource, obj["metadata"], old)
        strategy = self.strategy(resource)
        new = lifecycle.merged_for_update(resource, obj, old, subresource)
        if subresource == "status":
            new = strategy.prepare_status(new, old)
        elif subresource != "*":
            new = strategy.prepare_update(new, old)
            new = self._admit("UPDATE", resource, new, old)
        if not trusted and subresource != "*":
            self._validate_update(resource, strategy, new, old, subresource)
        if lifecycle.same_content(new, old):
            return old
        if resource.has_generation and subresource != "status" and strategy.spec_differs(new, old):
            generation = old["metadata"].get("generation", 0) + 1
            new = metadata.with_metadata(new, generation=generation)
        if manager and self.tracker:
            new = self.tracker(resource, new, old, manager, subresource)
        if dry_run:
            return new
        if lifecycle.is_finished_deletion(new):
            return self._remove(key, new, old)
        return self._put(key, new, old)

    def delete(
        self,
        key: str,
        namespace: str,
        name: str,
        *,
        uid: str | None = None,
        resource_version: str | None = None,
        propagation: str = "Background",
        grace: int | None = None,
        dry_run: bool = False,
    ) -> Object:
        """Remove an object, or mark it as terminating while finalizers or a grace period hold it.

        `propagation` is Background, Foreground or Orphan; `grace` in seconds matters for pods only.
        Returns the last version. Raises ApiError NotFound, Conflict on failed preconditions, and what
        `check_delete` raises.
        """
        resource = self.registry.get(key)
        old = self.get(key, namespace, name)
        if old is None:
            raise errors.not_found(resource.plural, resource.group, name)
        wanted = {"uid": uid, "resourceVersion": resource_version}
        lifecycle.check_preconditions(resource, wanted, old)
        self.check_delete(resource, old)
        new = lifecycle.marked_for_deletion(resource, old, self.clock.now(), propagation, grace)
        if dry_run:
            return new
        if lifecycle.is_finished_deletion(new):
            return self._remove(key, new, old)
        if lifecycle.same_content(new, old):
            return old
        return self._put(key, new, old)

    # --- following -------------------------------------------------------------------------------

    def subscribe(self, fn: Callable[[Event], None]) -> None:
        """Call `fn` with every change from now on, in order, inside the write."""
        self._subscribers.append(fn)

    def restore(self, objects: Iterable[tuple[str, Object]], rv: int) -> None:
        """Take over what a journal kept. Nobody is told: it is not news."""
        for key, obj in objects:
            self._index(key, obj)
        self.rv = rv

    def strategy(self, resource: Resource) -> KindStrategy:
        """The rules of a resource."""
        default = _WITH_STATUS if resource.has_status else _PLAIN
        return self.strategies.get(resource.key, default)

    # --- inside ----------------------------------------------------------------------------------

    def _with_new_metadata(self, resource: Resource, obj: Object) -> Object:
        meta = dict(obj.get("metadata") or {})
        if not meta.get("name") and meta.get("generateName"):
            meta["name"] = metadata.generated_name(meta["generateName"])
        if not resource.namespaced:
            meta.pop("namespace", None)
        for field in ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"):
            meta.pop(field, None)
        meta["uid"] = metadata.new_uid()
        meta["creationTimestamp"] = metadata.stamp(self.clock.now())
        meta.pop("resourceVersion", None)
        meta.pop("generation", None)
        if resource.has_generation:
            meta["generation"] = 1
        return {**obj, "apiVersion": resource.api_version, "kind": resource.kind, "metadata": meta}

    def _admit(
        self,
        operation: Literal["CREATE", "UPDATE"],
        resource: Resource,
        new: Object,
        old: Object | None,
    ) -> Object:
        for admit in self.admissions:
            new = admit(operation, resource, new, old)
        return new

    def _validate_update(
        self,
        resource: Resource,
        strategy: KindStrategy,
        new: Object,
        old: Object,
        subresource: str,
    ) -> None:
        check = strategy.validate_status if subresource == "status" else strategy.validate_update
        causes = [*lifecycle.metadata_update_faults(resource, new, old), *check(new, old)]
        if causes:
            raise errors.invalid(resource.kind, resource.group, new["metadata"]["name"], causes)

    def _put(self, key: str, obj: Object, old: Object | None) -> Object:
        self.rv += 1
        obj["metadata"]["resourceVersion"] = str(self.rv)  # a fresh dict: nobody else holds it yet
        if old is not None:
            self._unlink(key, old)
        self._index(key, obj)
        self._tell(Event("MODIFIED" if old else "ADDED", key, obj, old, self.rv))
        return obj

    def _remove(self, key: str, obj: Object, old: Object) -> Object:
        self.rv += 1
        obj = metadata.with_metadata(obj, resourceVersion=str(self.rv))
        namespace, name = metadata.identity(old)
        self._unlink(key, old)
        space = self._objects[key][namespace]
        del space[name]
        if not space:
            del self._objects[key][namespace]
        self._by_uid.pop(old["metadata"]["uid"], None)
        self._tell(Event("DELETED", key, obj, old, self.rv))
        return obj

    def _index(self, key: str, obj: Object) -> None:
        namespace, name = metadata.identity(obj)
        self._objects.setdefault(key, {}).setdefault(namespace, {})[name] = obj
        self._by_uid[obj["metadata"]["uid"]] = (key, namespace, name)
        for uid in metadata.owner_uids(obj):
            self._dependents.setdefault(uid, set()).add((key, namespace, name))

    def _unlink(self, key: str, obj: Object) -> None:
        for uid in metadata.owner_uids(obj):
            dependents = self._dependents.get(uid)
            if dependents is not None:
                dependents.discard((key, *metadata.identity(obj)))
                if not dependents:
                    del self._dependents[uid]

    def _tell(self, event: Event) -> None:
        self._untold.append(event)
        if self._telling:
            return
        self._telling = True
        try:
            while self._untold:
                following = self._untold.popleft()
                with acting_as(""):  # what follows is the cluster's own doing
                    for subscriber in self._subscribers:
                        subscriber(following)
        finally:
            self._telling = False
