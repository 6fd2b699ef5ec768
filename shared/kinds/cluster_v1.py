"""KubeFleet's MemberCluster, v1: the internal shape.

The identity that KubeFleet requires is optional: agents prove who they are by the credential that
a join token gave them, and the hub grants no Kubernetes rights to anybody. `spec.pools` is Roadstead's
own: what an autoscaler may add.
"""

from typing import Annotated, Any, Final, Literal

from pydantic import Field

from shared.groups import CLUSTER
from shared.kinds.metadata import NameRule
from shared.kinds.model import Amount, Count, Labels, Model, keyed
from shared.kinds.names import is_dns_subdomain, is_resource_name
from shared.kinds.problems import Problems
from shared.kinds.selectors import POD_EFFECTS, check_labels, check_taints
from shared.quantity import shown
from shared.reject_codes import RejectCode

GROUP = CLUSTER
VERSION = "v1"

EFFECTS: Final = frozenset({"NoSchedule"})
CLUSTER_NAME: Final[NameRule] = (
    lambda text: is_dns_subdomain(text) and isinstance(text, str) and len(text) < 64,
    "must consist of lower-case letters, digits, '-' and '.'; at most 63 characters",
)


class Identity(Model):
    kind: str
    api_group: str | None = None
    name: str
    namespace: str | None = None


class Taint(Model):
    key: str = Field(min_length=1, max_length=317)
    value: str | None = None
    effect: Literal["NoSchedule"]


class NodeTaint(Model):
    key: str = Field(min_length=1, max_length=317)
    value: str | None = None
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]


class NodePool(Model):
    """A pool whose autoscaler may add nodes of one shape, up to `max_nodes` in all."""

    name: str = Field(min_length=1, max_length=63)
    count: Count | None = None
    max_nodes: Count | None = None
    labels: Labels | None = None
    taints: Annotated[list[NodeTaint], Field(max_length=50)] | None = None
    allocatable: Annotated[dict[str, Amount], Field(max_length=64)] | None = None


class DeleteOptions(Model):
    """`propagationPolicy` is Roadstead's own: what becomes of what was placed there."""

    validation_mode: Literal["Strict", "Skip"] = "Strict"
    propagation_policy: Literal["Abandon", "Delete"] | None = None


class MemberClusterSpec(Model):
    identity: Identity | None = None
    heartbeat_period_seconds: Annotated[int, Field(ge=1, le=600)] = 60
    taints: Annotated[list[Taint], Field(max_length=100)] | None = None
    delete_options: DeleteOptions | None = None
    pools: list[NodePool] | None = keyed("name", max_length=50)


class MemberCluster(Model):
    spec: MemberClusterSpec = Field(default_factory=MemberClusterSpec)


def check_member_cluster(content: dict[str, Any], problems: Problems) -> None:
    check_taints(content["spec"].get("taints"), "spec.taints", problems, EFFECTS, 100)
    for at, pool in enumerate(content["spec"].get("pools") or ()):
        place = f"spec.pools[{at}]"
        check_labels(pool.get("labels") or {}, f"{place}.labels", problems)
        check_taints(pool.get("taints"), f"{place}.taints", problems, POD_EFFECTS, 50)
        for name in pool.get("allocatable") or {}:
            if not is_resource_name(name):
                problems.add(
                    f"{place}.allocatable",
                    RejectCode.INVALID_RESOURCE_NAME,
                    f"{shown(name)} is no resource",
                )
