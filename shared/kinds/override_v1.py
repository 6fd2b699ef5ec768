"""KubeFleet's ClusterResourceOverride and ResourceOverride: what a cluster gets instead.

All versions are one. Field names and bounds are KubeFleet's (apis/placement/v1); rules over several fields
are as its webhooks have them.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from shared.kinds.model import LabelSelector, Model
from shared.kinds.problems import Problems
from shared.kinds.selectors import check_label_selector
from shared.quantity import shown
from shared.reject_codes import RejectCode

ALPHA: Final = "v1alpha1"  # read by REST; CRDs have the others
MOST: Final = 20  # selectors, rules of an override, patches of a rule
_LABELS: Final = ("/metadata/labels/", "/metadata/annotations/")
_FIXED: Final = ("/apiVersion", "/kind", "/metadata", "/status")

Content = dict[str, Any]


class PlacementRef(Model):
    name: str = Field(min_length=1, max_length=253)
    scope: Literal["Cluster", "Namespaced"] = "Cluster"


class ByName(Model):
    """One object by its exact name."""

    group: str = Field(max_length=253)
    version: str = Field(min_length=1, max_length=63)
    kind: str = Field(min_length=1, max_length=63)
    name: str = Field(min_length=1, max_length=253)


class Term(Model):
    label_selector: LabelSelector | None = None


class Clusters(Model):
    cluster_selector_terms: Annotated[list[Term], Field(max_length=10)] | None = None


class Patch(Model):
    op: Literal["add", "remove", "replace"]
    path: str = Field(min_length=1, max_length=1024)
    value: Any = Field(
        default=None, json_schema_extra={"x-kubernetes-preserve-unknown-fields": True}
    )


class OverrideRule(Model):
    cluster_selector: Clusters | None = None
    override_type: Literal["JSONPatch", "Delete"] = "JSONPatch"
    json_patch_overrides: Annotated[list[Patch], Field(min_length=1, max_length=MOST)] | None = (
        None
    )


class OverridePolicy(Model):
    override_rules: Annotated[list[OverrideRule], Field(min_length=1, max_length=MOST)]


class ClusterOverrideSpec(Model):
    placement: PlacementRef | None = None
    cluster_resource_selectors: Annotated[list[ByName], Field(min_length=1, max_length=MOST)]
    policy: OverridePolicy


class ClusterOverride(Model):
    spec: ClusterOverrideSpec


class OverrideSpec(Model):
    placement: PlacementRef | None = None
    resource_selectors: Annotated[list[ByName], Field(min_length=1, max_length=MOST)]
    policy: OverridePolicy


class NamespacedOverride(Model):
    spec: OverrideSpec


def check_override(content: Content, problems: Problems) -> None:
    """What rules of one override may say; each object is named once."""
    spec = content["spec"]
    for field in ("clusterResourceSelectors", "resourceSelectors"):
        seen: list[Any] = []
        for index, selector in enumerate(spec.get(field) or ()):
            named = {key: selector[key] for key in ("group", "kind", "name")}
            if named in seen:
                rule = f"{selector['kind']} {selector['name']} is listed already"
                problems.add(f"spec.{field}[{index}]", RejectCode.DUPLICATE, rule)
            seen.append(named)
    for index, rule in enumerate(spec["policy"]["overrideRules"]):
        _check_rule(rule, f"spec.policy.overrideRules[{index}]", problems)


def _check_rule(rule: Mapping[str, Any], field: str, problems: Problems) -> None:
    terms = (rule.get("clusterSelector") or {}).get("clusterSelectorTerms") or ()
    for index, term in enumerate(terms):
        if "labelSelector" in term:
            where = f"{field}.clusterSelector.clusterSelectorTerms[{index}].labelSelector"
            check_label_selector(term["labelSelector"], where, problems)
    patches = rule.get("jsonPatchOverrides")
    if (rule["overrideType"] == "JSONPatch") != (patches is not None):
        text = "is required for overrideType JSONPatch, and for no other"
        problems.add(f"{field}.jsonPatchOverrides", RejectCode.INVALID_COMBINATION, text)
    for index, patch in enumerate(patches or ()):
        _check_patch(patch, f"{field}.jsonPatchOverrides[{index}]", problems)


def _check_patch(patch: Mapping[str, Any], field: str, problems: Problems) -> None:
    path = patch["path"]
    parts = path.split("/")
    if parts[0] or "" in parts[1:]:
        text = f"{shown(path)}: must begin with / and have no empty part (RFC 6901)"
        problems.add(f"{field}.path", RejectCode.INVALID_NAME, text)
    elif any(path == each or path.startswith(f"{each}/") for each in _FIXED) and not (
        path.startswith(_LABELS) or path in {"/metadata/labels", "/metadata/annotations"}
    ):
        text = f"{shown(path)}: apiVersion, kind, status and metadata stay, save labels and annotations"
        problems.add(f"{field}.path", RejectCode.INVALID_COMBINATION, text)
    if (patch["op"] == "remove") != (patch.get("value") is None):
        text = "is required for add and replace, and not for remove; null is no value"
        problems.add(f"{field}.value", RejectCode.INVALID_COMBINATION, text)
