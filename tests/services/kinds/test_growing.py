"""Objects that would outgrow what they are charged are refused where they would be queued."""

import pytest

from hub.services.reading.work_kinds import read_work
from shared.errors import Rejected
from shared.kinds.registry import parse
from tests.services.kinds.fleet import a_pytorchjob, a_raycluster, a_rayjob, a_rayservice

CLUSTER = "spec.rayClusterSpec"


def of_ray(elastic=False, **spec):
    """A RayJob with these fields, whose cluster scales itself or not."""
    job = a_rayjob()
    job["spec"] |= {name: each for name, each in spec.items() if name != "scales"}
    job["spec"]["rayClusterSpec"]["enableInTreeAutoscaling"] = bool(spec.get("scales"))
    if elastic:
        job["metadata"]["annotations"] = {"kueue.x-k8s.io/elastic-job": "true"}
    return job


def of_cluster(made, at):
    """A RayCluster, or a RayService, whose cluster scales itself."""
    cluster = made["spec"][at] if at else made["spec"]
    cluster["enableInTreeAutoscaling"] = True
    return made


def of_torch(**policy):
    """A PyTorchJob of three workers that is elastic."""
    job = a_pytorchjob(workers=3)
    job["spec"]["elasticPolicy"] = policy
    return job


@pytest.mark.parametrize(
    ("manifest", "field"),
    [
        (of_ray(scales=True), f"{CLUSTER}.enableInTreeAutoscaling"),
        (of_ray(scales=True, elastic=True), f"{CLUSTER}.enableInTreeAutoscaling"),
        (
            of_ray(deletionStrategy={"onSuccess": {"policy": "DeleteNone"}}),
            "spec.deletionStrategy.onSuccess.policy",
        ),
        (
            of_ray(deletionStrategy={"onFailure": {"policy": "DeleteWorkers"}}),
            "spec.deletionStrategy.onFailure.policy",
        ),
        (of_ray(deletionStrategy={"deletionRules": []}), "spec.deletionStrategy"),
        (of_cluster(a_raycluster(), ""), "spec.enableInTreeAutoscaling"),
        (
            of_cluster(a_rayservice(), "rayClusterConfig"),
            "spec.rayClusterConfig.enableInTreeAutoscaling",
        ),
        (of_torch(maxReplicas=4), "spec.elasticPolicy.maxReplicas"),
        (of_torch(minReplicas=4), "spec.elasticPolicy.minReplicas"),
        (of_torch(maxReplicas="many"), "spec.elasticPolicy.maxReplicas"),
    ],
    ids=[
        "ray",
        "ray elastic",
        "none",
        "workers",
        "rules",
        "cluster",
        "service",
        "max",
        "min",
        "text",
    ],
)
def test_what_an_operator_would_run_beside_the_quota_is_refused_by_its_field(manifest, field):
    """The refusal says what to write instead."""
    with pytest.raises(Rejected) as refused:
        read_work(parse(manifest))
    assert refused.value.code == "InvalidValue"
    assert refused.value.field == field
    assert "quota" in str(refused.value)


@pytest.mark.parametrize(
    "manifest",
    [
        of_ray(),
        of_ray(deletionStrategy={"onSuccess": {"policy": "DeleteCluster"}}),
        of_torch(minReplicas=1, maxReplicas=3),
        of_torch(nProcPerNode=2),
    ],
    ids=["ray", "delete", "bounds", "processes"],
)
def test_what_stays_within_its_counts_is_taken(manifest):
    """Its pods are those that are charged."""
    assert read_work(parse(manifest)) is not None
