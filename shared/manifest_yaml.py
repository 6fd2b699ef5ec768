"""YAML as Kubernetes reads it: documents of plain JSON values, nothing constructed.

Scalars are resolved as sigs.k8s.io/yaml does (YAML 1.1 with Go's numbers): `yes`, `on` and `y` are
true, `010` is 8, dates stay strings, keys become strings. Aliases are copies, within bounds. Tags beyond
the plain ones, duplicate keys and infinities are refused; so is what goes beyond a bound in nesting, size
or number of values. Events are consumed as the parser makes them, so that a hostile document costs no more
than its length, and nothing beyond the bound is built.
"""

import codecs
import re
from collections.abc import Iterator
from typing import Any, Final

import orjson
import yaml

from shared.bounds import Bounds, too_large, too_many_nodes
from shared.errors import Rejected
from shared.nesting import MAX_DEPTH, decoded
from shared.reject_codes import RejectCode
from shared.yaml_events import Builder

_Loader: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_UNSAID: Final = Bounds()
_MARK: Final = b"\n---"  # between documents, and never within one
_LIST: Final = re.compile(rb"^[ {]*[\"']?kind[\"']?:[ \t]*[\"']?List\b", re.MULTILINE)


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
    """Raise `Rejected` where there are too many documents or too large ones, by their marks alone.

    What may be a `v1 List` is as many documents as it has items: these are measured once they are read.
    """
    if len(body) <= bounds.document_bytes:
        return
    bounds.check_count(body.count(_MARK))
    large = [part for part in body.split(_MARK) if len(part) > bounds.document_bytes]
    if any(_LIST.search(part) is None for part in large):
        raise too_large(bounds.document_bytes)


def _documents(text: str, max_depth: int, bounds: Bounds) -> Iterator[Any]:
    builder = Builder(max_depth)
    documents = 0
    left = most = bounds.nodes
    alone = min(left, bounds.document_nodes) if _LIST.search(text.encode()) is None else left
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.DocumentStartEvent):
            builder = Builder(max_depth)
            documents += 1
            bounds.check_count(documents)
            most = min(left, alone)
        elif isinstance(event, yaml.DocumentEndEvent):
            left -= builder.events
            if builder.events > bounds.document_nodes or len(text) > bounds.document_bytes:
                _check_items(builder, bounds)
            yield builder.root
        else:
            builder.take(event)
            if builder.events > most:
                raise too_many_nodes(most)


def _check_items(builder: Builder, bounds: Bounds) -> None:
    """Raise `Rejected` for a document that is too large, or for an item of a List that is."""
    root = builder.root
    items = root.get("items") if isinstance(root, dict) and root.get("kind") == "List" else None
    if isinstance(items, list) and root.get("apiVersion") == "v1":
        bounds.check_count(len(items))
        for each in items:
            bounds.check_document(orjson.dumps(each))
    elif builder.events > bounds.document_nodes:
        raise too_many_nodes(bounds.document_nodes)
    elif builder.texts > bounds.document_bytes:
        raise too_large(bounds.document_bytes)


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
