"""A hub whose PostgreSQL hangs: not ready within about five seconds, and 503 for all that asks."""

import contextlib
import time

import httpx
import pytest

from tests import databases, waiting
from tests.api.process import admin, running
from tests.api.serving import a_job

pytestmark = [pytest.mark.slow, pytest.mark.store("postgres")]
WITHIN_S = 7.0  # 5, and a busy machine


def is_refused(reply: httpx.Response) -> bool:
    """503 as problem+json with a stable code and a time to come back."""
    return (
        reply.status_code == 503
        and reply.headers["content-type"].startswith("application/problem+json")
        and reply.json()["code"] == "Unavailable"
        and int(reply.headers["retry-after"]) >= 1
    )


@contextlib.contextmanager
def a_hub_on_a_server(folder):
    """A hub with one job on a PostgreSQL of its own: that server, and an administrator's client."""
    with databases.own_server() as server:
        url = server.database("hub")
        with (
            running(folder, env={"ROADSTEAD_DATABASE": url}) as (_, address),
            admin(folder, address) as http,
        ):
            http.timeout = httpx.Timeout(30)
            assert http.post("/v1/jobs", json=a_job("before")).status_code == 201
            yield server, http


def test_a_hub_says_that_its_database_hangs(tmp_path, store):
    """Readiness, reads and writes are refused, at once after the first; it lives, and goes on afterwards."""
    with a_hub_on_a_server(tmp_path) as (server, http):
        with server.paused():
            began = time.monotonic()
            assert is_refused(http.get("/readyz"))
            assert time.monotonic() - began < WITHIN_S
            began = time.monotonic()
            for _ in range(10):
                assert is_refused(http.get("/readyz"))
                assert is_refused(http.get("/v1/jobs"))
                assert is_refused(http.post("/v1/jobs", json=a_job("refused")))
                assert http.get("/livez").status_code == 200
            assert time.monotonic() - began < 3.0
        waiting.until(lambda: http.get("/readyz").status_code == 200, "ready", within_s=30)
        assert http.post("/v1/jobs", json=a_job("after")).status_code == 201
        names = {job["name"] for job in http.get("/v1/jobs").json()["items"]}
        assert names == {"before", "after"}


def test_a_hub_says_that_its_database_commits_nothing(tmp_path, store):
    """The synchronous standby is gone: the server answers questions, and every commit waits for it."""
    with a_hub_on_a_server(tmp_path) as (server, http):
        with server.without_standby():
            began = time.monotonic()
            refused = http.post("/v1/jobs", json=a_job("under-way"))
            assert (refused.status_code, time.monotonic() - began < WITHIN_S) == (503, True)
            assert is_refused(http.get("/readyz"))
            assert is_refused(http.post("/v1/jobs", json=a_job("refused")))
        waiting.until(lambda: http.get("/readyz").status_code == 200, "ready", within_s=30)
        names = {job["name"] for job in http.get("/v1/jobs").json()["items"]}
        assert names == {"before", "under-way"}
