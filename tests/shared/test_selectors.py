"""Label selectors as kubectl writes them are read in one pass, and are bounded."""

import pytest

from shared.errors import Rejected
from shared.selectors import MOST_TERMS, parse_selector


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("a=b,c!=d", ["a", "c"]),
        ("a in (x,y),b notin (z)", ["a", "b"]),
        ("a, !b ,", ["a", "b"]),
        (",,a,,", ["a"]),
        ("", []),
    ],
)
def test_commas_part_requirements_but_not_values(text, keys):
    """A comma within parentheses belongs to the values."""
    assert [each.key for each in parse_selector(text).expressions] == keys


@pytest.mark.parametrize(
    "text", ["a in (b", "a in b)", "a in ((b))", "a)(b", "a in (b)c", "(" * 60_000]
)
def test_parentheses_that_do_not_match_are_refused(text):
    """A selector that can not be read is InvalidSelector."""
    with pytest.raises(Rejected) as refusal:
        parse_selector(text, "labelSelector")
    assert refusal.value.code == "InvalidSelector"


@pytest.mark.parametrize("text", ["," * 60_000, "a," * 60_000, "a," * MOST_TERMS + "b"])
def test_requirements_are_bounded(text):
    """More requirements than a selector may have are refused before any of them is read."""
    with pytest.raises(Rejected) as refusal:
        parse_selector(text, "labelSelector")
    assert (refusal.value.code, refusal.value.field) == ("TooManyTerms", "labelSelector")


@pytest.mark.parametrize(
    ("text", "labels", "expected"),
    [
        ("n>3", {"n": "4"}, True),
        ("n>3", {"n": "3"}, False),
        ("n < 3", {"n": "-1"}, True),
        ("n<3", {"n": "few"}, False),
        ("n<3", {}, False),
        ("a in (,x)", {"a": ""}, True),
        ("a in ()", {"a": "x"}, False),
        ("a notin (x)", {}, True),
        ("a!=x", {}, True),
        ("a=", {"a": ""}, True),
    ],
)
def test_requirements_mean_what_they_mean_to_kubernetes(text, labels, expected):
    """Gt and Lt compare whole numbers, an empty value is a value, and notin holds without the key."""
    assert parse_selector(text).matches(labels) is expected


@pytest.mark.parametrize("text", [",", " ", ",,", " , ,\t"])
def test_a_selector_without_a_requirement_is_refused(text):
    """Commas and blanks alone select nothing in particular, and are no way to say everything."""
    with pytest.raises(Rejected) as refusal:
        parse_selector(text, "labelSelector")
    assert (refusal.value.code, refusal.value.field) == ("InvalidSelector", "labelSelector")
    assert "leave it out" in refusal.value.detail


@pytest.mark.parametrize("text", ["n>many", "n>=3", "n<", "a=b>c"])
def test_only_whole_numbers_are_compared(text):
    """What is no comparison with a whole number is InvalidSelector."""
    with pytest.raises(Rejected) as refusal:
        parse_selector(text)
    assert refusal.value.code == "InvalidSelector"
