"""Labels are bounded in total, in every field of a manifest, and counted before they are validated."""

from typing import Any

import pytest

from shared import kinds
from shared.errors import Rejected
from shared.kinds.metadata import ANNOTATION_BYTES
from shared.kinds.selectors import LABEL_BYTES, are_labels_too_large
from shared.selectors import MOST_VALUES, parse_selector
from tests.kinds.build import a_job, a_workload, refused

KEY, VALUE = "k%05d", "v" * 10  # 16 bytes a label
FITS = {KEY % n: VALUE for n in range(LABEL_BYTES // 16)}
LARGE = {**FITS, "k": ""}
QUEUE = "kueue.x-k8s.io/v1beta2"
PLACEMENT = "placement.kubernetes-fleet.io/v1"


def a_placement(selector: dict[str, Any], spread: dict[str, Any] | None = None) -> dict[str, Any]:
    """One that selects Namespaces, and clusters where `spread` is given."""
    policy: dict[str, Any] = {"placementType": "PickAll"}
    if spread is not None:
        terms = [{"labelSelector": spread}]
        required = {
            "requiredDuringSchedulingIgnoredDuringExecution": {"clusterSelectorTerms": terms}
        }
        policy["affinity"] = {"clusterAffinity": required}
    return {
        "apiVersion": PLACEMENT,
        "kind": "ClusterResourcePlacement",
        "metadata": {"name": "p"},
        "spec": {
            "resourceSelectors": [
                {"group": "", "version": "v1", "kind": "Namespace", "labelSelector": selector}
            ],
            "policy": policy,
        },
    }


def other(kind: str, spec: dict[str, Any], version: str = QUEUE) -> dict[str, Any]:
    """An object of a kind of the hub."""
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "x"}, "spec": spec}


def with_template(labels: dict[str, str]) -> dict[str, Any]:
    """A Job whose pod template has these labels."""
    job = a_job()
    job["spec"]["template"].setdefault("metadata", {})["labels"] = labels
    return job


PLACES: dict[str, tuple[Any, str]] = {
    "a Job": (lambda found: a_job(metadata={"labels": found}), "metadata.labels"),
    "a pod template": (with_template, "spec.template.metadata.labels"),
    "a node selector": (
        lambda found: a_job(pod={"nodeSelector": found}),
        "spec.template.spec.nodeSelector",
    ),
    "a bare Workload": (
        lambda found: {**a_workload(), "metadata": {"name": "w", "labels": found}},
        "metadata.labels",
    ),
    "any kind": (
        lambda found: {
            "apiVersion": "example.com/v1",
            "kind": "Widget",
            "metadata": {"name": "w", "labels": found},
        },
        "metadata.labels",
    ),
    "a queue's namespaces": (
        lambda found: other("ClusterQueue", {"namespaceSelector": {"matchLabels": found}}),
        "spec.namespaceSelector.matchLabels",
    ),
    "a placement's objects": (
        lambda found: a_placement({"matchLabels": found}),
        "spec.resourceSelectors[0].labelSelector.matchLabels",
    ),
    "a placement's clusters": (
        lambda found: a_placement({}, {"matchLabels": found}),
        (
            "spec.policy.affinity.clusterAffinity.requiredDuringSchedulingIgnoredDuringExecution"
            ".clusterSelectorTerms[0].labelSelector.matchLabels"
        ),
    ),
    "a cluster": (
        lambda found: {
            "apiVersion": "cluster.kubernetes-fleet.io/v1",
            "kind": "MemberCluster",
            "metadata": {"name": "east", "labels": found},
        },
        "metadata.labels",
    ),
}


@pytest.mark.parametrize("place", PLACES)
def test_labels_that_are_too_large_are_refused(place):
    """One byte more than 16 KiB, keys and values together: `LabelsTooLarge` at the field that holds them."""
    build, field = PLACES[place]
    assert refused(build(LARGE)) == {field: "LabelsTooLarge"}


@pytest.mark.parametrize("place", PLACES)
def test_labels_of_16_kib_are_taken(place):
    """A thousand labels of 16 bytes are no fault."""
    build, field = PLACES[place]
    assert field not in refused_or_taken(build(FITS))


def refused_or_taken(manifest: dict[str, Any]) -> dict[str, str]:
    """The faults, if any."""
    try:
        kinds.parse(manifest)
    except Rejected as refusal:
        return {each.field: each.code for each in refusal.errors}
    return {}


def test_the_refusal_says_the_bound_and_the_remedy():
    """Field, bound, and where the rest can go."""
    with pytest.raises(Rejected) as refusal:
        kinds.parse(a_job(metadata={"labels": LARGE}))
    assert refusal.value.detail == (
        "metadata.labels: keys and values take more than 16384 bytes in total, which is the most; move "
        "labels that no selector uses to annotations"
    )


class Uncounted(dict[str, str]):
    """Labels that count how many of them were read."""

    looked = 0

    def items(self) -> Any:
        for pair in super().items():
            self.looked += 1
            yield pair


def test_counting_stops_at_the_bound():
    """Of 60,000 none is: one byte each exceeds the bound. Of fewer, those that fit."""
    flood = Uncounted({KEY % n: "" for n in range(60_000)})
    assert are_labels_too_large(flood)
    assert flood.looked == 0
    some = Uncounted({KEY % n: "" for n in range(16_000)})
    assert are_labels_too_large(some)
    assert some.looked == LABEL_BYTES // 6 + 1


def test_labels_from_the_hub_cluster_are_bounded_too():
    """Its API server has no bound."""
    with pytest.raises(Rejected) as refusal:
        kinds.parse(a_job(metadata={"labels": LARGE}), strict=False, origin="hub-cluster")
    assert refusal.value.code == "LabelsTooLarge"


def test_annotations_are_measured_before_they_are_checked():
    """Annotations beyond the bound give one fault, not one for each invalid key."""
    notes = {f"-{n:05d}": "x" * 100 for n in range(ANNOTATION_BYTES // 100)}
    assert refused(a_job(metadata={"annotations": notes})) == {
        "metadata.annotations": "AnnotationsTooLarge"
    }


@pytest.mark.parametrize("operator", ["in", "notin"])
def test_a_selector_of_a_query_lists_a_bounded_number_of_values(operator):
    """A thousand values are parsed, one more is refused as TooManyTerms."""
    values = [f"v{n}" for n in range(MOST_VALUES)]
    assert len(parse_selector(f"a {operator} ({','.join(values)})").expressions[0].values) == 1000
    with pytest.raises(Rejected) as refusal:
        parse_selector(f"a {operator} ({','.join([*values, 'w'])})", "labelSelector")
    assert (refusal.value.code, refusal.value.field) == ("TooManyTerms", "labelSelector")
