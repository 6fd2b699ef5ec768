"""MultiKueue's kinds in both versions: aliases of members, and a restriction to some of them.

A MultiKueueCluster is the member of its name; how Kueue would reach it (kubeConfig, ClusterProfile) is
read, kept, and used by nobody: agents dial the hub. See docs/howto/multikueue.md.
"""

from typing import Annotated, Any, Literal

from pydantic import Field

from shared.kinds.model import Model, Name
from shared.kinds.problems import Problems
from shared.reject_codes import RejectCode


class KubeConfig(Model):
    location: str = Field(default="", max_length=4096)
    location_type: Literal["Secret", "Path"] = "Secret"


class ClusterProfileRef(Model):
    name: Name


class ClusterSource(Model):
    kube_config: KubeConfig | None = None
    cluster_profile_ref: ClusterProfileRef | None = None


class ClusterSpec(Model):
    """v1beta2."""

    cluster_source: ClusterSource | None = None


class OldClusterSpec(Model):
    """v1beta1."""

    kube_config: KubeConfig | None = None
    cluster_profile_ref: ClusterProfileRef | None = None


class EitherClusterSpec(OldClusterSpec, ClusterSpec):
    """How Kueue would reach a worker cluster; the fields of v1beta1 and v1beta2."""


class Cluster(Model):
    spec: ClusterSpec = Field(default_factory=ClusterSpec)


class OldCluster(Model):
    spec: OldClusterSpec = Field(default_factory=OldClusterSpec)


class EitherCluster(Model):
    spec: EitherClusterSpec = Field(default_factory=EitherClusterSpec)


class OldConfigSpec(Model):
    """v1beta1."""

    clusters: Annotated[list[Name], Field(min_length=1, max_length=20)]


class ConfigSpec(OldConfigSpec):
    """v1beta2."""

    quota_management: Literal["Manual", "Automated"] | None = None


class OldConfig(Model):
    spec: OldConfigSpec


class Config(Model):
    spec: ConfigSpec


def cluster_to_internal(content: dict[str, Any], problems: Problems) -> dict[str, Any]:
    """The spec of a MultiKueueCluster in v1beta2's names; an empty location means absent."""
    spec = dict(content["spec"])
    source = dict(spec.pop("clusterSource", None) or {})
    for name in ("kubeConfig", "clusterProfileRef"):
        value = spec.pop(name, None)
        if not value or (name == "kubeConfig" and not value.get("location")):
            continue
        if source.get(name, value) != value:
            rule = f"{name} and clusterSource.{name} say the same in two versions, and differ"
            problems.add(f"spec.{name}", RejectCode.AMBIGUOUS_FIELD, rule)
        source[name] = value
    return {"spec": {**spec, "clusterSource": source}}


def check_config(content: dict[str, Any], problems: Problems) -> None:
    """Clusters are named once each."""
    seen: set[str] = set()
    for index, name in enumerate(content["spec"]["clusters"]):
        if name in seen:
            problems.add(f"spec.clusters[{index}]", RejectCode.DUPLICATE, f"{name} is named twice")
        seen.add(name)
