"""OpenAPI v3, one document per group and version: for validation by kubectl, explain and apply.

Built-in kinds come from `builtin_schemas.json` (without descriptions), custom ones from their CRDs.
OpenAPI v2 is there and names no kind: kubectl asks it about what v3 lacks, before it says that a kind is
not served.
"""

import hashlib
import re
from collections.abc import Callable
from typing import Any

from shared.kubesim.apimachinery.registry import Registry, Resource
from shared.kubesim.requests.call import Call, Reply
from shared.kubesim.schema import field_types
from shared.kubesim.server.discovery import VERSION
from shared.kubesim.store.serializer import dumps

_PREFIX = "io.k8s."
_META = "apimachinery.pkg.apis.meta.v1."
_SCALARS: dict[str, dict[str, Any]] = {
    "string": {"type": "string"},
    "bool": {"type": "boolean"},
    "int32": {"type": "integer", "format": "int32"},
    "int64": {"type": "integer", "format": "int64"},
    "double": {"type": "number", "format": "double"},
    "bytes": {"type": "string", "format": "byte"},
    "time": {"type": "string", "format": "date-time"},
    "microtime": {"type": "string", "format": "date-time"},
    "quantity": {"oneOf": [{"type": "string"}, {"type": "number"}]},
    "intstr": {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
    "any": {"x-kubernetes-preserve-unknown-fields": True},
}
_EXTENSIONS = {
    "l": "x-kubernetes-list-type",
    "k": "x-kubernetes-list-map-keys",
    "a": "x-kubernetes-map-type",
    "p": "x-kubernetes-patch-strategy",
    "m": "x-kubernetes-patch-merge-key",
}
_ACTIONS = {
    "list": ("get", "list"),
    "create": ("post", "post"),
    "read": ("get", "get"),
    "replace": ("put", "put"),
    "patch": ("patch", "patch"),
    "delete": ("delete", "delete"),
}
_PATCH_TYPES = (
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
)
# Of built-in kinds alone: kubectl chooses by what is named here.
_STRATEGIC = "application/strategic-merge-patch+json"

# Who asks for OpenAPI v2 as protocol buffers: kubectl does, and reads nothing else.
_V2_PROTOBUF = "application/com.github.proto-openapi.spec.v2"

RawSchema = Callable[[Resource], dict[str, Any] | None]


class OpenApi:
    """Answers below `/openapi`; documents of v3 are made anew when the registry changes."""

    def __init__(self, registry: Registry, raw_schema: RawSchema) -> None:
        self._registry = registry
        self._raw_schema = raw_schema
        self._documents: dict[str, bytes] = {}
        self._revision = -1

    async def answer(self, call: Call) -> Reply | None:
        """The reply to an OpenAPI path, or None if the path is something else."""
        if call.method not in ("GET", "HEAD"):
            return None
        if call.path == "/openapi/v2":
            return _version_two(call.accept)
        if not call.path.startswith("/openapi/v3"):
            return None
        if self._revision != self._registry.revision:
            self._documents.clear()
            self._revision = self._registry.revision
        place = call.path.removeprefix("/openapi/v3").strip("/")
        if not place:
            return Reply(200, dumps({"paths": {one: self._link(one) for one in self._places()}}))
        if place not in self._places():
            return None
        return Reply(200, self._document(place), headers={"etag": self._etag(place)})

    def _places(self) -> list[str]:
        places = {_place(resource) for resource in self._registry}
        return sorted(places)

    def _link(self, place: str) -> dict[str, str]:
        return {"serverRelativeURL": f"/openapi/v3/{place}?hash={self._etag(place)[1:17]}"}

    def _etag(self, place: str) -> str:
        # Made of what decides the document, so that the index needs no documents.
        served = [
            (one.kind, one.plural, one.has_status, self._raw_schema(one))
            for one in self._registry
            if _place(one) == place
        ]
        return '"' + hashlib.sha256(repr((VERSION, served)).encode()).hexdigest().upper() + '"'

    def _document(self, place: str) -> bytes:
        if place not in self._documents:
            resources = [one for one in self._registry if _place(one) == place]
            self._documents[place] = dumps(self._made(resources))
        return self._documents[place]

    def _made(self, resources: list[Resource]) -> dict[str, Any]:
        components: dict[str, Any] = {}
        paths: dict[str, Any] = {}
        wanted = [f"{_META}DeleteOptions", f"{_META}ObjectMeta", f"{_META}ListMeta"]
        for resource in resources:
            raw = self._raw_schema(resource)
            built_in = field_types.kind_definition(resource.api_version, resource.kind)
            if raw is not None:
                name = custom_name(resource)
                components[name] = _custom(raw, resource)
            elif built_in:
                name = _PREFIX + built_in
                wanted.append(built_in)
            else:
                continue
            patches = (*_PATCH_TYPES, _STRATEGIC) if raw is None else _PATCH_TYPES
            paths.update(_paths(resource, name, patches))
        components.update(_closure(wanted))
        return {
            "openapi": "3.0.0",
            "info": {"title": "Kubernetes", "version": VERSION["gitVersion"]},
            "paths": paths,
            "components": {"schemas": components},
        }


def _version_two(accept: str) -> Reply:
    """A document of OpenAPI v2 without paths and definitions, as JSON or in protocol buffers."""
    title, version = "Kubernetes", VERSION["gitVersion"]
    if _V2_PROTOBUF not in accept:
        info = {"title": title, "version": version}
        return Reply(200, dumps({"swagger": "2.0", "info": info, "paths": {}}))
    # openapi_v2.Document: swagger is field 1, info 2; Info: title is field 1, version 2.
    info_field = _text_field(1, title) + _text_field(2, version)
    body = _text_field(1, "2.0") + bytes([2 << 3 | 2, len(info_field)]) + info_field
    return Reply(200, body, f"{_V2_PROTOBUF}.v1.0+protobuf")


def _text_field(number: int, text: str) -> bytes:
    """A short string as a length-delimited field of protocol buffers."""
    return bytes([number << 3 | 2, len(text)]) + text.encode()


def _place(resource: Resource) -> str:
    return f"apis/{resource.api_version}" if resource.group else f"api/{resource.version}"


def custom_name(resource: Resource) -> str:
    """`io.x-k8s.kueue.v1beta1.ClusterQueue`: the group reversed, the version, the kind."""
    parts = ".".join(reversed(resource.group.split(".")))
    return f"{parts}.{resource.version}.{resource.kind}"


def _gvk(resource: Resource) -> dict[str, str]:
    return {"group": resource.group, "version": resource.version, "kind": resource.kind}


def _custom(raw: dict[str, Any], resource: Resource) -> dict[str, Any]:
    properties = {
        **(raw.get("properties") or {}),
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"allOf": [{"$ref": _reference(f"{_META}ObjectMeta")}]},
    }
    return {**raw, "properties": properties, "x-kubernetes-group-version-kind": [_gvk(resource)]}


def _reference(name: str) -> str:
    return f"#/components/schemas/{_PREFIX}{name}"


def _closure(names: list[str]) -> dict[str, Any]:
    """The components of definitions and of everything they mention."""
    by_definition: dict[str, list[dict[str, str]]] = {}
    for place, name in field_types.kinds().items():
        api_version, _, kind = place.rpartition("/")
        group, _, version = api_version.rpartition("/")
        row = {"group": group, "version": version, "kind": kind}
        by_definition.setdefault(name, []).append(row)
    found: dict[str, Any] = {}
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if _PREFIX + name in found:
            continue
        row = field_types.definitions()[name]
        component = _component(row)
        if name in by_definition:
            component["x-kubernetes-group-version-kind"] = by_definition[name]
        found[_PREFIX + name] = component
        for entry in row.values():
            if isinstance(entry, dict):
                waiting += re.findall(r"@([\w.\-]+)", entry["t"])
    return found


def _component(row: dict[str, Any]) -> dict[str, Any]:
    component: dict[str, Any] = {"type": "object"}
    properties = {name: _property(entry) for name, entry in row.items() if name}
    if properties:
        component["properties"] = properties
    required = sorted(name for name, entry in row.items() if name and entry.get("r"))
    if required:
        component["required"] = required
    if row.get(""):
        component["x-kubernetes-map-type"] = row[""]
    return component


def _property(entry: dict[str, Any]) -> dict[str, Any]:
    made = _type(entry["t"])
    if "d" in entry:
        made["default"] = entry["d"]
    for short, long in _EXTENSIONS.items():
        if short in entry:
            made[long] = entry[short]
    return made


def _type(text: str) -> dict[str, Any]:
    if text.startswith("["):
        return {"type": "array", "items": _type(text[1:])}
    if text.startswith("{"):
        return {"type": "object", "additionalProperties": _type(text[1:])}
    if text.startswith("@"):
        return {"allOf": [{"$ref": _reference(text[1:])}]}
    return dict(_SCALARS[text])


def _paths(resource: Resource, component: str, patches: tuple[str, ...]) -> dict[str, Any]:
    base = f"/{_place(resource)}"
    if resource.namespaced:
        base += "/namespaces/{namespace}"
    collection = f"{base}/{resource.plural}"
    item = f"{collection}/{{name}}"
    paths = {
        collection: {
            method: _operation(resource, component, verb, action, patches)
            for verb in ("list", "create")
            for method, action in [_ACTIONS[verb]]
        },
        item: {
            method: _operation(resource, component, verb, action, patches)
            for verb in ("read", "replace", "patch", "delete")
            for method, action in [_ACTIONS[verb]]
        },
    }
    if resource.has_status:
        paths[f"{item}/status"] = {
            method: _operation(resource, component, verb, action, patches)
            for verb in ("read", "replace", "patch")
            for method, action in [_ACTIONS[verb]]
        }
    return paths


def _operation(
    resource: Resource, component: str, verb: str, action: str, patches: tuple[str, ...]
) -> dict[str, Any]:
    reference = {"schema": {"$ref": f"#/components/schemas/{component}"}}
    operation: dict[str, Any] = {
        "operationId": f"{verb}{resource.kind}",
        "responses": {"200": {"description": "OK", "content": {"application/json": reference}}},
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": _gvk(resource),
    }
    if verb in ("create", "replace", "patch"):
        names = ["dryRun", "fieldManager", "fieldValidation"]
        operation["parameters"] = [
            {"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": True}}
            for name in names
        ]
        kinds = patches if verb == "patch" else ("application/json",)
        body = {"schema": {"type": "object"}} if verb == "patch" else reference
        operation["requestBody"] = {"content": dict.fromkeys(kinds, body), "required": True}
    return operation
