"""What everybody can see of Deployments; true of the simulated cluster and of a real one."""

import pytest

from tests.kubesim.jobs.api import conditions

COUNTS = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")


@pytest.fixture
def web(api):
    """A Deployment of three replicas that has rolled out."""
    api.create_deployment("web", 3)
    return rolled_out(api, 3)


def rolled_out(api, replicas):
    """The Deployment, once its status is about its present generation and all replicas are new."""

    def look():
        deployment = api.deployment("web")
        status = deployment.get("status", {})
        seen = status.get("observedGeneration") == deployment["metadata"]["generation"]
        counts = [status.get(count, 0) for count in COUNTS]
        return seen and counts == [replicas] * 4 and deployment

    return api.until(look, f"{replicas} replicas are available")


def images(api):
    return sorted(pod["spec"]["containers"][0]["image"] for pod in api.pods_of_app("web"))


def test_it_rolls_out(api, web):
    """Available and Progressing are True; nothing is unavailable; the revision is 1."""
    found = api.until(
        lambda: (
            conditions(d := api.deployment("web")).get("Progressing", ("", ""))[1]
            == "NewReplicaSetAvailable"
            and d
        ),
        "it has progressed",
    )
    assert conditions(found) == {
        "Available": ("True", "MinimumReplicasAvailable"),
        "Progressing": ("True", "NewReplicaSetAvailable"),
    }
    assert "unavailableReplicas" not in found["status"]
    assert found["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "1"


def test_its_replica_set(api, web):
    """One ReplicaSet, named after the Deployment and its template, with the same hash everywhere."""
    (replica_set,) = api.replica_sets()
    digest = replica_set["metadata"]["labels"]["pod-template-hash"]
    assert replica_set["metadata"]["name"] == f"web-{digest}"
    assert replica_set["spec"]["selector"]["matchLabels"] == {
        "app": "web",
        "pod-template-hash": digest,
    }
    assert all(
        pod["metadata"]["labels"]["pod-template-hash"] == digest for pod in api.pods_of_app("web")
    )


def test_scaling(api, web):
    """Replicas up and down, without a new revision."""
    api.patch_deployment("web", replicas=4)
    rolled_out(api, 4)
    api.patch_deployment("web", replicas=1)
    rolled_out(api, 1)
    api.until(lambda: len(api.pods_of_app("web")) == 1, "one pod is left")
    assert len(api.replica_sets()) == 1


def test_a_new_template(api, web):
    """A changed template makes a second ReplicaSet; in the end it has all the pods."""
    template = {"spec": {"containers": [{"name": "main", "image": "nginx:2"}]}}
    api.patch_deployment("web", template=template)
    rolled_out(api, 3)
    api.until(lambda: images(api) == ["nginx:2"] * 3, "only new pods are left")
    assert [one["spec"]["replicas"] for one in api.replica_sets()] == [0, 3]


def test_deleting_it(api, web):
    """Its ReplicaSet and pods go with it."""
    api.delete_deployment("web")
    api.until(lambda: not api.replica_sets() and not api.pods_of_app("web"), "all is gone")
