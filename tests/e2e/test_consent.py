"""A namespace of a member's own people takes Jobs only once they accept the hub, on a running fleet."""

import pytest

from tests.e2e.running import a_job, equal_members, running_fleet, until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


def test_jobs_keep_out_of_a_foreign_namespace_until_it_accepts_the_hub(tmp_path):
    """They run elsewhere or wait with the command that grants consent; then they run in their first epoch."""
    with running_fleet(tmp_path, equal_members(2)) as fleet, fleet.client() as hub:
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


def test_a_refused_epoch_is_no_attempt(tmp_path):
    """A stranger's Job holds the name in one member: the job still has two attempts, in three epochs."""
    with running_fleet(tmp_path, equal_members(2)) as fleet, fleet.client() as hub:
        makes_namespace = a_job("first")
        makes_namespace["metadata"]["annotations"] = {"roadstead.dev/clusters": "m1"}
        assert hub.wait(hub.submit(makes_namespace).uid, timeout_s=60).state == "Succeeded"
        stranger = fleet.kubectl(
            *("create", "job", "fails", "--image=example.com/theirs", "-n", "team-a"), cluster="m1"
        )
        assert stranger.returncode == 0, stranger.stderr
        manifest = a_job("fails")
        manifest["metadata"]["annotations"] = {"roadstead.dev/retry": "2"}
        pod = manifest["spec"]["template"]["metadata"]
        pod["annotations"]["sim.roadstead.dev/exit-code"] = "3"
        ended = hub.wait(hub.submit(manifest).uid, timeout_s=120, check=False)
        assert (ended.state, ended.cluster, ended.epoch) == ("Failed", "m2", 3)
