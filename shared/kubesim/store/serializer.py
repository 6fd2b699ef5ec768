"""Objects as bytes. Each version of an object is serialised once and shared by all its readers."""

from collections.abc import Iterable
from typing import Any

import orjson

from shared.kubesim.apimachinery.conversion import AS_IT_IS, Conversion
from shared.kubesim.apimachinery.strategies import Object

_DEFAULT_BUDGET = 64 * 1024 * 1024


class WireCache:
    """JSON of object versions by resourceVersion, which no two versions share.

    `budget_bytes` bounds it; the oldest versions go first. An object that is served in another API
    version than the stored one is converted, and is not kept.
    """

    def __init__(
        self, budget_bytes: int = _DEFAULT_BUDGET, conversion: Conversion = AS_IT_IS
    ) -> None:
        self._budget = budget_bytes
        self.conversion = conversion
        self._size = 0
        self._stored: dict[str, bytes] = {}

    def of(self, obj: Object, api_version: str = "") -> bytes:
        """The JSON of a stored object, in `api_version` if that differs from the stored one."""
        if api_version and obj["apiVersion"] != api_version:
            return orjson.dumps(self.conversion.shown(obj, api_version))
        version = obj["metadata"]["resourceVersion"]
        known = self._stored.get(version)
        if known is None:
            known = orjson.dumps(obj)
            self._stored[version] = known
            self._size += len(known)
            while self._size > self._budget:
                self._size -= len(self._stored.pop(next(iter(self._stored))))
        return known


def dumps(value: Any) -> bytes:
    return orjson.dumps(value)


def list_body(
    api_version: str, kind: str, metadata: dict[str, Any], items: Iterable[bytes]
) -> bytes:
    """A `<Kind>List` document around items that are bytes already."""
    head = orjson.dumps({"kind": kind, "apiVersion": api_version, "metadata": metadata})
    return head[:-1] + b',"items":[' + b",".join(items) + b"]}"


def watch_line(event_type: str, obj: bytes) -> bytes:
    """One line of a watch stream."""
    return b'{"type":"' + event_type.encode() + b'","object":' + obj + b"}\n"
