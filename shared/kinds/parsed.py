"""The parsed form of every manifest."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shared.errors import FieldError
from shared.resources import PodSet


@dataclass(frozen=True, slots=True)
class Parsed:
    """A manifest that holds: identity, labels, and its content in the one internal shape.

    `spec` is plain JSON: for Kueue's kinds in v1beta2's names, for placement and cluster kinds in
    v1's, defaults filled in; for a Job the spec as received; for a kind that is not modelled
    everything but apiVersion, kind, metadata and status. `raw` is the manifest as received.
    `namespace` is empty for what is cluster-scoped; `name` where only generateName was given.
    `pod_sets` are those of a Job or Workload, empty otherwise; a Workload that can not be admitted as it
    is has none, and `hindrance` says why.
    """

    kind: str
    group: str
    version: str
    namespace: str
    name: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    spec: dict[str, Any]
    raw: dict[str, Any]
    generate_name: str = ""
    pod_sets: tuple[PodSet, ...] = ()
    hindrance: FieldError | None = None

    @property
    def api_version(self) -> str:
        """`group/version`, or the version alone for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version
