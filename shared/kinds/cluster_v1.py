"""KubeFleet's MemberCluster, v1: the internal shape (placement.md, 1.1).

The identity that KubeFleet requires is optional: agents prove who they are by the credential that
a join token gave them, and the hub grants no Kubernetes rights to anybody.
"""

from typing import Annotated, Any, Final, Literal

from pydantic import Field

from shared.kinds.metadata import NameRule
from shared.kinds.model import Model
from shared.kinds.names import is_dns_subdomain
from shared.kinds.problems import Problems
from shared.kinds.selectors import check_taints

GROUP = "cluster.kubernetes-fleet.io"
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


class DeleteOptions(Model):
    validation_mode: Literal["Strict", "Skip"] = "Strict"


class MemberClusterSpec(Model):
    identity: Identity | None = None
    heartbeat_period_seconds: Annotated[int, Field(ge=1, le=600)] = 60
    taints: Annotated[list[Taint], Field(max_length=100)] | None = None
    delete_options: DeleteOptions | None = None


class MemberCluster(Model):
    spec: MemberClusterSpec = Field(default_factory=MemberClusterSpec)


def check_member_cluster(content: dict[str, Any], problems: Problems) -> None:
    check_taints(content["spec"].get("taints"), "spec.taints", problems, EFFECTS, 100)
