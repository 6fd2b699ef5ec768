"""The verbs of the command line, typed against a fleet that runs."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.cli.commands import spawn
from tests.e2e.running import REPOSITORY, RunningFleet, running_fleet, until

pytestmark = pytest.mark.slow
QUEUES = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: verbs}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: verbs}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu, memory]
    flavors:
    - name: verbs
      resources:
      - {name: cpu, nominalQuota: 8}
      - {name: memory, nominalQuota: 64Gi}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: lq, namespace: verbs}
spec: {clusterQueue: verbs}
"""
QUICK = ("--annotation", "sim.roadstead.dev/run-seconds=0.2")


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningFleet]:
    """Three members, as `roadstead up` makes them."""
    with running_fleet(tmp_path_factory.mktemp("verbs"), 3, packed=True) as running:
        yield running


def test_a_command_runs_and_is_waited_for(fleet: RunningFleet) -> None:
    """`run --wait` ends with 0 where the command did, with 1 where it failed; GPUs lead where some are."""
    done = fleet.cli("run", "--wait", "--gpus", "1", "--name", "train", *QUICK, "--", "train")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "default/train Succeeded on gpu-1"
    fails = ("--annotation", "sim.roadstead.dev/exit-code=3")
    done = fleet.cli("run", "--wait", *QUICK, *fails, "--", "false")
    assert (done.returncode, "Failed on" in done.stdout) == (1, True), done.stderr


def test_what_was_printed_is_taken_by_kubectl(fleet: RunningFleet) -> None:
    """The Job of --dry-run is one that kubectl applies to the hub cluster, and it runs."""
    printed = fleet.cli("run", "--dry-run", "--name", "printed", *QUICK, "--", "x").stdout
    assert yaml.safe_load(printed)["kind"] == "Job"
    done = fleet.kubectl("apply", "-f", "-", stdin=printed)
    assert done.returncode == 0, done.stderr
    done = fleet.kubectl("wait", "--for=condition=Complete", "job/printed", "--timeout=60s")
    assert done.returncode == 0, done.stderr


def test_an_array_runs_number_by_number(fleet: RunningFleet) -> None:
    """12 numbers from 5, three at once: one Indexed Job, of which all twelve pods succeed."""
    array = ("--array", "5-16%3", "--name", "sweep")
    done = fleet.cli("run", "--wait", *array, *QUICK, "--cpu", "100m", "--", "x")
    assert done.returncode == 0, done.stdout + done.stderr
    job = json.loads(fleet.cli("jobs", "show", "default/sweep", "-o", "json").stdout)
    assert (job["completions"], job["parallelism"]) == (12, 3)
    assert job["counts"]["succeeded"] == 12


def test_a_file_is_submitted_as_an_array(fleet: RunningFleet, tmp_path: Path) -> None:
    """`submit --array` makes an array of a manifest."""
    printed = fleet.cli("run", "--dry-run", "--name", "as-array", *QUICK, "--", "x").stdout
    (tmp_path / "job.yaml").write_text(printed)
    done = fleet.cli("submit", "--wait", "--array", "0-3%2", str(tmp_path / "job.yaml"))
    assert done.returncode == 0, done.stdout + done.stderr
    with fleet.client() as hub:
        until(lambda: hub.job("default/as-array").counts.succeeded == 4, 20, "four have ended")


def test_one_that_failed_is_submitted_again(fleet: RunningFleet) -> None:
    """`jobs wait` tells scripts how a job ended; `jobs resubmit` runs the same under another name."""
    fails = ("--annotation", "sim.roadstead.dev/exit-code=3")
    assert fleet.cli("run", "--name", "bad", *QUICK, *fails, "--", "x").returncode == 0
    done = fleet.cli("jobs", "wait", "default/bad", "--timeout", "1m")
    assert (done.returncode, "default/bad Failed" in done.stdout) == (1, True), done.stderr
    assert fleet.cli("jobs", "wait", "default/bad", "--for", "failed").returncode == 0
    assert fleet.cli("run", "--wait", "--name", "well", *QUICK, "--", "x").returncode == 0
    done = fleet.cli("jobs", "resubmit", "default/bad", "default/nowhere", "default/well")
    assert (done.returncode, "no job default/nowhere" in done.stderr) == (3, True)
    assert [line.split()[0] for line in done.stdout.splitlines()] == [
        "default/bad-r2",
        "default/well-r2",
    ]
    assert fleet.cli("jobs", "wait", "default/well-r2").returncode == 0


def test_what_kubectl_brought_is_submitted_again(fleet: RunningFleet) -> None:
    """Without the selector and the labels that the hub cluster's API server gave it."""
    fleet.kubectl("create", "job", "by-kubectl", "--image=busybox:1.37", "--", "true")
    fleet.kubectl("wait", "--for=condition=Complete", "job/by-kubectl", "--timeout=60s")
    done = fleet.cli("jobs", "resubmit", "default/by-kubectl")
    assert done.returncode == 0, done.stderr
    assert fleet.cli("jobs", "wait", "default/by-kubectl-r2", "--timeout", "60").returncode == 0


def test_a_sweep_is_seen_and_stopped_by_its_label(fleet: RunningFleet) -> None:
    """`--dry-run` lists what `cancel -l` would stop; with --yes it is stopped, and nothing else."""
    slow = ("--annotation", "sim.roadstead.dev/run-seconds=600", "-n", "sweeps")
    for name, sweep in (("a", "7"), ("b", "7"), ("other", "8")):
        made = fleet.cli("run", "--name", name, *slow, "--label", f"sweep={sweep}", "--", "x")
        assert made.returncode == 0, made.stderr
    seen = fleet.cli("jobs", "cancel", "-n", "sweeps", "-l", "sweep=7", "--dry-run", "-o", "name")
    assert seen.stdout == "sweeps/b\nsweeps/a\n"
    assert fleet.cli("jobs", "cancel", "-n", "sweeps", "-l", "sweep=7").returncode == 2
    done = fleet.cli("jobs", "cancel", "-n", "sweeps", "-l", "sweep=7", "--yes")
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 2), done.stderr
    names = fleet.cli("jobs", "ls", "-n", "sweeps", "-l", "sweep=7", "-o", "name").stdout.split()
    assert fleet.cli("jobs", "wait", *names, "--for", "ended", "--timeout", "60").returncode == 0
    left = fleet.cli("jobs", "ls", "-n", "sweeps", "--state", "cancelled", "-o", "name").stdout
    assert left == "sweeps/b\nsweeps/a\n"
    assert fleet.cli("jobs", "delete", "-n", "sweeps", "--since", "1h", "--yes").returncode == 0


def test_somebody_logs_in_and_works_in_a_namespace(fleet: RunningFleet, tmp_path: Path) -> None:
    """With a token by a pipe and nothing else set: a job is made in the context's namespace."""
    token = (fleet.folder / "admin.token").read_text()
    login = ("login", "--server", fleet.server, "--token-stdin", "--name", "here", "-n", "mine")
    elsewhere = {"XDG_CONFIG_HOME": str(tmp_path), "ROADSTEAD_DATA": "", "HOME": str(tmp_path)}
    assert spawn(*login, stdin=token, **elsewhere).code == 0
    assert spawn("run", "--name", "work", *QUICK, "--", "x", **elsewhere).code == 0
    assert spawn("jobs", "wait", "work", **elsewhere).out.startswith("mine/work Succeeded")
    assert spawn("jobs", "ls", "-o", "name", **elsewhere).out == "mine/work\n"
    assert spawn("context", "use", "local", **elsewhere).code == 0
    assert spawn("jobs", "ls", **elsewhere).code == 5, "no fleet of its own runs there"


def test_a_queue_is_stopped_and_resumed(fleet: RunningFleet, tmp_path: Path) -> None:
    """What is submitted meanwhile waits; `diff` tells what applying the old file again would change."""
    file = tmp_path / "queue.yaml"
    file.write_text(QUEUES)
    assert fleet.cli("apply", "-f", str(file)).returncode == 0
    assert fleet.cli("diff", "-f", str(file)).returncode == 0
    assert fleet.cli("queues", "stop", "verbs").returncode == 0
    made = fleet.cli("run", "-n", "verbs", "-q", "lq", "--name", "waits", *QUICK, "--", "x")
    assert made.returncode == 0, made.stderr
    late = fleet.cli("jobs", "wait", "verbs/waits", "--for", "running", "--timeout", "2s")
    assert late.returncode == 6, late.stdout
    done = fleet.cli("diff", "-f", str(file))
    assert (done.returncode, "-  stopPolicy: Hold" in done.stdout) == (1, True), done.stdout
    assert fleet.cli("queues", "resume", "verbs").returncode == 0
    assert fleet.cli("jobs", "wait", "verbs/waits", "--timeout", "60s").returncode == 0
    assert fleet.cli("get", "lq", "-n", "verbs", "-o", "name").stdout == "verbs/lq\n"


CRON_JOB = """
apiVersion: batch/v1
kind: CronJob
metadata: {name: minutely, namespace: verbs}
spec:
  schedule: "* * * * *"
  jobTemplate:
    metadata: {labels: {kueue.x-k8s.io/queue-name: lq}}
    spec:
      template:
        metadata: {annotations: {sim.roadstead.dev/run-seconds: "0.2"}}
        spec:
          restartPolicy: Never
          containers: [{name: c, image: ex/a:1, resources: {requests: {cpu: 1, memory: 64Mi}}}]
"""


def test_a_cron_job_runs_each_minute_until_it_is_deleted(fleet: RunningFleet) -> None:
    """The hub creates its Jobs, members run them; kubectl is refused, with the way to go."""
    assert fleet.cli("apply", "-f", "-", stdin=QUEUES).returncode == 0
    refused = fleet.kubectl("apply", "-f", "-", stdin=CRON_JOB)
    assert refused.returncode == 1, refused.stdout
    assert "apply it to the hub with `roadstead apply`" in refused.stderr
    assert fleet.cli("apply", "-f", "-", stdin=CRON_JOB).returncode == 0

    def succeeded() -> bool:
        told = fleet.cli("jobs", "ls", "-n", "verbs").stdout
        return any("minutely-" in line and "Succeeded" in line for line in told.splitlines())

    until(succeeded, 150, "a Job of the CronJob to succeed")
    done = fleet.cli("cronjobs", "suspend", "verbs/minutely")
    assert done.stdout == "CronJob verbs/minutely is suspended\n", done.stderr
    assert "true" in fleet.cli("cronjobs", "ls").stdout
    assert fleet.cli("cronjobs", "resume", "verbs/minutely").returncode == 0
    assert fleet.cli("delete", "cronjob", "minutely", "-n", "verbs").returncode == 0
    until(lambda: "minutely-" not in fleet.cli("jobs", "ls", "-n", "verbs").stdout, 60, "no Job")


def test_kubectl_runs_the_same_program(fleet: RunningFleet) -> None:
    """`kubectl roadstead` finds the fleet as `roadstead` does."""
    path = f"{REPOSITORY / '.venv/bin'}:{os.environ['PATH']}"
    done = subprocess.run(
        ["kubectl", "roadstead", "clusters", "ls", "-o", "name"],
        env={**os.environ, "PATH": path, "ROADSTEAD_DATA": str(fleet.folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == ["cpu-1", "gpu-1", "memory-1"], done.stderr
