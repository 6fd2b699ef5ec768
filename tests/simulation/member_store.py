"""The objects of a simulated member, and the log that its watches read."""

from collections.abc import Callable
from typing import Any

from tests.simulation.world import World

Object = dict[str, Any]


class MemberStore:
    """Jobs by name and pods by uid."""

    def __init__(self, world: World, name: str) -> None:
        self.world, self.name = world, name
        self.version = 0
        self.jobs, self.pods = dict[str, Object](), dict[str, Object]()
        self.logs: dict[str, list[tuple[str, Object]]] = {"Job": [], "Pod": []}
        self.watchers: list[Callable[[str], None]] = []
        self._uids = 0

    def _stored(self, kind: str, event: str, obj: Object) -> Object:
        self.version += 1
        # Its own metadata: what an answer or a watch still carries keeps the version that it had.
        obj["metadata"] = {**obj["metadata"], "resourceVersion": str(self.version)}
        self.logs[kind].append((event, obj))
        if kind == "Job":
            self.jobs[obj["metadata"]["name"]] = obj
        else:
            self.pods[obj["metadata"]["uid"]] = obj
        for watcher in self.watchers:
            watcher(kind)
        return obj

    def _removed(self, kind: str, obj: Object) -> None:
        self.version += 1
        last = {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(self.version)}}
        self.logs[kind].append(("DELETED", last))
        for watcher in self.watchers:
            watcher(kind)

    def new_uid(self, kind: str) -> str:
        self._uids += 1
        return f"{kind}{self._uids}@{self.name}"
