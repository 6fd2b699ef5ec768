"""CustomResourceDefinitions: checking them, serving what they define, taking it away again."""

import datetime as dt
import re
from collections.abc import Sequence
from typing import Any

from shared import conditions
from shared.kubesim.apimachinery import errors, metadata
from shared.kubesim.apimachinery.errors import Cause
from shared.kubesim.apimachinery.registry import (
    Resource,
    ScalePaths,
    resource_key,
    version_priority,
)
from shared.kubesim.apimachinery.strategies import KindStrategy, Object
from shared.kubesim.custom.printer_columns import columns_of
from shared.kubesim.schema.lookup import Schemas
from shared.kubesim.schema.structural import object_schema, validate, with_defaults
from shared.kubesim.store.objects import Event, ObjectStore

CRDS = "customresourcedefinitions.apiextensions.k8s.io"
CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
_NAME = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_SCOPES = ("Cluster", "Namespaced")
_UNSTRUCTURAL = ("$ref", "definitions", "dependencies", "id", "patternProperties")


class CrdStrategy(KindStrategy):
    """CRDs themselves: names and conversion are completed, the cleanup finalizer is set."""

    def prepare_create(self, obj: Object) -> Object:
        obj = super().prepare_create(obj)
        return {**obj, "spec": _completed(obj.get("spec") or {})}

    def generate(self, obj: Object) -> Object:
        meta, spec = obj["metadata"], obj["spec"]
        finalizers = [*(meta.get("finalizers") or ())]
        if CLEANUP not in finalizers:
            finalizers.append(CLEANUP)
        stored = [one["name"] for one in spec.get("versions") or () if one.get("storage")]
        status = {
            "conditions": [],
            "acceptedNames": {"plural": "", "kind": ""},
            "storedVersions": stored,
        }
        meta = {**meta, "finalizers": finalizers}
        return {**obj, "metadata": meta, "status": status}

    def prepare_update(self, new: Object, old: Object) -> Object:
        spec = _completed(new.get("spec") or {})
        status = new.get("status") or {}
        stored = [*(status.get("storedVersions") or ())]
        for version in spec.get("versions") or ():
            if version.get("storage") and version["name"] not in stored:
                stored.append(version["name"])
        return {**new, "spec": spec, "status": {**status, "storedVersions": stored}}

    def validate_create(self, obj: Object) -> Sequence[Cause]:
        return crd_faults(obj)

    def validate_update(self, new: Object, old: Object) -> Sequence[Cause]:
        if new["spec"] == old["spec"]:
            return ()
        causes = crd_faults(new)
        for field in ("group", "scope"):
            if new["spec"].get(field) != old["spec"].get(field):
                value = new["spec"].get(field)
                causes.append(errors.bad_value(f"spec.{field}", value, "field is immutable"))
        return causes


def _completed(spec: dict[str, Any]) -> dict[str, Any]:
    names = spec.get("names") or {}
    kind = names.get("kind", "")
    names = {"singular": kind.lower(), "listKind": f"{kind}List", **names}
    return {**spec, "names": names, "conversion": spec.get("conversion") or {"strategy": "None"}}


def crd_faults(crd: Object) -> list[Cause]:
    """What is wrong with a CRD."""
    spec = crd["spec"]
    causes: list[Cause] = []
    names, group = spec["names"], spec.get("group", "")
    causes += [
        errors.required(f"spec.names.{field}")
        for field in ("plural", "kind")
        if not names.get(field)
    ]
    if not group:
        causes.append(errors.required("spec.group"))
    elif "." not in group:
        why = "should be a domain with at least one dot"
        causes.append(errors.bad_value("spec.group", group, why))
    expected = f"{names.get('plural', '')}.{group}"
    name = crd["metadata"]["name"]
    if name != expected:
        why = 'must be spec.names.plural+"."+spec.group'
        causes.append(errors.bad_value("metadata.name", name, why))
    if spec.get("scope") not in _SCOPES:
        causes.append(errors.not_supported("spec.scope", spec.get("scope", ""), _SCOPES))
    if names.get("plural") and not _NAME.fullmatch(names["plural"]):
        why = "a DNS-1035 label must consist of lower case alphanumeric characters or '-'"
        causes.append(errors.bad_value("spec.names.plural", names["plural"], why))
    versions = spec.get("versions") or []
    if sum(1 for version in versions if version.get("storage")) != 1:
        why = "must have exactly one version marked as storage version"
        causes.append(errors.bad_value("spec.versions", "", why))
    for index, version in enumerate(versions):
        causes += _version_faults(version, f"spec.versions[{index}]")
    return causes


def _version_faults(version: dict[str, Any], where: str) -> list[Cause]:
    raw = (version.get("schema") or {}).get("openAPIV3Schema")
    field = f"{where}.schema.openAPIV3Schema"
    if not isinstance(raw, dict):
        return [errors.required(field, "schemas are required")]
    if raw.get("type") != "object":
        return [
            errors.bad_value(f"{field}.type", raw.get("type", ""), "must be object at the root")
        ]
    return _structure_faults(raw, field)


def _structure_faults(raw: dict[str, Any], field: str) -> list[Cause]:
    causes = [
        errors.forbidden_field(f"{field}.{name}", f"{name} is not supported")
        for name in _UNSTRUCTURAL
        if name in raw
    ]
    free = raw.get("x-kubernetes-int-or-string") or raw.get("x-kubernetes-preserve-unknown-fields")
    if not raw.get("type") and not free:
        causes.append(
            errors.required(f"{field}.type", "must not be empty for specified object fields")
        )
    if raw.get("properties") and raw.get("additionalProperties"):
        why = "additionalProperties and properties are mutual exclusive"
        causes.append(errors.forbidden_field(f"{field}.additionalProperties", why))
    for name, inner in (raw.get("properties") or {}).items():
        causes += _structure_faults(inner, f"{field}.properties[{name}]")
    for name in ("items", "additionalProperties"):
        if isinstance(raw.get(name), dict):
            causes += _structure_faults(raw[name], f"{field}.{name}")
    if raw.get("type") == "array" and not raw.get("items"):
        causes.append(errors.required(f"{field}.items", "must be specified"))
    return causes


class CustomStrategy(KindStrategy):
    """Objects of a custom kind: defaulted and validated by the schema of the storage version."""

    def __init__(self, raw: dict[str, Any], *, has_status: bool) -> None:
        self._raw = {
            **raw,
            "properties": {
                name: inner
                for name, inner in (raw.get("properties") or {}).items()
                if name not in ("apiVersion", "kind", "metadata")
            },
        }
        self._has_status = has_status

    def prepare_create(self, obj: Object) -> Object:
        if self._has_status:
            obj = super().prepare_create(obj)
        completed: Object = with_defaults(self._raw, obj)
        return completed

    def prepare_update(self, new: Object, old: Object) -> Object:
        completed: Object = with_defaults(self._raw, new)
        return completed

    def prepare_status(self, new: Object, old: Object) -> Object:
        return self.prepare_update(new, old)

    def validate_create(self, obj: Object) -> Sequence[Cause]:
        return validate(self._raw, obj)

    def validate_update(self, new: Object, old: Object) -> Sequence[Cause]:
        return validate(self._raw, new)

    def validate_status(self, new: Object, old: Object) -> Sequence[Cause]:
        return validate(self._raw, new)

    def spec_differs(self, new: Object, old: Object) -> bool:
        ignored = ("metadata", "status") if self._has_status else ("metadata",)
        return any(
            new.get(field) != old.get(field) for field in {*new, *old} if field not in ignored
        )


class CrdController:
    """Serves what CRDs define, from the moment they are written."""

    def __init__(self, store: ObjectStore, schemas: Schemas) -> None:
        self._store = store
        self._schemas = schemas
        self._serving: dict[str, str] = {}  # CRD name -> resource key
        self.selectable: dict[str, frozenset[str]] = {}
        self.raw_schemas: dict[tuple[str, str], dict[str, Any]] = {}
        store.strategies[CRDS] = CrdStrategy()
        store.subscribe(self._note)

    def raw_schema(self, resource: Resource) -> dict[str, Any] | None:
        """The OpenAPI schema of a custom resource's version."""
        return self.raw_schemas.get((resource.key, resource.version))

    def bootstrap(self) -> None:
        """Serve the CRDs that a journal kept."""
        for crd in self._store.list(CRDS):
            self._serve(crd)
            if "deletionTimestamp" in crd["metadata"]:
                self._clean_up(crd)

    def _note(self, event: Event) -> None:
        crd = event.object
        if event.resource_key != CRDS:
            if event.type == "DELETED":
                self._settle(event.resource_key)
            return
        if event.type == "DELETED":
            self._stop_serving(crd["metadata"]["name"])
        elif "deletionTimestamp" in crd["metadata"]:
            self._clean_up(crd)
        elif event.old is None or event.old["spec"] != crd["spec"]:
            self._establish(crd)

    def _establish(self, crd: Object) -> None:
        clash = self._clash(crd)
        if not clash:
            self._serve(crd)
        live = self._store.get(CRDS, "", crd["metadata"]["name"])
        if live is None:
            return
        status = dict(live.get("status") or {})
        now = self._store.clock.now()
        if clash:
            status["conditions"] = conditions.set_condition(
                status.get("conditions"), "NamesAccepted", "False", "NameConflict", clash, now
            )
        else:
            status["conditions"] = _established(status.get("conditions"), now)
            status["acceptedNames"] = live["spec"]["names"]
        self._store.update(CRDS, {**live, "status": status}, subresource="status", trusted=True)

    def _clash(self, crd: Object) -> str:
        names, group = crd["spec"]["names"], crd["spec"]["group"]
        mine = resource_key(names["plural"], group)
        for resource in self._store.registry:
            if resource.group != group or resource.key == mine:
                continue
            taken = {resource.plural, resource.singular, *resource.short_names}
            wanted = {names["plural"], names["singular"], *(names.get("shortNames") or ())}
            if taken & wanted:
                return f'"{min(taken & wanted)}" is already in use'
            if resource.kind == names["kind"]:
                return f'"{names["kind"]}" is already in use'
        built_in = self._store.registry.versions(mine)
        return (
            "" if not built_in or built_in[0].custom else f'"{names["plural"]}" is already in use'
        )

    def _serve(self, crd: Object) -> None:
        spec = crd["spec"]
        versions = [version for version in spec["versions"] if version.get("served")]
        storage = next((one for one in spec["versions"] if one.get("storage")), None)
        if storage is None or not versions:
            return
        key = resource_key(spec["names"]["plural"], spec["group"])
        versions.sort(key=lambda one: (not one.get("storage"), version_priority(one["name"])))
        self._schemas.remove(key)
        for version in spec["versions"]:
            raw = version["schema"]["openAPIV3Schema"]
            self._schemas.add(key, version["name"], object_schema(raw))
            self.raw_schemas[key, version["name"]] = raw
        has_status = "status" in (storage.get("subresources") or {})
        raw = storage["schema"]["openAPIV3Schema"]
        self._store.strategies[key] = CustomStrategy(raw, has_status=has_status)
        fields = [one["jsonPath"].lstrip(".") for one in storage.get("selectableFields") or ()]
        self.selectable[key] = frozenset(fields)
        self._store.registry.add([_resource(spec, version) for version in versions])
        self._serving[crd["metadata"]["name"]] = key

    def _clean_up(self, crd: Object) -> None:
        """Delete all instances; the definition goes when the last one has."""
        name = crd["metadata"]["name"]
        key = self._serving.get(name)
        if not conditions.is_true((crd.get("status") or {}).get("conditions"), "Terminating"):
            now = self._store.clock.now()
            status = dict(crd.get("status") or {})
            status["conditions"] = conditions.set_condition(
                status.get("conditions"),
                "Terminating",
                "True",
                "InstanceDeletionInProgress",
                "CustomResource deletion is in progress",
                now,
            )
            self._store.update(CRDS, {**crd, "status": status}, subresource="status", trusted=True)
            return  # the update itself comes back here
        if key is not None:
            for obj in self._store.list(key):
                if "deletionTimestamp" not in obj["metadata"]:
                    self._store.delete(key, *metadata.identity(obj))
            self._settle(key)
        else:
            self._release(name)

    def _settle(self, key: str) -> None:
        for name, served in list(self._serving.items()):
            if served == key and self._store.count(key) == 0:
                self._release(name)

    def _release(self, name: str) -> None:
        crd = self._store.get(CRDS, "", name)
        if crd is None or "deletionTimestamp" not in crd["metadata"]:
            return
        left = [one for one in crd["metadata"].get("finalizers", ()) if one != CLEANUP]
        if left != crd["metadata"].get("finalizers", []):
            self._store.update(
                CRDS, metadata.with_metadata(crd, finalizers=left or None), trusted=True
            )

    def _stop_serving(self, name: str) -> None:
        key = self._serving.pop(name, None)
        if key is None:
            return
        self._store.registry.remove(key)
        self._store.strategies.pop(key, None)
        self._schemas.remove(key)
        self.selectable.pop(key, None)
        self.raw_schemas = {
            place: raw for place, raw in self.raw_schemas.items() if place[0] != key
        }


def _established(rows: list[dict[str, Any]] | None, now: dt.datetime) -> list[dict[str, Any]]:
    rows = conditions.set_condition(
        rows, "NamesAccepted", "True", "NoConflicts", "no conflicts found", now
    )
    message = "the initial names have been accepted"
    return conditions.set_condition(
        rows, "Established", "True", "InitialNamesAccepted", message, now
    )


def _resource(spec: dict[str, Any], version: dict[str, Any]) -> Resource:
    names, subresources = spec["names"], version.get("subresources") or {}
    scale = subresources.get("scale")
    return Resource(
        group=spec["group"],
        version=version["name"],
        plural=names["plural"],
        kind=names["kind"],
        singular=names["singular"],
        namespaced=spec["scope"] == "Namespaced",
        short_names=tuple(names.get("shortNames") or ()),
        has_status="status" in subresources,
        categories=tuple(names.get("categories") or ()),
        list_kind=names["listKind"],
        has_generation=True,
        scale=ScalePaths(
            scale["specReplicasPath"].lstrip("."),
            scale["statusReplicasPath"].lstrip("."),
            (scale.get("labelSelectorPath") or "").lstrip("."),
        )
        if scale
        else None,
        custom=True,
        columns=columns_of(version),
    )
