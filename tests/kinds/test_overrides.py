"""ClusterResourceOverride and ResourceOverride, as KubeFleet's webhooks take and refuse them."""

import copy
from typing import Any

import pytest

from shared.errors import Rejected
from shared.kinds import parse

PATCH = {"op": "add", "path": "/data/a", "value": 1}
SELECTOR = {"group": "", "version": "v1", "kind": "ConfigMap", "name": "c"}


def an_override(
    kind: str = "ResourceOverride", version: str = "v1", **rule: Any
) -> dict[str, Any]:
    field = "resourceSelectors" if kind == "ResourceOverride" else "clusterResourceSelectors"
    namespace = {"namespace": "shop"} if kind == "ResourceOverride" else {}
    rules = [rule or {"clusterSelector": {}, "jsonPatchOverrides": [PATCH]}]
    return {
        "apiVersion": f"placement.kubernetes-fleet.io/{version}",
        "kind": kind,
        "metadata": {"name": "o", **namespace},
        "spec": {field: [dict(SELECTOR)], "policy": {"overrideRules": rules}},
    }


@pytest.mark.parametrize("version", ["v1", "v1beta1", "v1alpha1"])
@pytest.mark.parametrize("kind", ["ResourceOverride", "ClusterResourceOverride"])
def test_both_kinds_are_read_in_every_version(kind: str, version: str) -> None:
    """Types of rules have a default; an empty cluster selector is one, a missing one is none."""
    read = parse(an_override(kind, version)).spec
    (rule,) = read["policy"]["overrideRules"]
    assert (rule["overrideType"], rule["clusterSelector"]) == ("JSONPatch", {})
    assert (
        "clusterSelector"
        not in parse(an_override(jsonPatchOverrides=[PATCH])).spec["policy"]["overrideRules"][0]
    )


def changed(**patch: Any) -> dict[str, Any]:
    return an_override(jsonPatchOverrides=[{**PATCH, **patch}])


RULE = "spec.policy.overrideRules[0]"


@pytest.mark.parametrize(
    ("manifest", "field", "code"),
    [
        (changed(path="data/a"), f"{RULE}.jsonPatchOverrides[0].path", "InvalidName"),
        (changed(path="/data//a"), f"{RULE}.jsonPatchOverrides[0].path", "InvalidName"),
        (changed(path="/data/"), f"{RULE}.jsonPatchOverrides[0].path", "InvalidName"),
        *(
            (changed(path=path), f"{RULE}.jsonPatchOverrides[0].path", "InvalidCombination")
            for path in ("/kind", "/apiVersion", "/metadata", "/metadata/name", "/status/a",
                         "/metadata/labelsX", "/metadata/finalizers/0")
        ),
        (changed(op="remove"), f"{RULE}.jsonPatchOverrides[0].value", "InvalidCombination"),
        (changed(value=None), f"{RULE}.jsonPatchOverrides[0].value", "InvalidCombination"),
        (changed(op="move"), f"{RULE}.jsonPatchOverrides[0].op", "UnsupportedValue"),
        (an_override(overrideType="Delete", jsonPatchOverrides=[PATCH]),
         f"{RULE}.jsonPatchOverrides", "InvalidCombination"),
        (an_override(overrideType="JSONPatch"), f"{RULE}.jsonPatchOverrides", "InvalidCombination"),
        (an_override(jsonPatchOverrides=[PATCH] * 21), f"{RULE}.jsonPatchOverrides", "TooManyItems"),
        (an_override(clusterSelector={"clusterSelectorTerms": [{"propertySelector": {}}]},
                     jsonPatchOverrides=[PATCH]),
         f"{RULE}.clusterSelector.clusterSelectorTerms[0].propertySelector", "UnknownField"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_by_field_and_code(manifest: Any, field: str, code: str) -> None:
    """Paths of what an object is, values where none belong, types and patches that do not go together."""
    with pytest.raises(Rejected) as caught:
        parse(manifest)
    assert (caught.value.errors[0].field, caught.value.errors[0].code) == (field, code)


@pytest.mark.parametrize(
    "path", ["/metadata/labels", "/metadata/labels/a", "/metadata/annotations/a~1b", "/kindly"]
)
def test_labels_and_annotations_may_be_changed(path: str) -> None:
    """They are no part of what an object is."""
    assert parse(changed(path=path))


def test_an_object_is_named_once():
    """Twice would mean two orders."""
    manifest = copy.deepcopy(an_override())
    manifest["spec"]["resourceSelectors"].append(dict(SELECTOR, version="v2"))
    with pytest.raises(Rejected, match=r"resourceSelectors\[1\]: ConfigMap c is listed already"):
        parse(manifest)
