"""PATCH: chooses the kind of patch by its content type, applies it to the live object, writes."""

from collections.abc import Callable
from typing import Any, Protocol

import jsonpatch
import jsonpointer

from shared.kubesim.apimachinery import errors
from shared.kubesim.apimachinery.conversion import AS_IT_IS, Conversion
from shared.kubesim.apimachinery.registry import Resource
from shared.kubesim.apimachinery.strategies import Object
from shared.kubesim.patches.json_merge import merge
from shared.kubesim.requests.call import Call
from shared.kubesim.store.objects import ObjectStore

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
_MAX_JSON_PATCH_OPERATIONS = 10_000


class FieldCheck(Protocol):
    """See `shared.kubesim.requests.decoding.FieldChecker`."""

    def __call__(
        self, call: Call, resource: Resource, obj: Object, known: Object | None = None
    ) -> Object:
        """The object as the server understands it."""
        ...


StrategicMerge = Callable[[Resource, Object, dict[str, Any]], Object]
Apply = Callable[[Call, Resource], tuple[Object, bool]]


class Patcher:
    """Applies the four kinds of patch."""

    def __init__(
        self,
        store: ObjectStore,
        check_fields: FieldCheck,
        strategic_merge: StrategicMerge,
        apply: Apply,
        conversion: Conversion = AS_IT_IS,
    ) -> None:
        self._store = store
        self._check_fields = check_fields
        self._strategic_merge = strategic_merge
        self._apply = apply
        self._conversion = conversion

    def patch(self, call: Call, resource: Resource) -> tuple[Object, bool]:
        """(the object after the patch, whether it was created)."""
        kind = call.content_type
        if kind in (APPLY_PATCH, "application/apply-patch+cbor"):
            return self._apply(call, resource)
        if kind not in (JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH):
            raise errors.unsupported_media_type(
                "the body of the request was in an unknown format - accepted media types include:"
                f" {JSON_PATCH}, {MERGE_PATCH}, {STRATEGIC_PATCH}, {APPLY_PATCH}"
            )
        if kind == STRATEGIC_PATCH and resource.custom:
            raise errors.unsupported_media_type(
                "the body of the request was in an unknown format - accepted media types include:"
                f" {JSON_PATCH}, {MERGE_PATCH}, {APPLY_PATCH}"
            )
        stored = self._store.get(resource.key, call.namespace, call.name)
        if stored is None:
            raise errors.not_found(resource.plural, resource.group, call.name)
        old = self._conversion.shown(stored, resource.api_version)
        new = self._patched(call, resource, old, kind)
        self._check_identity(call, resource, old, new)
        new = self._check_fields(call, resource, new, old)
        new = self._conversion.kept(resource.key, new, stored)
        updated = self._store.update(
            resource.key,
            new,
            subresource=call.subresource,
            manager=call.writer,
            dry_run=call.dry_run,
        )
        return updated, False

    def _patched(self, call: Call, resource: Resource, old: Object, kind: str) -> Object:
        body = call.json()
        if kind == JSON_PATCH:
            return json_patched(old, body)
        if not isinstance(body, dict):
            raise errors.bad_request("the patch is no object")
        if kind == MERGE_PATCH:
            merged: Object = merge(old, body)
            return merged
        return self._strategic_merge(resource, old, body)

    def _check_identity(self, call: Call, resource: Resource, old: Object, new: Object) -> None:
        meta = new.get("metadata")
        if not isinstance(meta, dict):
            raise errors.bad_request("the patch removes the metadata")
        check_uid(resource, meta, old)
        for field in ("name", "namespace"):
            if meta.get(field) != old["metadata"].get(field):
                raise errors.bad_request(
                    f"the {field} of the object ({meta.get(field)}) does not match the {field} on the URL"
                    f" ({old['metadata'].get(field)})"
                )
        if new.get("kind") != old["kind"] or new.get("apiVersion") != old["apiVersion"]:
            raise errors.bad_request(
                f"the patch changes the type of the object ({old['apiVersion']} {old['kind']})"
            )


def check_uid(resource: Resource, meta: dict[str, Any], live: Object) -> None:
    """422 if a patch or apply names another uid than the live one (a PUT gets 409 for it)."""
    uid = meta.get("uid")
    if uid and uid != live["metadata"]["uid"]:
        cause = errors.bad_value("metadata.uid", uid, "field is immutable")
        raise errors.invalid(resource.kind, resource.group, live["metadata"]["name"], [cause])


def json_patched(old: Object, operations: Any) -> Object:
    """`old` with RFC 6902 operations applied. ApiError 400 or 422 as the server gives it."""
    if not isinstance(operations, list):
        raise errors.bad_request("a JSON patch is an array of operations")
    if len(operations) > _MAX_JSON_PATCH_OPERATIONS:
        raise errors.ApiError(
            413,
            "RequestEntityTooLarge",
            f"The allowed maximum operations in a JSON patch is {_MAX_JSON_PATCH_OPERATIONS}",
        )
    try:
        patched: Object = jsonpatch.apply_patch(old, operations)
    except jsonpatch.InvalidJsonPatch as fault:
        raise errors.bad_request(f"error decoding patch: {fault}") from fault
    except (jsonpatch.JsonPatchException, jsonpointer.JsonPointerException, TypeError) as fault:
        # The real server keeps the reason to itself, and names no object.
        why = "the server rejected our request due to an error in our request"
        raise errors.ApiError(422, "Invalid", why) from fault
    return patched
