"""Who created each object of a member and who wrote each of its fields, by the token of the request.

It judges what the agent writes, and reads neither labels nor field managers to find out whose an object is.
"""

import re
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.simulation.world import Violation

Object = dict[str, Any]
Path = tuple[str, ...]
AGENT = "agent"
GRACE_S = 5.0  # a write that was decided before consent was withdrawn may still arrive
LISTED_S = 3.0  # objects younger than this may be missed by the listing before a namespace goes
PREFIX = "roadstead.dev/"
ACCEPT = PREFIX + "accept"
TAKEN_OVER = ("metadata", "labels", PREFIX + "managed-by")
CONSENT = frozenset({ACCEPT, PREFIX + "accept-tokens"})
CANARY = re.compile(r"canary-[0-9]+x|Y2FuYXJ5L[A-Za-z0-9+/]+")  # plain, and as a Secret has it
NAMESPACES = "namespaces"
MADE = "people.example/made"  # on a Job: which Namespace of its name in the hub it is of
_SERVER = frozenset({"resourceVersion", "generation", "managedFields", "uid", "creationTimestamp"})
_LISTS = "[]"


@dataclass(slots=True)
class Entry:
    """One object: its creator, the writers of its fields, and whether it was taken over with consent."""

    creator: str
    at: float
    writers: dict[Path, str] = field(default_factory=dict)
    taken: bool = False
    stripped: bool = False  # people took off the label by which an object is known as taken over


def leaves(obj: Object) -> dict[Path, Any]:
    """The fields of an object, what the server keeps and its status left out; a list is one field."""
    found: dict[Path, Any] = {}
    for path, value in _walk(obj, ()):
        if path[0] in {"status", "apiVersion", "kind"}:
            continue
        if path[0] == "metadata" and path[1] in _SERVER | {"name", "namespace"}:
            continue
        found[path] = value
    return found


def _walk(value: Any, at: Path) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _walk(part, (*at, key))
    else:
        yield at, value


def is_mark(path: Path) -> bool:
    """A label or annotation with our prefix."""
    return path[:2] in {("metadata", "labels"), ("metadata", "annotations")} and path[
        -1
    ].startswith(PREFIX)


class Ledger:
    """Of one member."""

    def __init__(self, member: str, hub_id: str, now: Callable[[], float], hub: "HubSide") -> None:
        self.member, self.hub_id, self._now, self._hub = member, hub_id, now, hub
        self.entries: dict[str, Entry] = {}
        self._usable_at: dict[str, float] = {}  # namespaces: when they last accepted the hub
        self._accepts_at: dict[str, float] = {}  # the same, by label alone
        self._stands: dict[str, Object] = {}
        self.accepted: set[str] = set()  # uids of namespaces and objects that ever did
        self._numbers: dict[str, str] = {}  # by uid of a namespace: that of the first Job in it
        self.store: Any = None

    def follow(self, store: Any, writer: Callable[[], str]) -> None:
        """Be told of every write to a store before it takes effect, and by whom."""
        self.store = store
        put, remove = store._put, store._remove

        def noted_put(key: str, obj: Object, old: Object | None) -> Object:
            self.written(writer(), key, obj, old)
            return put(key, obj, old)

        def noted_remove(key: str, obj: Object, old: Object) -> Object:
            self.removed(writer(), key, obj, old)
            return remove(key, obj, old)

        store._put, store._remove = noted_put, noted_remove

    # --- consent ---------------------------------------------------------------------------------

    def usable(self, namespace: str) -> bool:
        """May the hub write there, or could it a moment ago?"""
        self._look(namespace)
        return self._now() - self._usable_at.get(namespace, -1e9) <= GRACE_S

    def accepts(self, namespace: str) -> bool:
        self._look(namespace)
        return self._now() - self._accepts_at.get(namespace, -1e9) <= GRACE_S

    def _look(self, namespace: str) -> None:
        held = self.store.get(NAMESPACES, "", namespace)
        if held is not None:
            self._note(namespace, held)

    def _note(self, namespace: str, held: Object) -> None:
        entry = self.entries.get(held["metadata"]["uid"])
        now = self._now()
        if entry is not None and (entry.creator == AGENT or now - entry.at <= GRACE_S):
            self._usable_at[namespace] = now  # the agent made it, or may not have seen it yet
        if (held["metadata"].get("labels") or {}).get(ACCEPT) == self.hub_id:
            self._usable_at[namespace] = self._accepts_at[namespace] = now
            self.accepted.add(held["metadata"]["uid"])

    # --- what is written -------------------------------------------------------------------------

    def written(self, actor: str, key: str, obj: Object, old: Object | None) -> None:
        """Called before a write takes effect. Raises Violation."""
        uid = obj["metadata"]["uid"]
        if key == NAMESPACES:
            for each in (old, obj):
                if each is not None:
                    self._note(obj["metadata"]["name"], each)
        if (obj["metadata"].get("labels") or {}).get(ACCEPT) == self.hub_id:
            self.accepted.add(uid)
        if old is None:
            found = leaves(obj)
            self.entries[uid] = Entry(actor or "cluster", self._now(), dict.fromkeys(found, actor))
            self._hold(uid, obj, found.values())
            if actor == AGENT:
                self._created(key, obj)
            return
        before, after = leaves(old), leaves(obj)
        changed = {p for p in before.keys() | after.keys() if before.get(p) != after.get(p)}
        entry = self.entries[uid]
        if actor == AGENT:
            self._updated(key, entry, obj, old, changed)
        self._hold(uid, obj, [after[path] for path in changed if path in after])
        _note_writers(entry, actor, changed, after.keys())

    def _hold(self, uid: str, obj: Object, values: Iterable[Any]) -> None:
        """Note which values an object has that may be foreign."""
        for value in values:
            for canary in CANARY.findall(value) if isinstance(value, str) else ():
                space = self.store.get(NAMESPACES, "", obj["metadata"].get("namespace") or "")
                around = space["metadata"]["uid"] if space is not None else ""
                holders = self._hub.canaries.setdefault(canary, [])
                holders.append((self, self.entries[uid], {uid, around}))

    def removed(self, actor: str, key: str, obj: Object, old: Object) -> None:
        """Called before an object goes. Raises Violation."""
        if actor == AGENT and not old["metadata"].get("deletionTimestamp"):
            self._deletes(key, old)
        self.entries.pop(obj["metadata"]["uid"], None)

    def _created(self, key: str, obj: Object) -> None:
        metadata = obj["metadata"]
        if CONSENT & (metadata.get("labels") or {}).keys():
            self._fail("O-2", f"the agent writes consent on {self._name(key, obj)}")
        namespace = metadata.get("namespace") or ""
        if namespace and not self.usable(namespace):
            self._fail("O-2", f"{self._name(key, obj)} is created without consent")
        number = (metadata.get("annotations") or {}).get(MADE)
        if number is not None:
            space = self.store.get(NAMESPACES, "", namespace)["metadata"]["uid"]
            first = self._numbers.setdefault(space, number)
            if number != first and space not in self.accepted:
                text = (
                    f"{self._name(key, obj)} of namespace {number} is where those of {first} were"
                )
                self._fail("O-5", text)

    def _updated(
        self, key: str, entry: Entry, obj: Object, old: Object, changed: set[Path]
    ) -> None:
        deleted_at = ("metadata", "deletionTimestamp")
        if deleted_at in changed:
            self._deletes(key, old)
            return
        if not changed:
            return
        name = self._name(key, obj)
        touched = sorted(path[-1] for path in changed if path[-1] in CONSENT)
        if touched:
            self._fail("O-2", f"the agent changes {touched[0]} of {name}")
        others = {path for path in changed if not is_mark(path) and path[-1] != "finalizers"}
        marked = any(is_mark(path) for path in leaves(obj))
        if entry.creator == AGENT:
            if not marked and not others:
                entry.creator = "released"
            return
        if not marked and not others and any(is_mark(path) for path in changed):
            return  # released
        self._takes_over(key, entry, obj, old, changed, others)

    def _takes_over(
        self,
        key: str,
        entry: Entry,
        obj: Object,
        old: Object,
        changed: set[Path],
        others: set[Path],
    ) -> None:
        """The agent changes a foreign object, and does not release it."""
        name, space = self._name(key, obj), obj["metadata"].get("namespace") or ""
        if ("metadata", "labels", PREFIX + "created-by") in changed:
            self._fail("O-1", f"{name} becomes created by the hub")
        own = any((each["metadata"].get("labels") or {}).get(ACCEPT) for each in (old, obj))
        if not (self.accepts(space) if space else own):
            self._fail("O-1", f"{name} is changed without consent: {_some(changed)}")
        modes = self._hub.modes
        if not modes & {"Always", "IfNoDiff"}:
            self._fail("O-1", f"{name} is taken over, and nobody asked for that")
        if others and not entry.taken and "Always" not in modes:
            self._fail("O-1", f"{name} is changed under IfNoDiff: {_some(others)}")
        after = leaves(obj)
        for path in sorted(others):
            if path in after and str(after[path]) not in self._hub.values:
                self._fail("O-1", f"{name}: {path} gets a value that is not of the hub")
            if path not in after and entry.writers.get(path) != AGENT:
                self._fail("O-1", f"{name} loses {path}, which the hub did not write")
        entry.taken = True

    def _deletes(self, key: str, old: Object) -> None:
        entry, name = self.entries[old["metadata"]["uid"]], self._name(key, old)
        if entry.creator != AGENT:
            self._fail("O-1", f"the agent deletes {name}, created by {entry.creator}")
        if key != NAMESPACES:
            return
        for inside, each in self.inside(old["metadata"]["name"]):
            other = self.entries[each["metadata"]["uid"]]
            if other.creator not in {AGENT, "cluster"} and self._now() - other.at > LISTED_S:
                self._fail("O-1", f"{name} is deleted with {self._name(inside, each)} in it")

    # --- at rest ---------------------------------------------------------------------------------

    def inside(self, namespace: str) -> Iterator[tuple[str, Object]]:
        for key in self.store.resource_keys():
            if self.store.registry.get(key).namespaced:
                yield from ((key, each) for each in self.store.list(key, namespace))

    def foreign_inside(self, namespace: str) -> bool:
        return any(self._is_peoples(key, each) for key, each in self.inside(namespace))

    def _is_peoples(self, key: str, obj: Object) -> bool:
        """Return whether people made it, or stripped it of our marks."""
        creator = self.entries[obj["metadata"]["uid"]].creator
        return creator not in {AGENT, "cluster"} or (creator == AGENT and _is_stripped(key, obj))

    def left_behind(self) -> str:
        """What of ours is still there though nothing is placed: "" if nothing is."""
        for key in self.store.resource_keys():
            if key in {"events", "events.events.k8s.io", "pods"}:
                continue
            for obj in self.store.list(key):
                if found := self._left(key, obj):
                    return found
        return ""

    def _left(self, key: str, obj: Object) -> str:
        entry, name = self.entries[obj["metadata"]["uid"]], self._name(key, obj)
        marks = obj["metadata"].get("labels") or {}
        if entry.creator == AGENT:
            kept = key == NAMESPACES and (
                PREFIX + "job-uid" not in marks  # made for a Job, or kept once before
                or self.foreign_inside(obj["metadata"]["name"])
            )
            if key == "jobs.batch":
                return f"{name} is left behind"
            return "" if kept or _is_stripped(key, obj) else f"{name} is left behind"
        for path in (
            () if entry.stripped else leaves(obj)
        ):  # it is foreign: nothing is written there
            if is_mark(path) and entry.writers.get(path) == AGENT:
                return f"{name} was released and keeps {path[-1]}"
        return ""

    def _name(self, key: str, obj: Object) -> str:
        metadata = obj["metadata"]
        return f"{self.member}:{key}/{metadata.get('namespace') or ''}/{metadata['name']}"

    def _fail(self, invariant: str, text: str) -> None:
        self._hub.failed.append(Violation(invariant, text))


def _is_stripped(key: str, obj: Object) -> bool:
    """Return whether a label that the agent writes is missing: people took it off, the object is theirs."""
    needed = {PREFIX + "created-by", PREFIX + "managed-by"}
    if key != NAMESPACES:
        needed.add(PREFIX + "job-uid")
    return not needed <= (obj["metadata"].get("labels") or {}).keys()


def _note_writers(entry: Entry, actor: str, changed: set[Path], after: Container[Path]) -> None:
    for path in changed:
        if path in after:
            entry.writers[path] = actor
        else:
            entry.writers.pop(path, None)
    if TAKEN_OVER in changed:
        entry.stripped = TAKEN_OVER not in after and actor != AGENT


def _some(paths: set[Path]) -> str:
    return ", ".join(".".join(path) for path in sorted(paths)[:4])


class HubSide:
    """What the hub's users ever asked for, and what was found.

    `values`: all values that they wrote; `modes`: the take-over rules that they set.
    """

    def __init__(self) -> None:
        self.values: set[str] = set()
        self.modes: set[str] = set()
        self.failed: list[Violation] = []
        self.canaries: dict[
            str, list[tuple[Ledger, Entry, set[str]]]
        ] = {}  # who ever had the value

    def knows(self, obj: Object) -> None:
        """A manifest of the hub's users."""
        self.values |= {str(value) for value in leaves(obj).values()}

    def sent(self, who: str, raw: bytes) -> None:
        """Bytes that leave a member."""
        if b"canary-" not in raw and b"Y2FuYXJ5L" not in raw:
            return
        text = raw.decode()
        for found in CANARY.findall(text):
            if not self.may_leave(found):
                at = text.find(found)
                around = text[max(0, at - 300) : at + 60]
                self.failed.append(Violation("O-3", f"{who} sends {found}: {around}"))
                return

    def may_leave(self, canary: str) -> bool:
        """Return whether it was in an object of the hub, or where people accepted the hub."""
        return any(
            entry.creator in {AGENT, "released"} or uids & ledger.accepted
            for ledger, entry, uids in self.canaries.get(canary, ())
        )
