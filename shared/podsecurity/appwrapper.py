"""Judges an AppWrapper: what it wraps, and what its operator merges into that. Pure.

Its operator creates the wrapped objects with its own rights, so that an AppWrapper would carry any object
past every list of kinds and namespaces. It wraps kinds of work, and the Services before them, in its own
namespace.
Source: the operator's API, v1beta2.
"""

from typing import Final

from shared.errors import FieldError
from shared.podsecurity import removal
from shared.podsecurity.job_fields import check_job_fields
from shared.podsecurity.pods import Found, Json, entries, mapping
from shared.quantity import shown
from shared.reject_codes import RejectCode

GROUP: Final = "workload.codeflare.dev"
KIND: Final = "AppWrapper"
POD: Final = ("v1", "Pod")
JOB: Final = ("batch/v1", "Job")
SERVICE: Final = ("v1", "Service")
WITH_PODS: Final = frozenset(
    {
        POD,
        JOB,
        ("jobset.x-k8s.io/v1alpha2", "JobSet"),
        ("kubeflow.org/v1", "JAXJob"),
        ("kubeflow.org/v1", "PaddleJob"),
        ("kubeflow.org/v1", "PyTorchJob"),
        ("kubeflow.org/v1", "TFJob"),
        ("kubeflow.org/v1", "XGBoostJob"),
        ("kubeflow.org/v2beta1", "MPIJob"),
        ("ray.io/v1", "RayJob"),
    }
)
NAMED: Final = ", ".join(sorted(kind for _, kind in WITH_PODS))
_VERSION: Final = f"{GROUP}/v1beta2"
_FIELDS: Final = frozenset({"components", "suspend", "managedBy"})
_COMPONENT_FIELDS: Final = frozenset({"template", "podSets", "annotations"})
_MERGED: Final = (
    "the operator merges it into pods past every rule: "
    "write it into the template of what is wrapped"
)


def check(manifest: Json, at: str, namespace: str, found: Found) -> None:
    """Add what an AppWrapper must not wrap or say to `found`. `at`: before its fields, "" or with a dot."""
    if manifest.get("apiVersion") != _VERSION:
        text = f"an AppWrapper is taken as {_VERSION} alone: other versions wrap objects elsewhere"
        found.append(FieldError(f"{at}apiVersion", RejectCode.UNSUPPORTED_KIND, text))
        return
    spec = mapping(manifest.get("spec"))
    _forbid_others(spec, _FIELDS, f"{at}spec", found)
    for where, component in entries(spec.get("components"), f"{at}spec.components"):
        _forbid_others(component, _COMPONENT_FIELDS, where, found)
        _check_wrapped(mapping(component.get("template")), f"{where}.template", namespace, found)


def _forbid_others(said: Json, known: frozenset[str], at: str, found: Found) -> None:
    """Fields that are not known, `podSetInfos` among them; an empty one sets nothing."""
    for name in sorted(said.keys() - known):
        if said[name]:
            found.append(FieldError(f"{at}.{name[:80]}", RejectCode.FORBIDDEN_FIELD, _MERGED))


def _check_wrapped(template: Json, at: str, namespace: str, found: Found) -> None:
    key = template.get("apiVersion"), template.get("kind")
    if key != SERVICE and key not in WITH_PODS:
        text = (
            f"an AppWrapper wraps {NAMED} and Services: its operator would make another kind past every "
            "rule for it, and its pods could not be told from those of others"
        )
        found.append(FieldError(f"{at}.kind", RejectCode.UNSUPPORTED_KIND, text))
        return
    metadata = mapping(template.get("metadata"))
    removal.check_metadata(metadata, f"{at}.metadata", found)
    named = metadata.get("namespace")
    if named and named != (namespace or "default"):
        text = f"{shown(named)}: what is wrapped is created beside the AppWrapper: leave it out"
        where = f"{at}.metadata.namespace"
        found.append(FieldError(where, RejectCode.NAMESPACE_NOT_ALLOWED, text))
    if key == JOB:
        for each in check_job_fields(mapping(template.get("spec")), from_client=True):
            found.append(FieldError(f"{at}.{each.field}", each.code, each.message))
