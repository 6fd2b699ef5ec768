"""How Jobs run to their end, told as stories on a manual clock."""

import pytest

from tests.kubesim.world import World, a_job, a_pool, conditions_of, phase_of


@pytest.fixture
def world():
    return World([a_pool()])


def test_a_job_runs_its_pod_and_completes(world):
    """A Job's pod is created, bound and started; when it ends well the Job is Complete."""
    world.create("jobs.batch", a_job(run_seconds="3"))
    assert [phase_of(pod) for pod in world.pods()] == ["Pending"]
    assert world.pods()[0]["spec"]["nodeName"] == "cpu-0"
    world.advance(0.2)
    assert world.status() == {
        "startTime": "2026-01-01T00:00:00Z",
        "active": 1,
        "ready": 1,
        "terminating": 0,
        "uncountedTerminatedPods": {},
    }
    world.advance(3)
    assert [c["type"] for c in conditions_of(world.job())] == ["SuccessCriteriaMet", "Complete"]
    assert world.conditions()["Complete"] == ("True", "CompletionsReached")
    status = world.status()
    assert (status["succeeded"], status["ready"], "active" in status) == (1, 0, False)
    assert status["completionTime"] == "2026-01-01T00:00:03Z"


def test_a_finished_jobs_pods_stay_and_can_be_deleted(world):
    """Pods of a finished Job carry no tracking finalizer any more."""
    world.create("jobs.batch", a_job())
    world.advance(4)
    (pod,) = world.pods("Succeeded")
    assert not pod["metadata"].get("finalizers")


def test_parallelism_limits_how_many_run_at_once(world):
    """No more than `parallelism` pods run, and no more than `completions` are started in all."""
    world.create("jobs.batch", a_job(parallelism=2, completions=5, run_seconds="1"))
    most = 0
    for _ in range(60):
        world.advance(0.1)
        most = max(most, world.status().get("active", 0))
    assert most == 2
    assert world.status()["succeeded"] == 5
    assert len(world.pods()) == 5


def test_a_job_costs_few_writes(world):
    """One pod's Job: four versions of the pod, three status writes of the Job."""
    world.create("jobs.batch", a_job())
    world.advance(4)
    assert (world.writes("pods"), world.writes("jobs.batch")) == (4, 4)


def test_a_work_queue_job_completes_with_its_first_success(world):
    """Without completions, nothing is started after a success; the rest runs out, then it is Complete."""
    world.create("jobs.batch", a_job(parallelism=3, completions=None, run_seconds="2"))
    world.advance(3)
    assert world.conditions()["Complete"] == ("True", "CompletionsReached")
    assert world.status()["succeeded"] == 3


def test_no_completions_are_complete_at_once(world):
    """A Job of zero completions is Complete without a pod."""
    world.create("jobs.batch", a_job(completions=0))
    assert world.conditions()["Complete"][0] == "True"
    assert world.pods() == []


def test_an_indexed_job_gives_each_pod_its_index(world):
    """Indexed pods carry their index as annotation, label, host name and in their own name."""
    world.create("jobs.batch", a_job(completionMode="Indexed", parallelism=3, completions=3))
    pods = sorted(world.pods(), key=lambda pod: pod["metadata"]["name"])
    key = "batch.kubernetes.io/job-completion-index"
    assert [pod["metadata"]["annotations"][key] for pod in pods] == ["0", "1", "2"]
    assert [pod["metadata"]["labels"][key] for pod in pods] == ["0", "1", "2"]
    assert [pod["spec"]["hostname"] for pod in pods] == ["job-0", "job-1", "job-2"]
    assert pods[1]["metadata"]["name"].startswith("job-1-")
    assert pods[0]["spec"]["containers"][0]["env"][0]["name"] == "JOB_COMPLETION_INDEX"
    world.advance(4)
    assert world.status()["completedIndexes"] == "0-2"


def test_pods_say_whose_they_are(world):
    """Pods carry a controller reference and the four labels that name their Job."""
    made = world.create("jobs.batch", a_job())
    (pod,) = world.pods()
    uid = made["metadata"]["uid"]
    assert pod["metadata"]["ownerReferences"] == [
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "name": "job",
            "uid": uid,
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]
    assert pod["metadata"]["labels"] == {
        "batch.kubernetes.io/job-name": "job",
        "job-name": "job",
        "batch.kubernetes.io/controller-uid": uid,
        "controller-uid": uid,
    }


def test_a_jobs_own_annotations_reach_its_pods(world):
    """The simulator's annotations on the Job hold for its pods, unless the template has its own."""
    job = a_job(
        annotations={"sim.roadstead.dev/run-seconds": "9", "sim.roadstead.dev/exit-code": "4"}
    )
    world.create("jobs.batch", job)
    annotations = world.pods()[0]["metadata"]["annotations"]
    assert annotations["sim.roadstead.dev/run-seconds"] == "3"
    assert annotations["sim.roadstead.dev/exit-code"] == "4"


def test_a_job_managed_elsewhere_is_not_touched(world):
    """A Job whose managedBy names another controller gets neither pods nor a status."""
    world.create("jobs.batch", a_job(managedBy="roadstead.dev/hub"))
    world.advance(1)
    assert world.pods() == []
    assert world.status() == {}


def test_a_finished_job_goes_after_its_ttl(world):
    """ttlSecondsAfterFinished deletes the Job with its pods, counted from its end."""
    world.create("jobs.batch", a_job(ttlSecondsAfterFinished=5))
    world.advance(7.5)
    assert world.conditions()["Complete"][0] == "True"
    world.advance(1)
    assert world.store.list("jobs.batch") == []
    assert world.pods() == []


def test_a_shortened_ttl_holds_at_once(world):
    """A TTL that is set after the end counts from that end."""
    world.create("jobs.batch", a_job())
    world.advance(60)
    world.patch_spec("jobs.batch", "job", ttlSecondsAfterFinished=10)
    assert world.store.list("jobs.batch") == []


def test_a_deleted_job_takes_its_running_pods_along(world):
    """Deleting a Job in the background stops its pods; nothing is left behind."""
    world.create("jobs.batch", a_job(parallelism=2, completions=2, run_seconds="60"))
    world.advance(1)
    world.delete("jobs.batch", "job")
    assert all("deletionTimestamp" in pod["metadata"] for pod in world.pods())
    world.advance(1)
    assert world.pods() == []


def test_foreground_deletion_waits_for_the_pods(world):
    """A Job deleted in the foreground stays until its last pod has stopped."""
    world.create("jobs.batch", a_job(run_seconds="60"))
    world.advance(1)
    world.delete("jobs.batch", "job", propagation="Foreground")
    assert "deletionTimestamp" in world.job()["metadata"]
    world.advance(1)
    assert world.store.list("jobs.batch") == []
    assert world.pods() == []


def test_jobs_outlast_a_restart_of_the_simulator(world):
    """After a restart a running pod's time goes on, and its Job completes with one pod in all."""
    world.create("jobs.batch", a_job(run_seconds="5"))
    world.advance(3)
    world.clock.advance(1)
    again = world.restarted()
    again.advance(1.5)
    assert again.conditions()["Complete"][0] == "True"
    assert len(again.pods()) == 1


def test_a_thousand_pods_are_one_job(world):
    """A Job of many pods is created in portions and counted to the last one."""
    world = World([a_pool(count=20, cpu="64", pods="1000")])
    world.create("jobs.batch", a_job(parallelism=1200, completions=1200, run_seconds="1"))
    world.advance(2)
    assert world.status()["succeeded"] == 1200


def test_the_hub_cluster_runs_the_controller_but_has_no_nodes():
    """In the hub cluster a Job that nobody manages gets pods, which never run."""
    world = World(hub=True)
    world.create("jobs.batch", a_job())
    world.advance(5)
    assert [phase_of(pod) for pod in world.pods()] == ["Pending"]
    assert world.status()["active"] == 1
