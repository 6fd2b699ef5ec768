"""What can be read from one object: whose it is, of which epoch, whether it was started or ended. Pure."""

import datetime as dt
from typing import Any

from agent.objects import managed_fields
from shared import labels
from shared.finalizers import finalizers_of
from shared.wire.agent_v1 import Work

Object = dict[str, Any]


JOB = ("batch/v1", "Job")


def owner_of(obj: Object, hub_id: str) -> str | None:
    """The uid of the work that an object was made for; None: it is not this hub's.

    A copy has the labels too, so the managed fields must agree. Jobs are excepted: the pods of every Job
    that carries our uid count as its work's, so that nothing runs twice.
    """
    marks = obj["metadata"].get("labels") or {}
    if marks.get(labels.MANAGED_BY) != hub_id:
        return None
    if obj.get("kind") != "Job" and not has_our_fields(obj):
        return None
    return _fenced(obj, labels.JOB_UID_VARIABLE) or marks.get(labels.JOB_UID) or None


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
    """The epoch that an object was made for; 0 without one, as of objects that are no Jobs."""
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
    if obj.get("kind") != "Job":
        return ""
    template = (obj.get("spec") or {}).get("template") or {}
    for container in (template.get("spec") or {}).get("containers") or ():
        found = False
        for one in container.get("env") or ():
            name = one.get("name")
            if name == variable:
                return one.get("value") or ""
            found = found or name in labels.FENCE
        if found:
            return ""
    return ""


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


def is_unstarted(job: Object) -> bool:
    """Whether a Job was created and never started: it carries our mark and is suspended."""
    marks = job["metadata"].get("annotations") or {}
    return labels.NOT_STARTED in marks and bool((job.get("spec") or {}).get("suspend"))


_COUNTS = ("active", "ready", "terminating", "succeeded", "failed")
# To unsuspend a Job and to suspend it again are two changes of its spec, and generations begin at 1.
_UNSUSPENDED_ONCE = 3


def is_waiting(job: Object) -> bool:
    """Whether a Job that the agent made is suspended and its status tells of no run."""
    status = job.get("status") or {}
    has_run = status.get("startTime") or any(status.get(count) for count in _COUNTS)
    return bool((job.get("spec") or {}).get("suspend")) and not has_run and has_our_fields(job)


def never_ran(job: Object) -> bool:
    """Whether the object proves that it was never unsuspended (docs/explain/exactly-once.md, rule 21).

    The agent creates Jobs suspended, and the API server counts each change of the spec. In doubt: False.
    """
    generation = job["metadata"].get("generation") or _UNSUSPENDED_ONCE
    return is_waiting(job) and generation < _UNSUSPENDED_ONCE


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
