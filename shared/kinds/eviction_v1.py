"""KubeFleet's evictions and disruption budgets, and the same for a ResourcePlacement in its namespace.

All versions are one. Field names and bounds are KubeFleet's (apis/placement/v1beta1), which has the
cluster-scoped kinds alone.
"""

from typing import Annotated, Any, Final

from pydantic import AfterValidator, ConfigDict, Field, WithJsonSchema
from pydantic.config import JsonDict

from shared.kinds.model import INT32_MAX, Condition, IntOrPercent, Model, by_type, fault
from shared.kinds.problems import Problems
from shared.quantity import shown
from shared.reject_codes import RejectCode

ALPHA: Final = "v1alpha1"  # read by REST; CRDs have the others
EVICTIONS: Final = ("ClusterResourcePlacementEviction", "ResourcePlacementEviction")
BUDGETS: Final = ("ClusterResourcePlacementDisruptionBudget", "ResourcePlacementDisruptionBudget")
MOST_NAME: Final = 255
_PERCENT: Final = "^(100|[0-9]{1,2})%$"

Content = dict[str, Any]


def _fixed(name: str) -> JsonDict:
    rule: JsonDict = {"rule": "self == oldSelf", "message": f"{name} is immutable"}
    return {"x-kubernetes-validations": [rule]}


class EvictionSpec(Model):
    """The placement and the cluster of an eviction. It can not change: an eviction is requested once."""

    placement_name: str = Field(
        min_length=1, max_length=MOST_NAME, json_schema_extra=_fixed("placementName")
    )
    cluster_name: str = Field(
        min_length=1, max_length=MOST_NAME, json_schema_extra=_fixed("clusterName")
    )


class Eviction(Model):
    spec: EvictionSpec


class EvictionStatus(Model):
    """Conditions Valid and Executed, which never change once set."""

    conditions: list[Condition] | None = by_type("Valid, Executed")


def _no_number_in_text(value: int | str) -> int | str:
    if isinstance(value, str) and not value.endswith("%"):
        raise fault(
            RejectCode.INVALID_TYPE, f"{shown(value)}: must be a whole number or 0% to 100%"
        )
    return value


_SHARE: Final[JsonDict] = {
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "x-kubernetes-int-or-string": True,
    "minimum": 0,
    "maximum": INT32_MAX,
    "pattern": _PERCENT,
}
Share = Annotated[IntOrPercent, AfterValidator(_no_number_in_text), WithJsonSchema(_SHARE)]


class BudgetSpec(Model):
    """How many clusters, or which percent of those wanted, evictions may leave (un)available."""

    model_config = ConfigDict(
        json_schema_extra={"not": {"required": ["maxUnavailable", "minAvailable"]}}
    )

    max_unavailable: Share | None = None
    min_available: Share | None = None


class DisruptionBudget(Model):
    spec: BudgetSpec


def check_budget(content: Content, problems: Problems) -> None:
    """One of the two says it; both may contradict each other."""
    spec = content["spec"]
    if spec.get("maxUnavailable") is not None and spec.get("minAvailable") is not None:
        text = "maxUnavailable and minAvailable exclude each other: keep one"
        problems.add("spec", RejectCode.INVALID_COMBINATION, text)
