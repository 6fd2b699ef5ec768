"""The namespace lifecycle: admission into namespaces, what a new one gets, emptying a dying one."""

from typing import Literal

from shared.kubesim.apimachinery import errors
from shared.kubesim.apimachinery.registry import Resource
from shared.kubesim.apimachinery.strategies import KindStrategy, Object
from shared.kubesim.store.objects import Event, ObjectStore

SYSTEM_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
_IMMORTAL = frozenset({"default", "kube-public", "kube-system"})


class NamespaceStrategy(KindStrategy):
    """A namespace is born Active, with the finalizer that keeps it until it is empty."""

    def prepare_create(self, obj: Object) -> Object:
        obj, meta = super().prepare_create(obj), obj["metadata"]
        labels = {
            **(meta.get("labels") or {}),
            "kubernetes.io/metadata.name": meta.get("name", ""),
        }
        return {**obj, "metadata": {**meta, "labels": labels}}

    def generate(self, obj: Object) -> Object:
        spec = {**(obj.get("spec") or {})}
        finalizers = [*spec.get("finalizers", ())]
        if "kubernetes" not in finalizers:
            finalizers.append("kubernetes")
        spec["finalizers"] = finalizers
        return {**obj, "spec": spec, "status": {"phase": "Active"}}

    def prepare_update(self, new: Object, old: Object) -> Object:
        """The name label follows the name."""
        meta = new["metadata"]
        labels = {**(meta.get("labels") or {}), "kubernetes.io/metadata.name": meta["name"]}
        return {**new, "metadata": {**meta, "labels": labels}}


class NamespaceController:
    """Follows the store: furnishes new namespaces and empties terminating ones."""

    def __init__(self, store: ObjectStore, ca_pem: bytes) -> None:
        self._store = store
        self._ca = ca_pem
        store.admissions.insert(0, self.admit)
        store.subscribe(self._note)

    def bootstrap(self) -> None:
        """Make the system namespaces; after a restart, go on emptying the terminating ones."""
        for name in SYSTEM_NAMESPACES:
            if self._store.get("namespaces", "", name) is None:
                self._store.create("namespaces", {"metadata": {"name": name}})
        for namespace in self._store.list("namespaces"):
            if "deletionTimestamp" in namespace["metadata"]:
                self._empty(namespace["metadata"]["name"])

    def admit(
        self,
        operation: Literal["CREATE", "UPDATE"],
        resource: Resource,
        new: Object,
        old: Object | None,
    ) -> Object:
        """Nothing is created in a namespace that is missing or terminating."""
        if operation != "CREATE" or not resource.namespaced:
            return new
        name = new["metadata"].get("namespace") or ""
        if not name:
            return new
        namespace = self._store.get("namespaces", "", name)
        if namespace is None:
            raise errors.not_found("namespaces", "", name)
        if "deletionTimestamp" in namespace["metadata"]:
            why = (
                f"unable to create new content in namespace {name} because it is being terminated"
            )
            refusal = errors.forbidden(
                resource.plural, resource.group, new["metadata"]["name"], why
            )
            refusal.details = {
                **(refusal.details or {}),
                "causes": [
                    {
                        "reason": "NamespaceTerminating",
                        "message": f"namespace {name} is being terminated",
                        "field": "metadata.namespace",
                    }
                ],
            }
            raise refusal
        return new

    def check_delete(self, resource: Resource, name: str) -> None:
        """The namespaces that a cluster cannot do without stay."""
        if resource.key == "namespaces" and name in _IMMORTAL:
            raise errors.forbidden("namespaces", "", name, "this namespace may not be deleted")

    def _note(self, event: Event) -> None:
        if event.resource_key == "namespaces":
            if event.type == "ADDED":
                self._furnish(event.object["metadata"]["name"])
            elif event.type == "MODIFIED" and "deletionTimestamp" in event.object["metadata"]:
                self._empty(event.object["metadata"]["name"])
        elif event.type == "DELETED":
            self._settle(event.object["metadata"].get("namespace") or "")

    def _furnish(self, namespace: str) -> None:
        account = {"metadata": {"name": "default", "namespace": namespace}}
        self._store.create("serviceaccounts", account, trusted=True)
        note = (
            "Contains a CA bundle that can be used to verify the kube-apiserver when using internal"
            " endpoints such as the internal service IP or kubernetes.default.svc. No other usage is"
            " guaranteed across distributions of Kubernetes clusters."
        )
        bundle = {
            "metadata": {
                "name": "kube-root-ca.crt",
                "namespace": namespace,
                "annotations": {"kubernetes.io/description": note},
            },
            "data": {"ca.crt": self._ca.decode()},
        }
        self._store.create("configmaps", bundle, trusted=True)

    def _empty(self, name: str) -> None:
        namespace = self._store.get("namespaces", "", name)
        if namespace is None:
            return
        if namespace.get("status", {}).get("phase") != "Terminating":
            status = {**(namespace.get("status") or {}), "phase": "Terminating"}
            self._store.update("namespaces", {**namespace, "status": status}, subresource="status")
            return  # the update itself comes back here
        for key in self._store.resource_keys():
            for obj in self._store.list(key, name):
                if name and "deletionTimestamp" not in obj["metadata"]:
                    self._store.delete(key, name, obj["metadata"]["name"])
        self._settle(name)

    def _settle(self, name: str) -> None:
        """Let a terminating namespace go once nothing is left in it."""
        namespace = self._store.get("namespaces", "", name) if name else None
        if namespace is None or "deletionTimestamp" not in namespace["metadata"]:
            return
        if namespace.get("status", {}).get("phase") != "Terminating":
            return
        if any(next(self._store.iterate(key, name), None) for key in self._store.resource_keys()):
            return
        self.finalize(namespace)

    def finalize(self, namespace: Object) -> Object:
        """Take the namespace's own finalizer away; it goes if nothing else holds it."""
        remaining = [f for f in namespace["spec"].get("finalizers", ()) if f != "kubernetes"]
        spec = {**namespace["spec"], "finalizers": remaining}
        return self._store.update(
            "namespaces", {**namespace, "spec": spec}, subresource="finalize"
        )
