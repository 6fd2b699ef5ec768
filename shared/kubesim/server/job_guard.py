"""Admission on a hub cluster: it refuses Jobs of Roadstead that could run there.

The built-in equivalent of deploy/hub-cluster/job-guard.yaml, word for word, and of an API server that
does not know spec.managedBy yet (before 1.32): it drops the field before policies see the Job.
"""

from dataclasses import dataclass
from typing import Any, Final, Literal, Self

from shared import labels
from shared.groups import KUEUE
from shared.kubesim.apimachinery import metadata
from shared.kubesim.apimachinery.errors import ApiError
from shared.kubesim.apimachinery.registry import Resource
from shared.kubesim.apimachinery.selectors import labels_match
from shared.kubesim.apimachinery.strategies import Object
from shared.kubesim.store.objects import ObjectStore

POLICY: Final = "roadstead-jobs"
UNMARKED: Final = (
    f"a Job of Roadstead never runs on the hub cluster: write spec.managedBy: {labels.JOB_CONTROLLER}, "
    "or, where Kubernetes is older than 1.32, spec.suspend: true"
)
STARTED: Final = (
    "a Job of Roadstead stays suspended on the hub cluster, where it would run a second time: it is "
    "started in a member by the hub, and held with `roadstead jobs hold`"
)
TAKEN_AWAY: Final = (
    "a Job of Roadstead stays Roadstead's: delete it, and create another without the queue name"
)
NO_CONTROLLER: Final = (
    "a Job of Roadstead gets no controller: the hub cluster would run it; create another Job "
    "with its owner"
)
NO_OWNER: Final = (
    "a Job of Roadstead names no controller in ownerReferences but one that its creator may update, and that "
    "is no Job and no object of Kueue: leave it out"
)
_MANAGERS: Final = (labels.JOB_CONTROLLER, labels.MULTIKUEUE_CONTROLLER)


@dataclass(frozen=True, slots=True, order=True)
class Release:
    """A minor version of Kubernetes, and what an API server of it does with Jobs."""

    major: int = 1
    minor: int = 36

    @classmethod
    def parse(cls, text: str) -> Self:
        """Of `1.30`. Raises ValueError."""
        major, _, minor = text.partition(".")
        return cls(int(major), int(minor))

    @property
    def knows_managed_by(self) -> bool:
        return self >= Release(1, 32)

    @property
    def mutates_by_policy(self) -> bool:
        return self >= Release(1, 36)


class Selection:
    """The namespaces all of whose Jobs are Roadstead's; `namespaces` selects them by their labels."""

    def __init__(self, store: ObjectStore, namespaces: dict[str, Any] | None = None) -> None:
        self._store = store
        self._namespaces = namespaces

    def covers(self, job: Object) -> bool:
        """Is the Job in a managed namespace, by name or by label?"""
        namespace = self._store.get("namespaces", "", job["metadata"].get("namespace", ""))
        its_labels = (namespace or {"metadata": {}})["metadata"].get("labels") or {}
        chosen = self._namespaces is not None and labels_match(self._namespaces, its_labels)
        return chosen or its_labels.get(labels.MANAGED_NAMESPACE) == "true"

    def is_ours(self, job: Object) -> bool:
        """Is a Job Roadstead's, by its manager, the hub's finalizer, its namespace or its queue?"""
        if is_marked(job) or labels.FINALIZER in (job["metadata"].get("finalizers") or ()):
            return True
        return metadata.controller_of(job) is None and (_is_queued(job) or self.covers(job))


class JobGuard:
    """Refuses Jobs of Roadstead that could run here; `namespaces` selects namespaces by their labels."""

    def __init__(self, store: ObjectStore, namespaces: dict[str, Any] | None = None) -> None:
        self._is_selected = Selection(store, namespaces).covers

    def admit(
        self,
        operation: Literal["CREATE", "UPDATE"],
        resource: Resource,
        new: Object,
        old: Object | None,
    ) -> Object:
        """Raises ApiError Invalid, as a policy's refusal reads."""
        if resource.key != "jobs.batch" or is_marked(new):
            return new
        if old is not None and metadata.controller_of(old) is not None:
            return new
        why = self._why_not(new, old)
        if why:
            raise denied(POLICY, new["metadata"]["name"], why)
        return new

    def _why_not(self, new: Object, old: Object | None) -> str:
        selected = self._is_selected(new)
        suspended = bool(new["spec"].get("suspend"))
        if old is None:
            return self._why_not_made(new) if _is_queued(new) or selected else ""
        if not old["spec"].get("suspend"):
            return ""
        if not suspended and (_is_queued(old) or selected):
            return STARTED
        leaving = "deletionTimestamp" in old["metadata"]
        lost = _is_queued(old) and not _is_queued(new)
        if lost and not selected and not leaving:
            return TAKEN_AWAY
        ours = _is_queued(old) or selected
        return NO_CONTROLLER if ours and metadata.controller_of(new) is not None else ""

    @staticmethod
    def _why_not_made(new: Object) -> str:
        """Judge a new Job that is Roadstead's unless a controller made it. Rights on owners do not count."""
        controller = metadata.controller_of(new)
        if controller is not None and not _is_within_reach(controller):
            return ""
        if not new["spec"].get("suspend") or new["spec"].get("managedBy"):
            return UNMARKED
        return NO_OWNER if controller is not None else ""


def _is_within_reach(owner: Object) -> bool:
    """Is it of a kind that a submitter can name as an owner: a Job, or an object of Kueue?"""
    group = str(owner.get("apiVersion") or "").partition("/")[0]
    return group == KUEUE or (group == "batch" and owner.get("kind") == "Job")


def without_managed_by(
    operation: Literal["CREATE", "UPDATE"],
    resource: Resource,
    new: Object,
    old: Object | None,
) -> Object:
    """An admission step before all others: the field is not known."""
    if resource.key != "jobs.batch" or "managedBy" not in new["spec"]:
        return new
    spec = {name: value for name, value in new["spec"].items() if name != "managedBy"}
    return {**new, "spec": spec}


def _is_queued(job: Object) -> bool:
    meta = job["metadata"]
    return labels.FINALIZER in (meta.get("finalizers") or ()) or any(
        labels.QUEUE_NAME in (meta.get(part) or {}) for part in ("labels", "annotations")
    )


def is_marked(job: Object) -> bool:
    """Does the Job name a manager whose Jobs are Roadstead's?"""
    return job["spec"].get("managedBy") in _MANAGERS


def denied(policy: str, name: str, why: str, key: str = "jobs.batch") -> ApiError:
    """How a policy refuses an object of that name; `key`: plural and group of its kind."""
    text = f"ValidatingAdmissionPolicy '{policy}' with binding '{policy}' denied request: {why}"
    plural, _, group = key.partition(".")
    details = {"name": name, "group": group, "kind": plural, "causes": [{"message": text}]}
    return ApiError(422, "Invalid", f'{key} "{name}" is forbidden: {text}', details)
