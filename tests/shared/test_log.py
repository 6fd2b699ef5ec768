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


def test_text_is_one_line_too():
    """For people: key=value, whatever the values hold."""
    out = io.StringIO()
    root = logging.getLogger()
    before, level, ours = list(root.handlers), root.level, structlog.get_config()
    log.configure("info", "text", out)
    structlog.get_logger().info("two words", message="a\nb", flag=True)
    structlog.get_logger().debug("unseen")
    root.handlers[:] = before
    root.setLevel(level)
    structlog.configure(**ours)
    (line,) = out.getvalue().splitlines()
    assert 'event="two words"' in line
    assert "flag=true" in line


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
