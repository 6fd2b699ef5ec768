"""Judges fields beside pod templates of which operators make marks on pods, Services and further pods. Pure.

An operator writes with its own rights, past every rule for the account that wrote the object. Judged are the
object itself and each object in its spec, such as those of an AppWrapper.
"""

from collections.abc import Collection
from dataclasses import replace
from typing import Final

from shared import labels
from shared.errors import FieldError
from shared.podsecurity import appwrapper, asked, removal, spark
from shared.podsecurity.pods import VIOLATION, Found, Json, mapping
from shared.podsecurity.rules import Rules
from shared.podsecurity.templates import mappings_of
from shared.quantity import shown
from shared.reject_codes import RejectCode

_RAY: Final = "ray.io"
_OF_GROUP: Final = "schedulingPolicy"  # of Kubeflow: its operator makes a PodGroup of it
_ENVELOPES: Final = ("ClusterResourceEnvelope", "ResourceEnvelope")
_OF_RAY: Final = {
    labels.RAY_PRIORITY_CLASS: asked.check_class,
    labels.RAY_SCHEDULER: asked.check_scheduler,
}
_WITHIN: Final = (None, "", "ClusterIP")
_REMEDY: Final = "a Service of an operator stands before its pods, within the cluster"
_SERVICE_FIELDS: Final = frozenset(
    {
        "type", "selector", "ports", "clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy",
        "internalTrafficPolicy", "publishNotReadyAddresses", "sessionAffinity",
        "sessionAffinityConfig", "trafficDistribution",
    }
)  # fmt: skip
_OTHER_OBJECTS: Final = {
    "enableIngress": "the operator would make an Ingress: leave it out",
    "clusterUpgradeOptions": "the operator would make a Gateway: leave it out",
}


def check(
    manifest: Json, namespace: str, rules: Rules, judged: Collection[str], found: Found
) -> None:
    """Add what an operator would make of a manifest and no rule for pods judges.

    `judged`: paths of the metadata of templates, which other rules judge.
    """
    if manifest.get("kind") in _ENVELOPES:
        _check_contents(manifest, namespace, rules, judged, found)
    ray: list[str] = []
    wraps: list[str] = []
    _check_object(manifest, "", namespace, rules, ray, wraps, found)
    for name, path, value in mappings_of({"spec": manifest.get("spec")}):
        if path.rpartition(".")[0] not in judged:
            removal.check_map(name, value, path, found)
        if name == _OF_GROUP:
            asked.check_class(value.get("priorityClass"), rules, f"{path}.priorityClass", found)
        if isinstance(value.get("kind"), str):
            _check_object(value, f"{path}.", namespace, rules, ray, wraps, found)
        if any(path.startswith(each) for each in ray):
            _check_ray(value, path, found)


def _check_object(
    value: Json,
    at: str,
    namespace: str,
    rules: Rules,
    ray: list[str],
    wraps: list[str],
    found: Found,
) -> None:
    """The object itself, or one within it, at path `at`.

    `ray`, `wraps`: places of objects of KubeRay and of AppWrappers so far, to which it is added.
    """
    _check_spark(value, f"{at}spec", namespace, rules, found)
    if _group(value) == _RAY:
        ray.append(at)
        marks, where = (
            mapping(mapping(value.get("metadata")).get("labels")),
            f"{at}metadata.labels",
        )
        for key, judge in _OF_RAY.items():
            judge(marks.get(key), rules, f"{where}[{key}]", found)
    is_service = (value.get("apiVersion"), value.get("kind")) == appwrapper.SERVICE
    if is_service and any(at.startswith(each) for each in wraps):
        _check_service(value, at.removesuffix("."), found)
    if value.get("kind") == appwrapper.KIND and _group(value) == appwrapper.GROUP:
        appwrapper.check(value, at, namespace, found)
        wraps.append(at)


def _group(manifest: Json) -> str:
    return str(manifest.get("apiVersion")).partition("/")[0]


def _check_contents(
    envelope: Json, namespace: str, rules: Rules, judged: Collection[str], found: Found
) -> None:
    """Each object in an envelope, as if it stood alone."""
    for name, inner in mapping(envelope.get("data")).items():
        at, own = f"data.{str(name)[:80]}", list[FieldError]()
        within = {each.removeprefix(f"{at}.") for each in judged}
        check(mapping(inner), namespace, rules, within, own)
        found += [replace(each, field=f"{at}.{each.field}") for each in own]


def _check_spark(manifest: Json, at: str, namespace: str, rules: Rules, found: Found) -> None:
    """A SparkApplication, and the template of a scheduled one."""
    if _group(manifest) != spark.GROUP:
        return
    spec = mapping(manifest.get("spec"))
    if manifest.get("kind") == "SparkApplication":
        spark.check(spec, at, namespace, rules, found)
    elif manifest.get("kind") == "ScheduledSparkApplication":
        spark.check(mapping(spec.get("template")), f"{at}.template", namespace, rules, found)


def _check_ray(value: Json, path: str, found: Found) -> None:
    """A mapping of an object of KubeRay: its Services, for the head and for those that it serves."""
    _check_type(value, "serviceType", path, found)
    for name, text in _OTHER_OBJECTS.items():
        if value.get(name):
            found.append(FieldError(f"{path}.{name}", RejectCode.FORBIDDEN_FIELD, text))
    for name in ("headService", "serveService"):
        service = mapping(value.get(name))
        metadata = mapping(service.get("metadata"))
        for field in ("name", "namespace"):
            if metadata.get(field):
                text = "the operator names its Service: leave it out"
                where = f"{path}.{name}.metadata.{field}"
                found.append(FieldError(where, RejectCode.FORBIDDEN_FIELD, text))
        _check_service(service, f"{path}.{name}", found)


def _check_service(service: Json, path: str, found: Found) -> None:
    removal.check_metadata(mapping(service.get("metadata")), f"{path}.metadata", found)
    spec = mapping(service.get("spec"))
    _check_type(spec, "type", f"{path}.spec", found)
    for name in sorted(spec.keys() - _SERVICE_FIELDS):
        if spec[name]:
            found.append(FieldError(f"{path}.spec.{name[:80]}", VIOLATION, _REMEDY))


def _check_type(value: Json, name: str, path: str, found: Found) -> None:
    if value.get(name) not in _WITHIN:
        text = f"{shown(value[name])} must be ClusterIP or absent: {_REMEDY}"
        found.append(FieldError(f"{path}.{name}", VIOLATION, text))
