"""Deployments, ReplicaSets and Services in the simulated cluster."""

import pytest

from tests.kubesim.world import World, a_pool, conditions_of, phase_of

DEPLOYMENTS, REPLICA_SETS = "deployments.apps", "replicasets.apps"


@pytest.fixture
def world():
    return World([a_pool()])


def a_deployment(name="web", replicas=3, image="nginx:1", **spec):
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "strategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"},
            },
            **spec,
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "web", "image": image}]},
            },
        },
    }


def running_images(world):
    return sorted(pod["spec"]["containers"][0]["image"] for pod in world.pods("Running"))


def with_image(world, image):
    template = world.get(DEPLOYMENTS, "web")["spec"]["template"]
    containers = [{"name": "web", "image": image}]
    return {**template, "spec": {**template["spec"], "containers": containers}}


def test_a_deployment_gets_its_pods(world):
    """A Deployment has one ReplicaSet and as many ready pods as it asks for, and says so."""
    world.create(DEPLOYMENTS, a_deployment())
    world.advance(0.5)
    deployment = world.get(DEPLOYMENTS, "web")
    status = deployment["status"]
    for count in ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"):
        assert status[count] == 3
    assert status["observedGeneration"] == deployment["metadata"]["generation"]
    assert {c["type"]: (c["status"], c["reason"]) for c in conditions_of(deployment)} == {
        "Available": ("True", "MinimumReplicasAvailable"),
        "Progressing": ("True", "NewReplicaSetAvailable"),
    }
    (replica_set,) = world.store.list(REPLICA_SETS)
    assert replica_set["status"]["readyReplicas"] == 3


def test_scaling_changes_the_number_of_pods(world):
    """Replicas up and down change the one ReplicaSet; there is no new revision."""
    world.create(DEPLOYMENTS, a_deployment())
    world.patch_spec(DEPLOYMENTS, "web", replicas=5)
    world.advance(0.5)
    assert len(world.pods("Running")) == 5
    world.patch_spec(DEPLOYMENTS, "web", replicas=1)
    world.advance(2)
    assert len(world.pods()) == 1
    assert len(world.store.list(REPLICA_SETS)) == 1


def test_a_deployment_can_be_scaled_to_nothing(world):
    """Zero replicas: no pods, and the status claims none."""
    world.create(DEPLOYMENTS, a_deployment())
    world.advance(0.5)
    world.patch_spec(DEPLOYMENTS, "web", replicas=0)
    world.advance(2)
    assert world.pods() == []
    assert "availableReplicas" not in world.get(DEPLOYMENTS, "web")["status"]


def test_a_new_template_rolls_out_without_a_gap(world):
    """A changed template makes a new ReplicaSet; too few are never available, and never too many."""
    world.create(DEPLOYMENTS, a_deployment(replicas=4))
    world.advance(0.5)
    world.patch_spec(DEPLOYMENTS, "web", template=with_image(world, "nginx:2"))
    for _ in range(60):
        world.advance(0.1)
        assert len(world.pods("Running")) >= 3
        active = [p for p in world.pods() if "deletionTimestamp" not in p["metadata"]]
        assert len(active) <= 5
    assert running_images(world) == ["nginx:2"] * 4
    revisions = [
        (
            one["metadata"]["annotations"]["deployment.kubernetes.io/revision"],
            one["spec"]["replicas"],
        )
        for one in world.store.list(REPLICA_SETS)
    ]
    assert revisions == [("1", 0), ("2", 4)]


def test_recreate_stops_the_old_before_the_new(world):
    """Strategy Recreate: old and new pods never run at the same time."""
    world.create(DEPLOYMENTS, a_deployment(strategy={"type": "Recreate"}))
    world.advance(0.5)
    world.patch_spec(DEPLOYMENTS, "web", template=with_image(world, "nginx:2"))
    for _ in range(30):
        world.advance(0.1)
        assert len(set(running_images(world))) <= 1
    assert running_images(world) == ["nginx:2"] * 3


def test_a_deleted_pod_is_replaced(world):
    """A ReplicaSet keeps its number of pods."""
    world.create(DEPLOYMENTS, a_deployment())
    world.advance(0.5)
    world.delete("pods", world.pods()[0]["metadata"]["name"])
    world.advance(1.5)
    assert [phase_of(pod) for pod in world.pods()] == ["Running"] * 3


def test_a_deployment_that_cannot_run_is_not_available(world):
    """Images that do not pull: not available, still progressing, and never claimed otherwise."""
    world.create(DEPLOYMENTS, a_deployment(image="registry.invalid/app:1"))
    world.advance(5)
    deployment = world.get(DEPLOYMENTS, "web")
    assert deployment["status"]["unavailableReplicas"] == 3
    assert {c["type"]: c["status"] for c in conditions_of(deployment)}["Available"] == "False"


def test_deleting_a_deployment_removes_everything(world):
    """The ReplicaSet and its pods go with their owner."""
    world.create(DEPLOYMENTS, a_deployment())
    world.advance(0.5)
    world.delete(DEPLOYMENTS, "web")
    world.advance(1)
    assert world.store.list(REPLICA_SETS) == world.pods() == []


def test_services_get_different_addresses(world):
    """A Service gets a cluster IP of its own; a headless one keeps None."""
    for name, spec in (("a", {}), ("b", {}), ("headless", {"clusterIP": "None"})):
        meta = {"name": name, "namespace": "default"}
        world.create("services", {"metadata": meta, "spec": {"ports": [{"port": 80}], **spec}})
    addresses = [
        world.get("services", name)["spec"]["clusterIP"] for name in ("a", "b", "headless")
    ]
    assert all(address.startswith("10.96.") for address in addresses[:2])
    assert len(set(addresses)) == 3
    assert addresses[2] == "None"


@pytest.mark.parametrize("key", ["statefulsets.apps", "daemonsets.apps"])
def test_what_is_not_simulated_claims_nothing(world, key):
    """StatefulSets and DaemonSets are stored, but no status pretends that they run."""
    meta = {"name": "s", "namespace": "default"}
    world.create(key, {"metadata": meta, "spec": a_deployment()["spec"]})
    world.advance(1)
    assert not world.get(key, "s").get("status")
    assert world.pods() == []
