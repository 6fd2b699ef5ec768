"""One Job's pods as its controller sees them, and the pods that it makes. Pure.

`JobPod` is read from a pod once per change, so that a sync over a thousand pods touches plain
attributes only. Labels, annotations, names and order of removal are those of Kubernetes'
pkg/controller/job and controller_utils.go.
"""

import datetime as dt
from collections.abc import Mapping
from typing import Any

from shared import labels
from shared.kubesim.apimachinery import metadata
from shared.kubesim.apimachinery.metadata import derived_suffix
from shared.kubesim.apimachinery.pods import TERMINAL, TRACKING_FINALIZER
from shared.kubesim.apimachinery.strategies import Object
from shared.kubesim.jobs import indexes

INDEX_FAILURES = "batch.kubernetes.io/job-index-failure-count"
INDEX_IGNORED_FAILURES = "batch.kubernetes.io/job-index-ignored-failure-count"
_PHASE_ORDER = {"Pending": 0, "Unknown": 1, "Running": 2}
_SUFFIX_LENGTH = 5
_LONGEST_PREFIX = 63 - _SUFFIX_LENGTH
_SIM_KEYS = (labels.SIM_RUN_SECONDS, labels.SIM_EXIT_CODE, labels.SIM_LOG_LINES)


class JobPod:
    """What a Job's controller needs to know of one pod.

    `held`: it carries the tracking finalizer. `uncounted`: the Job's status does not know its end.
    """

    __slots__ = (
        "failures",
        "held",
        "ignored_failures",
        "index",
        "name",
        "phase",
        "pod",
        "ready",
        "terminating",
        "uid",
        "uncounted",
    )

    def __init__(self, pod: Object, before: "JobPod | None" = None) -> None:
        meta = pod["metadata"]
        status = pod.get("status") or {}
        annotations = meta.get("annotations") or {}
        self.pod = pod
        self.uid: str = meta["uid"]
        self.name: str = meta["name"]
        self.phase: str = status.get("phase") or "Pending"
        self.terminating = "deletionTimestamp" in meta
        self.held = TRACKING_FINALIZER in (meta.get("finalizers") or ())
        # The node's last write may end the pod and take the finalizer off at once: see `pods`.
        ended_now = before is not None and before.uncounted and before.phase not in TERMINAL
        self.uncounted: bool = self.held or (ended_now and self.phase in TERMINAL)
        self.ready = self.phase == "Running" and _is_ready(status)
        self.index = indexes.of_annotations(annotations)
        self.failures = _count(annotations.get(INDEX_FAILURES))
        self.ignored_failures = _count(annotations.get(INDEX_IGNORED_FAILURES))

    @property
    def active(self) -> bool:
        """Whether it counts as running or about to."""
        return not self.terminating and self.phase not in TERMINAL

    @property
    def stopping(self) -> bool:
        """Whether it is being deleted and has not ended yet."""
        return self.terminating and self.phase not in TERMINAL

    def restarts(self) -> int:
        """How often its containers were started again."""
        status = self.pod.get("status") or {}
        return sum(
            container.get("restartCount", 0)
            for field in ("containerStatuses", "initContainerStatuses")
            for container in status.get(field) or ()
        )

    def removal_order(self) -> tuple[Any, ...]:
        """Sorts those first that are cheapest to lose: unbound, pending, not ready, then younger."""
        meta, spec = self.pod["metadata"], self.pod.get("spec") or {}
        created = metadata.parse_stamp(meta["creationTimestamp"]).timestamp()
        bound = bool(spec.get("nodeName"))
        phase = _PHASE_ORDER.get(self.phase, 2)
        return (bound, phase, self.ready, -self.restarts(), -created, self.name)

    def finished_at(self) -> dt.datetime:
        """When it ended: its containers' last end, else since when it is not ready, else deletion."""
        status, meta = self.pod.get("status") or {}, self.pod["metadata"]
        ends = [
            ((container.get("state") or {}).get("terminated") or {}).get("finishedAt")
            for container in status.get("containerStatuses") or ()
        ]
        if ends and all(ends):
            return max(metadata.parse_stamp(str(end)) for end in ends)
        for condition in status.get("conditions") or ():
            if condition.get("type") == "Ready" and condition.get("status") == "False":
                return metadata.parse_stamp(condition["lastTransitionTime"])
        if self.terminating:
            grace = dt.timedelta(seconds=meta.get("deletionGracePeriodSeconds") or 0)
            return metadata.parse_stamp(meta["deletionTimestamp"]) - grace
        return metadata.parse_stamp(meta["creationTimestamp"])


def pod_template(job: Object) -> Object:
    """What all pods of this Job have in common; made once per version of its template."""
    template = job["spec"]["template"]
    given = template.get("metadata") or {}
    meta, uid = job["metadata"], job["metadata"]["uid"]
    own = {
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": meta["name"],
        "controller-uid": uid,
        "job-name": meta["name"],
    }
    on_job = meta.get("annotations") or {}
    annotations = {key: on_job[key] for key in _SIM_KEYS if key in on_job}
    annotations |= given.get("annotations") or {}
    made: dict[str, Any] = {
        "namespace": meta["namespace"],
        "labels": {**(given.get("labels") or {}), **own},
        "ownerReferences": [_owner_reference(job)],
        "finalizers": [*(given.get("finalizers") or ()), TRACKING_FINALIZER],
    }
    if annotations:
        made["annotations"] = annotations
    spec = template["spec"]
    if job["spec"].get("completionMode") == "Indexed":
        spec = _with_index_variable(spec)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": made, "spec": spec}


def new_pod(
    template: Object, job: Object, index: int | None, failures: int, ignored: int, ordinal: int
) -> Object:
    """The pod to create: the `ordinal`-th this controller makes for the Job, of `index` if any."""
    name = job["metadata"]["name"]
    start = _name_prefix(job, index)
    seed = f"{job['metadata']['uid']}/{index}/{ordinal}"
    meta = {**template["metadata"], "generateName": start, "name": start + derived_suffix(seed)}
    if index is None:
        return {**template, "metadata": meta}
    annotations = {**meta.get("annotations", {}), indexes.INDEX_KEY: str(index)}
    if job["spec"].get("backoffLimitPerIndex") is not None:
        annotations[INDEX_FAILURES] = str(failures)
        if ignored:
            annotations[INDEX_IGNORED_FAILURES] = str(ignored)
    meta["annotations"] = annotations
    meta["labels"] = {**meta["labels"], indexes.INDEX_KEY: str(index)}
    return {
        **template,
        "metadata": meta,
        "spec": {**template["spec"], "hostname": f"{name}-{index}"},
    }


def _name_prefix(job: Object, index: int | None) -> str:
    end = "-" if index is None else f"-{index}-"
    start: str = job["metadata"]["name"][: _LONGEST_PREFIX - len(end)]
    return start + end


def _owner_reference(job: Object) -> dict[str, Any]:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": job["metadata"]["name"],
        "uid": job["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _with_index_variable(spec: Mapping[str, Any]) -> dict[str, Any]:
    path = f"metadata.labels['{indexes.INDEX_KEY}']"
    source = {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}
    variable = {"name": "JOB_COMPLETION_INDEX", "valueFrom": source}
    changed = dict(spec)
    for field in ("initContainers", "containers"):
        if spec.get(field):
            changed[field] = [_with_variable(container, variable) for container in spec[field]]
    return changed


def _with_variable(container: Mapping[str, Any], variable: dict[str, Any]) -> dict[str, Any]:
    present = container.get("env") or []
    if any(entry.get("name") == variable["name"] for entry in present):
        return dict(container)
    return {**container, "env": [*present, variable]}


def _is_ready(status: Mapping[str, Any]) -> bool:
    for condition in status.get("conditions") or ():
        if condition.get("type") == "Ready":
            return bool(condition.get("status") == "True")
    return False


def _count(text: Any) -> int:
    return int(text) if isinstance(text, str) and text.isdecimal() and len(text) < 10 else 0
