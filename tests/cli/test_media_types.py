"""What a file is sent as: told by how it reads."""

import pytest

from roadstead.media_types import type_of

AS_JSON = [
    b"{}", b" \n[]", b'\xef\xbb\xbf{"a": 1}', b'{"a": NaN}', b'{"a": 1, "a": 2}',  # JSON, good or bad
    b'{"kind":', b"{} x", b"[" * 10_000, b'{"a": "\xff"}',  # neither: told as JSON
]  # fmt: skip
AS_YAML = [
    b"", b"a: 1", b"# {", b"---\n{}", b"- {}",
    b"{a: 1}", b'{"a": 1,}', b"{'a': 1}", b"[a, b]", b'{"a": 1} # said', b"{}\n---\n{}\n",
]  # fmt: skip


@pytest.mark.parametrize("text", AS_JSON, ids=lambda text: repr(text[:20]))
def test_what_is_json_goes_as_json(text):
    """So does what is neither and begins like JSON: its faults are told with their place."""
    assert type_of(text) == "application/json"


@pytest.mark.parametrize("text", AS_YAML, ids=lambda text: repr(text[:20]))
def test_what_reads_as_yaml_goes_as_yaml(text):
    """Flow style, comments, last commas, and one JSON document after another."""
    assert type_of(text) == "application/yaml"
