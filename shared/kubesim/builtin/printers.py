"""Columns of the built-in kinds."""

import datetime as dt
from collections.abc import Mapping
from typing import Any

from shared.kubesim.apimachinery.columns import (
    AGE,
    CREATED_AT,
    NAME,
    Cell,
    Column,
    Object,
    human_duration,
    since,
)
from shared.kubesim.apimachinery.metadata import parse_stamp
from shared.kubesim.builtin.pod_printer import pod_columns

_NONE = "<none>"


def _at(path: str, default: Any = _NONE) -> Cell:
    """A cell that shows the field at a dotted path."""
    steps = path.split(".")

    def cell(obj: Object, now: dt.datetime) -> Any:
        value: Any = obj
        for step in steps:
            value = value.get(step) if isinstance(value, dict) else None
            if value is None:
                return default
        return value

    return cell


def _count(path: str, kind: type = dict) -> Cell:
    found = _at(path, None)
    return lambda obj, now: len(found(obj, now) or ())


def _wide(name: str, cell: Cell) -> Column:
    return Column(name, cell, priority=1)


def selector_text(selector: Mapping[str, Any] | None) -> str:
    """A label selector as kubectl prints it."""
    if not selector:
        return _NONE
    labels = selector.get("matchLabels", {} if "matchExpressions" in selector else selector)
    terms = [f"{key}={value}" for key, value in sorted(labels.items())]
    for expression in selector.get("matchExpressions") or ():
        values = ",".join(sorted(expression.get("values") or ()))
        key, operator = expression["key"], expression["operator"]
        terms.append(
            {"Exists": key, "DoesNotExist": f"!{key}"}.get(
                operator, f"{key} {operator.lower()} ({values})"
            )
        )
    return ",".join(terms) or _NONE


def _selector(obj: Object, now: dt.datetime) -> str:
    return selector_text(obj.get("spec", {}).get("selector"))


def _template_containers(field: str) -> Cell:
    def cell(obj: Object, now: dt.datetime) -> str:
        spec = obj.get("spec", {}).get("template", {}).get("spec", {})
        return ",".join(str(container.get(field, "")) for container in spec.get("containers", ()))

    return cell


_WORKLOAD_WIDE = (
    _wide("Containers", _template_containers("name")),
    _wide("Images", _template_containers("image")),
    _wide("Selector", _selector),
)


def _job_status(job: Object, now: dt.datetime) -> str:
    true = {
        c["type"] for c in job.get("status", {}).get("conditions") or () if c["status"] == "True"
    }
    if "Complete" in true:
        return "Complete"
    if "Failed" in true:
        return "Failed"
    if "deletionTimestamp" in job["metadata"]:
        return "Terminating"
    if "Suspended" in true:
        return "Suspended"
    if "FailureTarget" in true:
        return "FailureTarget"
    if "SuccessCriteriaMet" in true:
        return "SuccessCriteriaMet"
    return "Running"


def _job_completions(job: Object, now: dt.datetime) -> str:
    spec, done = job.get("spec", {}), job.get("status", {}).get("succeeded", 0)
    if spec.get("completions") is not None:
        return f"{done}/{spec['completions']}"
    parallelism = spec.get("parallelism", 0)
    return f"{done}/1 of {parallelism}" if parallelism > 1 else f"{done}/1"


def _job_duration(job: Object, now: dt.datetime) -> str:
    status = job.get("status", {})
    if not status.get("startTime"):
        return ""
    end = parse_stamp(status["completionTime"]) if status.get("completionTime") else now
    return human_duration((end - parse_stamp(status["startTime"])).total_seconds())


def _deployment_ready(obj: Object, now: dt.datetime) -> str:
    status = obj.get("status", {})
    return f"{status.get('readyReplicas', 0)}/{obj.get('spec', {}).get('replicas', 0)}"


def _node_status(node: Object, now: dt.datetime) -> str:
    ready = [c for c in node.get("status", {}).get("conditions") or () if c["type"] == "Ready"]
    status = "Unknown"
    if ready:
        status = "Ready" if ready[0]["status"] == "True" else "NotReady"
    if node.get("spec", {}).get("unschedulable"):
        status += ",SchedulingDisabled"
    return status


def _node_roles(node: Object, now: dt.datetime) -> str:
    prefix = "node-role.kubernetes.io/"
    labels = node["metadata"].get("labels") or {}
    return (
        ",".join(sorted(key[len(prefix) :] for key in labels if key.startswith(prefix))) or _NONE
    )


def _node_address(kind: str) -> Cell:
    def cell(node: Object, now: dt.datetime) -> str:
        for address in node.get("status", {}).get("addresses") or ():
            if address["type"] == kind:
                return str(address["address"])
        return _NONE

    return cell


def _service_ports(service: Object, now: dt.datetime) -> str:
    ports = []
    for port in service.get("spec", {}).get("ports") or ():
        node_port = f":{port['nodePort']}" if port.get("nodePort") else ""
        ports.append(f"{port.get('port')}{node_port}/{port.get('protocol', 'TCP')}")
    return ",".join(ports) or _NONE


def _event_seen(event: Object, now: dt.datetime) -> str:
    stamp = (
        event.get("series", {}).get("lastObservedTime")
        or event.get("lastTimestamp")
        or event.get("eventTime")
        or event["metadata"].get("creationTimestamp")
    )
    return since(stamp, now)


def _event_object(event: Object, now: dt.datetime) -> str:
    involved = event.get("involvedObject", {})
    return f"{str(involved.get('kind', '')).lower()}/{involved.get('name', '')}"


def _event_source(event: Object, now: dt.datetime) -> str:
    source = event.get("source") or {}
    parts = [
        source.get("component") or event.get("reportingComponent", ""),
        source.get("host", ""),
    ]
    return ", ".join(part for part in parts if part)


def _quota_text(field: str) -> Cell:
    def cell(quota: Object, now: dt.datetime) -> str:
        status = quota.get("status", {})
        hard = status.get("hard") or quota.get("spec", {}).get("hard") or {}
        used = status.get("used") or {}
        limits = [key for key in sorted(hard) if key.startswith("limits.") == (field == "limits")]
        return ", ".join(f"{key}: {used.get(key, 0)}/{hard[key]}" for key in limits)

    return cell


def _role_ref(obj: Object, now: dt.datetime) -> str:
    reference = obj.get("roleRef", {})
    return f"{reference.get('kind', '')}/{reference.get('name', '')}"


COLUMNS: dict[str, tuple[Column, ...]] = {
    "pods": pod_columns(),
    "namespaces": (NAME, Column("Status", _at("status.phase", "Active")), AGE),
    "nodes": (
        NAME,
        Column("Status", _node_status),
        Column("Roles", _node_roles),
        AGE,
        Column("Version", _at("status.nodeInfo.kubeletVersion", "")),
        _wide("Internal-IP", _node_address("InternalIP")),
        _wide("External-IP", _node_address("ExternalIP")),
        _wide("OS-Image", _at("status.nodeInfo.osImage", "<unknown>")),
        _wide("Kernel-Version", _at("status.nodeInfo.kernelVersion", "<unknown>")),
        _wide("Container-Runtime", _at("status.nodeInfo.containerRuntimeVersion", "<unknown>")),
    ),
    "configmaps": (NAME, Column("Data", _count("data"), type="integer"), AGE),
    "secrets": (
        NAME,
        Column("Type", _at("type", "Opaque")),
        Column("Data", _count("data"), type="integer"),
        AGE,
    ),
    "serviceaccounts": (NAME, AGE),
    "services": (
        NAME,
        Column("Type", _at("spec.type", "ClusterIP")),
        Column("Cluster-IP", _at("spec.clusterIP")),
        Column("External-IP", lambda obj, now: _NONE),
        Column("Port(s)", _service_ports),
        AGE,
        _wide("Selector", _selector),
    ),
    "events": (
        Column("Last Seen", _event_seen),
        Column("Type", _at("type", "")),
        Column("Reason", _at("reason", "")),
        Column("Object", _event_object),
        _wide("Subobject", _at("involvedObject.fieldPath", "")),
        _wide("Source", _event_source),
        Column("Message", lambda obj, now: str(obj.get("message", "")).strip()),
        _wide("First Seen", lambda obj, now: since(obj.get("firstTimestamp"), now)),
        _wide("Count", _at("count", 1)),
        _wide("Name", lambda obj, now: obj["metadata"]["name"]),
    ),
    "resourcequotas": (
        NAME,
        AGE,
        Column("Request", _quota_text("requests")),
        Column("Limit", _quota_text("limits")),
    ),
    "limitranges": (NAME, CREATED_AT),
    "jobs.batch": (
        NAME,
        Column("Status", _job_status),
        Column("Completions", _job_completions),
        Column("Duration", _job_duration),
        AGE,
        *_WORKLOAD_WIDE,
    ),
    "cronjobs.batch": (
        NAME,
        Column("Schedule", _at("spec.schedule")),
        Column("Timezone", _at("spec.timeZone")),
        Column("Suspend", _at("spec.suspend", default=False), type="boolean"),
        Column("Active", _count("status.active"), type="integer"),
        Column(
            "Last Schedule",
            lambda obj, now: (
                since(obj.get("status", {}).get("lastScheduleTime"), now)
                if obj.get("status", {}).get("lastScheduleTime")
                else _NONE
            ),
        ),
        AGE,
    ),
    "deployments.apps": (
        NAME,
        Column("Ready", _deployment_ready),
        Column("Up-to-date", _at("status.updatedReplicas", 0)),
        Column("Available", _at("status.availableReplicas", 0)),
        AGE,
        *_WORKLOAD_WIDE,
    ),
    "replicasets.apps": (
        NAME,
        Column("Desired", _at("spec.replicas", 0), type="integer"),
        Column("Current", _at("status.replicas", 0), type="integer"),
        Column("Ready", _at("status.readyReplicas", 0), type="integer"),
        AGE,
        *_WORKLOAD_WIDE,
    ),
    "statefulsets.apps": (
        NAME,
        Column("Ready", _deployment_ready),
        AGE,
        *_WORKLOAD_WIDE[:2],
    ),
    "daemonsets.apps": (
        NAME,
        Column("Desired", _at("status.desiredNumberScheduled", 0), type="integer"),
        Column("Current", _at("status.currentNumberScheduled", 0), type="integer"),
        Column("Ready", _at("status.numberReady", 0), type="integer"),
        Column("Up-to-date", _at("status.updatedNumberScheduled", 0), type="integer"),
        Column("Available", _at("status.numberAvailable", 0), type="integer"),
        AGE,
        *_WORKLOAD_WIDE,
    ),
    "leases.coordination.k8s.io": (NAME, Column("Holder", _at("spec.holderIdentity", "")), AGE),
    "roles.rbac.authorization.k8s.io": (NAME, CREATED_AT),
    "clusterroles.rbac.authorization.k8s.io": (NAME, CREATED_AT),
    "rolebindings.rbac.authorization.k8s.io": (NAME, Column("Role", _role_ref), AGE),
    "clusterrolebindings.rbac.authorization.k8s.io": (NAME, Column("Role", _role_ref), AGE),
    "priorityclasses.scheduling.k8s.io": (
        NAME,
        Column("Value", _at("value", 0), type="integer"),
        Column("Global-Default", _at("globalDefault", default=False), type="boolean"),
        AGE,
        Column("PreemptionPolicy", _at("preemptionPolicy", "PreemptLowerPriority")),
    ),
    "persistentvolumeclaims": (
        NAME,
        Column("Status", _at("status.phase", "Pending")),
        Column("Volume", _at("spec.volumeName", "")),
        Column("Capacity", _at("status.capacity.storage", "")),
        Column(
            "Access Modes", lambda obj, now: ",".join(obj.get("spec", {}).get("accessModes", ()))
        ),
        Column("StorageClass", _at("spec.storageClassName", "")),
        AGE,
    ),
    "customresourcedefinitions.apiextensions.k8s.io": (NAME, CREATED_AT),
}
