"""One YAML document, built from the events of a parser: plain values, up to a limit.

An alias stands for a copy of what its anchor names, `<<` merges what it stands for into its object, where
keys that are written there come first. Both are bounded before anything is copied.
"""

from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from shared.errors import Rejected
from shared.nesting import is_deeper_than
from shared.quantity import shown
from shared.reject_codes import RejectCode
from shared.yaml_scalars import check_tag, place_of, scalar

MOST_EXPANDED: Final = 5_000  # values that the aliases of one document may stand for
MOST_EXPANDED_BYTES: Final = 1 << 20  # and their texts
_MERGE: Final = "<<"


@dataclass(slots=True)
class _Open:
    """A list or object that is being read. `key` awaits its value; `merges`: what `<<` stands for."""

    value: dict[str, Any] | list[Any]
    anchor: str | None
    events: int  # before it
    texts: int
    key: str | None = None
    merging: bool = False
    merges: list[Any] = field(default_factory=list)

    @property
    def wants_key(self) -> bool:
        return isinstance(self.value, dict) and self.key is None


@dataclass(frozen=True, slots=True)
class _Anchored:
    value: Any
    events: int
    texts: int


class Builder:
    """Builds one document; the open lists and objects lie on a stack."""

    def __init__(self, max_depth: int) -> None:
        self.root: Any = None
        self.events = 0
        self._max_depth = max_depth
        self._open: list[_Open] = []
        self._anchored: dict[str, _Anchored] = {}
        self.texts = 0  # characters of scalars
        self._expanded = self._expanded_texts = 0

    def take(self, event: Any) -> None:
        """Raises `Rejected` as `read_yaml` does."""
        self.events += 1
        if isinstance(event, yaml.ScalarEvent):
            self._take_scalar(event)
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            check_tag(event)
            self._enter({} if isinstance(event, yaml.MappingStartEvent) else [], event)
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            self._leave(event)
        elif isinstance(event, yaml.AliasEvent):
            self._take_alias(event)

    def _take_scalar(self, event: Any) -> None:
        check_tag(event)
        self.texts += len(event.value)
        top = self._open[-1] if self._open else None
        if top is not None and top.wants_key:
            if event.value == _MERGE and not event.style and event.tag is None:
                top.key, top.merging = _MERGE, True
            else:
                top.key = self._key(event, top)
            value: Any = top.key
        else:
            value = scalar(event)
            self._put(value)
        if event.anchor is not None:
            self._anchored[event.anchor] = _Anchored(value, 1, len(event.value))

    def _take_alias(self, event: Any) -> None:
        anchored = self._anchored.get(event.anchor)
        if anchored is None:
            rule = f"{place_of(event)}: *{event.anchor} stands for nothing that was read before it"
            raise Rejected(RejectCode.MALFORMED_YAML, rule)
        if self._open and self._open[-1].wants_key:
            raise Rejected(
                RejectCode.MALFORMED_YAML, f"{place_of(event)}: a key must be plain text"
            )
        self._expanded += anchored.events
        self._expanded_texts += anchored.texts
        if self._expanded > MOST_EXPANDED or self._expanded_texts > MOST_EXPANDED_BYTES:
            rule = (
                f"{place_of(event)}: aliases stand for more than {MOST_EXPANDED} values or "
                f"{MOST_EXPANDED_BYTES} characters; write them out"
            )
            raise Rejected(RejectCode.ALIAS_NOT_ALLOWED, rule)
        self.events += anchored.events
        self.texts += anchored.texts
        if is_deeper_than(anchored.value, self._max_depth - len(self._open)):
            raise Rejected(RejectCode.TOO_DEEP, f"nested more than {self._max_depth} levels deep")
        self._put(_copied(anchored.value))

    def _enter(self, container: dict[str, Any] | list[Any], event: Any) -> None:
        if self._open and self._open[-1].wants_key:
            raise Rejected(
                RejectCode.MALFORMED_YAML, f"{place_of(event)}: a key must be plain text"
            )
        if len(self._open) >= self._max_depth:
            raise Rejected(RejectCode.TOO_DEEP, f"nested more than {self._max_depth} levels deep")
        self._put(container)
        self._open.append(_Open(container, event.anchor, self.events - 1, self.texts))

    def _leave(self, event: Any) -> None:
        done = self._open.pop()
        for each in done.merges:
            _merge(done.value, each, event)
        if done.anchor is not None:
            of = self.events - done.events, self.texts - done.texts
            self._anchored[done.anchor] = _Anchored(done.value, *of)

    def _put(self, value: Any) -> None:
        if not self._open:
            self.root = value
            return
        top = self._open[-1]
        if isinstance(top.value, list):
            top.value.append(value)
            return
        assert top.key is not None
        if top.merging:
            top.merges.append(value)
        else:
            top.value[top.key] = value
        top.key, top.merging = None, False

    def _key(self, event: Any, top: _Open) -> str:
        value = scalar(event)
        if value is None:
            raise Rejected(RejectCode.MALFORMED_YAML, f"{place_of(event)}: a key must not be null")
        key = value if isinstance(value, str) else str(value)
        if isinstance(value, bool):
            key = "true" if value else "false"
        if key in top.value:
            rule = f"{place_of(event)}: key {shown(key)} occurs twice in one object"
            raise Rejected(RejectCode.DUPLICATE_KEY, rule)
        return key


def _merge(into: Any, given: Any, event: Any) -> None:
    """Add the keys of an object, or of objects in a list, that are not there yet."""
    parts = given if isinstance(given, list) else [given]
    if not all(isinstance(each, dict) for each in parts):
        rule = f"{place_of(event)}: << takes an object or a list of objects"
        raise Rejected(RejectCode.MALFORMED_YAML, rule)
    for each in parts:
        for key, value in each.items():
            into.setdefault(key, value)


def _copied(value: Any) -> Any:
    """Its own lists and objects: nobody changes two places at once. As deep as a document may be."""
    if isinstance(value, dict):
        return {key: _copied(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_copied(each) for each in value]
    return value
