"""create, update, patch and delete over HTTP."""

from collections.abc import Callable
from typing import Any

from shared.kubesim.apimachinery import errors, metadata
from shared.kubesim.apimachinery.conversion import AS_IT_IS, Conversion
from shared.kubesim.apimachinery.registry import Resource
from shared.kubesim.apimachinery.strategies import Object
from shared.kubesim.patches.patcher import Patcher
from shared.kubesim.requests.call import Call, Reply, json_reply
from shared.kubesim.server.reading import Reader
from shared.kubesim.store.objects import ObjectStore
from shared.kubesim.store.serializer import dumps

_PROPAGATIONS = ("Background", "Foreground", "Orphan")
# batch/v1 keeps its first behaviour: a Job deleted without a policy leaves its pods.
_ORPHANING = frozenset({"jobs.batch"})

# (call, resource, object as sent, strictness) -> the object to write; may warn or refuse.
FieldCheck = Callable[[Call, Resource, Object], Object]


class Writer:
    """Carries out writes on the store and shows the result."""

    def __init__(
        self,
        store: ObjectStore,
        reader: Reader,
        patcher: Patcher,
        check_fields: FieldCheck,
        conversion: Conversion = AS_IT_IS,
    ) -> None:
        self._store = store
        self._reader = reader
        self._patcher = patcher
        self._check_fields = check_fields
        self._conversion = conversion

    def create(self, call: Call) -> Reply:
        resource = call.served()
        obj = self._body(call, resource)
        meta = obj.get("metadata") or {}
        given = meta.get("namespace")
        if resource.namespaced:
            if given and given != call.namespace:
                raise errors.bad_request(
                    "the namespace of the provided object does not match the namespace sent on the request"
                )
            obj = {**obj, "metadata": {**meta, "namespace": call.namespace}}
        obj = self._conversion.kept(resource.key, self._check_fields(call, resource, obj), None)
        created = self._store.create(resource.key, obj, manager=call.writer, dry_run=call.dry_run)
        return self._shown(call, resource, created, 201)

    def replace(self, call: Call) -> Reply:
        resource = call.served()
        obj = self._body(call, resource)
        meta = dict(obj.get("metadata") or {})
        if meta.setdefault("name", call.name) != call.name:
            raise errors.bad_request(
                f"the name of the object ({meta['name']}) does not match the name on the URL ({call.name})"
            )
        if resource.namespaced and meta.setdefault("namespace", call.namespace) != call.namespace:
            raise errors.bad_request(
                "the namespace of the provided object does not match the namespace sent on the request"
            )
        obj = self._check_fields(call, resource, {**obj, "metadata": meta})
        old = self._store.get(resource.key, meta.get("namespace", ""), call.name)
        obj = self._conversion.kept(resource.key, obj, old)
        updated = self._store.update(
            resource.key,
            obj,
            subresource=call.subresource,
            manager=call.writer,
            dry_run=call.dry_run,
        )
        return self._shown(call, resource, updated)

    def patch(self, call: Call) -> Reply:
        resource = call.served()
        patched, created = self._patcher.patch(call, resource)
        return self._shown(call, resource, patched, 201 if created else 200)

    def delete(self, call: Call) -> Reply:
        resource = call.served()
        options = self._delete_options(call)
        last = self._delete_one(call, resource, call.namespace, call.name, options)
        live = self._store.get(resource.key, call.namespace, call.name)
        if resource.key == "pods" or (live is not None and not call.dry_run):
            return self._shown(call, resource, last)
        details = {"name": call.name, "kind": resource.plural, "uid": last["metadata"]["uid"]}
        if resource.group:
            details["group"] = resource.group
        status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
        return json_reply({**status, "details": details})

    def delete_collection(self, call: Call) -> Reply:
        resource = call.served()
        options = self._delete_options(call)
        options.pop("preconditions", None)
        gone = []
        for obj in self._reader.selected(call, resource):
            namespace, name = metadata.identity(obj)
            gone.append(self._delete_one(call, resource, namespace, name, options))
        return json_reply(
            {
                "kind": resource.list_kind,
                "apiVersion": resource.api_version,
                "metadata": {"resourceVersion": str(self._store.rv)},
                "items": gone,
            }
        )

    # --- inside ----------------------------------------------------------------------------------

    def _delete_one(
        self, call: Call, resource: Resource, namespace: str, name: str, options: dict[str, Any]
    ) -> Object:
        preconditions = options.get("preconditions") or {}
        default = "Orphan" if resource.key in _ORPHANING else "Background"
        return self._store.delete(
            resource.key,
            namespace,
            name,
            uid=preconditions.get("uid"),
            resource_version=preconditions.get("resourceVersion"),
            propagation=options.get("propagationPolicy") or default,
            grace=options.get("gracePeriodSeconds"),
            dry_run=call.dry_run,
        )

    def _delete_options(self, call: Call) -> dict[str, Any]:
        """DeleteOptions of the body, completed by the query. ApiError 400 or 422 on bad values."""
        options: dict[str, Any] = {}
        if call.body.strip():
            body = call.json()
            if not isinstance(body, dict):
                raise errors.bad_request("the body is no DeleteOptions")
            options = dict(body)
        if call.arg("propagationPolicy"):
            options["propagationPolicy"] = call.arg("propagationPolicy")
        if call.number("gracePeriodSeconds") is not None:
            options["gracePeriodSeconds"] = call.number("gracePeriodSeconds")
        orphan = options.pop("orphanDependents", None)
        if orphan is not None and not options.get("propagationPolicy"):
            options["propagationPolicy"] = "Orphan" if orphan else "Background"
        policy = options.get("propagationPolicy")
        if policy and policy not in _PROPAGATIONS:
            cause = errors.not_supported("propagationPolicy", policy, (*_PROPAGATIONS, "nil"))
            raise errors.invalid("DeleteOptions", "meta.k8s.io", "", [cause])
        if options.get("dryRun"):
            call.query["dryRun"] = list(options["dryRun"])
        return options

    def _body(self, call: Call, resource: Resource) -> Object:
        obj = call.json()
        if not isinstance(obj, dict):
            raise errors.bad_request("the body is no object")
        check_type(obj, resource)
        return obj

    def _shown(self, call: Call, resource: Resource, obj: Object, status: int = 200) -> Reply:
        if call.dry_run:
            return Reply(status, dumps(self._conversion.shown(obj, resource.api_version)))
        return self._reader.show(call, resource, obj, status)


def check_type(obj: Object, resource: Resource) -> None:
    """400 unless apiVersion and kind, where given, are those of the resource."""
    api_version = obj.get("apiVersion") or resource.api_version
    kind = obj.get("kind") or resource.kind
    if api_version != resource.api_version or kind != resource.kind:
        raise errors.bad_request(
            f'{kind} in version "{api_version}" cannot be handled as a {resource.kind}:'
            f" the API version in the data ({api_version}) does not match the expected API version"
            f" ({resource.api_version})"
        )
    meta = obj.get("metadata")
    if meta is not None and not isinstance(meta, dict):
        raise errors.bad_request(f"{kind}.metadata: an object is expected")
