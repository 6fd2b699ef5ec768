"""The types of what a Job's pods and policies hold, at any depth."""

import pytest

from shared import kinds
from shared.kinds import shapes
from shared.kubesim.schema import generate_shapes
from tests.kinds.build import a_container, a_job, refused

POD = "spec.template.spec"
FAULTS = {
    f"{POD}.resourceClaims[0].resourceClaimTemplateName": {
        "resourceClaims": [{"name": "x", "resourceClaimTemplateName": True}]
    },
    f"{POD}.resourceClaims[0]": {"resourceClaims": ["x"]},
    f"{POD}.imagePullSecrets[0].name": {"imagePullSecrets": [{"name": 5}]},
    f"{POD}.topologySpreadConstraints[0].maxSkew": {
        "topologySpreadConstraints": [{"maxSkew": "1", "topologyKey": "zone"}]
    },
    f"{POD}.affinity.podAffinity": {"affinity": {"podAffinity": []}},
    f"{POD}.securityContext.runAsUser": {"securityContext": {"runAsUser": "root"}},
    f"{POD}.volumes[0].secret.optional": {
        "volumes": [{"name": "v", "secret": {"secretName": "s", "optional": "yes"}}]
    },
    f"{POD}.containers[0].envFrom[0].configMapRef": {
        "containers": [a_container(envFrom=[{"configMapRef": "c"}])]
    },
    f"{POD}.containers[0].env[0].valueFrom.secretKeyRef.key": {
        "containers": [a_container(env=[{"name": "A", "valueFrom": {"secretKeyRef": {"key": 1}}}])]
    },
    f"{POD}.containers[0].livenessProbe.exec.command[0]": {
        "containers": [a_container(livenessProbe={"exec": {"command": [1]}})]
    },
    f"{POD}.containers[0].livenessProbe.tcpSocket.port": {
        "containers": [a_container(livenessProbe={"tcpSocket": {"port": True}})]
    },
    f"{POD}.containers[0].resources.claims[0].name": {
        "containers": [a_container(resources={"claims": [{"name": 1}]})]
    },
}  # fmt: skip


@pytest.mark.parametrize(("field", "pod"), FAULTS.items())
def test_a_value_that_no_server_could_decode_is_refused(field, pod):
    """Else the job would be offered to one member after another, and each would refuse it."""
    assert refused(a_job(pod=pod)) == {field: "InvalidType"}


def test_policies_of_a_job_are_looked_at_too():
    """As pods are, at any depth."""
    rule = {"action": "Ignore", "onExitCodes": {"operator": "In", "values": ["1"]}}
    field = "spec.podFailurePolicy.rules[0].onExitCodes.values[0]"
    assert refused(a_job(podFailurePolicy={"rules": [rule]})) == {field: "InvalidType"}


def test_numbers_fit_and_amounts_are_amounts():
    """A number beyond its bits and a text that is no quantity can not be decoded either."""
    big = {"securityContext": {"runAsUser": 2**63}}
    assert refused(a_job(pod=big)) == {f"{POD}.securityContext.runAsUser": "OutOfRange"}
    odd = {"volumes": [{"name": "v", "emptyDir": {"sizeLimit": "much"}}]}
    assert refused(a_job(pod=odd)) == {f"{POD}.volumes[0].emptyDir.sizeLimit": "InvalidQuantity"}


def test_what_is_right_or_unknown_passes():
    """Absent values, either form of a port, and names that only a newer server knows."""
    pod = {
        "affinity": None,
        "imagePullSecrets": [{"name": "s"}],
        "resourceClaims": [{"name": "x", "resourceClaimTemplateName": "t", "novelty": True}],
        "volumes": [{"name": "v", "emptyDir": {"sizeLimit": "1Gi"}}],
        "containers": [
            a_container(
                livenessProbe={"tcpSocket": {"port": "http"}},
                readinessProbe={"tcpSocket": {"port": 80}, "periodSeconds": 5},
            )
        ],
    }
    assert kinds.parse(a_job(pod=pod)).name == "job"


def test_the_shapes_are_those_of_kubernetes():
    """`python -m shared.kubesim.schema.generate_shapes` changes nothing."""
    assert generate_shapes.OUTPUT.read_bytes() == generate_shapes.rendered()
    assert shapes._FILE == generate_shapes.OUTPUT
