"""Pods that count for an object that is no Job: by the kinds and uids of their controllers."""

import pytest

from agent.objects.holds import ALSO_BETWEEN, BETWEEN, BUILT_IN, JOB
from agent.objects.makers import _BETWEEN, NOBODY, _named, maker_of, may_be_of

JOB_SET = ("jobset.x-k8s.io/v1alpha2", "JobSet")
SPARK = ("sparkoperator.k8s.io/v1beta2", "SparkApplication")
DECLARED = ("example.com/v1", "Batch")


def made_by(key, uid="x-1", *, controller=True):
    api_version, kind = key
    owner = {"apiVersion": api_version, "kind": kind, "name": "x", "uid": uid}
    return maker_of({"ownerReferences": [{**owner, "controller": controller}]})


def test_a_pod_without_a_controller_counts_for_nothing():
    """Whatever labels it has, and whoever else owns it."""
    assert made_by(JOB, controller=False) is NOBODY
    for kind in (*BUILT_IN, DECLARED):
        assert not may_be_of(kind, ("m-1",), NOBODY)


@pytest.mark.parametrize("kind", sorted({*BUILT_IN, DECLARED} - {JOB}))
def test_a_pod_of_the_object_itself_counts_and_one_of_another_of_its_kind_does_not(kind):
    """The uid says which object it is."""
    assert may_be_of(kind, ("m-1",), made_by(kind, uid="m-1"))
    assert not may_be_of(kind, ("m-1",), made_by(kind, uid="m-2"))


@pytest.mark.parametrize(
    ("kind", "maker", "counts"),
    [
        (JOB_SET, JOB, True),
        (JOB_SET, ("batch/v2", "Job"), True),
        (JOB_SET, ("apps/v1", "ReplicaSet"), False),
        (JOB_SET, ("example.com/v1", "Job"), False),
        (("kubeflow.org/v1", "PyTorchJob"), JOB, False),
        (("kubeflow.org/v2beta1", "MPIJob"), JOB, True),
        (("ray.io/v1", "RayJob"), ("ray.io/v1", "RayCluster"), True),
        (("ray.io/v1", "RayJob"), ("apps/v1", "StatefulSet"), False),
        (SPARK, ("v1", "Pod"), True),
        (SPARK, JOB, False),
        (DECLARED, ("apps/v1", "ReplicaSet"), True),
    ],
)
def test_a_controller_of_a_kind_that_no_operator_of_the_object_makes_does_not_count(
    kind, maker, counts
):
    """In whatever version; of a kind that an administrator defined, nobody knows what is made of it."""
    assert may_be_of(kind, ("m-1",), made_by(maker)) is counts


@pytest.mark.parametrize("kind", sorted(BUILT_IN - {JOB}))
def test_no_object_whose_pods_count_is_left_out_where_the_agent_proves_that_none_is_left(kind):
    """Pods alone are no objects between: they are listed last, as pods."""
    proven = {_named(each) for each in (*ALSO_BETWEEN.get(kind, ()), *BETWEEN)}
    assert _BETWEEN[_named(kind)] <= {*proven, "/Pod"}
