"""Rules of a pod template: what a batch job's intake must be sure of.

Kubernetes' pod API is not modelled field by field. Checked are the names of fields (against the
complete lists of Kubernetes 1.36, so that a misspelt one is found), the types of all values (`shapes`),
containers, images, resources, where pods may go, and what refers to what inside the pod; the member's
API server has the last word on the rest. Hand-written over plain dicts: this is the hot path of intake.
"""

from collections.abc import Mapping
from typing import Any, Final

from shared.kinds import containers, names, shapes
from shared.kinds.constraints import check_template_annotations
from shared.kinds.job_rules import RESTART_POLICIES
from shared.kinds.metadata import METADATA_FIELDS, read_annotations, read_labels
from shared.kinds.problems import Problems, is_mapping, objects
from shared.kinds.selectors import (
    NODE_OPERATORS,
    check_expressions,
    check_labels,
    check_tolerations,
)
from shared.reject_codes import RejectCode

POD_FIELDS: Final = frozenset(
    {
        "activeDeadlineSeconds", "affinity", "automountServiceAccountToken", "containers", "dnsConfig",
        "dnsPolicy", "enableServiceLinks", "ephemeralContainers", "hostAliases", "hostIPC",
        "hostNetwork", "hostPID", "hostUsers", "hostname", "hostnameOverride", "imagePullSecrets",
        "initContainers", "nodeName", "nodeSelector", "os", "overhead", "preemptionPolicy",
        "priority", "priorityClassName", "readinessGates", "resourceClaims", "resources",
        "restartPolicy", "runtimeClassName", "schedulerName", "schedulingGates", "schedulingGroup",
        "securityContext", "serviceAccount", "serviceAccountName", "setHostnameAsFQDN",
        "shareProcessNamespace", "subdomain", "terminationGracePeriodSeconds", "tolerations",
        "topologySpreadConstraints", "volumes",
    }
)  # fmt: skip
_TEMPLATE_FIELDS: Final = frozenset({"metadata", "spec"})
_PLAIN_FIELDS: Final = frozenset({"containers", "restartPolicy"})


def check_template(template: object, field: str, problems: Problems, *, of_job: bool) -> None:
    """A pod template; `of_job` holds restartPolicy to what a Job allows (Never, OnFailure)."""
    if not isinstance(template, dict):
        is_mapping(template, field, problems)
        if template is None:
            problems.add(field, RejectCode.REQUIRED, "a pod template is required")
        return
    problems.unknown(template, _TEMPLATE_FIELDS, field)
    metadata = template.get("metadata")
    if metadata and is_mapping(metadata, f"{field}.metadata", problems):
        path = f"{field}.metadata"
        problems.unknown(metadata, METADATA_FIELDS, path)
        read_labels(metadata, problems, path)
        read_annotations(metadata, problems, path)
        if of_job and isinstance(asked := metadata.get("annotations"), dict):
            check_template_annotations(asked, f"{path}.annotations", problems)
    spec = template.get("spec")
    if not isinstance(spec, dict):
        is_mapping(spec, f"{field}.spec", problems)
        if spec is None:
            problems.add(f"{field}.spec", RejectCode.REQUIRED, "a pod template has a spec")
        return
    _check_spec(spec, f"{field}.spec", problems, of_job=of_job)


def _check_spec(spec: Mapping[str, Any], field: str, problems: Problems, *, of_job: bool) -> None:
    if not spec.keys() <= POD_FIELDS:
        problems.unknown(spec, POD_FIELDS, field)
    policy = spec.get("restartPolicy")
    if of_job and policy not in RESTART_POLICIES:
        rule = "must be Never or OnFailure for a Job; there is no default"
        problems.add(f"{field}.restartPolicy", RejectCode.INVALID_RESTART_POLICY, rule)
    elif policy not in (None, "Always", *RESTART_POLICIES):
        rule = "must be Always, OnFailure or Never"
        problems.add(f"{field}.restartPolicy", RejectCode.INVALID_RESTART_POLICY, rule)
    mounted = containers.check_containers(spec, field, problems)
    if not spec.keys() <= _PLAIN_FIELDS:
        _check_where(spec, field, problems)
        _check_volumes(spec, field, problems)
        for name in ("activeDeadlineSeconds", "terminationGracePeriodSeconds"):
            least = 1 if name == "activeDeadlineSeconds" else 0
            containers.check_whole(spec.get(name), f"{field}.{name}", problems, least=least)
        shapes.check_fields(spec, "PodSpec", field, problems)
    if mounted:
        _check_mounts(spec, mounted, problems)


def _check_where(spec: Mapping[str, Any], field: str, problems: Problems) -> None:
    """Node selector, required node affinity, tolerations, overhead and pod-level resources."""
    selector = spec.get("nodeSelector")
    if selector and is_mapping(selector, f"{field}.nodeSelector", problems):
        check_labels(selector, f"{field}.nodeSelector", problems)
    check_tolerations(spec.get("tolerations"), f"{field}.tolerations", problems)
    overhead = spec.get("overhead")
    if overhead and is_mapping(overhead, f"{field}.overhead", problems):
        containers.check_amounts(overhead, f"{field}.overhead", problems)
    if spec.get("resources") is not None:
        containers.check_resources(spec["resources"], f"{field}.resources", problems)
    affinity = spec.get("affinity")
    if isinstance(affinity, dict) and affinity.get("nodeAffinity") is not None:
        _check_node_affinity(affinity["nodeAffinity"], f"{field}.affinity.nodeAffinity", problems)


def _check_node_affinity(value: object, field: str, problems: Problems) -> None:
    if not isinstance(value, dict):
        is_mapping(value, field, problems)
        return
    required = value.get("requiredDuringSchedulingIgnoredDuringExecution")
    path = f"{field}.requiredDuringSchedulingIgnoredDuringExecution"
    if required is None or not is_mapping(required, path, problems):
        return
    terms = objects(required.get("nodeSelectorTerms"), f"{path}.nodeSelectorTerms", problems)
    if not terms:
        problems.add(
            f"{path}.nodeSelectorTerms", RejectCode.REQUIRED, "at least one term is required"
        )
    for where, term in terms:
        for name in ("matchExpressions", "matchFields"):
            check_expressions(term.get(name), f"{where}.{name}", problems, NODE_OPERATORS)


def _check_volumes(spec: Mapping[str, Any], field: str, problems: Problems) -> None:
    seen = set()
    for path, volume in objects(spec.get("volumes"), f"{field}.volumes", problems, 1000):
        name = volume.get("name")
        if not names.is_dns_label(name):
            problems.add(f"{path}.name", RejectCode.INVALID_NAME, names.LABEL_RULE)
        elif name in seen:
            problems.add(f"{path}.name", RejectCode.DUPLICATE, f"a second volume is called {name}")
        seen.add(name)


def _check_mounts(
    spec: Mapping[str, Any], mounted: list[tuple[str, str]], problems: Problems
) -> None:
    """A mount names a volume of the pod."""
    volumes = spec.get("volumes")
    there = (
        {v.get("name") for v in volumes or () if isinstance(v, dict)}
        if isinstance(volumes, list)
        else set()
    )
    for path, name in mounted:
        if name not in there:
            problems.add(path, RejectCode.INVALID_VALUE, f"the pod has no volume {name}")
