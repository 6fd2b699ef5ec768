"""Unsupported requests to Kueue: a constraint is rejected, a preference warns. Pure.

A job that is run without a constraint is run wrongly; without a preference it is run less well. Keys are
those of Kueue's API (apis/kueue/v1beta2, pkg/controller/constants) at version 0.20.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from shared.errors import FieldError
from shared.kinds.parsed import Parsed
from shared.kinds.problems import Problems
from shared.reject_codes import RejectCode
from shared.resources import MIN_PARALLELISM

NO_TOPOLOGY: Final = "pods are not placed by topology: take it out"
_TOPOLOGY: Final = "kueue.x-k8s.io/podset-"  # all of Kueue's that begin so are about topology
_REQUIRED: Final = frozenset(
    f"{_TOPOLOGY}{name}"
    for name in (
        "required-topology", "slice-required-topology", "slice-required-topology-constraints"
    )
)  # fmt: skip
_REQUESTED: Final = (
    "required", "podSetSliceRequiredTopology", "podsetSliceRequiredTopologyConstraints"
)  # fmt: skip
PREBUILT: Final = "kueue.x-k8s.io/prebuilt-workload-name"
_BOOST: Final = "kueue.x-k8s.io/priority-boost"
_POD_GROUP: Final = "kueue.x-k8s.io/pod-group-"
_PROVISIONING: Final = "provreq.kueue.x-k8s.io/"
_ALL_COMPLETIONS: Final = "kueue.x-k8s.io/job-completions-equal-parallelism"


def check_template_annotations(
    annotations: Mapping[str, Any], field: str, problems: Problems
) -> None:
    """Constraints in the annotations of a Job's pods. Adds UnsupportedValue."""
    for name in annotations:
        if name in _REQUIRED:
            problems.add(f"{field}[{name}]", RejectCode.UNSUPPORTED_VALUE, NO_TOPOLOGY)


def check_job_metadata(labels: Mapping[str, str], problems: Problems) -> None:
    """Constraints in the labels of a Job. Adds UnsupportedValue."""
    if PREBUILT in labels:
        rule = "the hub makes the Workload of a Job itself: take it out"
        problems.add(f"metadata.labels[{PREBUILT}]", RejectCode.UNSUPPORTED_VALUE, rule)


def hinder(pod_set: Mapping[str, Any], field: str, problems: Problems) -> None:
    """A pod set of a Workload that requires a topology is kept, and is never admitted."""
    asked = pod_set.get("topologyRequest") or {}
    for name in _REQUESTED:
        if isinstance(asked, Mapping) and asked.get(name):
            where = f"{field}.topologyRequest.{name}"
            fault = FieldError(where, RejectCode.UNSUPPORTED_VALUE, NO_TOPOLOGY)
            problems.hindrance = problems.hindrance or fault


def preferences(parsed: Parsed, *, partial: bool) -> Iterator[str]:
    """Ignored fields of a Job, a sentence each. `partial`: partial admission is on."""
    for name in parsed.annotations:
        if name == _BOOST:
            yield f"metadata.annotations[{name}]: the priority is that of its class"
        elif name.startswith(_PROVISIONING):
            yield f"metadata.annotations[{name}]: the hub makes no ProvisioningRequest"
        elif name in (MIN_PARALLELISM, _ALL_COMPLETIONS) and not partial:
            yield f"metadata.annotations[{name}]: partial admission is off, all pods start or none"
    for name in (*parsed.labels, *parsed.annotations):
        if name.startswith(_POD_GROUP):
            yield f"metadata[{name}]: the pods of a Job are admitted together, and with no other pods"
    template = parsed.spec.get("template") or {}
    for name in (template.get("metadata") or {}).get("annotations") or ():
        if name.startswith(_TOPOLOGY):
            yield f"spec.template.metadata.annotations[{name}]: pods are not placed by topology"
