"""Admission on a hub cluster: refuses Jobs whose pods could not be removed, or choose their node.

The built-in equivalent of policy roadstead-pod-templates in deploy/hub-cluster/job-guard.yaml, word for word,
with no field opened.
"""

from typing import Any, Final, Literal

from shared import labels
from shared.kubesim.apimachinery.registry import Resource
from shared.kubesim.apimachinery.strategies import Object
from shared.kubesim.apimachinery.writer import writer
from shared.kubesim.server.job_guard import Selection, denied
from shared.kubesim.server.mirror_guard import HUB
from shared.podsecurity.removal import LONGEST_GRACE_S

POLICY: Final = "roadstead-pod-templates"
NOT_IN_METADATA: Final = (
    "ForbiddenField: spec.template.metadata has no finalizers, no ownerReferences and no other namespace: "
    "leave them out"
)
NO_MARKS: Final = (
    "ReservedLabel: spec.template.metadata.labels: the prefix roadstead.dev/ is Roadstead's own: "
    "leave it out"
)
NO_CLONE: Final = (
    "PolicyViolation: spec.template.spec.volumes: gitRepo: the node would clone the repository; clone it in "
    "an init container"
)
TOO_LONG: Final = (
    f"OutOfRange: spec.template.spec.terminationGracePeriodSeconds must not be above {LONGEST_GRACE_S}: a "
    "deleted Job holds its quota until its pods have ended"
)
NO_NODE: Final = (
    "PlacementFieldForbidden: spec.template.spec.affinity.nodeAffinity has matchFields: the scheduler "
    "chooses the node; select nodes by their labels, in matchExpressions"
)
NO_CSI: Final = (
    "PolicyViolation: spec.template.spec.volumes: csi: inline CSI volumes are not allowed here; use a "
    "PersistentVolumeClaim"
)


class TemplateGuard:
    """Refuses by the pod template of a Job."""

    def __init__(self, selection: Selection) -> None:
        self._is_ours = selection.is_ours

    def admit(
        self,
        operation: Literal["CREATE", "UPDATE"],
        resource: Resource,
        new: Object,
        old: Object | None,
    ) -> Object:
        """An admission step. Raises ApiError Invalid, as a policy's refusal reads."""
        if resource.key != "jobs.batch" or not self._is_ours(new) or writer() == HUB.name:
            return new
        template = new["spec"].get("template") or {}
        was_ours = old is not None and self._is_ours(old)
        if old is None or not was_ours or old["spec"].get("template") != template:
            why = _why_not(template, new["metadata"].get("namespace", ""))
            if why:
                raise denied(POLICY, new["metadata"]["name"], why)
        return new


def _why_not(template: Object, namespace: str) -> str:
    metadata, pod = template.get("metadata") or {}, template.get("spec") or {}
    if (
        metadata.get("finalizers")
        or metadata.get("ownerReferences")
        or metadata.get("namespace", namespace) not in ("", namespace)
    ):
        return NOT_IN_METADATA
    if any(key.startswith(labels.PREFIX) for key in metadata.get("labels") or ()):
        return NO_MARKS
    volumes = pod.get("volumes") or ()
    if any("gitRepo" in each for each in volumes):
        return NO_CLONE
    if (pod.get("terminationGracePeriodSeconds") or 0) > LONGEST_GRACE_S:
        return TOO_LONG
    if _chooses_node((pod.get("affinity") or {}).get("nodeAffinity") or {}):
        return NO_NODE
    return NO_CSI if any("csi" in each for each in volumes) else ""


def _chooses_node(affinity: dict[str, Any]) -> bool:
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    preferred = affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
    terms = [*(required.get("nodeSelectorTerms") or ()), *(p["preference"] for p in preferred)]
    return any(term.get("matchFields") for term in terms)
