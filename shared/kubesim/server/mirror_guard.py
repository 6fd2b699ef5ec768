"""Admission of mirrors on a hub cluster: only the hub may write objects that show what came by REST.

The built-in equivalent of deploy/hub-cluster/mirror-guard.yaml, word for word, without its policy about
Namespaces. Behaviours of the cluster itself write without asking here, as its own controllers may there:
a namespace that goes takes its mirrors with it.
"""

from typing import Final, Literal

from shared import labels
from shared.groups import CLUSTER, KUEUE, PLACEMENT
from shared.kubesim.apimachinery.errors import ApiError
from shared.kubesim.apimachinery.registry import Resource
from shared.kubesim.apimachinery.strategies import Object
from shared.kubesim.apimachinery.writer import writer
from shared.kubesim.requests.call import User
from shared.kubesim.server.job_guard import Selection

POLICY: Final = "roadstead-mirrors"
HUBS: Final = "roadstead-hub-account"  # the policy about what the hub's own account writes
# Whose credential an embedded hub has.
HUB: Final = User(
    "system:serviceaccount:roadstead:hub",
    ("system:serviceaccounts", "system:serviceaccounts:roadstead", "system:authenticated"),
)
KEPT: Final = (
    "it shows what came by REST, and only the hub changes it: change it there (roadstead apply, or roadstead "
    "jobs), or make it the hub cluster's own first (roadstead hand-over)"
)
RESERVED: Final = f"the label {labels.ORIGIN} is the hub's: leave it out"
GUARDED: Final = "mirrors are guarded here: this is how the hub asks for it"
NOT_STARTED: Final = "the hub starts no Job here"
NOT_CHANGED: Final = "the hub changes and deletes no Job here that is not Roadstead's"
_GROUPS: Final = frozenset({KUEUE, PLACEMENT, CLUSTER})


class MirrorGuard:
    """Judges who writes mirrors, and what the hub's own account writes besides."""

    def __init__(self, selection: Selection) -> None:
        self._is_roadsteads = selection.is_ours

    def admit(
        self,
        operation: Literal["CREATE", "UPDATE"],
        resource: Resource,
        new: Object,
        old: Object | None,
    ) -> Object:
        """An admission step. Raises ApiError Invalid, as a policy's refusal reads."""
        name = new["metadata"].get("name", "")
        if _is_guarded(resource) and labels.ASKS in (new["metadata"].get("labels") or {}):
            raise _denied(resource, name, GUARDED)
        if writer() == HUB.name and old is not None:
            self._judge_hub(resource, new, old)
        if not _is_free(resource):
            if old is not None and _is_mirror(old):
                raise _denied(resource, name, KEPT)
            if _is_mirror(new):
                raise _denied(resource, name, RESERVED)
        return new

    def admit_delete(self, resource: Resource, old: Object) -> None:
        """The same before an object is deleted."""
        if not _is_free(resource) and _is_mirror(old):
            raise _denied(resource, old["metadata"]["name"], KEPT)
        if writer() == HUB.name and self._is_foreign(resource, old):
            raise _denied(resource, old["metadata"]["name"], NOT_CHANGED, HUBS)

    def _judge_hub(self, resource: Resource, new: Object, old: Object) -> None:
        """Refuse what the hub's own account does with no Job."""
        is_job = resource.key == "jobs.batch"
        if is_job and old["spec"].get("suspend") and not new["spec"].get("suspend"):
            raise _denied(resource, old["metadata"]["name"], NOT_STARTED, HUBS)
        if self._is_foreign(resource, old):
            raise _denied(resource, old["metadata"]["name"], NOT_CHANGED, HUBS)

    def _is_foreign(self, resource: Resource, old: Object) -> bool:
        """Is it a Job that is not Roadstead's?"""
        return resource.key == "jobs.batch" and not (_is_mirror(old) or self._is_roadsteads(old))


def _is_free(resource: Resource) -> bool:
    """May anybody write here, or is it somebody who may?"""
    return not _is_guarded(resource) or writer() in ("", HUB.name)


def _is_guarded(resource: Resource) -> bool:
    return resource.key == "jobs.batch" or resource.group in _GROUPS


def _is_mirror(obj: Object) -> bool:
    return labels.ORIGIN in (obj["metadata"].get("labels") or {})


def _denied(resource: Resource, name: str, why: str, policy: str = POLICY) -> ApiError:
    text = f"ValidatingAdmissionPolicy '{policy}' with binding '{policy}' denied request: {why}"
    details = {
        "name": name,
        "group": resource.group,
        "kind": resource.plural,
        "causes": [{"message": text}],
    }
    where = f'{resource.plural}.{resource.group} "{name}" is forbidden: {text}'
    return ApiError(422, "Invalid", where, details)
