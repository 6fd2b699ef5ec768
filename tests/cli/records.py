"""Holds a record to the JSON it was made of: every key known, every value what the annotation says."""

import datetime as dt
from collections.abc import Iterator
from types import UnionType
from typing import Any, Union, get_args, get_origin

from roadstead.models.objects import KubernetesObject, Metadata
from roadstead.models.record import Json, Record

# Kinds have fields of their own, and Kubernetes' metadata more than the hub reads.
OPEN = (KubernetesObject, Metadata)


class Seen:
    """What answers have been held to records: faults as sentences, and which fields were there."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self.fields: set[tuple[str, str]] = set()
        self.kinds: set[type[Record]] = set()

    def hold(self, kind: type[Record], raw: Json) -> None:
        """Note where `raw` is not what `kind` says."""
        self.kinds.add(kind)
        known = {each.key: each for each in kind.fields}
        if not issubclass(kind, OPEN):
            strange = [key for key in raw.keys() - known.keys() if not hasattr(kind, key)]
            self.faults += [f"{kind.__name__} lacks {key}" for key in strange]
        for key in raw.keys() & known.keys():
            field = known[key]
            self.fields.add((kind.__name__, field.name))
            if not self._is(field.hint, raw[key]):
                self.faults.append(f"{kind.__name__}.{field.name} was {raw[key]!r}")

    def never(self) -> Iterator[str]:
        """Records that no answer was, and fields that none had."""
        for kind in records(Record):
            if kind not in self.kinds:
                yield kind.__name__
                continue
            for each in kind.fields:
                if (kind.__name__, each.name) not in self.fields:
                    yield f"{kind.__name__}.{each.name}"

    def _is(self, hint: Any, value: Any) -> bool:
        origin, inside = get_origin(hint), get_args(hint)
        if hint is Any:
            return True
        if origin in (Union, UnionType):
            return any(self._is(each, value) for each in inside)
        if origin is tuple:
            return isinstance(value, list) and all(self._is(inside[0], each) for each in value)
        if origin is dict:
            return isinstance(value, dict) and all(
                self._is(inside[1], each) for each in value.values()
            )
        if hint is dt.datetime:
            return isinstance(value, str) and dt.datetime.fromisoformat(value).tzinfo is not None
        if hint is float:
            return isinstance(value, int | float)
        if hint is int:
            return isinstance(value, int) and not isinstance(value, bool)
        if isinstance(hint, type) and issubclass(hint, Record):
            if isinstance(value, dict):
                self.hold(hint, value)
            return isinstance(value, dict)
        return isinstance(value, hint)


def records(base: type[Record]) -> Iterator[type[Record]]:
    """Every record there is below `base`."""
    for kind in base.__subclasses__():
        yield kind
        yield from records(kind)
