"""Rules of a placement that look at more than one field, as KubeFleet's webhooks have them."""

import itertools
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, Final

from shared import properties
from shared.errors import Rejected
from shared.kinds import names
from shared.kinds.problems import Problems
from shared.kinds.scopes import is_cluster_scoped, is_namespaced
from shared.kinds.selectors import check_label_selector, check_tolerations
from shared.quantity import shown
from shared.reject_codes import RejectCode

CLUSTER_EFFECTS: Final = frozenset({"NoSchedule"})

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_EQUALITY: Final = frozenset({"Eq", "Ne"})
_ENDURING: Final = "requiredDuringSchedulingRequiredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_ONLY_FOR: Final = {
    "clusterNames": ("PickFixed",),
    "numberOfClusters": ("PickN",),
    "topologySpreadConstraints": ("PickN",),
    "affinity": ("PickAll", "PickN"),
    "tolerations": ("PickAll", "PickN"),
}

Content = dict[str, Any]


def check_cluster_placement(content: Content, problems: Problems) -> None:
    """A ClusterResourcePlacement selects cluster-scoped objects, namespaces among them."""
    spec = content["spec"]
    _check_placement(spec, problems)
    selectors = spec["resourceSelectors"]
    inside = any(s.get("selectionScope") == "NamespaceWithResourceSelectors" for s in selectors)
    for index, selector in enumerate(selectors):
        field = f"spec.resourceSelectors[{index}]"
        if not inside and is_namespaced(selector["group"], selector["kind"]):
            rule = f"{selector['kind']} is namespaced; select its Namespace, or use a ResourcePlacement"
            problems.add(f"{field}.kind", RejectCode.WRONG_SCOPE, rule)
    by_name = [s for s in selectors if s["kind"] == "Namespace" and s["group"] == ""]
    if inside and (len(by_name) != 1 or not by_name[0].get("name")):
        rule = "NamespaceWithResourceSelectors needs exactly one Namespace selector, by name"
        problems.add("spec.resourceSelectors", RejectCode.INVALID_SELECTOR, rule)
    if spec.get("statusReportingScope") == "NamespaceAccessible" and len(by_name) != 1:
        rule = "NamespaceAccessible needs exactly one Namespace selector"
        problems.add("spec.statusReportingScope", RejectCode.INVALID_SELECTOR, rule)


def check_namespaced_placement(content: Content, problems: Problems) -> None:
    """A ResourcePlacement selects objects of its own namespace."""
    spec = content["spec"]
    _check_placement(spec, problems)
    for index, selector in enumerate(spec["resourceSelectors"]):
        field = f"spec.resourceSelectors[{index}]"
        if is_cluster_scoped(selector["group"], selector["kind"]):
            rule = f"{selector['kind']} is cluster-scoped; use a ClusterResourcePlacement"
            problems.add(f"{field}.kind", RejectCode.WRONG_SCOPE, rule)
    if "statusReportingScope" in spec:
        rule = "belongs to ClusterResourcePlacement"
        problems.add("spec.statusReportingScope", RejectCode.UNKNOWN_FIELD, rule)


def _check_placement(spec: Mapping[str, Any], problems: Problems) -> None:
    for index, selector in enumerate(spec["resourceSelectors"]):
        _check_selector(selector, f"spec.resourceSelectors[{index}]", problems)
    _check_policy(spec["policy"], problems)
    _check_strategy(spec["strategy"], problems)


def _check_selector(selector: Mapping[str, Any], field: str, problems: Problems) -> None:
    name = selector.get("name")
    if name and "labelSelector" in selector:
        problems.add(
            f"{field}.labelSelector", RejectCode.MUTUALLY_EXCLUSIVE, "name is given as well"
        )
    if "labelSelector" in selector:
        check_label_selector(selector["labelSelector"], f"{field}.labelSelector", problems)
    if name and not names.is_path_segment(name):
        problems.add(
            f"{field}.name", RejectCode.INVALID_NAME, f"{shown(name)}: {names.SUBDOMAIN_RULE}"
        )
    is_namespace = selector["kind"] == "Namespace" and selector["group"] == ""
    if "selectionScope" in selector and not is_namespace:
        problems.add(
            f"{field}.selectionScope", RejectCode.INVALID_SELECTOR, "is for Namespaces only"
        )
    if is_namespace and name and is_reserved_namespace(name):
        rule = f"{name}: default, kube-* and fleet-* cannot be placed"
        problems.add(f"{field}.name", RejectCode.RESERVED_NAMESPACE, rule)


def is_reserved_namespace(name: str) -> bool:
    """Namespaces that no placement may select."""
    return name == "default" or name.startswith(("kube-", "fleet-"))


def _check_policy(policy: Mapping[str, Any], problems: Problems) -> None:
    placement_type = policy["placementType"]
    for name, types in _ONLY_FOR.items():
        if policy.get(name) not in (None, []) and placement_type not in types:
            rule = f"must not be set for {placement_type}; it is for {' and '.join(types)}"
            problems.add(f"spec.policy.{name}", RejectCode.INVALID_COMBINATION, rule)
    if placement_type == "PickN" and "numberOfClusters" not in policy:
        problems.add(
            "spec.policy.numberOfClusters", RejectCode.REQUIRED, "PickN says how many clusters"
        )
    if placement_type == "PickFixed" and "clusterNames" not in policy:
        problems.add(
            "spec.policy.clusterNames", RejectCode.REQUIRED, "PickFixed names its clusters"
        )
    for index, name in enumerate(policy.get("clusterNames") or ()):
        field = f"spec.policy.clusterNames[{index}]"
        if not names.is_dns_subdomain(name):
            problems.add(field, RejectCode.INVALID_NAME, f"{shown(name)}: {names.SUBDOMAIN_RULE}")
        elif name in policy["clusterNames"][:index]:
            problems.add(field, RejectCode.DUPLICATE, f"{name} is listed already")
    check_tolerations(
        policy.get("tolerations"), "spec.policy.tolerations", problems, CLUSTER_EFFECTS
    )
    affinity = policy.get("affinity", {}).get("clusterAffinity", {})
    _check_affinity(affinity, placement_type, problems)


def _check_affinity(affinity: Mapping[str, Any], placement_type: str, problems: Problems) -> None:
    base = "spec.policy.affinity.clusterAffinity"
    for kind in (_REQUIRED, _ENDURING):
        required = affinity.get(kind, {}).get("clusterSelectorTerms") or ()
        for index, term in enumerate(required):
            field = f"{base}.{kind}.clusterSelectorTerms[{index}]"
            if "propertySorter" in term:
                rule = "sorts, so it belongs to preferred terms"
                problems.add(f"{field}.propertySorter", RejectCode.INVALID_SELECTOR, rule)
            _check_term(term, field, problems)
            if kind == _ENDURING:
                _check_enduring(term, field, problems)
    preferred = affinity.get(_PREFERRED) or ()
    if preferred and placement_type == "PickAll":
        rule = "means nothing for PickAll, which takes every cluster"
        problems.add(f"{base}.{_PREFERRED}", RejectCode.INVALID_COMBINATION, rule)
    for index, entry in enumerate(preferred):
        field = f"{base}.{_PREFERRED}[{index}].preference"
        if "propertySelector" in entry["preference"]:
            rule = "excludes, so it belongs to required terms"
            problems.add(f"{field}.propertySelector", RejectCode.INVALID_SELECTOR, rule)
        _check_term(entry["preference"], field, problems)


def _check_enduring(term: Mapping[str, Any], field: str, problems: Problems) -> None:
    """What is placed takes room itself: by what is left of it, it would send itself away."""
    expressions = term.get("propertySelector", {}).get("matchExpressions") or []
    for index, expression in enumerate(expressions):
        if expression["name"].startswith(f"{properties.USAGE_PREFIX}available-"):
            path = f"{field}.propertySelector.matchExpressions[{index}].name"
            rule = f"what is available changes with what is placed; put it into {_REQUIRED}"
            problems.add(path, RejectCode.INVALID_PROPERTY, rule)


def _check_term(term: Mapping[str, Any], field: str, problems: Problems) -> None:
    if "labelSelector" in term:
        check_label_selector(term["labelSelector"], f"{field}.labelSelector", problems)
    sorter = term.get("propertySorter")
    if sorter is not None and not names.is_property_name(sorter["name"]):
        _refuse_property(sorter["name"], f"{field}.propertySorter.name", problems)
    elif sorter is not None and properties.is_location(sorter["name"]):
        rule = f"{sorter['name']} has no order; prefer by labels"
        problems.add(f"{field}.propertySorter.name", RejectCode.INVALID_PROPERTY, rule)
    expressions = term.get("propertySelector", {}).get("matchExpressions") or []
    bounds: dict[str, list[tuple[str, Decimal]]] = {}
    for index, expression in enumerate(expressions):
        path = f"{field}.propertySelector.matchExpressions[{index}]"
        if not names.is_property_name(expression["name"]):
            _refuse_property(expression["name"], f"{path}.name", problems)
        if properties.is_location(expression["name"]):
            if expression["operator"] not in _EQUALITY:
                rule = f"{expression['name']} has no order: Eq or Ne"
                problems.add(f"{path}.operator", RejectCode.INVALID_PROPERTY, rule)
            continue
        try:
            value = properties.number(expression["name"], expression["values"][0])
        except Rejected as refusal:
            problems.add(f"{path}.values[0]", refusal.code, refusal.detail)
            continue
        bounds.setdefault(expression["name"], []).append((expression["operator"], value))
    for name in _impossible(bounds):
        rule = f"no value of {name} can satisfy all of these"
        problems.add(
            f"{field}.propertySelector.matchExpressions", RejectCode.INVALID_COMBINATION, rule
        )


def _refuse_property(name: str, field: str, problems: Problems) -> None:
    rule = f"{shown(name)} is no property: a label key, or {properties.USAGE_PREFIX}available-<resource>"
    problems.add(field, RejectCode.INVALID_PROPERTY, rule)


def _impossible(bounds: Mapping[str, list[tuple[str, Decimal]]]) -> Iterator[str]:
    """The properties whose requirements exclude each other."""
    for name, wanted in bounds.items():
        candidates = {v + d for _, v in wanted for d in (Decimal(-1), Decimal(0), Decimal(1))}
        values = sorted({v for _, v in wanted})
        candidates |= {(a + b) / 2 for a, b in itertools.pairwise(values)}
        if not any(all(_HOLDS[op](c, v) for op, v in wanted) for c in candidates):
            yield name


_HOLDS: Final = {
    "Gt": lambda a, b: a > b,
    "Ge": lambda a, b: a >= b,
    "Eq": lambda a, b: a == b,
    "Ne": lambda a, b: a != b,
    "Lt": lambda a, b: a < b,
    "Le": lambda a, b: a <= b,
}


def _check_strategy(strategy: Mapping[str, Any], problems: Problems) -> None:
    rolling = strategy.get("rollingUpdate")
    if rolling is not None and strategy["type"] == "External":
        rule = "must not be set for External, which staged runs drive"
        problems.add("spec.strategy.rollingUpdate", RejectCode.INVALID_COMBINATION, rule)
    if (
        rolling is not None
        and _is_zero(rolling["maxSurge"])
        and _is_zero(rolling["maxUnavailable"])
    ):
        rule = "must not be 0 where maxUnavailable is 0: nothing could ever move"
        problems.add("spec.strategy.rollingUpdate.maxSurge", RejectCode.INVALID_COMBINATION, rule)
    applying = strategy["applyStrategy"]
    if "serverSideApplyConfig" in applying and applying["type"] != "ServerSideApply":
        rule = "is for type ServerSideApply"
        problems.add(
            "spec.strategy.applyStrategy.serverSideApplyConfig",
            RejectCode.INVALID_COMBINATION,
            rule,
        )
    reporting = strategy.get("reportBackStrategy")
    if reporting is not None and (reporting["type"] == "Mirror") != ("destination" in reporting):
        rule = "is required for type Mirror, and for no other"
        problems.add(
            "spec.strategy.reportBackStrategy.destination", RejectCode.INVALID_COMBINATION, rule
        )


def _is_zero(value: int | str) -> bool:
    return str(value).removesuffix("%").strip("0") == ""
