"""What everybody can see of Jobs that fail, wait, stop or are deleted; simulated and real alike."""

import pytest

from tests.kubesim.jobs.api import conditions

RUN, EXIT = "sim.roadstead.dev/run-seconds", "sim.roadstead.dev/exit-code"


def message_of(job, kind):
    (condition,) = [c for c in job["status"]["conditions"] if c["type"] == kind]
    return condition["message"]


def reason_of(job, kind):
    (condition,) = [c for c in job["status"]["conditions"] if c["type"] == kind]
    return condition["reason"]


@pytest.mark.kube_from("1.32", "every end has its criteria first")
def test_too_many_failures(api):
    """FailureTarget, then Failed, BackoffLimitExceeded; failed counts, no completion time."""
    api.create_job("j", annotations={RUN: "1", EXIT: "3"}, backoffLimit=0)
    job = api.until_condition("j", "Failed")
    assert list(conditions(job).items()) == [
        ("FailureTarget", ("True", "BackoffLimitExceeded")),
        ("Failed", ("True", "BackoffLimitExceeded")),
    ]
    assert message_of(job, "Failed") == "Job has reached the specified backoff limit"
    assert job["status"]["failed"] == 1
    assert "completionTime" not in job["status"]
    assert "BackoffLimitExceeded" in api.reasons("j")


def test_the_deadline(api):
    """activeDeadlineSeconds ends what runs: DeadlineExceeded, and the pods go."""
    api.create_job("j", annotations={RUN: "60"}, activeDeadlineSeconds=3)
    job = api.until_condition("j", "Failed")
    assert conditions(job)["Failed"] == ("True", "DeadlineExceeded")
    assert message_of(job, "Failed") == "Job was active longer than specified deadline"
    assert job["status"]["failed"] == 1
    api.until(lambda: not api.pods("j"), "the pods are gone")


def test_a_deadline_set_while_it_runs(api):
    """A deadline that is shortened while the Job runs is obeyed."""
    api.create_job("j", annotations={RUN: "60"}, activeDeadlineSeconds=600)
    api.until_running("j")
    api.patch_job("j", activeDeadlineSeconds=2)
    job = api.until_condition("j", "Failed")
    assert conditions(job)["Failed"][1] == "DeadlineExceeded"


def test_suspend_and_resume(api):
    """Suspended from the start: no pods, no start time; resumed: both, and the condition is False."""
    api.create_job("j", annotations={RUN: "60"}, suspend=True)
    job = api.until_condition("j", "Suspended")
    assert conditions(job) == {"Suspended": ("True", "JobSuspended")}
    assert "startTime" not in job["status"]
    assert api.pods("j") == []
    api.patch_job("j", suspend=False)
    job = api.until_condition("j", "Suspended", "False")
    assert conditions(job) == {"Suspended": ("False", "JobResumed")}
    assert "startTime" in job["status"]
    api.until_running("j")
    assert "Resumed" in api.reasons("j")


@pytest.mark.kube_from("1.36", "suspending takes the start time back")
def test_suspending_a_running_job(api):
    """The pods go without counting as failed, and the start time is taken back."""
    api.create_job("j", annotations={RUN: "60"})
    api.until_running("j")
    api.patch_job("j", suspend=True)
    api.until_condition("j", "Suspended")
    api.until(lambda: not api.pods("j"), "the pods are gone")

    def settled():  # a deletion that the controller had to repeat is counted after Suspended is true
        status = api.job("j")["status"]
        return status.get("terminating") == 0 and "active" not in status and status

    status = api.until(settled, "nothing is active and nothing terminates")
    assert "failed" not in status
    assert "startTime" not in status


def test_what_others_say_of_a_suspension_is_set_back(api):
    """Reason and message of Suspended are the Job controller's own; conditions of others stay."""
    api.create_job("j", suspend=True)
    api.until_condition("j", "Suspended")
    told = [
        {"type": "Suspended", "status": "True", "reason": "Elsewhere", "message": "it runs there"},
        {"type": "example.com/Billed", "status": "True", "reason": "Paid"},
    ]
    api.patch_job_status("j", conditions=told)
    api.until(lambda: reason_of(api.job("j"), "Suspended") == "JobSuspended", "set back")
    assert reason_of(api.job("j"), "example.com/Billed") == "Paid"


def test_less_parallelism(api):
    """Lowering parallelism stops pods; they do not count as failed."""
    api.create_job("j", annotations={RUN: "60"}, parallelism=3, completions=3)
    api.until_running("j", 3)
    api.patch_job("j", parallelism=1)
    api.until(lambda: len(api.pods("j")) == 1, "one pod is left")
    assert "failed" not in api.job("j")["status"]


def test_a_deleted_pod_is_replaced(api):
    """A pod that somebody deletes counts as failed and is replaced."""
    api.create_job("j", annotations={RUN: "60"})
    (pod,) = api.until_running("j")
    api.delete_pod(pod["metadata"]["name"])
    api.until(
        lambda: [p for p in api.pods("j") if p["metadata"]["uid"] != pod["metadata"]["uid"]],
        "another pod is there",
    )
    api.until(lambda: api.job("j")["status"].get("failed") == 1, "it counts as failed")


@pytest.mark.parametrize("propagation", ["Background", "Foreground"])
def test_deleting_a_running_job(api, propagation):
    """Deleting a Job takes its pods along; in the foreground they go first."""
    api.create_job("j", annotations={RUN: "60"}, parallelism=2, completions=2)
    api.until_running("j", 2)
    api.delete_job("j", propagation)
    api.until(lambda: api.job("j") is None, "the Job is gone")
    if propagation == "Foreground":
        assert api.pods("j") == []
    api.until(lambda: not api.pods("j"), "the pods are gone")


def test_an_exit_code_that_fails_the_job(api):
    """podFailurePolicy FailJob: PodFailurePolicy, naming container, pod, exit code and rule."""
    rule = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}
    policy = {"rules": [rule]}
    api.create_job("j", annotations={RUN: "1", EXIT: "42"}, podFailurePolicy=policy)
    job = api.until_condition("j", "Failed")
    assert conditions(job)["Failed"] == ("True", "PodFailurePolicy")
    (pod,) = api.pods("j")
    assert message_of(job, "Failed") == (
        f"Container main for pod {api.namespace}/{pod['metadata']['name']}"
        " failed with exit code 42 matching FailJob rule at index 0"
    )


def test_indexes_that_fail_by_themselves(api):
    """backoffLimitPerIndex: the failed indexes are listed, and the Job fails with FailedIndexes."""
    api.create_job(
        "j",
        annotations={RUN: "1", EXIT: "1"},
        completionMode="Indexed",
        completions=2,
        parallelism=2,
        backoffLimitPerIndex=0,
    )
    job = api.until_condition("j", "Failed")
    assert conditions(job)["Failed"] == ("True", "FailedIndexes")
    assert job["status"]["failedIndexes"] == "0,1"
    assert job["status"]["failed"] == 2


def test_a_pod_that_fits_nowhere(api):
    """It stays Pending; PodScheduled is False and says what there is too little of."""
    container = {
        "name": "main",
        "image": "busybox:1.36",
        "resources": {"requests": {"cpu": "1000"}},
    }
    api.create_job("j", pod={"containers": [container]})
    condition = api.until(lambda: unscheduled(api.pods("j")), "PodScheduled=False")
    assert condition["reason"] == "Unschedulable"
    assert condition["message"].startswith("0/2 nodes are available: 2 Insufficient cpu.")
    (pod,) = api.pods("j")
    assert pod["status"]["phase"] == "Pending"
    api.until(lambda: "FailedScheduling" in api.reasons(pod["metadata"]["name"]), "the Event")
    assert api.job("j")["status"]["active"] == 1


def test_an_image_that_cannot_be_pulled(api):
    """Its container waits in ImagePullBackOff; the pod stays Pending and the Job active."""
    container = {"name": "main", "image": "registry.invalid/app:1"}
    api.create_job("j", pod={"containers": [container]})
    api.until(lambda: waiting_reason(api.pods("j")) == "ImagePullBackOff", "ImagePullBackOff")
    (pod,) = api.pods("j")
    assert pod["status"]["phase"] == "Pending"
    assert api.job("j")["status"]["active"] == 1


def unscheduled(pods):
    listed = [c for pod in pods for c in pod["status"].get("conditions", [])]
    return next((c for c in listed if (c["type"], c["status"]) == ("PodScheduled", "False")), None)


def waiting_reason(pods):
    for pod in pods:
        for container in pod["status"].get("containerStatuses", []):
            return container["state"].get("waiting", {}).get("reason")
    return None
