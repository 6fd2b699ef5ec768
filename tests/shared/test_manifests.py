"""Reading bodies: strict, positioned, bounded; the fast way and the careful way agree."""

import json

import pytest
from hypothesis import given, strategies as st

from shared.errors import Rejected
from shared.manifests import read_document, read_documents, read_json, read_ndjson, read_yaml


def code_of(read, *arguments):
    with pytest.raises(Rejected) as refusal:
        read(*arguments)
    return refusal.value.code


BAD_JSON = {
    b"": "EmptyBody",
    b" \n": "EmptyBody",
    b'{"kind":': "MalformedJson",
    b'{"a":"\x01"}': "MalformedJson",
    b"{} x": "MalformedJson",
    b"{'a':1}": "MalformedJson",
    b'"\xff"': "InvalidEncoding",
    '{"a":1}'.encode("utf-16"): "InvalidEncoding",
    b'["\\ud800"]': "InvalidEncoding",
    b'{"\\udfff":1}': "InvalidEncoding",
    b'{"a":1,"a":1}': "DuplicateKey",
    b'{"a":1,"b":{"c":1, "c" : 2}}': "DuplicateKey",
    b'{"a":1,"\\u0061":1}': "DuplicateKey",
    b'{"a":1,"a" :1,"b":"\\":"}': "DuplicateKey",
    b'{"a":1,"a":1,"b":"\\u0022:"}': "DuplicateKey",
    b"NaN": "NonFiniteNumber",
    b"-Infinity": "NonFiniteNumber",
    b"[1e999]": "NonFiniteNumber",
    b"[" + b"9" * 5000 + b"]": "NonFiniteNumber",
    b"[" * 101 + b"]" * 101: "TooDeep",
    b"[" * 10_000 + b"]" * 10_000: "TooDeep",
    b'{"a":' * 5_000: "TooDeep",
    b'["a\\u0000b"]': "ControlCharacter",
    b'{"a\\u0000":1}': "ControlCharacter",
}


@pytest.mark.parametrize(("body", "code"), BAD_JSON.items(), ids=lambda v: str(v)[:30])
def test_json_that_is_not_acceptable_has_its_code(body, code):
    """Each way of being unreadable has a code of its own."""
    assert code_of(read_json, body) == code


def test_malformed_json_comes_with_its_position():
    """The user is told where reading stopped."""
    with pytest.raises(Rejected, match="line 2, column 3"):
        read_json(b'{"a":\n  ]')


def test_nesting_up_to_the_bound_is_fine():
    """The bound itself is allowed."""
    assert read_json(b"[" * 100 + b"]" * 100)
    assert code_of(read_json, b'[{"a":[]}]', 2) == "TooDeep"
    assert read_json(b"[[],[],[],[],[]]", 2) == [[]] * 5


def test_a_byte_order_mark_is_passed_over():
    """Editors on some systems write one."""
    assert read_json(b"\xef\xbb\xbf{}") == {}


texts = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=8)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | texts
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)  # fmt: skip


@given(json_values, st.booleans(), st.sampled_from([(",", ":"), (", ", ": "), (" , ", " : ")]))
def test_what_is_json_is_read_as_it_is(value, ascii_only, separators):
    """Whatever the spacing and escapes, a JSON text gives its value (NUL excepted)."""
    text = json.dumps(value, ensure_ascii=ascii_only, separators=separators)
    assert read_json(text.encode()) == value


@given(json_values, st.sampled_from([(",", ":"), (" ,", " :")]))
def test_a_doubled_key_is_never_missed(value, separators):
    """Putting a key a second time anywhere makes the body unacceptable."""
    inner = json.dumps({"key": value}, separators=separators)
    doubled = inner[:-1] + f'{separators[0]}"key"{separators[1]}1}}'
    body = json.dumps([value], separators=separators)[:-1] + "," + doubled + "]"
    assert code_of(read_json, body.encode()) == "DuplicateKey"


BAD_YAML = {
    b"": "EmptyBody",
    b"# nothing\n---\n": "EmptyBody",
    b"a:\n\tb: 1\n": "MalformedYaml",
    b"a: b: c": "MalformedYaml",
    b"{a: b}}": "MalformedYaml",
    b"? [a]\n: b": "MalformedYaml",
    b"~: b": "MalformedYaml",
    b"a: !!int x": "MalformedYaml",
    b"a: \x00": "MalformedYaml",
    b"\xff": "InvalidEncoding",
    b"a: !!python/object:os.system {}": "UnsafeTag",
    b"a: !!binary eHg=": "UnsafeTag",
    b"a: !mine x": "UnsafeTag",
    b"b: *x": "MalformedYaml",
    b"a: &x [*x]": "MalformedYaml",
    b"a: &x b\n*x : c": "MalformedYaml",
    b"<<: 1": "MalformedYaml",
    b"a: &x {b: 1}\nc: {<<: *x, b: 2, b: 3}": "DuplicateKey",
    b"a: &x [" + b"1," * 2_000 + b"]\nb: [*x, *x, *x, *x]": "AliasNotAllowed",
    b"a: &x " + b"y" * 300_000 + b"\nb: [*x, *x, *x, *x]": "AliasNotAllowed",
    b"a: &x " + b"[" * 60 + b"]" * 60 + b"\nb: " + b"[" * 60 + b"*x" + b"]" * 60: "TooDeep",
    b"a: 1\na: 1": "DuplicateKey",
    b"1: 1\n'1': 1": "DuplicateKey",
    b"a: .inf": "NonFiniteNumber",
    b"a: .NaN": "NonFiniteNumber",
    b"[" * 10_000: "TooDeep",
    b'a: "\\0"': "ControlCharacter",
}


@pytest.mark.parametrize(("body", "code"), BAD_YAML.items(), ids=lambda v: str(v)[:30])
def test_yaml_that_is_not_acceptable_has_its_code(body, code):
    """Each way of being unreadable has a code of its own, in YAML as in JSON."""
    assert code_of(read_yaml, body) == code


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b"a: &x 1\nb: *x", {"a": 1, "b": 1}),
        (b"{a: &x [1], b: *x}", {"a": [1], "b": [1]}),
        (b"a: &x 1\nb: &x 2\nc: *x", {"a": 1, "b": 2, "c": 2}),
        (b"a: &x {p: 1, q: 2}\nb: {q: 3, <<: *x}", {"a": {"p": 1, "q": 2}, "b": {"q": 3, "p": 1}}),
        (b"b: {<<: [{p: 1}, {p: 2, q: 2}], r: 3}", {"b": {"r": 3, "p": 1, "q": 2}}),
        (b"'<<': 1", {"<<": 1}),
    ],
    ids=str,
)
def test_an_alias_stands_for_a_copy(body, value):
    """As kubectl reads it; of what is merged, keys that are written there come first."""
    assert read_yaml(body) == [value]


def test_what_an_alias_stands_for_is_nobody_elses():
    """Whoever changes one place changes no other."""
    (read,) = read_yaml(b"a: &x {p: [1]}\nb: *x")
    read["b"]["p"].append(2)
    assert read["a"] == {"p": [1]}


def test_a_list_is_as_many_documents_as_it_has_items():
    """In YAML as in JSON: each item may be as large as a document, and not larger."""
    text = "x" * (600 << 10)
    body = f"apiVersion: v1\nitems:\n- a: {text}\n- a: {text}\nkind: List\n".encode()
    assert [value for _, value in read_documents(body, "application/yaml")] == [{"a": text}] * 2
    large = body.replace(b"\n- a: ", b"\n  b: ", 2).replace(b"\n  b: ", b"\n- b: ", 1)
    assert code_of(read_documents, large.replace(b"\n  b: ", b"\n  c: "), "application/yaml") == (
        "BodyTooLarge"
    )


@pytest.mark.parametrize("body", [b"a:\n\tb: 1\n", b"\ta: 1", b"a:\n  - b\n\t- c\n"])
def test_a_tab_is_called_by_its_name(body):
    """It can not be seen where it stands."""
    with pytest.raises(Rejected, match=r"found a tab\b.* at line \d, column 1"):
        read_documents(body, "application/yaml")


SCALARS = {
    "yes": True, "On": True, "y": True, "n": False, "off": False, "True": True, "tRUE": "tRUE",
    "~": None, "null": None, "": None, "'yes'": "yes", '"1"': "1",
    "10": 10, "-10": -10, "+10": 10, "010": 8, "0o10": 8, "0x10": 16, "0b11": 3, "1_000": 1000,
    "0X10": 16, "0B11": 3, "1e400": "1e400", "._6": "._6",
    "08": 8, "1.5": 1.5, ".5": 0.5, "1.": 1, "1e3": 1000, "1.0": 1, "-1.5e-3": -0.0015,
    "12:30": "12:30", "2001-01-01": "2001-01-01", "2001-01-01T00:00:00Z": "2001-01-01T00:00:00Z",
    "1.2.3": "1.2.3", "1Gi": "1Gi", "500m": "500m", "0x": "0x", "-": None, "..": "..",
    "18446744073709551615": 2**64 - 1, "18446744073709551616": 2.0**64,
    "!!str 1": "1", "!!int 0x10": 16, "!!float 1": 1, "nope": "nope", "!!null ''": None,
}  # fmt: skip


@pytest.mark.parametrize(("text", "value"), SCALARS.items())
def test_scalars_are_read_as_kubernetes_reads_them(text, value):
    """YAML 1.1 words, Go's numbers, and no dates."""
    (document,) = read_yaml(f"k:\n- {text}\n".encode() if text != "-" else b"k: [~]")
    (read,) = document["k"]
    assert (read, type(read)) == (value, type(value))


def test_keys_are_strings():
    """Keys become the text that JSON has for them."""
    (document,) = read_yaml(b"1: a\ntrue: b\n1.5: c\nx: d\n")
    assert document == {"1": "a", "true": "b", "1.5": "c", "x": "d"}


@given(json_values)
def test_json_is_yaml(value):
    """A JSON text read as YAML gives the same, but for what YAML's escapes and floats round."""
    text = json.dumps([value])
    if "\\u" in text or "e" in text.lower().replace("true", "").replace("false", ""):
        return
    assert read_yaml(text.encode()) == [read_json(text.encode())]


def test_documents_come_with_their_numbers():
    """YAML documents, NDJSON lines, items of a list or of a List: all are documents."""
    expected = [(0, {"a": 1}), (1, {"b": 2})]
    assert read_documents(b"a: 1\n---\n---\nb: 2\n", "application/yaml; charset=utf-8") == expected
    assert read_documents(b'{"a":1}\n\n{"b":2}\n', "application/x-ndjson") == expected
    assert read_documents(b'[{"a":1},{"b":2}]', "application/json") == expected
    body = b"apiVersion: v1\nkind: List\nitems: [{a: 1}, {b: 2}]\n"
    assert read_documents(body, "text/yaml") == expected


def test_one_document_is_one():
    """Where one is expected two are refused, and so is a type that is neither JSON nor YAML."""
    assert read_document(b"a: 1\n---\n", "application/yaml") == {"a": 1}
    assert code_of(read_document, b"a: 1\n---\nb: 1", "application/yaml") == "MultipleDocuments"
    assert code_of(read_document, b"{}", "text/plain") == "UnsupportedMediaType"


def test_a_bad_line_does_not_spoil_the_others():
    """Of NDJSON lines each is read by itself."""
    (first, one), (second, two), (third, three) = read_ndjson(b'{"a":1}\n{\n\n[]\n')
    assert (first, second, third) == (0, 1, 3)
    assert (one, three) == ({"a": 1}, [])
    assert isinstance(two, Rejected)
    assert two.code.status == 400


BAD_FLOW = {
    b"[" * 10_000 + b"]" * 10_000: "TooDeep",
    b"{a: &x [" + b"1," * 2_000 + b"], b: [*x, *x, *x, *x]}": "AliasNotAllowed",
    b"{a: !!python/name:os.system }": "UnsafeTag",
    b"{a: 1, a: 2}": "DuplicateKey",
    b"{a: .inf}": "NonFiniteNumber",
    b"{a: [" + b"1," * 100_001 + b"]}": "TooManyValues",
    b"{a: '" + b"x" * (1 << 20) + b"'}": "BodyTooLarge",
    b"{a: 1": "MalformedYaml",
}


@pytest.mark.parametrize(("body", "code"), BAD_FLOW.items(), ids=lambda v: str(v)[:30])
def test_yaml_in_flow_style_has_the_same_bounds(body, code):
    """YAML that begins with a brace is bounded as any other, one document or several."""
    assert code_of(read_document, body, "application/yaml") == code
    assert code_of(read_documents, body, "application/yaml") == code


def test_yaml_in_flow_style_is_read():
    """Without quotes, with a last comma, over several lines, one document after another."""
    assert read_document(b"{a: [1, yes,],\n b: {c: d},}", "application/yaml") == {
        "a": [1, True],
        "b": {"c": "d"},
    }
    assert read_documents(b"{a: 1}\n---\n[b]\n", "application/yaml") == [(0, {"a": 1}), (1, ["b"])]
