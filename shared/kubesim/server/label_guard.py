"""Admission on a hub cluster: refuses Jobs of Roadstead whose labels are too large.

The built-in equivalent of policy roadstead-labels in deploy/hub-cluster/job-guard.yaml, word for word.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal

from shared.kinds.selectors import LABEL_BYTES, are_labels_too_large
from shared.kubesim.apimachinery.registry import Resource
from shared.kubesim.apimachinery.strategies import Object
from shared.kubesim.server.job_guard import Selection, denied

POLICY: Final = "roadstead-labels"
TOO_LARGE: Final = (
    f"the labels of a Job of Roadstead, and those of its pod template, take at most {LABEL_BYTES} bytes, "
    "keys and values together: move labels that no selector uses to annotations"
)


class LabelGuard:
    """Refuses by the labels of a Job and of its pod template."""

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
        if resource.key != "jobs.batch" or not self._is_ours(new):
            return new
        before = old if old is not None and self._is_ours(old) else None
        for of in (_own, _of_template):
            # Labels that were too large before the policy was installed may stay: the Job can be deleted.
            unchanged = before is not None and of(before) == of(new)
            if are_labels_too_large(of(new)) and not unchanged:
                raise denied(POLICY, new["metadata"]["name"], TOO_LARGE)
        return new


def _own(job: Object) -> Mapping[str, Any]:
    return job["metadata"].get("labels") or {}


def _of_template(job: Object) -> Mapping[str, Any]:
    return ((job["spec"].get("template") or {}).get("metadata") or {}).get("labels") or {}
