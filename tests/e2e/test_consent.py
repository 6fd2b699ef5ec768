"""A namespace of a member's own people takes Jobs only once they accept the hub, on a running fleet."""

from collections.abc import Iterator

import pytest

from roadstead import Client
from tests.e2e.running import RunningFleet, a_job, equal_members, running_fleet, until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningFleet]:
    """Two members, for all tests of this module; each has a namespace of its own."""
    folder = tmp_path_factory.mktemp("consent")
    with running_fleet(folder, equal_members(2), packed=True) as running:
        yield running


@pytest.fixture
def hub(fleet: RunningFleet) -> Iterator[Client]:
    """An administrator's client."""
    with fleet.client() as client:
        yield client


def test_jobs_keep_out_of_a_foreign_namespace_until_it_accepts_the_hub(
    fleet: RunningFleet, hub: Client
) -> None:
    """They run elsewhere or wait with the command that grants consent; then they run in their first epoch."""
    made = fleet.kubectl("create", "namespace", "team-a", cluster="m1")
    assert made.returncode == 0, made.stderr
    first = [hub.submit(a_job(f"first-{n}")) for n in range(4)]
    for job in first:
        ended = hub.wait(job.uid, timeout_s=60)
        assert (ended.state, ended.cluster) == ("Succeeded", "m2")
    manifest = a_job("only-m1")
    manifest["metadata"]["annotations"] = {"roadstead.dev/clusters": "m1"}
    waits = hub.submit(manifest)
    until(
        lambda: "kubectl label" in (hub.job(waits.uid).message or ""),
        30,
        "it names the command",
    )
    said = hub.job(waits.uid)
    assert said.state == "Pending"
    command = said.message[said.message.index("kubectl label") :].partition(";")[0].split()
    granted = fleet.kubectl(*command[1:5], cluster="m1")
    assert granted.returncode == 0, granted.stderr
    ended = hub.wait(waits.uid, timeout_s=60)
    assert (ended.state, ended.cluster, ended.epoch) == ("Succeeded", "m1", 1)


def test_a_refused_epoch_is_no_attempt(fleet: RunningFleet, hub: Client) -> None:
    """A stranger's Job holds the name in one member: the job still has two attempts, in three epochs."""
    makes_namespace = a_job("first", namespace="team-b")
    makes_namespace["metadata"]["annotations"] = {"roadstead.dev/clusters": "m1"}
    assert hub.wait(hub.submit(makes_namespace).uid, timeout_s=60).state == "Succeeded"
    stranger = fleet.kubectl(
        *("create", "job", "fails", "--image=example.com/theirs", "-n", "team-b"), cluster="m1"
    )
    assert stranger.returncode == 0, stranger.stderr
    manifest = a_job("fails", namespace="team-b")
    manifest["metadata"]["annotations"] = {"roadstead.dev/retry": "2"}
    pod = manifest["spec"]["template"]["metadata"]
    pod["annotations"]["sim.roadstead.dev/exit-code"] = "3"
    ended = hub.wait(hub.submit(manifest).uid, timeout_s=120, check=False)
    assert (ended.state, ended.cluster, ended.epoch) == ("Failed", "m2", 3)
