"""The `/scale` subresource: replicas of anything that says where its replicas are."""

from typing import Any

from shared.kubesim.apimachinery import errors
from shared.kubesim.apimachinery.registry import ScalePaths
from shared.kubesim.apimachinery.strategies import Object
from shared.kubesim.builtin.printers import selector_text
from shared.kubesim.patches.json_merge import merge
from shared.kubesim.patches.patcher import JSON_PATCH, json_patched
from shared.kubesim.requests.call import Call, Reply, json_reply
from shared.kubesim.store.objects import ObjectStore


class ScaleEndpoint:
    """Shows an object as a `Scale` and writes its replicas back."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store

    async def answer(self, call: Call) -> Reply:
        """GET, PUT or PATCH of `/scale`."""
        resource = call.served()
        if resource.scale is None:
            raise errors.no_such_path()
        obj = self._store.get(resource.key, call.namespace, call.name)
        if obj is None:
            raise errors.not_found(resource.plural, resource.group, call.name)
        if call.method in ("GET", "HEAD"):
            return json_reply(scale_of(obj, resource.scale))
        changed = self._changed(call, scale_of(obj, resource.scale))
        replicas = (changed.get("spec") or {}).get("replicas", 0)
        if not isinstance(replicas, int) or replicas < 0:
            why = "must be greater than or equal to 0"
            cause = errors.bad_value("spec.replicas", replicas, why)
            raise errors.invalid("Scale", "autoscaling", call.name, [cause])
        scaled = _with(obj, resource.scale.spec_replicas.split("."), replicas)
        meta = changed.get("metadata") or {}
        scaled["metadata"] = {
            **obj["metadata"],
            "resourceVersion": meta.get("resourceVersion") or "",
            "uid": meta.get("uid") or obj["metadata"]["uid"],
        }
        updated = self._store.update(
            resource.key,
            scaled,
            subresource="scale",
            manager=call.writer,
            dry_run=call.dry_run,
        )
        return json_reply(scale_of(updated, resource.scale))

    def _changed(self, call: Call, scale: Object) -> Object:
        body = call.json()
        if call.method == "PUT" and isinstance(body, dict):
            return body
        if call.method != "PATCH":
            raise errors.method_not_allowed()
        # A patched scale writes without precondition unless the patch names a version.
        unversioned = {**scale, "metadata": {**scale["metadata"], "resourceVersion": ""}}
        if call.content_type == JSON_PATCH:
            return json_patched(unversioned, body)
        merged: Object = merge(unversioned, body)
        return merged


def scale_of(obj: Object, paths: ScalePaths) -> Object:
    """An object as an `autoscaling/v1` Scale."""
    selector = _at(obj, paths.label_selector) if paths.label_selector else None
    if selector is None:
        selector = (obj.get("spec") or {}).get("selector")
    text = selector_text(selector) if isinstance(selector, dict) else selector
    meta = obj["metadata"]
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    status = {"replicas": _at(obj, paths.status_replicas) or 0}
    if text and text != "<none>":
        status["selector"] = text
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {field: meta[field] for field in kept if field in meta},
        "spec": {"replicas": _at(obj, paths.spec_replicas) or 0},
        "status": status,
    }


def _at(obj: Any, path: str) -> Any:
    for step in path.split("."):
        obj = obj.get(step) if isinstance(obj, dict) else None
    return obj


def _with(obj: Object, path: list[str], value: Any) -> Object:
    if len(path) == 1:
        return {**obj, path[0]: value}
    return {**obj, path[0]: _with(obj.get(path[0]) or {}, path[1:], value)}
