"""KubeFleet's MemberCluster in v1beta1: the same fields as v1."""

from shared.kinds.cluster_v1 import GROUP, MemberCluster

VERSION = "v1beta1"

__all__ = ["GROUP", "VERSION", "MemberCluster"]
