"""Where a log goes on: no line is lost, and none comes twice, wherever it broke off."""

import pytest

from shared.log_place import LogPlace

LINES = [
    ("1.5Z", "a"),
    ("1.5Z", "b"),
    ("1.51Z", "c"),
    ("2Z", "d"),
    ("2Z", "e"),
    ("", "no instant"),
    ("3Z", "f"),
]


@pytest.mark.parametrize("read", range(len(LINES) + 1))
def test_a_log_goes_on_where_it_broke_off(read: int) -> None:
    """After any line, and again after the next one: what is told again from its second on is known."""
    place, told = LogPlace(), []
    for upto in (read, min(read + 1, len(LINES)), len(LINES)):
        since = place.since
        place.resume()
        for at, text in LINES[:upto]:
            instant = f"2026-01-01T00:00:0{at}" if at else ""
            if (not since or f"{instant[:19]}Z" >= since) and place.is_new(instant):
                told.append(text)
    assert [text for text in told if text != "no instant"] == list("abcdef")
