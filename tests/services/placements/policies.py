"""Placements of one ConfigMap by policies of any kind, and members that change."""

from typing import Any

import yaml

from tests.services.placements.fleet import CONFIG, Fleet

CPU = "resources.kubernetes-fleet.io/available-cpu"
NODES = "kubernetes-fleet.io/node-count"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
ENDURING = "requiredDuringSchedulingRequiredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def placement(**policy: Any) -> str:
    """The ConfigMap by this policy; `required`, `enduring` and `preferred` are lists of terms."""
    required, preferred = policy.pop("required", None), policy.pop("preferred", None)
    enduring = policy.pop("enduring", None)
    affinity: dict[str, Any] = {}
    if required is not None:
        affinity[REQUIRED] = {"clusterSelectorTerms": required}
    if enduring is not None:
        affinity[ENDURING] = {"clusterSelectorTerms": enduring}
    if preferred is not None:
        affinity[PREFERRED] = preferred
    if affinity:
        policy["affinity"] = {"clusterAffinity": affinity}
    body = yaml.safe_load(CONFIG.rpartition("---")[2])
    body["spec"]["policy"] = policy
    return yaml.safe_dump(body)


def n(count: int, **more: Any) -> str:
    """The best `count`."""
    return placement(placementType="PickN", numberOfClusters=count, **more)


def labelled(**labels: str) -> dict[str, Any]:
    """A term of labels."""
    return {"labelSelector": {"matchLabels": labels}}


def sorted_by(name: str, weight: int, order: str = "Descending", **labels: str) -> dict[str, Any]:
    """A preference by a property, of clusters with these labels."""
    preference: dict[str, Any] = {"propertySorter": {"name": name, "sortOrder": order}}
    return {"weight": weight, "preference": preference | (labelled(**labels) if labels else {})}


def having(name: str, operator: str, value: str) -> dict[str, Any]:
    """A term of one property."""
    expression = {"name": name, "operator": operator, "values": [value]}
    return {"propertySelector": {"matchExpressions": [expression]}}


def member(name: str, taints: list[Any] | None = None, **labels: str) -> str:
    """A MemberCluster as it is declared from now on."""
    body: dict[str, Any] = {
        "apiVersion": "cluster.kubernetes-fleet.io/v1",
        "kind": "MemberCluster",
        "metadata": {"name": name, "labels": labels},
        "spec": {"taints": taints or []},
    }
    return yaml.safe_dump(body)


async def holders(fleet: Fleet) -> list[str]:
    """Members that hold the object, once all have told what they did."""
    await fleet.sync()
    await fleet.sync()  # what was taken back is told to be gone
    return [name for name in fleet.agents if fleet.held(name)]
