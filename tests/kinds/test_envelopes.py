"""ClusterResourceEnvelope and ResourceEnvelope, as KubeFleet takes them; and what can not be in them."""

from typing import Any

import pytest

from shared.errors import Rejected
from shared.kinds import parse
from shared.kinds.envelope_v1 import MOST_BYTES, open_envelope
from shared.kinds.unheeded import notices

GROUP = "placement.kubernetes-fleet.io"
RBAC = "rbac.authorization.k8s.io/v1"
CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
ROLE = {"apiVersion": RBAC, "kind": "ClusterRole", "metadata": {"name": "r"}}


def an_envelope(*inner: Any, kind: str = "ResourceEnvelope", version: str = "v1") -> Any:
    namespace = {"namespace": "shop"} if kind == "ResourceEnvelope" else {}
    return {
        "apiVersion": f"placement.kubernetes-fleet.io/{version}",
        "kind": kind,
        "metadata": {"name": "e", **namespace},
        "data": {f"m{index}.yaml": each for index, each in enumerate(inner)},
    }


def of(api_version: str, kind: str, **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x", **metadata}}


def opened(envelope: dict[str, Any]) -> Any:
    namespace = envelope["metadata"].get("namespace", "")
    return open_envelope(envelope, envelope["kind"], namespace, parse)


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
@pytest.mark.parametrize(
    ("kind", "inner"), [("ResourceEnvelope", CONFIG), ("ClusterResourceEnvelope", ROLE)]
)
def test_both_kinds_are_read_in_both_versions(kind: str, inner: Any, version: str) -> None:
    """What they hold is no part of what is kept in clear."""
    read = parse(an_envelope(inner, kind=kind, version=version))
    assert read.spec == {"manifests": ["m0.yaml"]}
    assert notices(read) == ()


def test_upstream_s_example_is_taken_as_it_is() -> None:
    """Namespaces named or not, status and what servers write; custom kinds are their members' matter."""
    widget = {**of("w.dev/v1", "Widget"), "status": {"a": 1}, "spec": {"size": 1}}
    server = of("v1", "ConfigMap", namespace="shop", uid="u", creationTimestamp=None)
    first, second = opened(an_envelope(widget, server))
    assert first.manifest == {
        "apiVersion": "w.dev/v1", "kind": "Widget",
        "metadata": {"name": "x", "namespace": "shop"}, "spec": {"size": 1},
    }  # fmt: skip
    assert second.manifest["metadata"] == {"name": "x", "namespace": "shop"}
    assert (first.faults, second.faults) == ((), ())


M = "data[m0.yaml]"
QUEUE = "kueue.x-k8s.io/queue-name"
CASES: list[tuple[Any, str, str, str]] = [
    (of("batch/v1", "Job"), "ResourceEnvelope", M + ".kind", "UnsupportedKind"),
    (of("v1", "Pod"), "ResourceEnvelope", M + ".kind", "UnsupportedKind"),
    (of("v1", "ServiceAccount", name="default"), "ResourceEnvelope", M + ".kind", "UnsupportedKind"),
    (an_envelope(CONFIG), "ResourceEnvelope", M + ".kind", "UnsupportedKind"),
    (
        {**of("v1", "Secret"), "type": "kubernetes.io/service-account-token"},
        "ResourceEnvelope", M + ".type", "UnsupportedKind",
    ),
    (ROLE, "ResourceEnvelope", M + ".kind", "WrongScope"),
    (of("v1", "ConfigMap", namespace="other"), "ResourceEnvelope", M + ".metadata.namespace", "WrongScope"),
    (CONFIG, "ClusterResourceEnvelope", M + ".kind", "WrongScope"),
    (of("w.dev/v1", "Widget", namespace="a"), "ClusterResourceEnvelope", M + ".kind", "WrongScope"),
    (
        of("v1", "Namespace", name="kube-x"), "ClusterResourceEnvelope", M + ".metadata.name",
        "ReservedNamespace",
    ),
    (
        of("workload.codeflare.dev/v1beta2", "AppWrapper", labels={QUEUE: "q"}), "ResourceEnvelope",
        f"{M}.metadata.labels[{QUEUE}]", "ForbiddenField",
    ),
    (
        {**of("w.dev/v1", "Widget", labels={QUEUE: "q"}), "spec": {"containers": []}}, "ResourceEnvelope",
        f"{M}.metadata.labels[{QUEUE}]", "NoAdapter",
    ),
    (
        of("jobset.x-k8s.io/v1alpha2", "JobSet", annotations={QUEUE: "q"}), "ResourceEnvelope",
        f"{M}.metadata.labels[{QUEUE}]", "ForbiddenField",
    ),
    (
        of("batch/v1", "CronJob", labels={QUEUE: "q"}), "ResourceEnvelope",
        f"{M}.metadata.labels[{QUEUE}]", "ForbiddenField",
    ),
    (
        {**of("batch/v1", "CronJob"), "spec": {"jobTemplate": {"metadata": {"labels": {QUEUE: "q"}}}}},
        "ResourceEnvelope", f"{M}.spec.jobTemplate.metadata.labels[{QUEUE}]", "ForbiddenField",
    ),
    (
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "a-"}},
        "ResourceEnvelope", M + ".metadata.generateName", "ForbiddenField",
    ),
    ({**CONFIG, "data": {"a": 1}}, "ResourceEnvelope", M + ".data.a", "InvalidType"),
    ({**CONFIG, "dta": {}}, "ResourceEnvelope", M + ".dta", "UnknownField"),
    ({"kind": "ConfigMap"}, "ResourceEnvelope", M + ".apiVersion", "Required"),
    (None, "ResourceEnvelope", M, "InvalidType"),
    ("text", "ResourceEnvelope", M, "InvalidType"),
]  # fmt: skip


@pytest.mark.parametrize(("inner", "kind", "field", "code"), CASES)
def test_what_can_not_be_placed_is_refused(inner: Any, kind: str, field: str, code: str) -> None:
    """By the name that it has in the envelope."""
    with pytest.raises(Rejected) as refused:
        parse(an_envelope(inner, kind=kind))
    assert (refused.value.errors[0].field, refused.value.errors[0].code) == (field, code)


def test_every_fault_is_told() -> None:
    """Of all manifests together, so that they are mended in one go."""
    with pytest.raises(Rejected) as refused:
        parse(an_envelope(ROLE, CONFIG, of("v1", "Pod")))
    assert [each.field for each in refused.value.errors] == [
        M + ".kind",
        "data[m2.yaml].kind",
    ]


@pytest.mark.parametrize(
    ("data", "field", "code"),
    [
        ({}, "data", "Required"),
        ({f"m{n}": CONFIG for n in range(51)}, "data", "TooManyItems"),
        ({"": CONFIG}, "data.", "TooLong"),
        ({"a": {**CONFIG, "data": {"a": "x" * MOST_BYTES}}}, "data", "TooLong"),
    ],
)  # fmt: skip
def test_its_size_is_bounded(data: Any, field: str, code: str) -> None:
    """One to fifty manifests, and a mebibyte of them."""
    with pytest.raises(Rejected) as refused:
        parse({**an_envelope(), "data": data})
    assert refused.value.errors[0].code == code
    assert refused.value.errors[0].field.rstrip(".") == field.rstrip(".")


def test_on_the_hub_cluster_it_is_taken_and_told() -> None:
    """Nobody stands at that door: what can not be placed is left out, with a notice."""
    read = parse(an_envelope(ROLE, of("batch/v1", "Job")), strict=False, origin="hub-cluster")
    (said,) = notices(read)
    assert said.startswith(M + ".kind: ClusterRole is cluster-scoped")
    assert "1 more" in said


def test_an_override_that_names_an_envelope_is_told() -> None:
    """It names what members get, not what it lies in."""
    override = {
        "apiVersion": "placement.kubernetes-fleet.io/v1",
        "kind": "ResourceOverride",
        "metadata": {"name": "o", "namespace": "shop"},
        "spec": {
            "resourceSelectors": [
                {"group": GROUP, "version": "v1", "kind": "ResourceEnvelope", "name": "e"}
            ],
            "policy": {"overrideRules": [{"clusterSelector": {}, "overrideType": "Delete"}]},
        },
    }  # fmt: skip
    (said,) = notices(parse(override))
    assert "name the objects in the envelope" in said


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
@pytest.mark.parametrize("origin", ["rest", "hub-cluster"])
def test_nobody_writes_a_placement_status_but_the_hub(version: str, origin: Any) -> None:
    """It is made from a placement's own status."""
    made = of(f"placement.kubernetes-fleet.io/{version}", "ClusterResourcePlacementStatus")
    with pytest.raises(Rejected, match="statusReportingScope"):
        parse(made, strict=False, origin=origin)
