"""How pods live on their nodes: start, run, end, restart, wait, stop, and outlive the simulator."""

import pytest

from tests.kubesim.world import World, a_job, a_pod, a_pool, conditions_of, phase_of

RUN = "sim.roadstead.dev/run-seconds"
EXIT = "sim.roadstead.dev/exit-code"


@pytest.fixture
def world():
    return World([a_pool()])


def state_of(world, name="p"):
    return world.get("pods", name)["status"]["containerStatuses"][0]["state"]


def test_a_bound_pod_is_created_then_runs(world):
    """A bound pod is Pending with ContainerCreating, then Running and Ready with an address."""
    world.create("pods", a_pod("p"))
    assert state_of(world) == {"waiting": {"reason": "ContainerCreating"}}
    world.advance(0.2)
    pod = world.get("pods", "p")
    assert phase_of(pod) == "Running"
    assert pod["status"]["podIP"].startswith("10.")
    assert {c["type"]: c["status"] for c in conditions_of(pod)} == {
        "PodReadyToStartContainers": "True",
        "Initialized": "True",
        "Ready": "True",
        "ContainersReady": "True",
        "PodScheduled": "True",
    }


def test_pods_of_nobody_run_for_ever(world):
    """A pod that no Job controls runs until it is deleted, unless it is annotated."""
    world.create("pods", a_pod("p"))
    world.create("pods", a_pod("q", annotations={RUN: "1"}, restartPolicy="Never"))
    world.advance(30)
    assert [phase_of(world.get("pods", name)) for name in "pq"] == ["Running", "Succeeded"]


def test_seconds_may_be_fractions(world):
    """run-seconds takes fractions; nonsense means the default of three seconds."""
    world.create("jobs.batch", a_job("short", run_seconds="0.4"))
    world.create("jobs.batch", a_job("odd", run_seconds="soon"))
    world.advance(0.6)
    assert "Complete" in world.conditions("short")
    world.advance(2.1)
    assert "Complete" not in world.conditions("odd")
    world.advance(0.6)
    assert "Complete" in world.conditions("odd")


def test_an_exit_code_is_kept(world):
    """A pod that ends with another exit code than 0 has Failed, and its container says how."""
    world.create("pods", a_pod("p", annotations={RUN: "1", EXIT: "3"}, restartPolicy="Never"))
    world.advance(1.5)
    assert phase_of(world.get("pods", "p")) == "Failed"
    terminated = state_of(world)["terminated"]
    assert (terminated["exitCode"], terminated["reason"]) == (3, "Error")
    assert terminated["startedAt"] < terminated["finishedAt"]


def test_failing_containers_are_started_again(world):
    """OnFailure restarts the container, each time after a longer wait in CrashLoopBackOff."""
    world.create("pods", a_pod("p", annotations={RUN: "1", EXIT: "1"}, restartPolicy="OnFailure"))
    world.advance(1.3)
    assert state_of(world)["waiting"]["reason"] == "CrashLoopBackOff"
    world.advance(1)
    status = world.get("pods", "p")["status"]["containerStatuses"][0]
    assert status["restartCount"] == 1
    assert status["lastState"]["terminated"]["exitCode"] == 1
    assert "running" in status["state"]


def test_images_of_no_registry_never_pull(world):
    """An image of a host under .invalid: ErrImagePull, then ImagePullBackOff, with Events."""
    world.create("pods", a_pod("p", image="registry.invalid/team/app:1"))
    world.advance(0.3)
    assert state_of(world)["waiting"]["reason"] == "ErrImagePull"
    world.advance(10)
    assert state_of(world)["waiting"]["reason"] == "ImagePullBackOff"
    assert phase_of(world.get("pods", "p")) == "Pending"
    assert {"Pulling", "Failed", "BackOff"} <= set(world.reasons("p"))


def test_an_image_name_must_be_one(world):
    """A reference that cannot be parsed is InvalidImageName."""
    world.create("pods", a_pod("p", image="Not An Image"))
    world.advance(0.3)
    assert state_of(world)["waiting"]["reason"] == "InvalidImageName"


def test_a_missing_config_map_holds_the_container(world):
    """An environment without its ConfigMap waits in CreateContainerConfigError, until it is there."""
    pod = a_pod("p")
    pod["spec"]["containers"][0]["envFrom"] = [{"configMapRef": {"name": "settings"}}]
    world.create("pods", pod)
    world.advance(1)
    assert state_of(world)["waiting"] == {
        "reason": "CreateContainerConfigError",
        "message": 'configmap "settings" not found',
    }
    settings = {"metadata": {"name": "settings", "namespace": "default"}, "data": {}}
    world.create("configmaps", settings)
    world.advance(3)
    assert phase_of(world.get("pods", "p")) == "Running"


def test_a_pods_own_deadline_ends_it(world):
    """activeDeadlineSeconds of a pod: its node ends it, reason DeadlineExceeded."""
    world.create("pods", a_pod("p", activeDeadlineSeconds=2))
    world.advance(2.2)
    status = world.get("pods", "p")["status"]
    assert (status["phase"], status["reason"]) == ("Failed", "DeadlineExceeded")


def test_a_deleted_pod_stops_within_its_grace(world):
    """A deleted pod goes after its grace, or after half a second if that is shorter."""
    world.create("pods", a_pod("p"))
    world.advance(1)
    world.delete("pods", "p")
    assert "deletionTimestamp" in world.get("pods", "p")["metadata"]
    world.advance(0.6)
    assert world.pods() == []


def test_a_pod_that_is_bound_nowhere_goes_at_once():
    """Nothing has to be stopped of a pod that never ran."""
    world = World()
    world.create("pods", a_pod("p"))
    world.delete("pods", "p")
    assert world.pods() == []


def test_time_goes_on_while_the_simulator_is_down(world):
    """A pod that should have ended meanwhile ends right after the start, others when they are due."""
    world.create("jobs.batch", a_job("short", run_seconds="5"))
    world.create("jobs.batch", a_job("long", run_seconds="20"))
    world.advance(1)
    world.clock.advance(10)
    again = world.restarted()
    assert "Complete" in again.conditions("short")
    again.advance(8)
    assert "Complete" not in again.conditions("long")
    again.advance(1.5)
    assert "Complete" in again.conditions("long")


def test_a_lost_node_keeps_its_pods_as_they_were(world):
    """Nothing happens to pods on a node that does not answer; when it is found, time is made up."""
    world.create("jobs.batch", a_job(run_seconds="2"))
    world.advance(1)
    world.behaviours.nodes_request("lose", {"name": "cpu-0"})
    world.advance(5)
    assert [phase_of(pod) for pod in world.pods()] == ["Running"]
    ready = {c["type"]: c["status"] for c in conditions_of(world.get("nodes", "cpu-0"))}["Ready"]
    assert ready == "Unknown"
    world.behaviours.nodes_request("find", {"name": "cpu-0"})
    world.settle()
    assert "Complete" in world.conditions()


def test_a_removed_nodes_pods_fail_and_are_replaced(world):
    """Pods of a node that is gone fail, are counted, and run again elsewhere."""
    world.create("jobs.batch", a_job(run_seconds="3"))
    world.advance(1)
    world.behaviours.remove_node("cpu-0")
    world.settle()
    assert world.status()["failed"] == 1
    world.advance(15)
    assert "Complete" in world.conditions()
    assert [pod["spec"]["nodeName"] for pod in world.pods()] == ["cpu-1"]
