"""Validation of a Job, and its mutable fields (pkg/apis/batch/validation)."""

from collections.abc import Iterable
from typing import Any

from shared.kinds import job_rules
from shared.kinds.job_rules import Fault
from shared.kubesim.apimachinery import errors
from shared.kubesim.apimachinery.errors import Cause
from shared.kubesim.apimachinery.selectors import labels_match
from shared.kubesim.apimachinery.strategies import Object
from shared.kubesim.builtin.validate_pod import spec_faults

LEGACY_UID, LEGACY_NAME = "controller-uid", "job-name"
UID_LABEL, NAME_LABEL = "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name"

_IMMUTABLE = (
    "selector",
    "completionMode",
    "podFailurePolicy",
    "backoffLimitPerIndex",
    "managedBy",
    "successPolicy",
)


def job_faults(job: Object, *, same_pods: bool = False) -> list[Cause]:
    """All faults of a Job that is complete: defaults and generated selector are there.

    `same_pods`: the pods of its template were judged before, as they are.
    """
    spec = job.get("spec") or {}
    faults = job_spec_faults(spec, "spec", same_pods=same_pods)
    causes = [*_generated_label_faults(job, spec), *faults]
    template_labels = (spec.get("template", {}).get("metadata") or {}).get("labels") or {}
    selector = spec.get("selector")
    if not selector:
        causes.append(errors.required("spec.selector"))
    elif not labels_match(selector, template_labels):
        why = "`selector` does not match template `labels`"
        causes.append(errors.bad_value("spec.template.metadata.labels", template_labels, why))
    if spec.get("completionMode") == "Indexed" and spec.get("completions"):
        hostname = f"{job['metadata']['name']}-{spec['completions'] - 1}"
        if len(hostname) > 63 or "." in hostname:
            why = f"will not able to create pod with invalid DNS label: {hostname}"
            causes.append(errors.bad_value("metadata.name", job["metadata"]["name"], why))
    return causes


def _generated_label_faults(job: Object, spec: dict[str, Any]) -> Iterable[Cause]:
    if spec.get("manualSelector"):
        return
    labels = (spec.get("template", {}).get("metadata") or {}).get("labels") or {}
    name, uid = job["metadata"]["name"], job["metadata"]["uid"]
    wanted = {LEGACY_UID: uid, LEGACY_NAME: name, UID_LABEL: uid, NAME_LABEL: name}
    for label, value in wanted.items():
        if labels.get(label) != value:
            why = f"must be '{value}'"
            yield errors.bad_value(
                f"spec.template.metadata.labels[{label}]", labels.get(label, ""), why
            )
    if not labels_match(spec.get("selector"), wanted):
        yield errors.bad_value(
            "spec.selector", spec.get("selector"), "`selector` not auto-generated"
        )


def job_spec_faults(spec: dict[str, Any], field: str, *, same_pods: bool = False) -> list[Cause]:
    """The faults of a JobSpec, also that of a CronJob's template."""
    causes: list[Cause] = []
    for name in job_rules.COUNTS:
        value = spec.get(name)
        if value is not None and value < 0:
            why = "must be greater than or equal to 0"
            causes.append(errors.bad_value(f"{field}.{name}", value, why))
    causes += [_cause(fault, field) for fault in job_rules.job_faults(spec)]
    if not same_pods:
        template = spec.get("template", {}).get("spec") or {}
        causes += spec_faults(template, f"{field}.template.spec")
    restart = job_rules.restart_fault(spec)
    return [*causes, _cause(restart, field)] if restart is not None else causes


def _cause(fault: Fault, field: str) -> Cause:
    """A broken rule in the API server's words."""
    where = f"{field}.{fault.field}"
    match fault.kind:
        case "Required":
            return errors.required(where, fault.why)
        case "Unsupported":
            return errors.not_supported(where, fault.value, fault.allowed)
        case "TooLong":
            return Cause(where, "FieldValueTooLong", fault.why)
        case "Invalid":
            return errors.bad_value(where, fault.value, fault.why)


# --- updates -------------------------------------------------------------------------------------


def job_update_faults(new: Object, old: Object) -> list[Cause]:
    """Which changes of a Job's spec are refused."""
    spec, was = new["spec"], old["spec"]
    causes = list(_completions_faults(spec, was))
    causes += [
        errors.bad_value(f"spec.{name}", spec.get(name), "field is immutable")
        for name in _IMMUTABLE
        if spec.get(name) != was.get(name)
    ]
    allowed = _allowed_template(spec["template"], was["template"], _template_is_open(old))
    if spec["template"] != allowed:
        causes.append(errors.bad_value("spec.template", spec["template"], "field is immutable"))
    return causes


def _completions_faults(spec: dict[str, Any], was: dict[str, Any]) -> Iterable[Cause]:
    completions = spec.get("completions")
    if completions == was.get("completions"):
        return
    if spec.get("completionMode") != "Indexed":
        yield errors.bad_value("spec.completions", completions, "field is immutable")
    elif completions is not None and completions != spec.get("parallelism"):
        why = "can only be modified in tandem with spec.parallelism"
        yield errors.bad_value("spec.completions", completions, why)


def _template_is_open(job: Object) -> bool:
    """Suspended, and never started or suspended for good, without pods: parts may change (1.36)."""
    status = job.get("status") or {}
    suspended = any(
        condition["type"] == "Suspended" and condition["status"] == "True"
        for condition in status.get("conditions") or ()
    )
    quiet = not status.get("startTime") or suspended
    return bool(job["spec"].get("suspend")) and quiet and not status.get("active")


def _allowed_template(new: dict[str, Any], old: dict[str, Any], is_open: bool) -> dict[str, Any]:
    """The old template with those parts of the new one that may change."""
    if not is_open or new == old:
        return old
    spec, was = new.get("spec") or {}, old.get("spec") or {}
    merged = dict(was)
    for name in ("nodeSelector", "tolerations", "schedulingGates"):
        merged = _taken(merged, spec, name)
    affinity, old_affinity = spec.get("affinity") or {}, was.get("affinity") or {}
    merged["affinity"] = _taken(old_affinity, affinity, "nodeAffinity")
    if not merged["affinity"] and "affinity" not in spec:
        del merged["affinity"]
    for kind in ("containers", "initContainers"):
        if kind in was and len(spec.get(kind) or ()) == len(was[kind]):
            merged[kind] = [
                _taken(one, other, "resources") if one["name"] == other.get("name") else one
                for one, other in zip(was[kind], spec[kind], strict=True)
            ]
    meta = old.get("metadata") or {}
    for name in ("annotations", "labels"):
        meta = _taken(meta, new.get("metadata") or {}, name)
    return {**old, "metadata": meta, "spec": merged}


def _taken(into: dict[str, Any], source: dict[str, Any], name: str) -> dict[str, Any]:
    """`into` with the field `name` as it is in `source`, absent if it is absent there."""
    if name in source:
        return {**into, name: source[name]}
    return {field: value for field, value in into.items() if field != name}
