"""How long an agent waits for its hub, whom it speaks to, and what it remembers of having been superseded."""

import datetime as dt
import json

import httpx
import pytest

from agent.config import _fault_of, from_arguments
from agent.hub.client import HubError, _refusal, asked_wait
from agent.hub.credential import Superseded, mark_superseded, superseded
from agent.hub.tries import wanted_wait

NOW = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("status", "passes"),
    [(0, True), (429, True), (500, True), (503, True), (499, False), (404, False), (426, False)],
)
def test_what_passes_by_itself_is_tried_again_soon(status, passes):
    """No answer, too many requests, and every failure of the hub; the rest needs somebody's doing."""
    failure = HubError(status, "C", "d", 3.0)
    assert failure.unreachable is passes
    wait = wanted_wait(failure)
    assert wait == 3.0 if passes else 24 <= wait <= 36


def test_a_request_that_is_too_large_is_made_smaller_at_once():
    """The next one has half as many entries: nobody has to be waited for."""
    assert wanted_wait(HubError(413, "BodyTooLarge", "d", None)) is None


@pytest.mark.parametrize(
    ("headers", "body", "wanted"),
    [
        ({"Retry-After": "7"}, {"code": "C", "detail": "d"}, ("C", "d", 7.0)),
        ({"Retry-After": "0.5"}, {"code": "C", "title": "t"}, ("C", "t", 0.5)),
        ({"Retry-After": "Wed, 21 Oct"}, {"detail": "d"}, ("", "d", None)),
        ({}, [], ("", "Conflict", None)),
        ({}, None, ("", "Conflict", None)),
    ],
)
def test_a_refusal_is_read_whatever_the_hub_or_a_proxy_wrote(headers, body, wanted):
    """Code, detail and the seconds that it asks for; a body that is none says nothing."""
    content = b"<html>" if body is None else json.dumps(body).encode()
    found = _refusal(httpx.Response(409, headers=headers, content=content))
    assert (found.code, found.detail, asked_wait(found)) == wanted


@pytest.mark.parametrize(("passed_s", "left_s"), [(-100, 60), (0, 60), (59, 1), (60, 0), (100, 0)])
def test_standing_by_ends_and_is_never_longer_than_was_said(passed_s, left_s):
    """Also where the clock went back."""
    mark = Superseded(NOW, 60.0)
    assert mark.left(NOW + dt.timedelta(seconds=passed_s)) == left_s


@pytest.mark.parametrize(("lived_s", "stand_by_s"), [(119, 120), (120, 60), (121, 60)])
def test_a_session_of_twice_its_stand_by_is_forgiven(tmp_path, lived_s, stand_by_s):
    """Of that length exactly, too; the mark is of the last time, and is read back."""
    path = tmp_path / "credential.json"
    mark_superseded(path, NOW, 1)
    later = NOW + dt.timedelta(hours=1)
    assert mark_superseded(path, later, lived_s).stand_by_s == stand_by_s
    assert superseded(path) == Superseded(later, stand_by_s)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"at": "x", "stand_by_s": 1}', '{"at": 1}'])
def test_a_mark_that_can_not_be_read_is_none(tmp_path, text):
    """It only ever delays."""
    (tmp_path / "credential.json.superseded").write_text(text)
    assert superseded(tmp_path / "credential.json") is None


@pytest.mark.parametrize(
    ("url", "plain", "allowed"),
    [
        ("https://hub", False, True),
        ("http://hub", False, False),
        ("http://hub", True, True),
        ("http://localhost:8080", False, True),
        ("http://127.0.0.2", False, True),
        ("http://[::1]:8080", False, True),
        ("http://0.0.0.0", False, True),
        ("http://10.0.0.1", False, False),
        ("http://localhost.example.com", False, False),
        ("ftp://hub", True, False),
        ("https://", True, False),
        ("hub", False, False),
    ],
)
def test_a_credential_is_sent_in_clear_to_the_own_machine_only(url, plain, allowed):
    """Or where somebody has said that the way is safe."""
    assert (not _fault_of(url, plain=plain)) is allowed


@pytest.mark.parametrize(
    ("value", "on"), [("", False), ("0", False), ("false", False), ("1", True), ("true", True)]
)
def test_a_switch_is_off_where_its_variable_says_so(value, on):
    """A flag wins over a variable; an empty variable is none."""
    needed = {"ROADSTEAD_HUB": "https://a", "ROADSTEAD_CREDENTIAL": "c"}
    environ = {**needed, "ROADSTEAD_DIE_WITH_PARENT": value, "ROADSTEAD_METRICS_PORT": ""}
    settings, with_parent = from_arguments(["--hub", "https://b"], environ)
    assert (settings.hub_url, settings.metrics_port, with_parent) == ("https://b", None, on)
