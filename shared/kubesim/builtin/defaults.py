"""Defaults of the built-in kinds, as the API server fills them in (pkg/apis/*/v1/defaults.go).

Every function returns a new dict, or the given one where nothing was missing; nothing is changed in
place, so that a Job's template and its pods may share parts.
"""

from collections.abc import Callable
from typing import Any

Fields = dict[str, Any]

_POD_SPEC: Fields = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "securityContext": {},
    "schedulerName": "default-scheduler",
}
_CONTAINER: Fields = {
    "resources": {},
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
_PROBE: Fields = {
    "timeoutSeconds": 1,
    "periodSeconds": 10,
    "successThreshold": 1,
    "failureThreshold": 3,
}
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_FILE_MODE = 420  # 0644
_MODED_VOLUMES = ("configMap", "secret", "projected", "downwardAPI")


def with_defaults(fields: Fields, defaults: Fields) -> Fields:
    """`fields` completed by `defaults`; null counts as missing."""
    if all(fields.get(name) is not None for name in defaults):
        return fields
    return {**defaults, **{name: value for name, value in fields.items() if value is not None}}


def _each(fields: Fields, name: str, change: Callable[[Fields], Fields]) -> Fields:
    """`fields` with `change` applied to every element of the list `name`."""
    elements = fields.get(name)
    if not elements or not isinstance(elements, list):
        return fields
    changed = [change(element) if isinstance(element, dict) else element for element in elements]
    if all(new is old for new, old in zip(changed, elements, strict=True)):
        return fields
    return {**fields, name: changed}


def template(fields: Fields) -> Fields:
    """A pod template; its metadata is always there."""
    spec = fields.get("spec")
    completed = pod_spec(spec) if isinstance(spec, dict) else {**_POD_SPEC}
    if completed is spec and isinstance(fields.get("metadata"), dict):
        return fields
    return {**fields, "metadata": fields.get("metadata") or {}, "spec": completed}


def pod_spec(spec: Fields) -> Fields:
    spec = with_defaults(spec, _POD_SPEC)
    for name in ("containers", "initContainers"):
        spec = _each(spec, name, _container)
    spec = _each(spec, "volumes", _volume)
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account and not (spec.get("serviceAccountName") and spec.get("serviceAccount")):
        spec = {**spec, "serviceAccountName": account, "serviceAccount": account}
    return spec


def _container(container: Fields) -> Fields:
    container = with_defaults(container, _CONTAINER)
    if not container.get("imagePullPolicy"):
        image = str(container.get("image", ""))
        _, colon, tag = image.rpartition("/")[2].partition(":")
        latest = "@" not in image and (not colon or tag == "latest")
        container = {**container, "imagePullPolicy": "Always" if latest else "IfNotPresent"}
    container = _each(container, "ports", lambda port: with_defaults(port, {"protocol": "TCP"}))
    container = _each(container, "env", _variable)
    for probe in _PROBES:
        if isinstance(container.get(probe), dict):
            container = {**container, probe: _probe(container[probe])}
    return container


def _probe(probe: Fields) -> Fields:
    probe = with_defaults(probe, _PROBE)
    http = probe.get("httpGet")
    if isinstance(http, dict):
        probe = {**probe, "httpGet": with_defaults(http, {"path": "/", "scheme": "HTTP"})}
    return probe


def _variable(variable: Fields) -> Fields:
    source = variable.get("valueFrom")
    if isinstance(source, dict) and isinstance(source.get("fieldRef"), dict):
        reference = with_defaults(source["fieldRef"], {"apiVersion": "v1"})
        if reference is not source["fieldRef"]:
            return {**variable, "valueFrom": {**source, "fieldRef": reference}}
    return variable


def _volume(volume: Fields) -> Fields:
    if set(volume) == {"name"}:
        return {**volume, "emptyDir": {}}
    for kind in _MODED_VOLUMES:
        if isinstance(volume.get(kind), dict):
            return {**volume, kind: with_defaults(volume[kind], {"defaultMode": _FILE_MODE})}
    path = volume.get("hostPath")
    if isinstance(path, dict):
        return {**volume, "hostPath": with_defaults(path, {"type": ""})}
    return volume


def pod(spec: Fields) -> Fields:
    """The spec of a pod (not of a template): limits stand in for missing requests."""
    spec = with_defaults(
        pod_spec(spec),
        {
            "enableServiceLinks": True,
            "preemptionPolicy": "PreemptLowerPriority",
            "priority": 0,
            "serviceAccountName": "default",
            "serviceAccount": "default",
        },
    )
    for name in ("containers", "initContainers"):
        spec = _each(spec, name, _requests_from_limits)
    tolerations = spec.get("tolerations") or []
    kept = {(one.get("key"), one.get("effect")) for one in tolerations}
    missing = [one for one in _NODE_TOLERATIONS if (one["key"], one["effect"]) not in kept]
    # An operator Exists without key tolerates everything already.
    if missing and not any(
        one.get("operator") == "Exists" and not one.get("key") for one in tolerations
    ):
        spec = {**spec, "tolerations": [*tolerations, *missing]}
    return spec


_NODE_TOLERATIONS: list[Fields] = [
    {
        "key": f"node.kubernetes.io/{condition}",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": 300,
    }
    for condition in ("not-ready", "unreachable")
]


def _requests_from_limits(container: Fields) -> Fields:
    resources = container.get("resources") or {}
    limits, requests = resources.get("limits"), resources.get("requests") or {}
    if not limits or all(name in requests for name in limits):
        return container
    return {**container, "resources": {**resources, "requests": {**limits, **requests}}}


def job_spec(spec: Fields) -> Fields:
    """A Job's spec without its selector, which depends on the uid."""
    defaults: Fields = {
        "parallelism": 1,
        "backoffLimit": 2_147_483_647 if spec.get("backoffLimitPerIndex") is not None else 6,
        "completionMode": "NonIndexed",
        "suspend": False,
        "manualSelector": False,
        "podReplacementPolicy": "Failed"
        if spec.get("podFailurePolicy")
        else "TerminatingOrFailed",
    }
    if spec.get("completions") is None and spec.get("parallelism") is None:
        defaults["completions"] = 1
    spec = with_defaults(spec, defaults)
    completed = template(spec.get("template") or {})
    return spec if completed is spec.get("template") else {**spec, "template": completed}


def _workload(spec: Fields, defaults: Fields) -> Fields:
    spec = with_defaults(spec, defaults)
    return {**spec, "template": template(spec.get("template") or {})}


def deployment_spec(spec: Fields) -> Fields:
    spec = _workload(
        spec, {"replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600}
    )
    strategy = with_defaults(spec.get("strategy") or {}, {"type": "RollingUpdate"})
    if strategy["type"] == "RollingUpdate":
        rolling = {"maxUnavailable": "25%", "maxSurge": "25%"}
        strategy = {
            **strategy,
            "rollingUpdate": with_defaults(strategy.get("rollingUpdate") or {}, rolling),
        }
    return {**spec, "strategy": strategy}


def replica_set_spec(spec: Fields) -> Fields:
    return _workload(spec, {"replicas": 1})


def stateful_set_spec(spec: Fields) -> Fields:
    return _workload(
        spec,
        {
            "replicas": 1,
            "podManagementPolicy": "OrderedReady",
            "revisionHistoryLimit": 10,
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
            "persistentVolumeClaimRetentionPolicy": {
                "whenDeleted": "Retain",
                "whenScaled": "Retain",
            },
        },
    )


def daemon_set_spec(spec: Fields) -> Fields:
    rolling = {"maxUnavailable": 1, "maxSurge": 0}
    strategy = {"type": "RollingUpdate", "rollingUpdate": rolling}
    return _workload(spec, {"revisionHistoryLimit": 10, "updateStrategy": strategy})


def cron_job_spec(spec: Fields) -> Fields:
    spec = with_defaults(
        spec,
        {
            "concurrencyPolicy": "Allow",
            "suspend": False,
            "successfulJobsHistoryLimit": 3,
            "failedJobsHistoryLimit": 1,
        },
    )
    job = spec.get("jobTemplate") or {}
    inner = job.get("spec") or {}
    completed = {**inner, "template": template(inner.get("template") or {})}
    return {**spec, "jobTemplate": {"metadata": {}, **job, "spec": completed}}


def service_spec(spec: Fields) -> Fields:
    spec = with_defaults(
        spec,
        {
            "type": "ClusterIP",
            "sessionAffinity": "None",
            "internalTrafficPolicy": "Cluster",
            "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack",
        },
    )
    return _each(spec, "ports", _service_port)


def _service_port(port: Fields) -> Fields:
    return with_defaults(port, {"protocol": "TCP", "targetPort": port.get("port")})
