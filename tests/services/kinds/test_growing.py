"""Objects that would outgrow what they are charged are refused where they would be queued."""

import pytest

from hub.services.reading.work_kinds import read_work
from shared.errors import Rejected
from shared.kinds.registry import parse
from tests.services.kinds.fleet import (
    a_pytorchjob,
    a_raycluster,
    a_rayjob,
    a_rayservice,
    an_appwrapper,
)
from tests.services.kinds.reading import refused

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


def kept_state(made, at, options):
    """The same, whose head keeps its state in Redis."""
    cluster = made["spec"][at] if at else made["spec"]
    cluster["gcsFaultToleranceOptions"] = options
    return made


def with_ft(made, text="true"):
    """The same, by KubeRay's annotation."""
    made["metadata"]["annotations"] = {"ray.io/ft-enabled": text}
    return made


def wrapped(made):
    """An AppWrapper of it."""
    del made["metadata"]["namespace"], made["metadata"]["labels"]
    wrapper = an_appwrapper()
    wrapper["spec"]["components"] = [{"template": made}]
    return wrapper


OPTIONS = "gcsFaultToleranceOptions"
FT = "metadata.annotations[ray.io/ft-enabled]"
IN = "spec.components[0].template."
KEPT = [
    (kept_state(a_raycluster(), "", {"redisAddress": "redis:6379"}), f"spec.{OPTIONS}"),
    (kept_state(a_raycluster(), "", {}), f"spec.{OPTIONS}"),
    (kept_state(a_rayjob(), "rayClusterSpec", {}), f"{CLUSTER}.{OPTIONS}"),
    (kept_state(a_rayservice(), "rayClusterConfig", {}), f"spec.rayClusterConfig.{OPTIONS}"),
    (with_ft(a_raycluster()), FT),
    (with_ft(a_rayjob()), FT),
    (with_ft(a_rayservice(), "True"), FT),
    (wrapped(kept_state(a_rayjob(), "rayClusterSpec", {})), f"{IN}{CLUSTER}.{OPTIONS}"),
    (wrapped(with_ft(a_rayjob())), f"{IN}{FT}"),
    (of_ray(shutdownAfterJobFinishes=False), "spec.shutdownAfterJobFinishes"),
]


@pytest.mark.parametrize(("manifest", "field"), KEPT, ids=[field for _, field in KEPT])
def test_what_runs_after_the_end_is_refused_by_its_field(manifest, field):
    """A Job of the operator that cleans up, and an object that stays until that has succeeded."""
    assert refused(manifest) == ("InvalidValue", field)


def test_an_annotation_that_enables_nothing_is_taken():
    """KubeRay reads it as text."""
    assert read_work(parse(with_ft(a_raycluster(), "false"))) is not None


def test_what_is_wrapped_is_named_by_its_place():
    """The field is that of the AppWrapper."""
    at = f"{IN}{CLUSTER}.enableInTreeAutoscaling"
    assert refused(wrapped(of_ray(scales=True))) == ("InvalidValue", at)


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
    with pytest.raises(Rejected) as raised:
        read_work(parse(manifest))
    assert raised.value.code == "InvalidValue"
    assert raised.value.field == field
    assert "quota" in str(raised.value)


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
