"""A command keeps the token of a login until it expires, and the refresh token."""

import pytest

from roadstead import sign_in
from roadstead.contexts import Stored
from roadstead.errors import NotAllowed
from roadstead.sign_in import EARLY_S, Renewal, kept_of

HELD = Stored("https://hub", token="old", refresh="by-this", ends="1000")


@pytest.mark.parametrize(
    ("told", "refresh"),
    [({}, "by-this"), ({"refresh_token": "new"}, "new"), ({"refresh_token": None}, "by-this")],
)
def test_a_refresh_token_is_kept_where_the_provider_sends_no_other(told, refresh):
    """Many providers send one at the first sign-in alone (RFC 6749, 6)."""
    kept = kept_of(HELD, {"id_token": "t", "expires_in": 60, **told}, 1000.0)
    assert (kept.token, kept.refresh, kept.ends) == ("t", refresh, "1060")


@pytest.mark.parametrize("told", [{}, {"id_token": 7}, {"id_token": "\u00e4"}])
def test_an_answer_without_a_token_leaves_what_is_kept(told):
    """The stored login stays unchanged."""
    with pytest.raises(NotAllowed):
        kept_of(HELD, told, 1000.0)


def test_a_token_is_used_until_shortly_before_its_end(monkeypatch):
    """The command refreshes it 30 s before it expires, and not earlier."""
    asked: list[Stored] = []
    monkeypatch.setattr(sign_in, "now_s", lambda: 1000.0 - EARLY_S - 1)
    renewal = Renewal("lab", HELD)
    monkeypatch.setattr(renewal, "_refreshed", asked.append)
    assert renewal.token() == "old"
    assert asked == []
    monkeypatch.setattr(sign_in, "now_s", lambda: 1000.0 - EARLY_S)
    assert not renewal._is_fresh(HELD)
    assert not renewal._is_fresh(Stored("https://hub", token="old", ends=""))
