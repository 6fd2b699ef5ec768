"""Availability of an object, by its status and the rule of a Kubernetes kind, with a reason. Pure.

The rules are KubeFleet's (pkg/controllers/workapplier) where it has one, and the controllers' own words
elsewhere. Nothing is claimed blindly: an object whose status is not of its kind's shape is None, not True.
Rules of workloads are in `agent.objects.available_workloads`, those of other kinds in `agent.objects.rules`.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from agent.objects import available_workloads as of_workloads
from agent.objects.verdict import AVAILABLE, UNKNOWN, Object, Verdict, condition, no, observed

_CONDITIONS: Final = "autoscaling.alpha.kubernetes.io/conditions"
_SYNC_FAILED: Final = "SyncFailed"
_NO_ADDRESS: Final = "NoAddress"


def key_of(obj: Object) -> tuple[str, str]:
    """Group and kind of an object; "" for the core group."""
    return str(obj.get("apiVersion") or "").rpartition("/")[0], str(obj.get("kind") or "")


def availability_of_kind(obj: Object) -> Verdict | None:
    """What the kind's own rule says of an object; None where Kubernetes does not bring the kind.

    Never raises: what is no status of its kind is not judged.
    """
    key = key_of(obj)
    rule = _RULES.get(key)
    if rule is None:
        return AVAILABLE if key in _AT_ONCE else None
    try:
        return rule(obj)
    except (AttributeError, TypeError, ValueError, KeyError, RecursionError):
        return UNKNOWN


def _service(obj: Object) -> Verdict:
    spec = obj.get("spec") or {}
    kind = spec.get("type") or "ClusterIP"
    if kind == "ExternalName":
        return UNKNOWN
    if kind == "LoadBalancer":
        return _addressed(obj, "no load balancer has given it an address yet")
    if spec.get("clusterIP"):
        return AVAILABLE
    return no(_NO_ADDRESS, "it has no cluster IP yet")


def _ingress(obj: Object) -> Verdict:
    return _addressed(obj, "no ingress controller has given it an address yet")


def _addressed(obj: Object, missing: str) -> Verdict:
    balancer = (obj.get("status") or {}).get("loadBalancer") or {}
    if any(each.get("ip") or each.get("hostname") for each in balancer.get("ingress") or ()):
        return AVAILABLE
    return no(_NO_ADDRESS, missing)


def _definition(obj: Object) -> Verdict:
    for kind in ("NamesAccepted", "Established"):
        held = condition(obj, kind)
        if held.get("status") != "True":
            return no(
                f"Not{kind}", str(held.get("message") or f"its condition {kind} is not True")
            )
    return AVAILABLE


def _api_service(obj: Object) -> Verdict:
    held = condition(obj, "Available")
    if held.get("status") == "True":
        return AVAILABLE
    return _by(held, "NotServed", "its condition Available is not True")


def _budget(obj: Object) -> Verdict:
    """In force once its condition is of its present generation, whether it allows a disruption or not."""
    late = observed(obj)
    if late is not None:
        return late
    held = condition(obj, "DisruptionAllowed")
    generation = obj["metadata"].get("generation") or 0
    if not held or (held.get("observedGeneration") or generation) < generation:
        return no("NotObserved", "its controller has not counted its pods yet")
    if held.get("reason") == _SYNC_FAILED:
        return _by(held, _SYNC_FAILED, "its controller can not count its pods")
    return AVAILABLE


def _autoscaler(obj: Object) -> Verdict:
    """It can scale its target, and does by metrics that it can read; of a target of none it need not."""
    late = observed(obj, optional=True)
    if late is not None:
        return late
    if obj.get("apiVersion") == "autoscaling/v1":
        obj = {"status": {"conditions": _of_annotation(obj)}}
    for kind in ("AbleToScale", "ScalingActive"):
        held = condition(obj, kind)
        if not held:
            return no("NotObserved", f"its controller has not told yet whether it is {kind}")
        if held.get("status") != "True" and held.get("reason") != "ScalingDisabled":
            return _by(held, f"Not{kind}", f"its condition {kind} is not True")
    return AVAILABLE


def _of_annotation(obj: Object) -> Any:
    """Conditions as version v1 has them, which has no field for them."""
    annotations = obj["metadata"].get("annotations") or {}
    return json.loads(annotations.get(_CONDITIONS) or "[]")


def _claim(obj: Object) -> Verdict:
    phase = (obj.get("status") or {}).get("phase") or "Pending"
    if phase == "Bound":
        return AVAILABLE
    if phase == "Lost":
        return no("Lost", "the volume that it was bound to is gone")
    text = (
        "no volume is bound to it yet; storage classes that wait for the first pod bind one then"
    )
    return no("NotBound", text)


def _volume(obj: Object) -> Verdict:
    status = obj.get("status") or {}
    phase = status.get("phase") or "Pending"
    if phase in {"Available", "Bound"}:
        return AVAILABLE
    return no(phase, str(status.get("message") or f"it is {phase}"))


def _by(held: Mapping[str, Any], reason: str, text: str) -> Verdict:
    """Not available, in the words of a condition where it has some."""
    return no(str(held.get("reason") or reason), str(held.get("message") or text))


_Key = tuple[str, str]  # group, kind
_RULES: Final[Mapping[_Key, Callable[[Object], Verdict]]] = {
    ("", "PersistentVolume"): _volume,
    ("", "PersistentVolumeClaim"): _claim,
    ("", "Pod"): of_workloads.pod,
    ("", "ReplicationController"): of_workloads.replica_set,
    ("", "Service"): _service,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _definition,
    ("apiregistration.k8s.io", "APIService"): _api_service,
    ("apps", "DaemonSet"): of_workloads.daemon_set,
    ("apps", "Deployment"): of_workloads.deployment,
    ("apps", "ReplicaSet"): of_workloads.replica_set,
    ("apps", "StatefulSet"): of_workloads.stateful_set,
    ("autoscaling", "HorizontalPodAutoscaler"): _autoscaler,
    ("batch", "CronJob"): of_workloads.cron_job,
    ("batch", "Job"): of_workloads.job,
    ("networking.k8s.io", "Ingress"): _ingress,
    ("policy", "PodDisruptionBudget"): _budget,
}
# Kinds that hold data or rules: in force as soon as they are stored.
_AT_ONCE: Final = frozenset(
    {
        *(("", kind) for kind in (
            "ConfigMap", "LimitRange", "Namespace", "PodTemplate", "ResourceQuota", "Secret",
            "ServiceAccount",
        )),
        *(("admissionregistration.k8s.io", kind) for kind in (
            "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding",
            "MutatingWebhookConfiguration", "ValidatingAdmissionPolicy",
            "ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration",
        )),
        *(("rbac.authorization.k8s.io", kind) for kind in (
            "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding",
        )),
        *(("storage.k8s.io", kind) for kind in (
            "CSIDriver", "CSINode", "CSIStorageCapacity", "StorageClass", "VolumeAttributesClass",
        )),
        ("apps", "ControllerRevision"),
        ("networking.k8s.io", "IngressClass"),
        ("networking.k8s.io", "NetworkPolicy"),
        ("node.k8s.io", "RuntimeClass"),
        ("resource.k8s.io", "DeviceClass"),
        ("scheduling.k8s.io", "PriorityClass"),
    }
)  # fmt: skip
