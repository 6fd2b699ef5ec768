"""kill -9 after each step of an upgrade of the database (H20): it is all there, or not begun.

All steps are one transaction: a hub that dies in one leaves the database as it was, and the next start
does all of it.
"""

import os
import signal
import subprocess
import sys

import pytest

from hub.store import schema
from hub.store.backends.choose import backend_of
from tests import databases
from tests.e2e.running import REPOSITORY
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
    command = [sys.executable, "-m", "hub", f"--data={data}", "--listen=127.0.0.1:0", *given]
    env = {**os.environ, "ROADSTEAD_FP": point, "ROADSTEAD_LOG_LEVEL": "error"}
    with subprocess.Popen(
        [*command, "--die-with-parent"], stdout=subprocess.PIPE, text=True, cwd=REPOSITORY, env=env
    ) as process:
        assert process.stdout is not None
        if process.stdout.readline().startswith("ready "):
            process.terminate()
            assert process.wait(_START_S) == 0
            return False
        assert process.wait(_START_S) == -signal.SIGKILL
        return True


def _revision(url: str) -> str | None:
    engine = backend_of(url).writer_engine()
    try:
        with engine.connect() as conn:
            return schema.revision(conn)
    finally:
        engine.dispose()
