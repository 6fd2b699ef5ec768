"""kill -9 after each step of an upgrade of the database (H20): it is all there, or not begun.

All steps are one transaction: a hub that dies in one leaves the database as it was, and the next start
does all of it.
"""

import signal

import pytest

from hub.store import schema
from hub.store.backends.choose import backend_of
from tests import databases, stem
from tests.e2e.running import ready_line, until
from tests.store.dumps import loaded, revision_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]
_START_S = 60
_MOST_STEPS = 20
_OLDEST = [
    pytest.param("baseline.sql", id="sqlite"),
    pytest.param(
        "credentials.pg",
        id="postgres",
        marks=pytest.mark.skipif(
            databases.postgres_is_missing() is not None, reason="no PostgreSQL server on this host"
        ),
    ),
]


@pytest.mark.parametrize("dump", _OLDEST)
def test_an_upgrade_that_is_killed_begins_anew(tmp_path, dump):
    """Killed after its first step, its second, …: each time the next start finds the revision of before."""
    databases.choose(databases.SQLITE if dump.endswith(".sql") else databases.POSTGRES)
    data = tmp_path / "hub"
    data.mkdir(mode=0o700)
    url = databases.url_of(data)
    loaded(dump, url)
    steps = 0
    while _killed(data, url, f"H20:{steps + 1}"):
        steps += 1
        assert _revision(url) == revision_of(dump)
        assert steps < _MOST_STEPS
    assert steps >= 1
    assert _revision(url) == schema.HEAD


def _killed(data, url: str, point: str) -> bool:
    """Start a hub that dies at the point: whether it has. One that answers is ended in order."""
    given = [] if url.startswith("sqlite") else [f"--database={url}"]
    log = data.with_name(f"{point}.log")
    env = {"ROADSTEAD_FP": point, "ROADSTEAD_LOG_LEVEL": "error"}
    hub = stem.start("hub", f"--data={data}", "--listen=127.0.0.1:0", *given, log=log, env=env)
    try:
        until(lambda: ready_line(log) or hub.poll() is not None, _START_S, "it answers or is dead")
        if hub.poll() is None:
            hub.terminate()
            assert hub.wait(_START_S) == 0
            return False
    finally:
        hub.kill()
    assert hub.wait(_START_S) == -signal.SIGKILL, log.read_text()
    return True


def _revision(url: str) -> str | None:
    engine = backend_of(url).writer_engine()
    try:
        with engine.connect() as conn:
            return schema.revision(conn)
    finally:
        engine.dispose()
