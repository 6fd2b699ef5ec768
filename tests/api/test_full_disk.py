"""A hub whose disk is full: it says so, keeps what it has acknowledged, and goes on by itself.

Once by the kernel's limit of file sizes on the running process, once on a small file system of its own.
"""

import contextlib
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests import stem, waiting
from tests.api.process import admin, running
from tests.api.serving import a_job
from tests.small_disk import UNSHARE, can_mount

pytestmark = pytest.mark.slow
PATIENCE_S = 20.0
SMALL = 6 << 20  # bytes of the file system


def refuse_growth(process: stem.Process, *, refuse: bool) -> None:
    """Let no file of the process grow, or all again."""
    most = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)[1]
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (1 if refuse else most, most))


def until_ready(http: httpx.Client) -> None:
    waiting.until(lambda: http.get("/readyz").status_code == 200, "ready", within_s=PATIENCE_S)


def names(http: httpx.Client) -> set[str]:
    return {job["name"] for job in http.get("/v1/jobs?limit=500").json()["items"]}


def is_refused(reply: httpx.Response) -> bool:
    """503 with a stable code and a time to come back."""
    return (
        reply.status_code == 503
        and reply.json()["code"] == "Unavailable"
        and int(reply.headers["retry-after"]) >= 1
    )


def test_while_nothing_can_be_committed_nothing_is_acknowledged(tmp_path):
    """503 on every route that writes, /readyz false, /livez and reading as ever; then all as before."""
    with running(tmp_path) as (process, address), admin(tmp_path, address) as http:
        assert http.post("/v1/jobs", json=a_job("before")).status_code == 201
        refuse_growth(process, refuse=True)
        job = a_job("refused")
        for route, body in (
            ("/v1/jobs", job),
            ("/v1/jobs:batch", [job]),
            ("/v1/apply", job),
            ("/v1/clusters", {"name": "north"}),
        ):
            for _ in range(3):
                assert is_refused(http.post(route, json=body)), route
        assert is_refused(http.get("/readyz"))
        assert http.get("/livez").status_code == 200
        assert names(http) == {"before"}
        refuse_growth(process, refuse=False)
        until_ready(http)
        assert http.post("/v1/jobs", json=a_job("after")).status_code == 201
        process.kill()
        process.wait()
    with running(tmp_path) as (_, address), admin(tmp_path, address) as http:
        assert names(http) == {"before", "after"}


@contextlib.contextmanager
def running_on_small_disk(folder: Path) -> Iterator[tuple[Path, str]]:
    """A hub on a file system of `SMALL` bytes, seen by it alone; the folder and the address."""
    inside = (
        f'mount -t tmpfs -o size={SMALL} small "$1" && '
        'exec "$2" -m hub --data "$1" --listen 127.0.0.1:0'
    )
    process = subprocess.Popen(
        [*UNSHARE, "sh", "-c", inside, "-", str(folder), sys.executable],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        line = process.stdout.readline()
        assert line.startswith("ready "), process.stderr.read()
        yield Path(f"/proc/{process.pid}/root{folder}"), line.split()[1]
    finally:
        process.kill()
        process.communicate()


@pytest.mark.skipif(not can_mount(), reason="file systems can not be mounted here")
def test_a_full_file_system_is_survived(tmp_path):
    """Jobs are taken until it is full and again once there is room; none that was taken is missing."""
    with running_on_small_disk(tmp_path) as (folder, address), admin(folder, address) as http:
        ballast = folder / "ballast"
        ballast.write_bytes(b"x" * (2 << 20))
        taken, refused = set(), 0
        for number in range(3000):
            job = a_job(f"job-{number}")
            job["metadata"]["annotations"] = {"weight": f"{number:05d}" * 10_000}
            reply = http.post("/v1/jobs", json=job)
            if reply.status_code == 201:
                taken.add(f"job-{number}")
            else:
                assert is_refused(reply), reply.text
                refused += 1
                if refused == 5:
                    break
        assert refused == 5
        assert http.get("/readyz").status_code == 503
        ballast.unlink()
        until_ready(http)
        assert http.post("/v1/jobs", json=a_job("after")).status_code == 201
        assert names(http) == taken | {"after"}
