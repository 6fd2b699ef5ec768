"""Logs of real processes: a hub, agents and simulated members, and a reader at the command line."""

import itertools
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from tests.e2e.running import REPOSITORY, RunningFleet, a_job, equal_members, running_fleet, until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]
LINES = "sim.roadstead.dev/log-lines"


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningFleet]:
    with running_fleet(tmp_path_factory.mktemp("logs"), equal_members(1)) as running:
        yield running


def submitted(fleet: RunningFleet, name: str, lines: int, run_s: float, indexes: int = 1) -> str:
    """Submit a job that talks; its uid, once it runs."""
    job = a_job(name, run_s=run_s, indexes=indexes, cpu="100m")
    job["spec"]["template"]["metadata"]["annotations"][LINES] = str(lines)
    with fleet.client() as hub:
        uid = hub.submit(job).uid
        until(lambda: hub.job(uid).state in {"Running", "Succeeded"}, 60, f"{name} runs")
    return uid


def reader(fleet: RunningFleet, *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "roadstead.cli", "logs", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=REPOSITORY,
        env={**os.environ, "ROADSTEAD_DATA": str(fleet.folder)},
    )


def test_a_log_of_many_pods_is_complete_and_in_order(fleet):
    """Followed to the end of the job: every line of every pod, once, in order for each."""
    submitted(fleet, "many", lines=100, run_s=6, indexes=20)
    with reader(fleet, "team-a/many", "-f", "-o", "json") as reading:
        out, err = reading.communicate(timeout=120)
    assert (reading.returncode, err) == (0, "")
    told: dict[str, list[str]] = {}
    for record in map(json.loads, out.splitlines()):
        if "line" in record:
            told.setdefault(record["pod"], []).append(record["line"])
    assert len(told) == 20
    for pod, lines in told.items():
        assert lines == [f"{pod}: line {number} of 100" for number in range(1, 101)]


def test_a_log_goes_on_through_whatever_breaks_it_off(fleet):
    """kill -9 of the agent, a hub that stops: no line is lost or comes twice; Ctrl-C ends it."""
    submitted(fleet, "cut", lines=6000, run_s=300)
    read = 0
    with reader(fleet, "team-a/cut", "-f", "--no-prefix") as reading:
        assert reading.stdout is not None

        def read_on(lines: int) -> None:
            nonlocal read
            for line in itertools.islice(reading.stdout, lines):
                read += 1
                assert line.split(": ")[1] == f"line {read} of 6000\n"

        read_on(5)
        fleet.kill("agent-m1")
        read_on(500)
        os.kill(fleet.pid("hub"), signal.SIGTERM)
        read_on(500)
        reading.send_signal(signal.SIGINT)
        _, err = reading.communicate(timeout=180)
    assert read == 1005
    assert reading.returncode == 130
    assert "[AgentSilent]; retrying" in err
    assert "[HubStopped]; retrying" in err


def test_who_never_reads_costs_nobody_else_anything(fleet):
    """Ten connections that ask for a log and take nothing: another reader gets all, and jobs end."""
    uid = submitted(fleet, "flood", lines=100_000, run_s=1)
    address = urlsplit(fleet.server)
    token = (fleet.folder / "admin.token").read_text().strip()
    ask = f"GET /v1/jobs/{uid}/logs HTTP/1.1\r\nHost: hub\r\nAuthorization: Bearer {token}\r\n\r\n"
    stuck = []
    try:
        for _ in range(10):
            stuck.append(socket.create_connection((address.hostname, address.port)))
            stuck[-1].setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            stuck[-1].sendall(ask.encode())
        submitted(fleet, "beside", lines=50, run_s=1)
        until(lambda: _lines(fleet, "beside") == 50, 90, "a log beside those that are not read")
        with fleet.client() as hub:
            until(lambda: hub.job("team-a/beside").state == "Succeeded", 60, "the job ends")
    finally:
        for each in stuck:
            each.close()


def _lines(fleet: RunningFleet, name: str) -> int:
    return len(fleet.cli("logs", f"team-a/{name}").stdout.splitlines())


def test_a_failed_job_keeps_its_last_words(fleet):
    """The exit code and the last lines stand in `jobs show`, of each attempt, though its pods are removed."""
    job = a_job("bad", run_s=0.5)
    job["metadata"]["annotations"] = {"roadstead.dev/retry": "2"}
    notes = job["spec"]["template"]["metadata"]["annotations"]
    notes |= {LINES: "loading\nno such file", "sim.roadstead.dev/exit-code": "3"}
    with fleet.client() as hub:
        hub.submit(job)
    until(lambda: _shown(fleet).count("PodFailed") == 2, 60, "the last lines are kept")
    shown = _shown(fleet)
    assert "container main exited with code 3" in shown
    assert "      | no such file\n" in shown


def _shown(fleet: RunningFleet) -> str:
    return fleet.cli("jobs", "show", "team-a/bad").stdout
