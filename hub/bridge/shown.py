"""Builds a mirror: the object of the hub cluster that shows a REST object. Pure.

It says what its row says, and can do nothing: a Job's is suspended and managed by the hub from its creation
on, either of which keeps it from running there (docs/explain/exactly-once.md, rule 13).
"""

import hashlib
from collections.abc import Sequence
from typing import Final

import orjson

from hub.domain.workloads.origin import Origin
from hub.store.records.objects import StoredObject
from hub.store.records.workloads import Workload
from shared import labels, secrecy
from shared.documents import Json, JsonView
from shared.kinds.scopes import is_enveloping

_LAYOUT: Final = 1  # raised when mirrors of the same rows are to be written anew
# Of a Job: the hub cluster's own controllers would act on these.
_NOT_SHOWN: Final = frozenset({"ttlSecondsAfterFinished", "suspend", "managedBy"})
# What the API server lets anybody change of a Job that exists.
_MUTABLE: Final = (
    "parallelism",
    "activeDeadlineSeconds",
    "backoffLimit",
    "podReplacementPolicy",
    "suspend",
)


def version_of_object(row: StoredObject) -> str:
    """What must change for the mirror of an object to be written anew."""
    return _digest([_LAYOUT, row.hash, row.api_version, row.annotations.get(labels.SUBMITTED_BY)])


def version_of_job(row: Workload) -> str:
    """The same of a Job; its manifest need not be read for that."""
    submitter = row.annotations.get(labels.SUBMITTED_BY)
    return _digest([_LAYOUT, row.generation, row.queue, submitter])


def version_of(row: StoredObject | Workload) -> str:
    """The one or the other."""
    return version_of_job(row) if isinstance(row, Workload) else version_of_object(row)


def object_mirror(row: StoredObject) -> Json:
    """The mirror of a queue, a placement, a member, or whatever has no pods.

    What envelopes hold is not for everybody who may look there: neither Secrets nor environments.
    """
    rest = {k: v for k, v in row.manifest.items() if k not in ("metadata", "status")}
    if is_enveloping(row.api_group, row.kind):
        rest = secrecy.without_env(secrecy.without_secrets(rest, lambda _: secrecy.HIDDEN))
    submitter = row.annotations.get(labels.SUBMITTED_BY)
    metadata = _metadata(row.manifest, row.uid, version_of_object(row), submitter)
    return {**rest, "apiVersion": row.api_version, "kind": row.kind, "metadata": metadata}


def job_mirror(row: Workload, manifest: JsonView) -> Json:
    """The mirror of a Job: without the values of its environment, which are not for everybody."""
    submitter = row.annotations.get(labels.SUBMITTED_BY)
    metadata = _metadata(manifest, row.uid, version_of_job(row), submitter)
    if row.queue:
        metadata["labels"].setdefault(labels.QUEUE_NAME, row.queue)
    spec = {k: v for k, v in (manifest.get("spec") or {}).items() if k not in _NOT_SHOWN}
    kept_here = {"suspend": True, "managedBy": labels.JOB_CONTROLLER}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": secrecy.without_env(spec) | kept_here,
    }


def replacement(wanted: Json, live: Json) -> Json:
    """What to PUT for `live` to become `wanted`: exactly this object in exactly this version."""
    kept = ("uid", "resourceVersion", "ownerReferences", "generateName")
    metadata = {name: live["metadata"][name] for name in kept if live["metadata"].get(name)}
    metadata["finalizers"] = _others_finalizers(live)
    found = {**wanted, "metadata": {**wanted["metadata"], **metadata}}
    return found | ({"status": live["status"]} if "status" in live else {})


def job_patch(wanted: Json, live: Json) -> Json:
    """A merge patch that brings a Job to `wanted`, as far as Jobs can be changed."""
    metadata: Json = {name: live["metadata"][name] for name in ("uid", "resourceVersion")}
    for part in ("labels", "annotations"):
        present, due = live["metadata"].get(part) or {}, wanted["metadata"].get(part) or {}
        metadata[part] = {**dict.fromkeys(present.keys() - due.keys()), **due}
    if labels.FINALIZER in (live["metadata"].get("finalizers") or ()):
        metadata["finalizers"] = _others_finalizers(live)
    spec = {name: wanted["spec"].get(name) for name in _MUTABLE}
    return {"metadata": metadata, "spec": {k: v for k, v in spec.items() if v is not None}}


def own_object(live: Json, *, finalized: bool) -> Json:
    """What to PUT for a mirror to become the hub cluster's own object."""
    metadata = dict(live["metadata"])
    metadata["labels"] = {
        k: v for k, v in (metadata.get("labels") or {}).items() if k != labels.ORIGIN
    }
    marks = (labels.MIRROR_OF, labels.SPEC_HASH)
    metadata["annotations"] = {
        k: v for k, v in (metadata.get("annotations") or {}).items() if k not in marks
    }
    if finalized:
        metadata["finalizers"] = [*_others_finalizers(live), labels.FINALIZER]
    return {**live, "metadata": {k: v for k, v in metadata.items() if k != "managedFields"}}


def written_version(live: Json) -> str:
    """The version that a mirror was last written from."""
    return str((live["metadata"].get("annotations") or {}).get(labels.SPEC_HASH) or "")


def look(live: Json) -> bytes:
    """What nobody but the hub changes in a mirror: a difference is somebody else's doing."""
    metadata = live["metadata"]
    parts = ("generation", "labels", "annotations", "finalizers", "ownerReferences")
    return orjson.dumps([metadata.get(part) for part in parts], option=orjson.OPT_SORT_KEYS)


def is_touched(live: Json) -> bool:
    """Has anybody else written more than its status?"""
    return any(
        entry.get("manager") != labels.BRIDGE_FIELD_MANAGER and not entry.get("subresource")
        for entry in live["metadata"].get("managedFields") or ()
    )


def _others_finalizers(live: Json) -> list[str]:
    """Ours is on what kubectl made."""
    return [each for each in live["metadata"].get("finalizers") or () if each != labels.FINALIZER]


def _metadata(manifest: JsonView, uid: str, version: str, submitter: str | None) -> Json:
    given = manifest.get("metadata") or {}
    notes = {**(given.get("annotations") or {}), labels.MIRROR_OF: uid, labels.SPEC_HASH: version}
    if submitter:
        notes[labels.SUBMITTED_BY] = submitter
    metadata = {
        "name": given["name"],
        "labels": {**(given.get("labels") or {}), labels.ORIGIN: str(Origin.REST)},
        "annotations": notes,
    }
    return metadata | ({"namespace": given["namespace"]} if given.get("namespace") else {})


def _digest(parts: Sequence[object]) -> str:
    return hashlib.blake2b(orjson.dumps(parts), digest_size=8).hexdigest()
