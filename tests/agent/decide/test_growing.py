"""The member refuses jobs whose operator would run more pods than the hub has charged, as the hub does."""

import pytest

from agent.decide.member_policy import MemberPolicy
from shared.wire.kind_rules import FieldValue
from tests.agent.parents import a_parent
from tests.agent.scripted_hub import an_object

SCALES = {"enableInTreeAutoscaling": True}
KEEPS = {"gcsFaultToleranceOptions": {"redisAddress": "redis:6379"}}
ROWS = [
    ("SparkApplication", [], {"mode": "client"}, "spec.mode"),
    ("SparkApplication", [], {"restartPolicy": {"type": "Always"}}, "spec.restartPolicy"),
    (
        "SparkApplication",
        [],
        {"sparkConf": {"spark.executor.instances": "90"}},
        "spec.sparkConf[spark.executor.instances]",
    ),
    ("RayCluster", [], SCALES, "spec.enableInTreeAutoscaling"),
    ("RayCluster", [], KEEPS, "spec.gcsFaultToleranceOptions"),
    ("RayJob", [], {"clusterSelector": {"ray.io/cluster": "theirs"}}, "spec.clusterSelector"),
    ("RayJob", [], {"shutdownAfterJobFinishes": False}, "spec.shutdownAfterJobFinishes"),
    ("RayJob", ["rayClusterSpec"], KEEPS, "spec.rayClusterSpec.gcsFaultToleranceOptions"),
    ("RayService", ["rayClusterConfig"], KEEPS, "spec.rayClusterConfig.gcsFaultToleranceOptions"),
    ("PyTorchJob", [], {"elasticPolicy": {"maxReplicas": 9}}, "spec.elasticPolicy.maxReplicas"),
]


@pytest.mark.parametrize(("kind", "at", "fields", "told"), ROWS, ids=[row[3] for row in ROWS])
def test_a_job_that_outgrows_its_charge_is_refused(kind, at, fields, told):
    """Also with the start of an object that is there."""
    work = a_parent(kind)
    assert MemberPolicy().refuse(work, "Create") is None
    inner = work.manifest["spec"]
    for name in at:
        inner = inner[name]
    inner |= fields
    for step in ("Create", "Start"):
        assert f"InvalidValue: {told}: " in MemberPolicy().refuse(work, step).message


@pytest.mark.parametrize("part", ["held", "run"])
def test_a_rule_names_no_cluster_that_is_there_already(part):
    """KubeRay would run its code in pods that the member's people may own, and that carry no fence."""
    work = a_parent("RayJob")
    added = FieldValue(path="/spec/clusterSelector", value={"ray.io/cluster": "theirs"})
    rule = work.kind_rule.model_copy(update={part: [*getattr(work.kind_rule, part), added]})
    trouble = MemberPolicy().refuse(work.model_copy(update={"kind_rule": rule}), "Create")
    assert "InvalidValue: spec.clusterSelector: " in trouble.message


@pytest.mark.parametrize("kind", ["RayCluster", "RayService", "RayJob"])
def test_an_annotation_by_which_the_operator_keeps_state_is_refused(kind):
    """KubeRay reads it as it reads the field."""
    work = a_parent(kind)
    work.manifest["metadata"]["annotations"]["ray.io/ft-enabled"] = "true"
    trouble = MemberPolicy().refuse(work, "Create")
    assert "metadata.annotations[ray.io/ft-enabled]" in trouble.message


def test_an_object_that_is_placed_has_no_charge():
    """A RayCluster without a queue may scale itself; a SparkApplication in client mode is refused."""
    ray = a_parent("RayCluster").manifest
    del ray["metadata"]["labels"]
    for group in (ray["spec"]["headGroupSpec"], *ray["spec"]["workerGroupSpecs"]):
        group["template"] = {"spec": group["template"]["spec"]}
    ray["spec"] |= SCALES
    assert MemberPolicy().refuse(an_object(ray, "o"), "Apply") is None
    spark = a_parent("SparkApplication").manifest
    del spark["metadata"]["labels"]
    spark["spec"] = {"mode": "client", "driver": {}, "executor": {}}
    assert "spec.mode" in MemberPolicy().refuse(an_object(spark, "o"), "Apply").message
