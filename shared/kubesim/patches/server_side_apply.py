"""Server-side apply: PATCH with `application/apply-patch+yaml`.

An object of a kind that is converted is applied in the version in which it is stored, and its rows of
`managedFields` are in that version's names, whichever version it was applied in.
"""

from typing import Any

from shared.kubesim.apimachinery import errors
from shared.kubesim.apimachinery.conversion import AS_IT_IS, Conversion
from shared.kubesim.apimachinery.registry import Resource
from shared.kubesim.apimachinery.strategies import Object
from shared.kubesim.patches.managed_fields import Entry, ManagedFields
from shared.kubesim.patches.patcher import FieldCheck, check_uid
from shared.kubesim.requests.call import Call, parse_body
from shared.kubesim.schema import fieldset
from shared.kubesim.schema.fieldset import FieldSet
from shared.kubesim.store.objects import ObjectStore


class Applier:
    """Carries out applies."""

    def __init__(
        self,
        store: ObjectStore,
        managed: ManagedFields,
        check_fields: FieldCheck,
        conversion: Conversion = AS_IT_IS,
    ) -> None:
        self._store = store
        self._managed = managed
        self._check_fields = check_fields
        self._conversion = conversion

    def apply(self, call: Call, resource: Resource) -> tuple[Object, bool]:
        """(the object after the apply, whether it was created). ApiError 409 on conflicts."""
        manager = call.arg("fieldManager")
        if not manager:
            cause = errors.required("fieldManager", "is required for apply patch")
            raise errors.invalid("PatchOptions", "meta.k8s.io", "", [cause])
        config = self._config(call, resource)
        live = self._store.get(resource.key, call.namespace, call.name)
        if self._conversion.converts(resource.key):
            resource = self._store.registry.get(resource.key)
            config = self._conversion.kept(resource.key, config, None)
            config = {**config, "apiVersion": resource.api_version}
        if live is None:
            return self._create(call, resource, config, manager), True
        meta = config["metadata"]
        check_uid(resource, meta, live)
        version = meta.get("resourceVersion")
        if version and version != live["metadata"]["resourceVersion"]:
            raise errors.stale(resource.plural, resource.group, call.name)
        return self._update(call, resource, live, config, manager), False

    def _create(self, call: Call, resource: Resource, config: Object, manager: str) -> Object:
        if call.subresource:
            raise errors.not_found(resource.plural, resource.group, call.name)
        if config["metadata"].get("uid"):
            why = (
                f"uid mismatch: the provided object specified uid {config['metadata']['uid']}, and no"
                " existing object was found"
            )
            raise errors.conflict(resource.plural, resource.group, call.name, why)
        merged, _, entries = self._managed.applied(resource, None, config, manager, "")
        obj = self._managed.with_entries(merged, entries)
        return self._store.create(resource.key, obj, dry_run=call.dry_run)

    def _update(
        self, call: Call, resource: Resource, live: Object, config: Object, manager: str
    ) -> Object:
        merged, conflicts, entries = self._managed.applied(
            resource, live, config, manager, call.subresource
        )
        if conflicts and not call.flag("force"):
            raise _conflict_error(conflicts)
        meta = {**merged["metadata"]}
        asked = config["metadata"].get("resourceVersion")
        meta["resourceVersion"] = asked or live["metadata"]["resourceVersion"]
        obj = self._managed.with_entries({**merged, "metadata": meta}, entries)
        return self._store.update(
            resource.key, obj, subresource=call.subresource, dry_run=call.dry_run
        )

    def _config(self, call: Call, resource: Resource) -> Object:
        config = parse_body(call.body, "application/yaml" if not _is_json(call.body) else "")
        if not isinstance(config, dict):
            raise errors.bad_request("the body is no object")
        for field in ("apiVersion", "kind"):
            if not config.get(field):
                raise errors.bad_request(f"Object '{field.capitalize()}' is missing in the patch")
        if config["apiVersion"] != resource.api_version or config["kind"] != resource.kind:
            raise errors.bad_request(
                f"Incorrect version or kind specified in apply patch. Specified patch:"
                f" {config['apiVersion']} {config['kind']}, expected: {resource.api_version}"
                f" {resource.kind}"
            )
        meta = dict(config.get("metadata") or {})
        if meta.get("managedFields"):
            raise errors.bad_request("metadata.managedFields must be nil")
        meta.pop("managedFields", None)
        if meta.setdefault("name", call.name) != call.name:
            raise errors.bad_request(
                f"the name of the object ({meta['name']}) does not match the name on the URL ({call.name})"
            )
        if resource.namespaced and meta.setdefault("namespace", call.namespace) != call.namespace:
            raise errors.bad_request(
                "the namespace of the provided object does not match the namespace sent on the request"
            )
        config = self._check_fields(call, resource, {**config, "metadata": meta})
        return _own_part(without_nulls(config), resource, call.subresource)


def _is_json(body: bytes) -> bool:
    return body.lstrip()[:1] == b"{"


def without_nulls(value: Any) -> Any:
    """A null in an applied object means that the field is not there."""
    if isinstance(value, dict):
        return {name: without_nulls(item) for name, item in value.items() if item is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    return value


def _own_part(config: Object, resource: Resource, subresource: str) -> Object:
    """Without what this (sub)resource resets: a status in the object, all else in its status."""
    if subresource == "status":
        kept = ("apiVersion", "kind", "metadata", "status")
        part = {field: config[field] for field in kept if field in config}
        if resource.custom:
            meta = config["metadata"]
            names = ("name", "namespace", "uid", "resourceVersion")
            part["metadata"] = {name: meta[name] for name in names if name in meta}
        return part
    if resource.has_status and "status" in config:
        return {field: value for field, value in config.items() if field != "status"}
    return config


def _conflict_error(conflicts: list[tuple[Entry, FieldSet]]) -> errors.ApiError:
    causes, lines = [], []
    for entry, fields in conflicts:
        who = f'"{entry.manager}"'
        if entry.subresource:
            who += f' with subresource "{entry.subresource}"'
        if entry.operation == "Update":
            who += f" using {entry.api_version}"
            if entry.time:
                who += f" at {entry.time}"
        for path in fieldset.paths(fields):
            text = fieldset.text_of(path)
            lines.append((who, text))
            causes.append(
                {
                    "reason": "FieldManagerConflict",
                    "message": f"conflict with {who}",
                    "field": text,
                }
            )
    count = len(causes)
    noun = "conflict" if count == 1 else "conflicts"
    if count == 1:
        detail = f"conflict with {lines[0][0]}: {lines[0][1]}"
    else:
        by_manager: dict[str, list[str]] = {}
        for who, text in lines:
            by_manager.setdefault(who, []).append(text)
        detail = "\n".join(
            f"conflicts with {who}:\n" + "\n".join(f"- {text}" for text in texts)
            for who, texts in by_manager.items()
        )
    message = f"Apply failed with {count} {noun}: {detail}"
    return errors.ApiError(409, "Conflict", message, {"causes": causes})
