"""Logs: one line an event, and no secrets in it."""

import io
import json
import logging

import pytest
import structlog

from shared import log


@pytest.fixture
def lines():
    """Configures logging in JSON and gives what was written; undone afterwards."""
    out = io.StringIO()
    root = logging.getLogger()
    before, level, ours = list(root.handlers), root.level, structlog.get_config()
    log.configure("debug", "json", out)
    yield lambda: [json.loads(line) for line in out.getvalue().splitlines()]
    root.handlers[:] = before
    root.setLevel(level)
    structlog.configure(**ours)


def test_an_event_is_one_line(lines):
    """Event, level, time and the values given."""
    structlog.get_logger().info("placed", job="a/b", cluster="east")
    (line,) = lines()
    assert (line["event"], line["level"], line["job"]) == ("placed", "info", "a/b")
    assert line["timestamp"].endswith("Z")


def test_other_libraries_log_the_same_way(lines):
    """What is logged through the standard library comes out in the same form."""
    logging.getLogger("uvicorn.error").warning("late %s", "answer")
    (line,) = lines()
    assert (line["event"], line["level"]) == ("late answer", "warning")


def test_secrets_are_hidden(lines):
    """Values under secret-looking keys, contents of objects, and bearer tokens do not appear."""
    canary = "canary-3f1c"
    structlog.get_logger().info(
        f"sent Bearer {canary}", token=canary, headers={"Authorization": f"Bearer {canary}"},
        manifest={"env": canary}, nested=[{"client_secret": canary}], token_id="t1",
    )  # fmt: skip
    (line,) = lines()
    assert canary not in json.dumps(line)
    assert line["token_id"] == "t1"


@pytest.fixture
def text():
    """Configures logging as text and gives what was written; undone afterwards."""
    out = io.StringIO()
    root = logging.getLogger()
    before, level, ours = list(root.handlers), root.level, structlog.get_config()
    log.configure("info", "text", out)
    yield out.getvalue
    root.handlers[:] = before
    root.setLevel(level)
    structlog.configure(**ours)


def test_text_is_one_line_too(text):
    """For people: key=value, whatever the values hold."""
    structlog.get_logger().info("two words", message="a\nb", flag=True)
    structlog.get_logger().debug("unseen")
    (line,) = text().splitlines()
    assert 'event="two words"' in line
    assert "flag=true" in line


def test_a_closed_stream_stops_no_work(text, capsys):
    """A line for a closed stream is dropped, without a traceback."""
    out = io.StringIO()
    log.configure("info", "text", out)
    out.close()
    structlog.get_logger().info("unheard")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("by", ["message", "exception", "library"])
def test_what_others_wrote_begins_no_line_and_steers_no_terminal(text, by):
    """Messages of members and requests: line ends and control characters are written as escapes."""
    evil = "a\r\nlevel=error event=forged\x1b[2J\x9b31m\u202e\u2028é"
    if by == "message":
        structlog.get_logger().info("told", message=evil)
    elif by == "library":
        logging.getLogger("uvicorn.error").warning(evil)
    else:
        try:
            raise ValueError(evil)
        except ValueError:
            structlog.get_logger().exception("failed")
    (line,) = text().removesuffix("\n").split("\n")
    assert line.isprintable()
    assert line.startswith("timestamp=")
    assert "forged\\x1b[2J\\x9b31m\\u202e\\u2028é" in line


@pytest.mark.parametrize(
    ("given", "level"), [(None, "info"), ("", "info"), ("WARNING", "warning")]
)
def test_a_level_is_read_in_any_case(given, level):
    """What is not set, or set to nothing, is the default."""
    environ = {} if given is None else {"ROADSTEAD_LOG_LEVEL": given}
    assert log.level_of(environ) == level


@pytest.mark.parametrize(
    ("read", "name"),
    [(log.level_of, "ROADSTEAD_LOG_LEVEL"), (log.format_of, "ROADSTEAD_LOG_FORMAT")],
)
def test_a_level_or_format_that_is_none_is_named(read, name):
    """With the words that there are."""
    with pytest.raises(ValueError, match=f"^{name}=loud: expected one of "):
        read({name: "loud"})
