"""What is wrong with a Job, and which of its fields may change (pkg/apis/batch/validation)."""

import re
from collections.abc import Iterable
from typing import Any

from shared.kubesim.apimachinery import errors
from shared.kubesim.apimachinery.errors import Cause
from shared.kubesim.apimachinery.selectors import labels_match
from shared.kubesim.apimachinery.strategies import Object
from shared.kubesim.builtin.validate_pod import spec_faults

LEGACY_UID, LEGACY_NAME = "controller-uid", "job-name"
UID_LABEL, NAME_LABEL = "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name"

_MAX_PARALLELISM_INDEXED = 100_000
_MAX_MANAGED_BY = 63
_COUNTS = (
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
    "backoffLimitPerIndex",
    "maxFailedIndexes",
)
_MODES = ("NonIndexed", "Indexed")
_REPLACEMENT = ("Failed", "TerminatingOrFailed")
_IMMUTABLE = (
    "selector",
    "completionMode",
    "podFailurePolicy",
    "backoffLimitPerIndex",
    "managedBy",
    "successPolicy",
)
_DOMAIN_PATH = re.compile(
    r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
)


def job_faults(job: Object) -> list[Cause]:
    """All faults of a Job that is complete: defaults and generated selector are there."""
    spec = job.get("spec") or {}
    causes = [*_generated_label_faults(job, spec), *job_spec_faults(spec, "spec")]
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


def job_spec_faults(spec: dict[str, Any], field: str) -> list[Cause]:
    """The faults of a JobSpec, also that of a CronJob's template."""
    causes: list[Cause] = []
    for name in _COUNTS:
        value = spec.get(name)
        if value is not None and value < 0:
            why = "must be greater than or equal to 0"
            causes.append(errors.bad_value(f"{field}.{name}", value, why))
    causes += _mode_faults(spec, field)
    managed_by = spec.get("managedBy")
    if managed_by is not None:
        causes += _managed_by_faults(managed_by, f"{field}.managedBy")
    policy = spec.get("podReplacementPolicy")
    allowed = ("Failed",) if spec.get("podFailurePolicy") else _REPLACEMENT
    if policy is not None and policy not in allowed:
        causes.append(errors.not_supported(f"{field}.podReplacementPolicy", policy, allowed))
    template = spec.get("template", {}).get("spec") or {}
    causes += spec_faults(template, f"{field}.template.spec")
    causes += _restart_faults(spec, template, field)
    return causes


def _mode_faults(spec: dict[str, Any], field: str) -> Iterable[Cause]:
    mode = spec.get("completionMode") or "NonIndexed"
    if mode not in _MODES:
        yield errors.not_supported(f"{field}.completionMode", mode, _MODES)
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        yield errors.required(
            f"{field}.backoffLimitPerIndex", "when maxFailedIndexes is specified"
        )
    if mode == "Indexed":
        yield from _indexed_faults(spec, field)
        return
    for name in ("backoffLimitPerIndex", "maxFailedIndexes", "successPolicy"):
        if spec.get(name) is not None:
            why = "requires indexed completion mode"
            yield errors.bad_value(f"{field}.{name}", spec[name], why)


def _indexed_faults(spec: dict[str, Any], field: str) -> Iterable[Cause]:
    completions, parallelism = spec.get("completions"), spec.get("parallelism") or 0
    if completions is None:
        yield errors.required(f"{field}.completions", "when completion mode is Indexed")
    if parallelism > _MAX_PARALLELISM_INDEXED:
        why = f"must be less than or equal to {_MAX_PARALLELISM_INDEXED} when completion mode is Indexed"
        yield errors.bad_value(f"{field}.parallelism", parallelism, why)
    most_failed = spec.get("maxFailedIndexes")
    if completions is not None and most_failed is not None and most_failed > completions:
        why = "must be less than or equal to completions"
        yield errors.bad_value(f"{field}.maxFailedIndexes", most_failed, why)
    policy = spec.get("successPolicy")
    if policy is not None and not policy.get("rules"):
        why = "at least one rules must be specified when the successPolicy is specified"
        yield errors.required(f"{field}.successPolicy.rules", why)


def _managed_by_faults(value: str, field: str) -> Iterable[Cause]:
    if not _DOMAIN_PATH.fullmatch(value):
        why = 'must be a domain-prefixed path (such as "acme.io/foo")'
        yield errors.bad_value(field, value, why)
    if len(value) > _MAX_MANAGED_BY:
        why = f"Too long: may not be more than {_MAX_MANAGED_BY} bytes"
        yield Cause(field, "FieldValueTooLong", why)


def _restart_faults(spec: dict[str, Any], template: dict[str, Any], field: str) -> Iterable[Cause]:
    policy, where = template.get("restartPolicy"), f"{field}.template.spec.restartPolicy"
    if policy in (None, "", "Always"):
        yield errors.required(where, 'valid values: "OnFailure", "Never"')
    elif policy not in ("OnFailure", "Never"):
        yield errors.not_supported(where, policy, ("OnFailure", "Never"))
    elif spec.get("podFailurePolicy") and policy != "Never":
        why = 'only "Never" is supported when podFailurePolicy is specified'
        yield errors.bad_value(where, policy, why)


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
