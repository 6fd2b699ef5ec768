"""Lines out of the pieces of a log."""

import pytest

from agent.objects.log_lines import Lines, ReadLine
from shared.log_place import order_of

AT = "2026-01-01T00:00:00.5Z"


def read(*pieces, most=8):
    lines = Lines(most)
    found = [line for piece in pieces for line in lines.feed(piece)]
    return found + lines.end()


@pytest.mark.parametrize(
    ("pieces", "lines"),
    [
        ([b"a\nb\n"], ["a", "b"]),
        ([b"a", b"b\nc", b"\n"], ["ab", "c"]),
        ([b"no end"], ["no end"]),
        ([b"\n\n"], ["", ""]),
        ([b"windows\r\n"], ["windows"]),
        ([b"\xff\xfe\n"], ["\ufffd\ufffd"]),
        ([b"\x1b[31mred\n"], ["\x1b[31mred"]),
    ],
)
def test_lines_are_whole_whatever_the_pieces(pieces, lines):
    """One line for each end of line, and one for what nothing ended."""
    assert [line.text for line in read(*pieces)] == lines


def test_the_instant_before_a_line_is_taken_off():
    """What a kubelet writes with `timestamps`; what only looks so is part of the line."""
    given = f"{AT} a line\nnot-a-stamp a line\n".encode()
    assert read(given, most=99) == [
        ReadLine(AT, "a line", cut=False),
        ReadLine("", "not-a-stamp a line", cut=False),
    ]


def test_a_long_line_is_cut_once():
    """The first of it is shown and marked; the rest is dropped, however it comes, and costs nothing."""
    lines = Lines(8)
    found = lines.feed(b"x" * 100) + lines.feed(b"y" * 1_000_000) + lines.feed(b"z\nnext\n")
    assert [(line.text, line.cut) for line in found] == [("xxxxxxxx", True), ("next", False)]


def test_instants_sort_whatever_zeros_are_left_out():
    """A kubelet leaves trailing zeros of the fraction out."""
    given = [f"2026-01-01T00:00:00{each}" for each in ("Z", ".45Z", ".5Z", ".51Z")]
    assert sorted(given, key=order_of) == given
