"""The strategies of the built-in kinds: defaults and validation of each, as one table."""

import base64
from collections.abc import Callable, Sequence
from typing import Any

from shared.kubesim.apimachinery import errors
from shared.kubesim.apimachinery.errors import Cause
from shared.kubesim.apimachinery.selectors import labels_match
from shared.kubesim.apimachinery.strategies import KindStrategy, Object, PlainStrategy
from shared.kubesim.builtin import defaults
from shared.kubesim.builtin.validate_job import (
    LEGACY_NAME,
    LEGACY_UID,
    NAME_LABEL,
    UID_LABEL,
    job_faults,
    job_spec_faults,
    job_update_faults,
)
from shared.kubesim.builtin.validate_job_status import job_status_faults, unmanaged_status_faults
from shared.kubesim.builtin.validate_keys import (
    cron_faults,
    data_key_faults,
    immutable_data_faults,
    typed_key_faults,
)
from shared.kubesim.builtin.validate_pod import spec_faults
from shared.kubesim.store.lifecycle import label_faults
from shared.kubesim.store.namespace_lifecycle import NamespaceStrategy

Defaulting = Callable[[dict[str, Any]], dict[str, Any]]
_POD_MUTABLE = ("activeDeadlineSeconds", "terminationGracePeriodSeconds", "tolerations")


class DefaultedStrategy(KindStrategy):
    """A kind whose spec is completed by a function."""

    def __init__(self, complete: Defaulting) -> None:
        self._complete = complete

    def prepare_create(self, obj: Object) -> Object:
        return self._completed(super().prepare_create(obj))

    def prepare_update(self, new: Object, old: Object) -> Object:
        return self._completed(new)

    def _completed(self, obj: Object) -> Object:
        spec = obj.get("spec")
        return {**obj, "spec": self._complete(spec if isinstance(spec, dict) else {})}


class JobStrategy(DefaultedStrategy):
    """Jobs: generated selector and labels, immutable template, guarded status."""

    def __init__(self) -> None:
        super().__init__(defaults.job_spec)

    def prepare_update(self, new: Object, old: Object) -> Object:
        return _labelled(super().prepare_update(new, old))

    def generate(self, obj: Object) -> Object:
        spec = obj["spec"]
        if not spec.get("manualSelector"):
            spec = _with_generated_selector(spec, obj["metadata"])
        return _labelled({**obj, "spec": spec, "status": {}})

    def validate_create(self, obj: Object) -> Sequence[Cause]:
        return job_faults(obj)

    def validate_update(self, new: Object, old: Object) -> Sequence[Cause]:
        if new["spec"] == old["spec"]:
            return ()
        same_pods = new["spec"]["template"] == old["spec"]["template"]
        return [*job_faults(new, same_pods=same_pods), *job_update_faults(new, old)]

    def validate_status(self, new: Object, old: Object) -> Sequence[Cause]:
        return job_status_faults(new, old)


class UnmanagedJobStrategy(JobStrategy):
    """Jobs of an API server that does not know spec.managedBy: their status has fewer rules."""

    def validate_status(self, new: Object, old: Object) -> Sequence[Cause]:
        return unmanaged_status_faults(new)


def _labelled(job: Object) -> Object:
    """A Job without labels has those of its template, the generated ones included."""
    meta = job["metadata"]
    labels = (job["spec"]["template"].get("metadata") or {}).get("labels")
    if meta.get("labels") or not labels:
        return job
    return {**job, "metadata": {**meta, "labels": dict(labels)}}


def _template_labels(spec: dict[str, Any]) -> dict[str, str] | None:
    labels: dict[str, str] | None = (spec["template"].get("metadata") or {}).get("labels")
    return labels


def _with_generated_selector(spec: dict[str, Any], meta: dict[str, Any]) -> dict[str, Any]:
    template = spec["template"]
    template_meta = template.get("metadata") or {}
    generated = {
        NAME_LABEL: meta["name"],
        UID_LABEL: meta["uid"],
        LEGACY_NAME: meta["name"],
        LEGACY_UID: meta["uid"],
    }
    labels = {**generated, **(template_meta.get("labels") or {})}
    selector = spec.get("selector") or {}
    matched = {UID_LABEL: meta["uid"], **(selector.get("matchLabels") or {})}
    return {
        **spec,
        "template": {**template, "metadata": {**template_meta, "labels": labels}},
        "selector": {**selector, "matchLabels": matched},
    }


class CronJobStrategy(DefaultedStrategy):
    def __init__(self) -> None:
        super().__init__(defaults.cron_job_spec)

    def validate_create(self, obj: Object) -> Sequence[Cause]:
        spec = obj["spec"]
        causes = job_spec_faults(spec["jobTemplate"]["spec"], "spec.jobTemplate.spec")
        if not spec.get("schedule"):
            causes.append(errors.required("spec.schedule"))
        if spec["concurrencyPolicy"] not in ("Allow", "Forbid", "Replace"):
            policies = ("Allow", "Forbid", "Replace")
            causes.append(
                errors.not_supported("spec.concurrencyPolicy", spec["concurrencyPolicy"], policies)
            )
        causes += cron_faults(spec)
        if len(obj["metadata"]["name"]) > 52:
            name = obj["metadata"]["name"]
            causes.append(
                errors.bad_value("metadata.name", name, "must be no more than 52 characters")
            )
        return causes

    def validate_update(self, new: Object, old: Object) -> Sequence[Cause]:
        return self.validate_create(new) if new["spec"] != old["spec"] else ()


class PodStrategy(DefaultedStrategy):
    """Pods start Pending; their spec is fixed but for a few fields."""

    def __init__(self) -> None:
        super().__init__(defaults.pod)

    def generate(self, obj: Object) -> Object:
        return {**obj, "status": {"phase": "Pending", "qosClass": quality_of(obj["spec"])}}

    def prepare_update(self, new: Object, old: Object) -> Object:
        return new if new.get("spec") == old.get("spec") else super().prepare_update(new, old)

    def validate_create(self, obj: Object) -> Sequence[Cause]:
        return spec_faults(obj["spec"], "spec")

    def validate_update(self, new: Object, old: Object) -> Sequence[Cause]:
        if new["spec"] == old["spec"]:
            return ()
        return list(_pod_change_faults(new["spec"], old["spec"]))


def _pod_change_faults(spec: dict[str, Any], was: dict[str, Any]) -> Sequence[Cause]:
    fixed, fixed_before = dict(spec), dict(was)
    for field in _POD_MUTABLE:
        fixed.pop(field, None)
        fixed_before.pop(field, None)
    for kind in ("containers", "initContainers"):
        for fields in (fixed, fixed_before):
            if fields.get(kind):
                fields[kind] = [{**one, "image": ""} for one in fields[kind]]
    if was.get("schedulingGates") and not spec.get("schedulingGates"):
        fixed_before.pop("schedulingGates", None)
        fixed.pop("schedulingGates", None)
    if fixed == fixed_before:
        return ()
    why = (
        "pod updates may not change fields other than `spec.containers[*].image`,"
        "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only"
        " additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be"
        " set to 1 if it was previously negative)"
    )
    return [errors.forbidden_field("spec", why)]


def quality_of(spec: dict[str, Any]) -> str:
    """The quality-of-service class (pkg/apis/core/v1/helper/qos)."""
    requests: dict[str, str] = {}
    limits: dict[str, str] = {}
    limited = True
    for container in [*spec.get("containers", ()), *(spec.get("initContainers") or ())]:
        resources = container.get("resources") or {}
        for name in ("cpu", "memory"):
            if name in (resources.get("requests") or {}):
                requests[name] = str(resources["requests"][name])
            if name in (resources.get("limits") or {}):
                limits[name] = str(resources["limits"][name])
            else:
                limited = False
            if (resources.get("requests") or {}).get(name) != (resources.get("limits") or {}).get(
                name
            ):
                limited = False
    if not requests and not limits:
        return "BestEffort"
    return "Guaranteed" if limited else "Burstable"


class ReplicatedStrategy(DefaultedStrategy):
    """Deployments and their like: a selector that matches the template and never changes."""

    def claims_of(self, spec: dict[str, Any]) -> list[str]:
        """Names of claim templates, which pods mount as volumes."""
        return []

    def validate_create(self, obj: Object) -> Sequence[Cause]:
        spec = obj["spec"]
        labels = (spec["template"].get("metadata") or {}).get("labels") or {}
        claims = self.claims_of(spec)
        causes = spec_faults(spec["template"]["spec"], "spec.template.spec", claims)
        causes += label_faults(labels, "spec.template.labels")
        if not spec.get("selector"):
            causes.append(errors.required("spec.selector"))
        elif not labels_match(spec["selector"], labels):
            why = "`selector` does not match template `labels`"
            causes.append(errors.bad_value("spec.template.metadata.labels", labels, why))
        replicas = spec.get("replicas")
        if replicas is not None and replicas < 0:
            why = "must be greater than or equal to 0"
            causes.append(errors.bad_value("spec.replicas", replicas, why))
        if spec["template"]["spec"].get("restartPolicy") != "Always":
            policy = spec["template"]["spec"].get("restartPolicy")
            where = "spec.template.spec.restartPolicy"
            causes.append(errors.not_supported(where, policy, ("Always",)))
        return causes

    def validate_update(self, new: Object, old: Object) -> Sequence[Cause]:
        if new["spec"] == old["spec"]:
            return ()
        causes = list(self.validate_create(new))
        if new["spec"].get("selector") != old["spec"].get("selector"):
            selector = new["spec"].get("selector")
            causes.append(errors.bad_value("spec.selector", selector, "field is immutable"))
        return causes


class StatefulStrategy(ReplicatedStrategy):
    """StatefulSets: their pods mount claims that are made by templates."""

    def claims_of(self, spec: dict[str, Any]) -> list[str]:
        return [
            (each.get("metadata") or {}).get("name") or ""
            for each in spec.get("volumeClaimTemplates") or ()
        ]


class SecretStrategy(PlainStrategy):
    """stringData is write-only and lands in data; the type never changes."""

    def prepare_create(self, obj: Object) -> Object:
        return {"type": "Opaque", **encode_strings(obj)}

    def prepare_update(self, new: Object, old: Object) -> Object:
        return {"type": old.get("type", "Opaque"), **encode_strings(new)}

    def validate_create(self, obj: Object) -> Sequence[Cause]:
        return [*data_key_faults(obj), *typed_key_faults(obj)]

    def validate_update(self, new: Object, old: Object) -> Sequence[Cause]:
        return [*immutable_data_faults(new, old, ("type",)), *typed_key_faults(new)]


class ConfigMapStrategy(PlainStrategy):
    def validate_create(self, obj: Object) -> Sequence[Cause]:
        return data_key_faults(obj)

    def validate_update(self, new: Object, old: Object) -> Sequence[Cause]:
        return immutable_data_faults(new, old, ())


def encode_strings(secret: Object) -> Object:
    """Move `stringData` into `data`, in base64."""
    if "stringData" not in secret:
        return secret
    encoded = {
        key: base64.b64encode(str(value).encode()).decode()
        for key, value in (secret["stringData"] or {}).items()
    }
    kept = {field: value for field, value in secret.items() if field != "stringData"}
    return {**kept, "data": {**(secret.get("data") or {}), **encoded}}


class ServiceStrategy(DefaultedStrategy):
    """Services get an address of their own."""

    def __init__(self) -> None:
        super().__init__(defaults.service_spec)
        self._next = 10

    def generate(self, obj: Object) -> Object:
        spec = obj["spec"]
        if not spec.get("clusterIP") and spec["type"] != "ExternalName":
            self._next += 1
            address = f"10.96.{self._next // 250 % 250}.{self._next % 250 + 1}"
            spec = {**spec, "clusterIP": address, "clusterIPs": [address]}
        return {**obj, "spec": spec, "status": {"loadBalancer": {}}}

    def prepare_update(self, new: Object, old: Object) -> Object:
        new = super().prepare_update(new, old)
        kept = {
            name: old["spec"][name] for name in ("clusterIP", "clusterIPs") if name in old["spec"]
        }
        return {**new, "spec": {**kept, **new["spec"]}}


class NodeStrategy(KindStrategy):
    """Nodes are created with their status: that is how a kubelet registers."""

    def prepare_create(self, obj: Object) -> Object:
        return obj


class PriorityClassStrategy(PlainStrategy):
    def prepare_create(self, obj: Object) -> Object:
        return {"preemptionPolicy": "PreemptLowerPriority", "value": 0, **obj}

    def spec_differs(self, new: Object, old: Object) -> bool:
        return bool(new.get("value") != old.get("value"))


def built_in_strategies(*, managed_jobs: bool = True) -> dict[str, KindStrategy]:
    """By resource key. Kinds that are missing have no rules of their own.

    `managed_jobs`: the API server knows spec.managedBy of Jobs (from Kubernetes 1.32 on).
    """
    return {
        "namespaces": NamespaceStrategy(),
        "nodes": NodeStrategy(),
        "pods": PodStrategy(),
        "services": ServiceStrategy(),
        "secrets": SecretStrategy(),
        "configmaps": ConfigMapStrategy(),
        "jobs.batch": JobStrategy() if managed_jobs else UnmanagedJobStrategy(),
        "cronjobs.batch": CronJobStrategy(),
        "deployments.apps": ReplicatedStrategy(defaults.deployment_spec),
        "replicasets.apps": ReplicatedStrategy(defaults.replica_set_spec),
        "statefulsets.apps": StatefulStrategy(defaults.stateful_set_spec),
        "daemonsets.apps": ReplicatedStrategy(defaults.daemon_set_spec),
        "priorityclasses.scheduling.k8s.io": PriorityClassStrategy(),
    }
