"""Facts of one object: its owner, its epoch, whether it was started or ended. Pure."""

import datetime as dt
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Final

from agent.objects import managed_fields
from agent.objects.holds import (
    APP_WRAPPER,
    JOB,
    JOB_HOLD,
    LEADER_WORKER_SET,
    WRAPPED,
    Hold,
    held_by_mark,
)
from shared import labels
from shared.finalizers import finalizers_of
from shared.wire.agent_v1 import Work

Object = dict[str, Any]
_MOST_VISITED: Final = 2000  # parts of an object in which its pod templates are looked for
_OF_RAY_CLUSTER: Final = ("headGroupSpec/template", "workerGroupSpecs/*/template")
_KUBEFLOW: Final = "kubeflow.org/v1"
# Where the pod templates lie of kinds that hubs dispatch, or that operators make of them; *: of all. A user
# may have written containers, and our variables in them, elsewhere in the object.
TEMPLATES: Final[dict[tuple[str, str], Sequence[str]]] = {
    ("jobset.x-k8s.io/v1alpha2", "JobSet"): ("spec/replicatedJobs/*/template/spec/template",),
    (_KUBEFLOW, "JAXJob"): ("spec/jaxReplicaSpecs/*/template",),
    (_KUBEFLOW, "PaddleJob"): ("spec/paddleReplicaSpecs/*/template",),
    (_KUBEFLOW, "PyTorchJob"): ("spec/pytorchReplicaSpecs/*/template",),
    (_KUBEFLOW, "TFJob"): ("spec/tfReplicaSpecs/*/template",),
    (_KUBEFLOW, "XGBoostJob"): ("spec/xgbReplicaSpecs/*/template",),
    ("kubeflow.org/v2beta1", "MPIJob"): ("spec/mpiReplicaSpecs/*/template",),
    ("ray.io/v1", "RayCluster"): tuple(f"spec/{each}" for each in _OF_RAY_CLUSTER),
    ("ray.io/v1", "RayJob"): (
        *(f"spec/rayClusterSpec/{each}" for each in _OF_RAY_CLUSTER),
        "spec/submitterPodTemplate",
    ),
    ("ray.io/v1", "RayService"): tuple(
        f"spec/rayClusterConfig/{each}" for each in _OF_RAY_CLUSTER
    ),
    LEADER_WORKER_SET: (
        "spec/leaderWorkerTemplate/leaderTemplate",
        "spec/leaderWorkerTemplate/workerTemplate",
    ),
    ("apps/v1", "StatefulSet"): ("spec/template",),
    ("batch/v1", "Job"): ("spec/template",),
    ("sparkoperator.k8s.io/v1beta2", "SparkApplication"): (
        "spec/driver/template",
        "spec/executor/template",
    ),
}
# Of an AppWrapper: those of the objects in it; a Pod is its own template.
TEMPLATES[APP_WRAPPER] = [
    "spec/components/*/template",
    *(
        f"spec/components/*/template/{path}"
        for path in sorted({path for key in WRAPPED for path in TEMPLATES.get(key, ())})
    ),
]


def owner_of(obj: Object, hub_id: str) -> str | None:
    """The uid of the work that an object was made for; None: it is not this hub's.

    A copy has the labels too, so the managed fields must agree. Objects of jobs are excepted: the pods of
    each that carries our uid count as its work's, so that nothing runs twice. What an operator makes of such
    an object may carry its labels, and is none.
    """
    marks = obj["metadata"].get("labels") or {}
    if marks.get(labels.MANAGED_BY) != hub_id:
        return None
    if _is_batch_job(obj) or (_labelled_epoch(obj) and _lacks_fields(obj)):
        if is_child(obj):
            return None
    elif not has_our_fields(obj):
        return None
    return _fenced(obj, labels.JOB_UID_VARIABLE) or marks.get(labels.JOB_UID) or None


def is_child(obj: Object) -> bool:
    """Tell what a controller of the member made: it has an owner, and no finalizer of ours."""
    owners = obj["metadata"].get("ownerReferences")
    return bool(owners) and any(o.get("controller") for o in owners) and not is_held_by_us(obj)


def is_of_job(obj: Object) -> bool:
    """Tell the object of a job, which begins once, from a plain one: it is a Job, or was made for an epoch.

    The label alone is anybody's to write: it counts where the agent wrote it, or where the managed fields
    are gone, as of a restored backup.
    """
    if (obj.get("apiVersion"), obj.get("kind")) == JOB or is_held_by_us(obj):
        return True
    if not _labelled_epoch(obj):
        return False
    owned = managed_fields.owned_by(obj, labels.FIELD_MANAGER)
    if owned is None:
        return _lacks_fields(obj)
    return managed_fields.covers(owned, ("metadata", "labels", labels.EPOCH))


def _lacks_fields(obj: Object) -> bool:
    """Tell if an object has no managed fields at all, as after a restore; what others make has theirs."""
    return not obj["metadata"].get("managedFields")


def _is_batch_job(obj: Object) -> bool:
    """Of the kind alone: other groups have kinds called Job, too."""
    return obj.get("kind") == "Job" and obj.get("apiVersion", JOB[0]) == JOB[0]


def _labelled_epoch(obj: Object) -> int:
    return number((obj["metadata"].get("labels") or {}).get(labels.EPOCH) or "") or 0


def is_created(obj: Object, hub_id: str) -> bool:
    """Tell a created object from one that was taken over, and from a copy that carries its labels.

    The agent wrote the mark: the API server's managed fields say so, and a copy made by others lacks that.
    """
    if (obj["metadata"].get("labels") or {}).get(labels.CREATED_BY) != hub_id:
        return False
    owned = managed_fields.owned_by(obj, labels.FIELD_MANAGER)
    return owned is not None and managed_fields.covers(
        owned, ("metadata", "labels", labels.CREATED_BY)
    )


def is_written_by_us(obj: Object, hub_id: str) -> bool:
    """Tell an object of this hub from a copy that carries its labels, by the managed fields."""
    marked = (obj["metadata"].get("labels") or {}).get(labels.MANAGED_BY) == hub_id
    return marked and has_our_fields(obj)


def has_our_fields(obj: Object) -> bool:
    """Tell by the managed fields if an agent wrote a part of an object."""
    return managed_fields.is_written_by(obj, labels.FIELD_MANAGER)


def is_namespace(obj: Object) -> bool:
    return (obj.get("apiVersion"), obj.get("kind")) == ("v1", "Namespace")


def is_made_for(job: Object, work: Work) -> bool:
    """Tell a Job that an agent made for this work, even without labels, from a copy.

    A copy has the finalizer and the environment too; it lacks the agent's managed fields.
    """
    made = is_held_by_us(job) and _fenced(job, labels.JOB_UID_VARIABLE) == work.uid
    return made and has_our_fields(job)


def epoch_of(obj: Object) -> int:
    """The epoch that an object was made for; 0 without one, as of plain objects."""
    marks = obj["metadata"].get("labels") or {}
    return number(_fenced(obj, labels.EPOCH_VARIABLE) or marks.get(labels.EPOCH) or "") or 0


_LONGEST = 19  # digits


def number(text: str) -> int | None:
    """A count that stands on an object, where anybody may have written something else."""
    return int(text) if text.isdecimal() and len(text) < _LONGEST else None


def fence_of(obj: Object) -> list[Object]:
    """The environment variables that say which work and epoch a Job's pods are of; [] if none do.

    Labels of a Job are anybody's to edit. Its containers' environment is not: no API server takes a
    change of it, of a Job that is suspended neither.
    """
    if obj.get("kind") != "Job":
        return []
    template = (obj.get("spec") or {}).get("template") or {}
    for container in (template.get("spec") or {}).get("containers") or ():
        found = [one for one in container.get("env") or () if one.get("name") in labels.FENCE]
        if found:
            return found
    return []


def _fenced(obj: Object, variable: str) -> str:
    """The value of one of these variables; "" without it. Asked several times of each event of a Job."""
    if not _is_batch_job(obj):
        return _fenced_within(obj, variable) if is_held_by_us(obj) else ""
    template = (obj.get("spec") or {}).get("template") or {}
    return _of_containers((template.get("spec") or {}).get("containers"), variable) or ""


def _of_containers(containers: Any, variable: str) -> str | None:
    """The value in the first container that has such variables; None: no container has."""
    for container in containers or ():
        found = False
        for one in container.get("env") or ():
            name = one.get("name")
            if name == variable:
                return one.get("value") or ""
            found = found or name in labels.FENCE
        if found:
            return ""
    return None


def makes_pods_of(obj: Object, job_uid: str) -> bool:
    """Tell if a pod template of an object says that its pods are of this job, whoever made the object."""
    return any(told == job_uid for told in _told_within(obj, labels.JOB_UID_VARIABLE))


def _fenced_within(obj: Object, variable: str) -> str:
    """The same of another kind, by its pod templates; labels of it are anybody's to edit."""
    return next(_told_within(obj, variable), "")


def _told_within(obj: Object, variable: str) -> Iterator[str]:
    """Yield the values in its containers, by template; of kinds that are not listed these lie anywhere."""
    patterns = TEMPLATES.get((str(obj.get("apiVersion")), str(obj.get("kind"))))
    if patterns is None:
        found = _container_lists(obj.get("spec"))
    else:
        found = (each for pattern in patterns for each in _listed(obj, pattern.split("/")))
    for containers in found:
        try:
            told = _of_containers(containers, variable)
        except (AttributeError, TypeError):
            continue  # something of that name which is none
        if told is not None:
            yield told


def _listed(value: Any, steps: Sequence[str]) -> Iterator[Any]:
    """The lists of containers of the templates at a path, of which step * stands for all."""
    if not steps:
        spec = value.get("spec") if isinstance(value, dict) else None
        yield spec.get("containers") if isinstance(spec, dict) else None
        return
    below: Iterable[Any] = ()
    if steps[0] != "*":
        below = (value.get(steps[0]),) if isinstance(value, dict) else ()
    elif isinstance(value, dict | list):
        below = value.values() if isinstance(value, dict) else value
    for each in islice(below, _MOST_VISITED):
        yield from _listed(each, steps[1:])


def _container_lists(spec: Any) -> Iterator[Any]:
    """The lists called `containers` in what is given, the outermost first, within bounds."""
    level, visited = [spec], 0
    while level and visited < _MOST_VISITED:
        visited += len(level)
        below: list[Any] = []
        for each in level:
            if isinstance(each, dict):
                if isinstance(each.get("containers"), list):
                    yield each["containers"]
                below += [inner for inner in each.values() if isinstance(inner, dict | list)]
            elif isinstance(each, list):
                below += [inner for inner in each if isinstance(inner, dict | list)]
        level = below


def generation_of(obj: Object, otherwise: int) -> int:
    """The work generation that was applied last, from its annotation."""
    told = number((obj["metadata"].get("annotations") or {}).get(labels.GENERATION) or "")
    return otherwise if told is None else told


def is_deleting(obj: Object) -> bool:
    return bool(obj["metadata"].get("deletionTimestamp"))


def owners_of(obj: Object) -> list[str]:
    """Who owns an object in its cluster, as Kind/name."""
    owners = obj["metadata"].get("ownerReferences") or ()
    return [f"{one.get('kind')}/{one.get('name')}" for one in owners]


def is_held_by_us(obj: Object) -> bool:
    """Whether our finalizer keeps the object."""
    return labels.MEMBER_FINALIZER in finalizers_of(obj)


def is_unstarted(obj: Object) -> bool:
    """Tell if an object of a job was created and never started: it carries our mark and is held as that says.

    The mark of a Job says nothing more. That of another kind tells the fields, and counts only as the agent
    wrote it.
    """
    mark = (obj["metadata"].get("annotations") or {}).get(labels.NOT_STARTED)
    if mark is None:
        return False
    if _is_batch_job(obj):
        return bool((obj.get("spec") or {}).get("suspend"))
    owned = managed_fields.owned_by(obj, labels.FIELD_MANAGER)
    path = ("metadata", "annotations", labels.NOT_STARTED)
    ours = owned is not None and managed_fields.covers(owned, path)
    return ours and held_by_mark(obj, str(mark))


_COUNTS = ("active", "ready", "terminating", "succeeded", "failed")
# To unsuspend a Job and to suspend it again are two changes of its spec, and generations begin at 1.
_UNSUSPENDED_ONCE = 3


def is_waiting(job: Object, hold: Hold | None = JOB_HOLD) -> bool:
    """Tell if an object of a job that the agent made is held and its status tells of no run."""
    status = job.get("status") or {}
    has_run = status.get("startTime") or any(status.get(count) for count in _COUNTS)
    return hold is not None and hold.holds(job) and not has_run and has_our_fields(job)


def never_ran(job: Object, hold: Hold | None = JOB_HOLD) -> bool:
    """Tell if the object proves that it was never let run (docs/explain/exactly-once.md, rule 21).

    The agent creates it held, and the API server counts each change of the spec. In doubt: False.
    """
    generation = job["metadata"].get("generation") or _UNSUSPENDED_ONCE
    return is_waiting(job, hold) and generation < _UNSUSPENDED_ONCE


def finished(job: Object) -> dt.datetime | None:
    """When a Job ended (its Complete or Failed condition turned True), or None."""
    for condition in (job.get("status") or {}).get("conditions") or ():
        if condition.get("type") in {"Complete", "Failed"} and condition.get("status") == "True":
            at = (job["status"].get("completionTime")) or condition.get("lastTransitionTime")
            return parse_time(at) or dt.datetime.min.replace(tzinfo=dt.UTC)
    return None


def parse_time(text: str | None) -> dt.datetime | None:
    """An RFC 3339 time as Kubernetes writes it, or None where there is none."""
    if not text:
        return None
    try:
        return dt.datetime.fromisoformat(text)
    except ValueError:
        return None


def outdated(work: Work, live: Object) -> bool:
    """Whether the live object was applied from another manifest than the work's."""
    if work.manifest is None:
        return False
    wanted = work.manifest["metadata"].get("annotations")
    if not wanted:
        return False
    held = live["metadata"].get("annotations") or {}
    return bool(
        wanted.get(labels.SPEC_HASH) != held.get(labels.SPEC_HASH)
        or wanted.get(labels.GENERATION) != held.get(labels.GENERATION)
    )


def incarnation_of(live: Object | None) -> str:
    """The hub's incarnation that gave an object; "" where none is said."""
    marks = (live["metadata"].get("annotations") or {}) if live is not None else {}
    return str(marks.get(labels.INCARNATION) or "")


def is_newer(held: Object, other: Object) -> bool:
    """Whether `held` is a later state of the same object (resource versions are counters)."""
    a, b = held["metadata"], other["metadata"]
    if a.get("uid") != b.get("uid"):
        return False
    mine, theirs = str(a.get("resourceVersion") or ""), str(b.get("resourceVersion") or "")
    if not (mine.isdecimal() and theirs.isdecimal()):
        return False
    return int(mine) > int(theirs)
