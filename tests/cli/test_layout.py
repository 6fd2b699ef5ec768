"""Tables: within the width, nothing lost without a sign, nothing that steers the terminal."""

import datetime as dt

import pytest
from hypothesis import given, strategies as st

from roadstead.cli.output import age, moment, span
from roadstead.cli.tables import UNLIMITED, Column, table, wrapped

TWO = [Column("NAME", lambda r: r["name"]), Column("WHY", lambda r: r["why"], shrinks=True)]
WRAPPING = [Column("NAME", lambda r: r["name"]), Column("WHY", lambda r: r["why"], wraps=True)]
words = st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=60)
rows = st.lists(st.fixed_dictionaries({"name": words, "why": words}), max_size=5)


@given(rows, st.integers(24, 120), st.sampled_from([TWO, WRAPPING]))
def test_no_line_is_wider_than_asked(given_rows, width, columns):
    """A table of two columns keeps within any width from 24 on."""
    assert all(len(line) <= width for line in table(given_rows, columns, width=width).split("\n"))


@given(rows, st.integers(24, 120))
def test_what_is_cut_shows_it(given_rows, width):
    """A cell is printed whole, or ends in an ellipsis."""
    printed = table(given_rows, TWO, width=width).split("\n")[1:]
    for row, line in zip(given_rows, printed, strict=True):
        assert ("…" in line) or all((row[k] or "-") in line for k in ("name", "why"))


@given(rows, st.integers(24, 120))
def test_what_wraps_is_all_there(given_rows, width):
    """A column that wraps loses no character, whatever the width."""
    columns = [Column("WHY", lambda r: r["why"], wraps=True)]
    printed = table(given_rows, columns, width=width).split("\n")[1:]
    assert "".join(printed) == "".join(row["why"] or "-" for row in given_rows)


def test_the_willing_column_gives_way_first():
    """A column that may shrink is cut before one that should stay whole."""
    row = {"name": "a-name-of-some-length", "why": "a reason that is even longer than that"}
    assert table([row], TWO, width=40) == (
        "NAME                   WHY\na-name-of-some-length  a reason that is…"
    )


def test_columns_stand_under_their_headings():
    """Every cell starts where its heading starts; an empty one is a dash; nothing trails."""
    shown = table([{"name": "a", "why": ""}, {"name": "bcdefgh", "why": None}], TWO, width=80)
    assert shown == "NAME     WHY\na        -\nbcdefgh  -"


def test_without_a_limit_nothing_is_cut():
    """Into a pipe, and with -o wide, everything is printed whole."""
    row = {"name": "n" * 300, "why": "w" * 300}
    assert "…" not in table([row], TWO, width=UNLIMITED)


@pytest.mark.parametrize("value", ["a\x1b[2Jb", "a\nb", "a\tb", "a\x00b", "a\u202eb"])
def test_values_do_not_steer_the_terminal(value):
    """Control characters, line ends and text direction in a name are shown, not obeyed."""
    shown = table([{"name": value, "why": ""}], TWO, width=80)
    assert shown.count("\n") == 1
    assert shown.replace("\n", "").isprintable()


@given(st.lists(words, max_size=20), st.integers(0, 8), st.integers(40, 120))
def test_sentences_wrap_at_words(given_words, indent, width):
    """A sentence is broken between words only; every word is still there."""
    text = " ".join(given_words)
    assert " ".join(wrapped(text, " " * indent, width)).split() == text.split()


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(-5, "0s"), (0, "0s"), (59.4, "59s"), (60, "1m"), (192, "3m12s"), (3600, "1h"),
     (3661, "1h1m"), (90000, "1d1h"), (864000, "10d")],
)  # fmt: skip
def test_spans_have_two_units_at_most(seconds, shown):
    """A duration is shown in its two largest units."""
    assert span(seconds) == shown


def test_instants_are_shown_as_ages_and_moments():
    """Lists show how long ago, pages show the instant in UTC to the millisecond."""
    now = dt.datetime(2026, 3, 1, 12, 1, tzinfo=dt.UTC)
    assert age(dt.datetime.fromisoformat("2026-03-01T12:00:00.5Z"), now=now) == "1m"
    assert age(None) == ""
    zoned = dt.datetime.fromisoformat("2026-03-01T13:00:00.123456+01:00")
    assert moment(zoned) == "2026-03-01T12:00:00.123Z"
    assert moment(None) == "-"
