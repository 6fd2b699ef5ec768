"""YAML as Kubernetes reads it: documents of plain JSON values, nothing constructed or expanded.

Scalars are resolved as sigs.k8s.io/yaml does (YAML 1.1 with Go's numbers): `yes`, `on` and `y` are
true, `010` is 8, dates stay strings, keys become strings. Aliases, tags beyond the plain ones,
duplicate keys and infinities are refused; so is what goes beyond a bound in nesting, size or number of
values. Events are consumed as the parser makes them, so that a hostile document costs no more than
its length, and nothing beyond the bound is built.
"""

import codecs
import re
from collections.abc import Iterator
from typing import Any, Final

import yaml

from shared.bounds import Bounds, too_large, too_many_nodes
from shared.errors import Rejected
from shared.nesting import MAX_DEPTH, check_text, decoded
from shared.quantity import shown
from shared.reject_codes import RejectCode

_Loader: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAG: Final = "tag:yaml.org,2002:"
_PLAIN_TAGS: Final = frozenset(
    _TAG + t for t in ("str", "int", "float", "bool", "null", "map", "seq")
)
_TYPES: Final[dict[str, tuple[type, ...]]] = {
    _TAG + "int": (int,),
    _TAG + "float": (float, int),
    _TAG + "bool": (bool,),
    _TAG + "null": (type(None),),
}

_WORDS: Final[dict[str, bool | None]] = {
    **dict.fromkeys(
        ("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True
    ),
    **dict.fromkeys(
        ("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False
    ),
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
}
_NON_FINITE: Final = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_WHOLE: Final = re.compile(
    r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))"
)
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_EXACT_BELOW: Final = 2**53
_UNSAID: Final = Bounds()
_MARK: Final = b"\n---"  # between documents, and never within one


def read_yaml(body: bytes, max_depth: int = MAX_DEPTH, bounds: Bounds = _UNSAID) -> list[Any]:
    """The documents of a YAML body, empty ones left out. Raises `Rejected`: EmptyBody,
    MalformedYaml (with line), InvalidEncoding, UnsafeTag, AliasNotAllowed, DuplicateKey,
    NonFiniteNumber, TooDeep, ControlCharacter, BodyTooLarge, TooManyValues, TooManyDocuments.
    """
    _check_sizes(body, bounds)
    text = decoded(body.removeprefix(codecs.BOM_UTF8))
    try:
        documents = [d for d in _documents(text, max_depth, bounds) if d is not None]
    except yaml.YAMLError as fault:
        raise Rejected(RejectCode.MALFORMED_YAML, _sentence(fault, text)) from None
    if not documents:
        raise Rejected(RejectCode.EMPTY_BODY, "the body holds no document")
    return documents


def _check_sizes(body: bytes, bounds: Bounds) -> None:
    """Raise `Rejected` where there are too many documents or too large ones, by their marks alone."""
    if len(body) <= bounds.document_bytes:
        return
    bounds.check_count(body.count(_MARK))
    if any(len(part) > bounds.document_bytes for part in body.split(_MARK)):
        raise too_large(bounds.document_bytes)


def _documents(text: str, max_depth: int, bounds: Bounds) -> Iterator[Any]:
    builder = _Builder(max_depth)
    documents = 0
    left, most = bounds.nodes, bounds.document_nodes
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.DocumentStartEvent):
            builder = _Builder(max_depth)
            documents += 1
            bounds.check_count(documents)
            most = min(left, bounds.document_nodes)
        elif isinstance(event, yaml.DocumentEndEvent):
            left -= builder.events
            yield builder.root
        else:
            builder.take(event)
            if builder.events > most:
                raise too_many_nodes(most)


class _Builder:
    """Builds one document from events; the open lists and objects lie on a stack."""

    def __init__(self, max_depth: int) -> None:
        self.root: Any = None
        self.events = 0
        self._max_depth = max_depth
        self._open: list[dict[str, Any] | list[Any]] = []
        self._keys: list[str | None] = []  # per open object, the key that awaits its value

    def take(self, event: Any) -> None:
        self.events += 1
        if isinstance(event, yaml.ScalarEvent):
            _check_tag(event)
            if self._open and isinstance(self._open[-1], dict) and self._keys[-1] is None:
                self._keys[-1] = self._key(event)
            else:
                self._put(_scalar(event))
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            _check_tag(event)
            self._enter({} if isinstance(event, yaml.MappingStartEvent) else [], event)
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            self._open.pop()
            self._keys.pop()
        elif isinstance(event, yaml.AliasEvent):
            rule = f"{_place(event)}: aliases (*{event.anchor}) are not accepted; write it out"
            raise Rejected(RejectCode.ALIAS_NOT_ALLOWED, rule)

    def _enter(self, container: dict[str, Any] | list[Any], event: Any) -> None:
        if self._open and isinstance(self._open[-1], dict) and self._keys[-1] is None:
            raise Rejected(RejectCode.MALFORMED_YAML, f"{_place(event)}: a key must be plain text")
        if len(self._open) >= self._max_depth:
            raise Rejected(RejectCode.TOO_DEEP, f"nested more than {self._max_depth} levels deep")
        self._put(container)
        self._open.append(container)
        self._keys.append(None)

    def _put(self, value: Any) -> None:
        if not self._open:
            self.root = value
            return
        top = self._open[-1]
        if isinstance(top, list):
            top.append(value)
        else:
            key = self._keys[-1]
            assert key is not None
            top[key] = value
            self._keys[-1] = None

    def _key(self, event: Any) -> str:
        value = _scalar(event)
        if value is None:
            raise Rejected(RejectCode.MALFORMED_YAML, f"{_place(event)}: a key must not be null")
        key = value if isinstance(value, str) else str(value)
        if isinstance(value, bool):
            key = "true" if value else "false"
        if key in self._open[-1]:
            rule = f"{_place(event)}: key {shown(key)} occurs twice in one object"
            raise Rejected(RejectCode.DUPLICATE_KEY, rule)
        return key


def _check_tag(event: Any) -> None:
    if event.tag not in (None, "!") and event.tag not in _PLAIN_TAGS:
        raise Rejected(
            RejectCode.UNSAFE_TAG, f"{_place(event)}: tag {shown(event.tag)} is not accepted"
        )


def _scalar(event: Any) -> Any:
    text = str(event.value)
    if "\x00" in text or not text.isascii():
        check_text(text, "")
    if event.tag is None and event.implicit[0] and not event.style:
        return _resolve(text, event)
    if event.tag in _TYPES:
        value = _resolve(text, event)
        if not isinstance(value, _TYPES[event.tag]):
            rule = f"{_place(event)}: {shown(text)} is no {event.tag.removeprefix(_TAG)}"
            raise Rejected(RejectCode.MALFORMED_YAML, rule)
        return value
    return text


def _resolve(text: str, event: Any) -> Any:
    """A plain scalar's value, by its first character as Go's resolver goes about it."""
    first = text[:1]
    if first in "yYnNtTfFoO~" and text in _WORDS:  # the empty text is among them
        return _WORDS[text]
    if not first or first not in "+-.0123456789":
        return text
    if _NON_FINITE.fullmatch(text):
        raise Rejected(
            RejectCode.NON_FINITE_NUMBER, f"{_place(event)}: {shown(text)} is no finite number"
        )
    plain = text if first == "." else text.replace("_", "")
    whole = _WHOLE.fullmatch(plain)
    if whole is not None and len(plain) <= 66:
        minus, in_16, in_2, in_8, in_10 = whole.groups()
        number = int(
            in_16 or in_2 or in_8 or in_10, 16 if in_16 else 2 if in_2 else 8 if in_8 else 10
        )
        if number < 2**64:
            return -number if minus == "-" else number
    if _FLOAT.fullmatch(plain) is None:
        return text
    value = float(plain)
    if value in (float("inf"), float("-inf")):
        return text  # as Go does with what a float cannot hold
    # Go prints 1.0 and 1e3 as 1 and 1000 when it turns YAML into JSON.
    return int(value) if value.is_integer() and abs(value) < _EXACT_BELOW else value


def _place(event: Any) -> str:
    return f"line {event.start_mark.line + 1}, column {event.start_mark.column + 1}"


def _sentence(fault: yaml.YAMLError, text: str) -> str:
    mark = getattr(fault, "problem_mark", None)
    problem = getattr(fault, "problem", None) or getattr(fault, "reason", None) or str(fault)
    place = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
    if mark and _character(text, mark) == "\t":
        problem = "found a tab, where YAML wants spaces,"
    return f"{problem}{place}"


def _character(text: str, mark: Any) -> str:
    lines = text.split("\n", mark.line + 1)
    return lines[mark.line][mark.column : mark.column + 1] if mark.line < len(lines) else ""
