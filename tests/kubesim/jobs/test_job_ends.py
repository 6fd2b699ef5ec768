"""How Jobs fail, stop and start again, told as stories on a manual clock."""

import pytest

from tests.kubesim.world import World, a_job, a_pool, conditions_of, phase_of


@pytest.fixture
def world():
    return World([a_pool()], job_backoff_s=1.0)


def test_a_failed_pod_is_replaced_after_a_back_off(world):
    """A failed pod is replaced, at first after the back-off, then after twice that."""
    world.create("jobs.batch", a_job(exit_code=1, run_seconds="1", backoffLimit=2))
    world.advance(1.5)
    assert (len(world.pods()), world.status()["failed"]) == (1, 1)
    world.advance(0.7)
    assert len(world.pods()) == 2


def test_too_many_failures_end_the_job(world):
    """More failures than backoffLimit: FailureTarget, then Failed, BackoffLimitExceeded."""
    world.create("jobs.batch", a_job(exit_code=3, run_seconds="0.5", backoffLimit=1))
    world.advance(5)
    assert [c["type"] for c in conditions_of(world.job())] == ["FailureTarget", "Failed"]
    assert world.conditions()["Failed"] == ("True", "BackoffLimitExceeded")
    assert world.status()["failed"] == 2
    assert "completionTime" not in world.status()
    assert "BackoffLimitExceeded" in world.reasons("job")


def test_a_failing_job_stops_its_other_pods(world):
    """When a Job fails, Failed waits until its other pods have stopped; they count as failed."""
    job = a_job(run_seconds="60", parallelism=2, completions=2, backoffLimit=0)
    world.create("jobs.batch", job)
    world.advance(1)
    first = world.pods()[0]
    failed = {**first, "status": {**first["status"], "phase": "Failed"}}
    world.store.update("pods", failed, subresource="status")
    world.settle()
    assert "Failed" not in world.conditions()
    assert world.status()["terminating"] == 1
    world.advance(1)
    assert world.conditions()["Failed"][1] == "BackoffLimitExceeded"
    assert world.status()["failed"] == 2


def test_a_deadline_ends_the_job(world):
    """activeDeadlineSeconds ends a Job that still runs: DeadlineExceeded."""
    world.create("jobs.batch", a_job(run_seconds="60", activeDeadlineSeconds=5))
    world.advance(4.5)
    assert world.conditions() == {}
    world.advance(1.5)
    assert world.conditions()["Failed"] == ("True", "DeadlineExceeded")
    assert world.pods("Running") == []


def test_a_changed_deadline_holds(world):
    """A deadline that is set or moved while the Job runs is obeyed."""
    world.create("jobs.batch", a_job(run_seconds="60", activeDeadlineSeconds=5))
    world.advance(3)
    world.patch_spec("jobs.batch", "job", activeDeadlineSeconds=10)
    world.advance(4)
    assert world.conditions() == {}
    world.patch_spec("jobs.batch", "job", activeDeadlineSeconds=6)
    world.advance(1)
    assert world.conditions()["Failed"] == ("True", "DeadlineExceeded")


def test_a_job_created_suspended_waits(world):
    """A suspended Job has no pods and no start time, and says that it is suspended."""
    world.create("jobs.batch", a_job(suspend=True))
    world.advance(1)
    assert world.pods() == []
    assert world.conditions() == {"Suspended": ("True", "JobSuspended")}
    assert "startTime" not in world.status()


def test_a_resumed_job_starts_anew(world):
    """Resuming sets the start time, so that deadlines count from there."""
    world.create("jobs.batch", a_job(suspend=True, activeDeadlineSeconds=10))
    world.advance(20)
    world.patch_spec("jobs.batch", "job", suspend=False)
    assert world.conditions() == {"Suspended": ("False", "JobResumed")}
    assert world.status()["startTime"] == "2026-01-01T00:00:20Z"
    world.advance(4)
    assert world.conditions()["Complete"][0] == "True"


def test_suspending_stops_the_pods_without_counting_them(world):
    """A Job suspended while it runs loses its pods; none of them counts as failed."""
    world.create("jobs.batch", a_job(run_seconds="60"))
    world.advance(1)
    world.patch_spec("jobs.batch", "job", suspend=True)
    assert world.status()["terminating"] == 1
    assert "startTime" not in world.status()
    world.advance(1)
    assert world.pods() == []
    assert world.status()["terminating"] == 0
    assert "failed" not in world.status()
    assert world.reasons("job").count("Suspended") == 1


def test_fewer_are_wanted(world):
    """Lowering parallelism deletes as many pods; they do not count as failed."""
    world.create("jobs.batch", a_job(run_seconds="60", parallelism=3, completions=9))
    world.advance(1)
    world.patch_spec("jobs.batch", "job", parallelism=1)
    world.advance(1)
    assert world.status()["active"] == 1
    assert "failed" not in world.status()


def test_a_deleted_pod_is_replaced_at_once_by_default(world):
    """TerminatingOrFailed: a pod that is being deleted counts as failed and is replaced at once."""
    world.create("jobs.batch", a_job(run_seconds="60", parallelism=2, completions=2))
    world.advance(1)
    world.delete("pods", world.pods()[0]["metadata"]["name"])
    assert world.status()["failed"] == 1
    world.advance(1.2)
    assert len(world.pods()) == 2


def test_a_deleted_pod_is_replaced_only_when_it_has_ended(world):
    """podReplacementPolicy Failed: no second pod while the first one is still stopping."""
    world.create("jobs.batch", a_job(run_seconds="60", podReplacementPolicy="Failed"))
    world.advance(1)
    world.delete("pods", world.pods()[0]["metadata"]["name"])
    assert (len(world.pods()), world.status().get("active")) == (1, None)
    assert world.status()["terminating"] == 1
    world.advance(2)
    assert world.status()["failed"] == 1
    assert [phase_of(pod) for pod in world.pods()] == ["Running"]


def test_restarted_containers_count_for_the_limit(world):
    """With restartPolicy OnFailure the containers' restarts count against backoffLimit."""
    job = a_job(exit_code=1, run_seconds="0.3", restart_policy="OnFailure", backoffLimit=2)
    world.create("jobs.batch", job)
    world.advance(10)
    assert world.conditions()["Failed"] == ("True", "BackoffLimitExceeded")
    assert world.pods("Running") == []


def test_an_index_may_fail_by_itself(world):
    """backoffLimitPerIndex: each index has its own limit; the Job fails when all are through."""
    job = a_job(
        exit_code=1,
        run_seconds="0.5",
        completionMode="Indexed",
        parallelism=2,
        completions=2,
        backoffLimitPerIndex=1,
        backoffLimit=None,
    )
    world.create("jobs.batch", job)
    world.advance(8)
    assert world.conditions()["Failed"] == ("True", "FailedIndexes")
    assert world.status()["failedIndexes"] == "0,1"
    assert world.status()["failed"] == 4
    counts = [
        pod["metadata"]["annotations"]["batch.kubernetes.io/job-index-failure-count"]
        for pod in world.pods()
    ]
    assert sorted(counts) == ["0", "0", "1", "1"]
    assert not any(pod["metadata"].get("finalizers") for pod in world.pods())


def test_an_exit_code_can_fail_the_job_at_once(world):
    """podFailurePolicy FailJob: one pod with that exit code ends the Job."""
    rule = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}
    job = a_job(exit_code=42, run_seconds="0.5", podFailurePolicy={"rules": [rule]})
    world.create("jobs.batch", job)
    world.advance(2)
    assert world.conditions()["Failed"] == ("True", "PodFailurePolicy")
    message = next(c for c in conditions_of(world.job()) if c["type"] == "Failed")["message"]
    name = world.pods()[0]["metadata"]["name"]
    assert message == (
        f"Container main for pod default/{name} failed with exit code 42 matching FailJob rule"
        " at index 0"
    )


def test_an_exit_code_can_be_ignored(world):
    """podFailurePolicy Ignore: such failures are replaced and never counted."""
    rule = {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [7]}}
    job = a_job(exit_code=7, run_seconds="0.5", backoffLimit=0, podFailurePolicy={"rules": [rule]})
    world.create("jobs.batch", job)
    world.advance(2)
    assert "Failed" not in world.conditions()
    assert "failed" not in world.status()
    assert len(world.pods()) > 1


def test_a_success_policy_ends_the_job_early(world):
    """successPolicy: the index that matters succeeded, the others are stopped, the Job is Complete."""
    job = a_job(
        run_seconds="30",
        completionMode="Indexed",
        parallelism=2,
        completions=2,
        successPolicy={"rules": [{"succeededIndexes": "0"}]},
    )
    world.create("jobs.batch", job)
    world.advance(1)
    leader = next(p for p in world.pods() if p["metadata"]["name"].startswith("job-0-"))
    done = {**leader, "status": {**leader["status"], "phase": "Succeeded"}}
    world.store.update("pods", done, subresource="status")
    world.advance(1)
    assert world.conditions()["Complete"] == ("True", "SuccessPolicy")
    assert world.status()["succeeded"] == 1


def test_a_poison_job_stops_nobody(world):
    """A Job that cannot be understood gets a warning Event; the others run on."""
    poison = a_job("poison")
    poison["spec"]["completions"] = "many"
    world.store.create("jobs.batch", poison, trusted=True)
    world.create("jobs.batch", a_job("good"))
    world.advance(4)
    assert world.conditions("good")["Complete"][0] == "True"
    assert "FailedSync" in world.reasons("poison")
