"""What everybody can see of Jobs that run well; true of the simulated cluster and of a real one."""

import pytest

from tests.kubesim.jobs.api import conditions

RUN = "sim.roadstead.dev/run-seconds"
INDEX = "batch.kubernetes.io/job-completion-index"
FINALIZER = "batch.kubernetes.io/job-tracking"


@pytest.mark.kube_from("1.32", "every end has its criteria first")
def test_a_job_completes(api):
    """SuccessCriteriaMet, then Complete, both CompletionsReached, with times and counts."""
    api.create_job("j", annotations={RUN: "1"}, completions=2, parallelism=2)
    job = api.until_condition("j", "Complete")
    assert list(conditions(job).items()) == [
        ("SuccessCriteriaMet", ("True", "CompletionsReached")),
        ("Complete", ("True", "CompletionsReached")),
    ]
    status = job["status"]
    assert status["succeeded"] == 2
    assert (status["ready"], status["terminating"]) == (0, 0)
    assert "active" not in status
    assert "failed" not in status
    assert status["uncountedTerminatedPods"] == {}
    assert status["startTime"] < status["completionTime"]
    assert {"SuccessfulCreate", "Completed"} <= api.reasons("j")


def test_the_pods_of_a_running_job(api):
    """Pods carry their Job's name and uid as labels, its reference, and the tracking finalizer."""
    made = api.create_job("j", annotations={RUN: "60"})
    (pod,) = api.until_running("j")
    uid = made["metadata"]["uid"]
    meta = pod["metadata"]
    assert meta["name"].startswith("j-")
    assert len(meta["name"]) == len("j-") + 5
    expected = {
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": "j",
        "controller-uid": uid,
        "job-name": "j",
    }
    assert expected.items() <= meta["labels"].items()
    (owner,) = meta["ownerReferences"]
    assert (owner["kind"], owner["uid"]) == ("Job", uid)
    assert owner["controller"]
    assert owner["blockOwnerDeletion"]
    assert FINALIZER in meta["finalizers"]
    assert pod["spec"]["nodeName"]


def test_a_running_job_counts_its_pods(api):
    """active and ready while it runs; neither conditions nor ends."""
    api.create_job("j", annotations={RUN: "60"}, completions=3, parallelism=2)
    api.until_running("j", 2)
    job = api.until(
        lambda: (job := api.job("j"))["status"].get("ready") == 2 and job, "both pods are ready"
    )
    assert job["status"]["active"] == 2
    assert "startTime" in job["status"]
    assert conditions(job) == {}


def test_the_pods_of_a_finished_job_are_released(api):
    """No pod of a finished Job carries the tracking finalizer."""
    api.create_job("j", annotations={RUN: "1"})
    api.until_condition("j", "Complete")
    (pod,) = api.pods("j")
    assert pod["status"]["phase"] == "Succeeded"
    assert not pod["metadata"].get("finalizers")


def test_no_completions_are_complete_at_once(api):
    """Zero completions: Complete without a pod."""
    api.create_job("j", completions=0, parallelism=1)
    api.until_condition("j", "Complete")
    assert api.pods("j") == []


def test_indexed_pods(api):
    """Every index has one pod, known by annotation, label, host name and name."""
    spec = {"completionMode": "Indexed", "completions": 3, "parallelism": 3}
    api.create_job("j", annotations={RUN: "1"}, **spec)
    job = api.until_condition("j", "Complete")
    assert job["status"]["completedIndexes"] == "0-2"
    pods = api.pods("j")
    assert [pod["metadata"]["annotations"][INDEX] for pod in pods] == ["0", "1", "2"]
    assert [pod["metadata"]["labels"][INDEX] for pod in pods] == ["0", "1", "2"]
    assert [pod["spec"]["hostname"] for pod in pods] == ["j-0", "j-1", "j-2"]
    assert all(p["metadata"]["name"].startswith(f"j-{n}-") for n, p in enumerate(pods))
    (variable,) = pods[0]["spec"]["containers"][0]["env"]
    assert variable["name"] == "JOB_COMPLETION_INDEX"
    assert variable["valueFrom"]["fieldRef"]["fieldPath"] == f"metadata.labels['{INDEX}']"


@pytest.mark.kube_from("1.31", "success policies")
def test_a_success_policy_ends_the_job(api):
    """One succeeded index is enough where the policy says so; the reason is SuccessPolicy."""
    api.create_job(
        "j",
        annotations={RUN: "2"},
        completionMode="Indexed",
        completions=4,
        parallelism=1,
        successPolicy={"rules": [{"succeededCount": 1}]},
    )
    job = api.until_condition("j", "Complete")
    assert conditions(job)["SuccessCriteriaMet"] == ("True", "SuccessPolicy")
    assert conditions(job)["Complete"] == ("True", "SuccessPolicy")
    assert job["status"]["succeeded"] == 1


def test_a_work_queue_is_done_with_its_first_success(api):
    """Without completions no pod is started after a success, and the rest may run out."""
    api.create_job("j", annotations={RUN: "1"}, parallelism=2)
    api.patch_job("j", parallelism=2)
    job = api.until_condition("j", "Complete")
    assert 1 <= job["status"]["succeeded"] <= 2


@pytest.mark.kube_from("1.32", "the API server knows spec.managedBy")
def test_a_job_of_another_controller_is_left_alone(api):
    """With managedBy of somebody else the Job controller does nothing at all."""
    api.create_job("theirs", managedBy="example.com/other")
    api.create_job("ours", annotations={RUN: "1"})
    api.until_condition("ours", "Complete")
    assert api.pods("theirs") == []
    assert not api.job("theirs").get("status")


def test_a_finished_job_goes_with_its_pods_after_its_ttl(api):
    """ttlSecondsAfterFinished removes Job and pods."""
    api.create_job("j", annotations={RUN: "1"}, ttlSecondsAfterFinished=2)
    api.until_condition("j", "Complete")
    api.until(lambda: api.job("j") is None, "the Job is gone")
    api.until(lambda: not api.pods("j"), "its pods are gone")
