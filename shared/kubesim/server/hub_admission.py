"""Admission of Jobs on a hub cluster: they are Roadstead's, so the Job controller leaves them alone. Kueue's
kinds keep the names of the stored version.

The built-in equivalent of the admission policy of a real hub cluster (docs/howto/real-hub-cluster.md): it
sets `managedBy` on creation, and keeps it on update, for Jobs with the queue-name label or
annotation or in selected namespaces, never for Jobs with a controller owner. It writes down who created
such a Job, and keeps that. Who waits for a pod of such a Job, as `kubectl logs` does, is told at once that
none will come.
"""

from typing import Any, Final, Literal

from shared import labels
from shared.kubesim.apimachinery import errors, metadata
from shared.kubesim.apimachinery.registry import Resource
from shared.kubesim.apimachinery.selectors import labels_match
from shared.kubesim.apimachinery.strategies import Object
from shared.kubesim.apimachinery.writer import writer
from shared.kubesim.custom.kueue_v1beta2 import defaulted, in_new_names
from shared.kubesim.requests.call import Call
from shared.kubesim.server.job_guard import denied, is_marked
from shared.kubesim.server.mirror_guard import HUB
from shared.kubesim.store.objects import ObjectStore

SUBMITTED_BY: Final = "roadstead-submitted-by"  # the policy
NOT_OTHERS: Final = (
    f"{labels.SUBMITTED_BY} is who creates the Job, or gives it its queue: leave it out, or write "
    "your own name"
)
STAYS: Final = f"{labels.SUBMITTED_BY} stays as it was when the Job was created"
# Nothing but Roadstead runs Jobs of an embedded hub cluster: there every namespace is selected.
EVERY_NAMESPACE: Final[dict[str, Any]] = {
    "matchExpressions": [
        {
            "key": "kubernetes.io/metadata.name",
            "operator": "NotIn",
            "values": ["kube-system", "kube-public", "kube-node-lease"],
        }
    ]
}


class HubAdmission:
    """Marks Jobs as managed by the hub. `namespaces` is a label selector of namespaces, if any."""

    def __init__(
        self, store: ObjectStore, namespaces: dict[str, Any] | None = None, *, marks: bool = True
    ) -> None:
        self._store = store
        self._namespaces = namespaces
        self._marks = marks

    def admit(
        self,
        operation: Literal["CREATE", "UPDATE"],
        resource: Resource,
        new: Object,
        old: Object | None,
    ) -> Object:
        if resource.key != "jobs.batch":
            return defaulted(resource.key, in_new_names(resource.key, new, old))
        if not self._marks:
            return new
        spec = new["spec"]
        if old is not None:
            kept = old["spec"].get("managedBy")
            if kept != labels.JOB_CONTROLLER or spec.get("managedBy") is not None:
                return new
            return {**new, "spec": {**spec, "managedBy": kept}}
        if spec.get("managedBy") or not self.is_ours(new):
            return new
        return {**new, "spec": {**spec, "managedBy": labels.JOB_CONTROLLER}}

    def is_ours(self, job: Object) -> bool:
        """Whether a Job that is created is Roadstead's."""
        if metadata.controller_of(job) is not None:
            return False
        meta = job["metadata"]
        for kind in ("labels", "annotations"):
            if (meta.get(kind) or {}).get(labels.QUEUE_NAME):
                return True
        if self._namespaces is None:
            return False
        namespace = self._store.get("namespaces", "", meta.get("namespace", ""))
        its_labels = (namespace or {"metadata": {}})["metadata"].get("labels") or {}
        return labels_match(self._namespaces, its_labels)


class Submitters:
    """Who created a Job stands in an annotation, as policy roadstead-submitted-by has it.

    `writes`: from 1.36 on it is written here; before, by who likes to, and nobody writes another's name.
    """

    def __init__(self, jobs: HubAdmission, *, writes: bool) -> None:
        self._jobs = jobs
        self._writes = writes

    def admit(
        self,
        operation: Literal["CREATE", "UPDATE"],
        resource: Resource,
        new: Object,
        old: Object | None,
    ) -> Object:
        """Raises ApiError Invalid, as a policy's refusal reads."""
        by = writer()
        if resource.key != "jobs.batch" or not by:
            return new
        said = "" if old is None else _says(old)
        late = old is not None and _gets_a_queue(new, old) and not (said and self._is_ours(old))
        if self._writes:
            if old is None and labels.ORIGIN not in (new["metadata"].get("labels") or {}):
                said = by if self._is_ours(new) else ""
            elif late and self._is_ours(new):
                said = by
            if said and _says(new) != said:
                new = _with_submitter(new, said)
        says, name = _says(new), new["metadata"]["name"]
        if by == HUB.name:  # it says who sent what it shows of REST
            return new
        if (old is None or late) and says not in ("", by):
            raise denied(SUBMITTED_BY, name, NOT_OTHERS)
        if old is not None and not late and says != said:
            raise denied(SUBMITTED_BY, name, STAYS)
        return new

    def _is_ours(self, job: Object) -> bool:
        return is_marked(job) or self._jobs.is_ours(job)


def _gets_a_queue(new: Object, old: Object) -> bool:
    """True if a Job gets its first queue: if it becomes Roadstead's by that, who gives it submits it."""
    kept = labels.FINALIZER in (old["metadata"].get("finalizers") or ())
    return _names_a_queue(new) and not _names_a_queue(old) and not kept


def _names_a_queue(job: Object) -> bool:
    meta = job["metadata"]
    return any(labels.QUEUE_NAME in (meta.get(part) or {}) for part in ("labels", "annotations"))


def _says(job: Object) -> str:
    return str((job["metadata"].get("annotations") or {}).get(labels.SUBMITTED_BY) or "")


def _with_submitter(job: Object, name: str) -> Object:
    meta = job["metadata"]
    notes = {**(meta.get("annotations") or {}), labels.SUBMITTED_BY: name}
    return {**job, "metadata": {**meta, "annotations": notes}}


class AbsentPods:
    """Refuses to watch for pods of Jobs that run in a member: they never come here."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store

    def check(self, call: Call) -> None:
        """Raises ApiError for a watch of the pods of one of the hub's Jobs."""
        if call.resource is None or call.resource.key != "pods":
            return
        wanted = call.query.get("labelSelector", [""])[0]
        for part in wanted.split(","):
            name, _, uid = part.partition("=")
            if name.rpartition("/")[2] == "controller-uid" and uid:
                self._refuse(call.namespace, uid.lstrip("="))

    def _refuse(self, namespace: str, uid: str) -> None:
        for job in self._store.list("jobs.batch", namespace):
            meta = job["metadata"]
            ours = job["spec"].get("managedBy") == labels.JOB_CONTROLLER or labels.FINALIZER in (
                meta.get("finalizers") or ()
            )
            if meta["uid"] == uid and ours:
                where = f"{namespace}/{meta['name']}"
                if why := _why_it_waits(job):
                    raise errors.bad_request(
                        f"Job {where} waits and has no pods yet: {why}; type `roadstead explain {where}`"
                    )
                raise errors.bad_request(
                    f"Job {where} has no pods here: it runs in a member cluster, and its pods and logs are "
                    f"there; type `roadstead logs {where}` or `roadstead jobs pods {where}`"
                )


def _why_it_waits(job: Object) -> str:
    """The hub's words about a Job that no member has yet; "" of any other."""
    for each in (job.get("status") or {}).get("conditions") or ():
        if each["type"] == "Suspended" and each["status"] == "True":
            return str(each.get("message") or each.get("reason") or "it is suspended")
    return "" if (job.get("status") or {}).get("startTime") else "the hub has yet to place it"
