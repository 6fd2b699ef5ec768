"""`roadstead demo`: the guide from an empty folder to its end, as a person or a script runs it."""

import contextlib
import os
import pty
import signal
import subprocess
import sys
import sysconfig
import time

import pytest

from roadstead.cli import story
from roadstead.models.explanation import Explanation
from roadstead.models.jobs import Job
from tests import stem
from tests.cli.build import a_listed_job
from tests.cli.commands import REPOSITORY, environment_without_ours
from tests.cli.filled import filled
from tests.cli.terminal import plain
from tests.e2e.running import until

SLOW_S = 300
JOBS = [
    "newsletter/gpu-intensive-job",
    "compute-jobs/mock-workload",
    "compute-jobs/model-evaluation",
    "team-research/train-llm",
]


def _demo(*arguments: str, **more) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "roadstead.cli", "demo", *arguments],
        text=True,
        cwd=REPOSITORY,
        **{
            "env": environment_without_ours(),
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            **more,
        },
    )


def test_success_is_every_expected_job_succeeded():
    """One job that failed, or is missing, makes the demo's exit code 1."""
    jobs = [
        Job.of(a_listed_job(name, namespace=namespace, state="Succeeded"))
        for namespace, name in story.EXPECTED
    ]
    assert story.all_succeeded(jobs)
    assert not story.all_succeeded(jobs[1:])
    assert not story.all_succeeded([Job.of({**jobs[0].raw, "state": "Failed"}), *jobs[1:]])


@pytest.mark.parametrize(
    ("state", "cluster", "agrees"), [("Pending", "", True), ("Placed", "c1", False)]
)
def test_a_line_of_the_story_is_one_reading(state, cluster, agrees):
    """A job that moved on between the list and its explanation is told of by the next look."""
    job = Job.of(a_listed_job("train") | {"state": "Pending", "reason": "", "cluster": ""})
    given = {"state": state, "cluster": cluster, "reason": "NoClusterFits", "message": "no room"}
    told = Explanation.of(filled(Explanation, **given))
    assert story.agree(job, told) is agrees
    if agrees:
        assert story.words(job, told) == "Pending NoClusterFits: no room"


def test_what_is_to_be_typed_next_is_found(tmp_path, monkeypatch):
    """Where this `roadstead` is not on PATH, the way to it comes first."""
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    told = story.next_steps(tmp_path, tmp_path / "hub.kubeconfig")
    exports = [line.strip() for line in told.splitlines() if line.strip().startswith("export")]
    script = "\n".join([*exports, "command -v roadstead"])
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"{sysconfig.get_path('scripts')}/roadstead"
    monkeypatch.setenv("PATH", f"{sysconfig.get_path('scripts')}:/usr/bin")
    assert "PATH=" not in story.next_steps(tmp_path, tmp_path / "hub.kubeconfig")


@pytest.mark.slow
@pytest.mark.timeout(SLOW_S)
def test_the_demo_ends_by_itself(tmp_path):
    """--exit: all jobs succeed, a summary at the end, exit code 0, nothing on standard error."""
    told = ("roadstead.cli", "demo", "--exit", f"--data={tmp_path / 'data'}")
    done = stem.run(*told, env=environment_without_ours(), alone=True, within_s=200)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    for job in JOBS:
        lines = done.stdout.splitlines()
        assert any(line.startswith(job) and " Succeeded " in line for line in lines)
    assert "scores: cpu-1 " in done.stdout
    assert "\x1b" not in done.stdout
    assert (tmp_path / "data" / "hub.kubeconfig").exists()
    assert list((tmp_path / "data" / "pids").iterdir()) == []


@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.timeout(SLOW_S)
@pytest.mark.parametrize("width", [80])
def test_the_demo_on_a_terminal_until_ctrl_c(tmp_path, width):
    """On a terminal every line fits; it names the next commands, stays up, and Ctrl-C ends it with 0."""
    ours, theirs = pty.openpty()
    os.set_blocking(ours, False)
    environment = {**environment_without_ours(), "COLUMNS": str(width), "TMPDIR": "/tmp"}
    process = _demo(stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    seen = ""

    def stays() -> bool:
        nonlocal seen
        with contextlib.suppress(BlockingIOError):
            seen += os.read(ours, 65536).decode()
        return "until Ctrl-C" in seen

    until(stays, 200, "the demo has told its story")
    process.send_signal(signal.SIGINT)
    assert process.wait(180) == 0
    os.close(ours)
    told = [
        line
        for line in plain(seen).splitlines()
        if not line.lstrip().startswith(("export", "Hub"))
    ]
    assert [line for line in told if len(line) > width] == []
    assert "roadstead explain team-research/train-llm" in seen


@pytest.mark.slow
@pytest.mark.timeout(SLOW_S)
def test_ctrl_c_while_it_starts(tmp_path):
    """Interrupted before its end the demo ends with 130, promptly, without a traceback or a child."""
    process = _demo(f"--data={tmp_path / 'data'}")
    pids = tmp_path / "data" / "pids"
    until((pids / "hub").exists, 60, "children start")
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=180)
    assert (process.returncode, err) == (130, "interrupted\n")
    assert time.monotonic() - began < 15
    assert list(pids.iterdir()) == []
