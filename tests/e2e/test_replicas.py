"""Two hubs on one PostgreSQL: whichever ends, and when the database does, every job runs exactly once."""

import json
import os
import signal
from collections.abc import Iterator

import httpx
import pytest

from tests import databases, waiting
from tests.e2e import exactly_once
from tests.e2e.leaders import leading
from tests.e2e.running import RunningFleet, a_job, equal_members, running_fleet, until
from tests.soaking import others_soak

pytestmark = [
    pytest.mark.slow,
    pytest.mark.kubectl,
    pytest.mark.timeout(400),
    pytest.mark.store("postgres"),
]


@pytest.fixture
def server() -> Iterator[databases.Server]:
    """A server that may be stopped."""
    with databases.own_server() as started:
        yield started


def two_hubs(server: databases.Server) -> tuple[str, ...]:
    return "--replicas=2", f"--database={server.database('hub')}"


def test_every_job_runs_exactly_once_when_the_leader_is_killed(tmp_path, server):
    """kill -9 of the hub that leads, twice: another leads within 15 s, and no job is lost or runs twice."""

    def kill_leaders(fleet: RunningFleet) -> None:
        for _ in range(2):
            pid, term = leading(server)
            assert pid in {fleet.pid("hub"), fleet.pid("hub-2")}
            os.kill(pid, signal.SIGKILL)
            leading(server, after=term)

    assert exactly_once.run(tmp_path, kill_leaders, more=two_hubs(server)) == []


# A short outage: tests/store/test_broken_connections.py.
@pytest.mark.parametrize("gone_s", others_soak([5, 61], 61))
def test_every_job_runs_exactly_once_when_the_database_restarts(tmp_path, server, gone_s):
    """As in a crash, while hubs write and agents report; a minute is longer than any lease lasts."""

    def restart(_fleet: RunningFleet) -> None:
        server.stop(signal.SIGQUIT)
        waiting.pause(gone_s, why="the fault itself: so long there is no database")
        server.start()

    assert exactly_once.run(tmp_path, restart, more=two_hubs(server)) == []


def test_every_job_runs_exactly_once_when_the_leader_is_paused(tmp_path, server):
    """It is stopped until another leads, and wakes up with what it believed before."""

    def pause(_fleet: RunningFleet) -> None:
        pid, term = leading(server)
        os.kill(pid, signal.SIGSTOP)
        try:
            leading(server, after=term)
        finally:
            os.kill(pid, signal.SIGCONT)

    assert exactly_once.run(tmp_path, pause, more=two_hubs(server)) == []


def test_logs_are_read_at_whichever_hub_is_asked(tmp_path, server):
    """The agent asks at one of them at a time; the other asks that one, and passes on what it brings."""
    with running_fleet(tmp_path, equal_members(1), more=two_hubs(server)) as fleet:
        job = a_job("talk", run_s=120, cpu="100m")
        job["spec"]["template"]["metadata"]["annotations"]["sim.roadstead.dev/log-lines"] = "1200"
        with fleet.client() as hub:
            uid = hub.submit(job).uid
            until(lambda: hub.job(uid).state == "Running", 60, "it runs")
        path = f"{fleet.server}/v1/jobs/{uid}/logs"
        token = (fleet.folder / "admin.token").read_text().strip()
        sent = {"Authorization": f"Bearer {token}"}
        # Each over a connection of its own, dealt to either hub.
        answers = [httpx.get(path, headers=sent, timeout=30) for _ in range(12)]
        assert [each.status_code for each in answers] == [200] * 12
        for each in answers:
            *lines, end = map(json.loads, filter(None, each.text.splitlines()))
            assert end["end"]["code"] == "Ended"
            numbers = [int(line["line"].split()[2]) for line in lines]
            assert numbers == list(range(1, len(numbers) + 1))
            assert numbers
