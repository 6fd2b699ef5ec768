"""Quota as ClusterQueue and Cohort declare it: resource groups, flavors, limits, weight."""

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from shared import quantity
from shared.errors import Rejected
from shared.kinds.model import Amount, Model, Name, ResourceName, Weight, keyed
from shared.kinds.problems import Problems
from shared.reject_codes import RejectCode

MOST_IN_ALL = 256


class ResourceQuota(Model):
    name: ResourceName
    nominal_quota: Amount
    borrowing_limit: Amount | None = None
    lending_limit: Amount | None = None


class FlavorQuotas(Model):
    name: Name
    resources: list[ResourceQuota] = keyed("name", min_length=1, max_length=64)


class ResourceGroup(Model):
    covered_resources: Annotated[list[ResourceName], Field(min_length=1, max_length=64)]
    flavors: list[FlavorQuotas] = keyed("name", min_length=1, max_length=64)


class FairSharing(Model):
    weight: Weight | None = None


class _Rules(NamedTuple):
    """What limits mean where they stand."""

    may_borrow: bool
    lends_more: bool  # than its own nominal quota


def check_resource_groups(
    groups: list[dict[str, Any]] | None,
    problems: Problems,
    *,
    may_borrow: bool,
    of_cohort: bool = False,
) -> None:
    """Each resource and flavor in one group, each flavor with all resources in the same order.

    `may_borrow` is false where there is no cohort (or parent), so that limits mean nothing. A Cohort
    also lends what its children bring, so its lending limit may exceed its own nominal quota.
    """
    rules = _Rules(may_borrow=may_borrow, lends_more=of_cohort)
    resources: set[str] = set()
    flavors: set[str] = set()
    for index, group in enumerate(groups or ()):
        field = f"spec.resourceGroups[{index}]"
        covered = group["coveredResources"]
        for place, name in enumerate(covered):
            if name in resources:
                rule = f"{name} is covered already; a resource belongs to one group"
                problems.add(f"{field}.coveredResources[{place}]", RejectCode.DUPLICATE, rule)
            resources.add(name)
        for place, flavor in enumerate(group.get("flavors") or ()):
            path = f"{field}.flavors[{place}]"
            if flavor["name"] in flavors:
                rule = f"{flavor['name']} occurs already; a flavor belongs to one group"
                problems.add(f"{path}.name", RejectCode.DUPLICATE, rule)
            flavors.add(flavor["name"])
            _check_flavor(flavor, covered, path, problems, rules)
    if max(len(resources), len(flavors)) > MOST_IN_ALL:
        rule = f"name more than {MOST_IN_ALL} resources or flavors in all"
        problems.add("spec.resourceGroups", RejectCode.TOO_MANY_ITEMS, rule)


def _check_flavor(
    flavor: Mapping[str, Any],
    covered: list[str],
    field: str,
    problems: Problems,
    rules: "_Rules",
) -> None:
    quotas = flavor.get("resources") or []
    if [q["name"] for q in quotas] != covered:
        rule = f"must list the covered resources in their order: {', '.join(covered)}"
        problems.add(f"{field}.resources", RejectCode.RESOURCES_MISMATCH, rule)
    for index, quota in enumerate(quotas):
        _check_quota(quota, f"{field}.resources[{index}]", problems, rules)


def _check_quota(
    quota: Mapping[str, Any], field: str, problems: Problems, rules: "_Rules"
) -> None:
    amounts = {}
    for name in ("nominalQuota", "borrowingLimit", "lendingLimit"):
        if name in quota:
            try:
                amounts[name] = quantity.parse_limit(quota["name"], quota[name], f"{field}.{name}")
            except Rejected as refusal:
                problems.take(refusal)
            if name != "nominalQuota" and not rules.may_borrow:
                rule = "means nothing without a cohort; leave it out"
                problems.add(f"{field}.{name}", RejectCode.NEEDS_COHORT, rule)
    most = quantity.MAX if rules.lends_more else amounts.get("nominalQuota", quantity.MAX)
    if amounts.get("lendingLimit", 0) > most:
        problems.add(
            f"{field}.lendingLimit", RejectCode.OUT_OF_RANGE, "must not exceed nominalQuota"
        )
