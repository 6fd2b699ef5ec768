"""From the bytes of a request to plain JSON values, or a refusal that says what is wrong and where.

Bytes from outside are read here and nowhere else. The usual body is read by orjson and checked by
counting; only where that leaves a doubt (duplicate keys, escapes, nesting) is it read again with
care. YAML is read event by event (`shared.manifest_yaml`), so that nothing is ever expanded.
"""

import json
from collections.abc import Iterator
from typing import Any, Final, NoReturn

import orjson

from shared.bounds import Bounds, has_more_nodes, too_many_nodes
from shared.errors import Rejected
from shared.manifest_json import cut_json
from shared.manifest_yaml import read_yaml
from shared.nesting import MAX_DEPTH, check_strings, decoded, depth_of_text, is_deeper_than
from shared.quantity import shown
from shared.reject_codes import RejectCode

__all__ = [
    "JSON_TYPES",
    "MAX_DEPTH",
    "NDJSON_TYPES",
    "YAML_TYPES",
    "media_type_of",
    "read_bounded",
    "read_document",
    "read_documents",
    "read_json",
    "read_ndjson",
    "read_yaml",
]

JSON_TYPES: Final = frozenset({"application/json"})
NDJSON_TYPES: Final = frozenset({"application/x-ndjson", "application/jsonlines"})
YAML_TYPES: Final = frozenset(
    {
        "application/yaml",
        "application/x-yaml",
        "text/yaml",
        "text/x-yaml",
        "application/apply-patch+yaml",
    }
)

# The codes that mean "not parseable" (status 400), as opposed to "parsed but invalid" (422).
_CHARSETS: Final = frozenset({"utf-8", "utf8", "us-ascii"})
_BOM: Final = b"\xef\xbb\xbf"
_LARGEST_WHOLE: Final = 2**64 - 1
_UNSAID: Final = Bounds()


def read_json(body: bytes, max_depth: int = MAX_DEPTH) -> Any:
    """One JSON value. Raises `Rejected`: EmptyBody, MalformedJson (with position), InvalidEncoding
    (lone surrogates too), DuplicateKey, NonFiniteNumber, TooDeep, or ControlCharacter for a NUL in
    a string (the one that is a 422).
    """
    body = body.removeprefix(_BOM)
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as cause:
        _explain(body, max_depth, cause)
    if _is_plainly_fine(body, value, max_depth):
        return value
    return _read_with_care(decoded(body), max_depth)


def read_document(
    body: bytes, content_type: str, bounds: Bounds = _UNSAID, max_depth: int = MAX_DEPTH
) -> Any:
    """The one document of a body; raises as `read_json` and `read_yaml` do, MultipleDocuments for
    more than one, UnsupportedMediaType for a content type that is neither JSON nor YAML, and
    BodyTooLarge or TooManyValues for one that goes beyond `bounds`.
    """
    media_type = media_type_of(content_type)
    if media_type in JSON_TYPES:
        bounds.check_document(body)
        return read_json(body, max_depth)
    if media_type not in YAML_TYPES:
        _refuse_media_type(content_type, JSON_TYPES | YAML_TYPES)
    documents = read_yaml(body, max_depth, bounds)
    if len(documents) > 1:
        rule = f"the body holds {len(documents)} documents; one is expected here"
        raise Rejected(RejectCode.MULTIPLE_DOCUMENTS, rule)
    return documents[0]


def read_documents(
    body: bytes, content_type: str, bounds: Bounds = _UNSAID, max_depth: int = MAX_DEPTH
) -> list[tuple[int, Any]]:
    """All documents of a body, numbered from 0: YAML documents, NDJSON lines, the items of a JSON
    list, or one JSON object; a `v1 List` gives its items. Raises as `read_document` does, and
    TooManyDocuments.
    """
    media_type = media_type_of(content_type)
    documents: list[Any]
    if media_type in YAML_TYPES:
        documents = read_yaml(body, max_depth, bounds)
    elif media_type in NDJSON_TYPES:
        lines = [line for _, line in _lines(body, bounds)]
        documents = [read_bounded(line, bounds, max_depth) for line in lines]
    elif media_type in JSON_TYPES:
        documents = _read_list(body, bounds, max_depth)
    else:
        _refuse_media_type(content_type, JSON_TYPES | YAML_TYPES | NDJSON_TYPES)
    found = [item for document in documents for item in _items(document)]
    bounds.check_count(len(found))
    return list(enumerate(found))


def read_ndjson(
    body: bytes, bounds: Bounds = _UNSAID, max_depth: int = MAX_DEPTH
) -> Iterator[tuple[int, Any | Rejected]]:
    """The lines of an NDJSON body with their numbers from 0, blank ones left out; a line that
    cannot be read gives its refusal, and the others are read all the same. Raises `Rejected`
    (TooManyValues, TooManyDocuments) at once for a body beyond `bounds`.
    """
    lines = _lines(body, bounds)
    return ((number, _or_refusal(line, bounds, max_depth)) for number, line in lines)


def _or_refusal(line: bytes, bounds: Bounds, max_depth: int) -> Any | Rejected:
    try:
        return read_bounded(line, bounds, max_depth)
    except Rejected as refusal:
        return refusal


def read_bounded(text: bytes, bounds: Bounds = _UNSAID, max_depth: int = MAX_DEPTH) -> Any:
    """`read_json` of one document within `bounds`; also raises BodyTooLarge and TooManyValues."""
    bounds.check_document(text)
    return read_json(text, max_depth)


def _read_list(body: bytes, bounds: Bounds, max_depth: int) -> list[Any]:
    """The items of a JSON list, or the one value that a body is; a long body is read item by item."""
    _check_nodes(body, bounds)
    if len(body) > bounds.document_bytes:
        pieces = cut_json(decoded(body.removeprefix(_BOM)), bounds)
        if pieces is not None:
            return [read_bounded(piece.encode(), bounds, max_depth) for piece in pieces]
    value = read_json(body, max_depth + 1)
    return value if isinstance(value, list) else [value]


def _check_nodes(body: bytes, bounds: Bounds) -> None:
    if has_more_nodes(body, bounds.nodes):
        raise too_many_nodes(bounds.nodes)


def _lines(body: bytes, bounds: Bounds) -> list[tuple[int, bytes]]:
    """The lines that are not blank, with their numbers. Raises `Rejected` beyond `bounds`."""
    _check_nodes(body, bounds)
    lines = [(number, line) for number, line in enumerate(body.split(b"\n")) if line.strip()]
    bounds.check_count(len(lines))
    return lines


def _items(document: Any) -> list[Any]:
    """The items of a `List`, as kubectl reads it; any other document is itself."""
    if isinstance(document, dict) and document.get("kind") == "List":
        items = document.get("items")
        if document.get("apiVersion") == "v1" and isinstance(items, list):
            return items
    return [document]


def media_type_of(content_type: str) -> str:
    """The media type. Raises `Rejected` if another character set is declared than the one that is read."""
    media_type, _, parameters = content_type.lower().partition(";")
    for each in parameters.split(";"):
        name, _, value = each.partition("=")
        if name.strip() == "charset" and value.strip(' "') not in _CHARSETS:
            rule = f"character set {shown(value.strip())}: send UTF-8"
            raise Rejected(RejectCode.UNSUPPORTED_MEDIA_TYPE, rule)
    return media_type.strip()


def _refuse_media_type(content_type: str, known: frozenset[str]) -> NoReturn:
    rule = f"{shown(content_type)}: send one of {', '.join(sorted(known))}"
    raise Rejected(RejectCode.UNSUPPORTED_MEDIA_TYPE, rule)


def _is_plainly_fine(body: bytes, value: Any, max_depth: int) -> bool:
    r"""True if counting proves that there is no duplicate key, no NUL and no excess of nesting.

    A key that is lost takes a colon with it. Colons within strings are the same in the body and in
    the value printed again, once `\u` is ruled out. So equal counts mean that no key was lost. NUL
    and surrogates can only come as `\u` escapes.
    """
    if b"\\u" in body:
        return False
    try:
        printed = orjson.dumps(value)
    except orjson.JSONEncodeError:
        return False
    if body.count(b":") != printed.count(b":"):
        return False
    openings = body.count(b"{") + body.count(b"[")
    return openings <= max_depth or not is_deeper_than(value, max_depth)


def _read_with_care(text: str, max_depth: int) -> Any:
    if depth_of_text(text, max_depth) > max_depth:
        raise Rejected(RejectCode.TOO_DEEP, f"nested more than {max_depth} levels deep")
    value = json.loads(
        text,
        object_pairs_hook=_without_duplicates,
        parse_constant=_refuse_constant,
        parse_float=_finite,
        parse_int=_whole,
    )
    check_strings(value)
    return value


def _explain(body: bytes, max_depth: int, cause: orjson.JSONDecodeError) -> NoReturn:
    """Say why orjson refused `body`."""
    if not body.strip():
        raise Rejected(RejectCode.EMPTY_BODY, "the body is empty")
    text = decoded(body)
    try:
        _read_with_care(text, max_depth)
    except json.JSONDecodeError as fault:
        rule = f"{fault.msg} at line {fault.lineno}, column {fault.colno} (character {fault.pos})"
        raise Rejected(RejectCode.MALFORMED_JSON, rule) from None
    raise Rejected(RejectCode.MALFORMED_JSON, str(cause)) from None


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        seen = set()
        for key, _ in pairs:
            if key in seen:
                raise Rejected(
                    RejectCode.DUPLICATE_KEY, f"key {shown(key)} occurs twice in one object"
                )
            seen.add(key)
    return made


def _refuse_constant(text: str) -> NoReturn:
    raise Rejected(RejectCode.NON_FINITE_NUMBER, f"{text} is no JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise Rejected(
            RejectCode.NON_FINITE_NUMBER, f"{shown(text)} is beyond what a number can hold"
        )
    return number


def _whole(text: str) -> int | float:
    """A whole number; as orjson does, one beyond 64 bits becomes a float."""
    number = int(text) if len(text) <= 20 else None
    fits = number is not None and -(2**63) <= number <= _LARGEST_WHOLE
    return number if number is not None and fits else _finite(text)
