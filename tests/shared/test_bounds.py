"""What a body may hold is found by looking at its bytes; long lists are cut before they are read."""

import json

import pytest
from hypothesis import given, strategies as st

from shared.bounds import Bounds, has_more_nodes
from shared.errors import Rejected
from shared.manifest_json import cut_json
from shared.manifests import read_documents, read_ndjson, read_yaml
from tests.examples import examples

JSON, YAML, NDJSON = "application/json", "application/yaml", "application/x-ndjson"
TIGHT = Bounds(document_bytes=400, document_nodes=60, documents=5, nodes=150)

_TEXTS = st.text(st.sampled_from('ab"\\,{}[]:\n é\x00'), max_size=12)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | _TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXTS, inner, max_size=4),
    max_leaves=12,
)


def values_in(value):
    """How many values a value is made of, itself included."""
    inner = value.values() if isinstance(value, dict) else value
    return 1 + sum(map(values_in, inner)) if isinstance(value, dict | list) else 1


def code_of(fn, *args):
    with pytest.raises(Rejected) as refusal:
        fn(*args)
    return refusal.value.code


@given(_VALUES, st.booleans())
def test_the_count_of_values_never_misses_one(value, ascii_only):
    """A text that holds more than `most` values is always found, whatever its strings hold."""
    text = json.dumps(value, ensure_ascii=ascii_only).encode()
    assert has_more_nodes(text, values_in(value) - 1) or len(text) // 2 < values_in(value) - 1


@pytest.mark.parametrize("inside", ['\\"', "\\\\", ",", "[{,", 'x\\\\\\"'])
def test_what_stands_in_strings_is_no_value(inside):
    """Commas and brackets in texts do not count, however long the text and wherever it is sliced."""
    text = f'["{inside * 200_000}"]'.encode()
    assert json.loads(text)
    assert not has_more_nodes(text, 2)


def test_values_behind_a_long_text_are_counted():
    """The count goes on behind a text that fills several slices."""
    text = ('["' + '\\"' * 100_000 + '",' + "1," * 500 + "1]").encode()
    assert has_more_nodes(text, 502)
    assert not has_more_nodes(text, 503)


@given(st.lists(_VALUES, max_size=6), st.sampled_from([None, 1]), st.booleans())
@examples(200)
def test_a_list_is_cut_into_its_items(items, indent, as_list):
    """Each piece is one item as it was written; of a `v1 List` its items are."""
    whole = {"apiVersion": "v1", "kind": "List", "items": items} if as_list else items
    pieces = cut_json(json.dumps(whole, indent=indent), Bounds(document_bytes=2000, documents=9))
    assert [json.loads(piece, strict=False) for piece in pieces] == items


def test_the_window_moves_on_with_the_items():
    """Many items that together are far longer than one may be are all found."""
    items = [{"name": f"j{i}", "text": "x" * (i % 300)} for i in range(500)]
    bounds = Bounds(document_bytes=400, documents=500)
    assert [json.loads(piece) for piece in cut_json(json.dumps(items), bounds)] == items


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('["' + "x" * 500 + '"]', "BodyTooLarge"),
        ("[" + "1" * 500 + "]", "BodyTooLarge"),
        ("[[" + "1," * 500 + "1]]", "BodyTooLarge"),
        ("[" + "[" * 300 + "]" * 300 + "]", "BodyTooLarge"),
        ("[1,2,3,4,5,6]", "TooManyDocuments"),
        ("[1,]", "MalformedJson"),
        ("[1 2]", "MalformedJson"),
        ("[1", "MalformedJson"),
        ("[1]x", "MalformedJson"),
        ('["a' + "x" * 900, "BodyTooLarge"),
        ('{"a":1,"a":2}', "DuplicateKey"),
        ('{"a":1}', "BodyTooLarge"),
        ('{"a" 1}', "MalformedJson"),
        ("{1:1}", "MalformedJson"),
        ('{"kind":"List","apiVersion":"v1","items":[1,2,3,4,5,6]}', "TooManyDocuments"),
        ('{"kind":"List","apiVersion":"v1","items":{}}', "BodyTooLarge"),
    ],
)
def test_what_can_not_be_cut_has_its_code(text, code):
    """A list that is malformed, or has an item or a number of them beyond the bounds, is refused."""
    assert code_of(cut_json, text, TIGHT) == code


def test_nesting_beyond_the_parser_is_refused():
    """An item nested deeper than a parser can follow is a refusal, not a failure."""
    deep = Bounds(document_bytes=1 << 20)
    assert code_of(cut_json, "[" * 100_000 + "]" * 100_000, deep) == "TooDeep"


@pytest.mark.parametrize(
    ("body", "content_type", "code"),
    [
        (b"[" + b"{}," * 100 + b"{}]", JSON, "TooManyValues"),
        (b"[" + b"{}," * 10 + b"{}]", JSON, "TooManyDocuments"),
        (b"[[" + b"1," * 70 + b"1]" + b" " * 400 + b"]", JSON, "TooManyValues"),
        (b"{}\n" * 6, NDJSON, "TooManyDocuments"),
        (b"[" + b"1," * 70 + b"1]", NDJSON, "TooManyValues"),
        (b'"' + b"x" * 500 + b'"', NDJSON, "BodyTooLarge"),
        (b"---\na: 1\n" * 6, YAML, "TooManyDocuments"),
        (b"- 1\n" * 70, YAML, "TooManyValues"),
        ((b"- 1\n" * 45 + b"---\n") * 4, YAML, "TooManyValues"),
        (b"a: " + b"x" * 500, YAML, "BodyTooLarge"),
    ],
)
def test_a_body_beyond_the_bounds_is_refused(body, content_type, code):
    """Documents, their sizes and their values are bounded in every way of writing them."""
    assert code_of(read_documents, body, content_type, TIGHT) == code


def test_a_long_list_is_read_as_a_short_one():
    """Item by item, or in one go: the same documents, and the same refusals within them."""
    items = [{"name": f"j{i}", "text": "é" * 50} for i in range(5)]
    wide = Bounds()
    for body in (items, {"apiVersion": "v1", "kind": "List", "items": items}):
        text = json.dumps(body, ensure_ascii=False).encode()
        assert read_documents(text, JSON, TIGHT) == read_documents(text, JSON, wide)
    twice = b'[{"a":1,"a":2}' + b" " * 400 + b"]"
    assert code_of(read_documents, twice, JSON, TIGHT) == "DuplicateKey"


def test_lines_beyond_the_bounds_are_refused_at_once():
    """NDJSON that holds too much is refused before its first line is read."""
    assert code_of(read_ndjson, b"{}\n" * 6, TIGHT) == "TooManyDocuments"


def test_a_line_that_is_too_long_spoils_no_other():
    """It is refused by itself."""
    lines = list(read_ndjson(b'"' + b"x" * 500 + b'"\n{}', TIGHT))
    assert lines[0][1].code == "BodyTooLarge"
    assert lines[1] == (1, {})


def test_within_the_bounds_all_is_well():
    """What stays below every bound is read."""
    assert read_yaml(b"- 1\n" * 20, bounds=TIGHT) == [[1] * 20]
