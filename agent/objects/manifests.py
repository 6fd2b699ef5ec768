"""Writes for one work: the manifest with our marks, and the patches of a job's object. Pure."""

import base64
import copy
from collections.abc import Callable

from agent.objects.facts import Object, is_created, is_namespace, outdated
from agent.objects.field_values import patch_of, written
from agent.objects.holds import JOB, hold_of, scale_of
from shared import finalizers, labels, node_preferences
from shared.generated import clean_template, is_generated
from shared.node_preferences import without_preferences
from shared.podsecurity.templates import templates_of
from shared.pointers import value_at
from shared.wire.agent_v1 import Work

# Job fields that its API lets change after creation and that Roadstead keeps as declared. Never
# `suspend` (it starts and stops the Job) and never `ttlSecondsAfterFinished` (withheld).
MUTABLE_JOB_FIELDS = ("parallelism", "activeDeadlineSeconds", "backoffLimit")

# The metadata that a manifest may set. An owner or a finalizer would let a hub delete what it did not create,
# or block its deletion.
PASSED_METADATA = ("name", "namespace", "labels", "annotations")

# What the hub, the agent and the member's own servers have added to a Job, and nobody has asked for.
_GENERATED = frozenset(
    {
        labels.MANAGED_BY,
        labels.JOB_UID,
        labels.EPOCH,
        labels.QUEUE_NAME,  # that of this member, if it has queues at all
    }
)
_MARKS = frozenset(
    {
        labels.GENERATION,
        labels.INCARNATION,
        labels.SPEC_HASH,
        labels.PLACED_BY,
        labels.NAMESPACE_ID,
        labels.NOT_STARTED,
        labels.CONSENT_WITHDRAWN,
        labels.MARK,
    }
)


def as_written(live: Object) -> Object:
    """A job's object as its user may have written it: without our marks and what servers add.

    What was added to its pods on its way (node selectors of flavors, defaults) can not be told apart, but for
    the preferences of nodes; its own queue, priority and time to live were taken off and are lost.
    """
    metadata = live["metadata"]
    if (live.get("apiVersion"), live.get("kind")) != JOB:
        return _as_written(live)
    spec = {
        name: value
        for name, value in (live.get("spec") or {}).items()
        if name not in ("selector", "manualSelector", "suspend")
    }
    template = dict(spec.get("template") or {})
    template["metadata"] = _own(template.get("metadata") or {})
    template["spec"] = without_preferences(_without_fence(template.get("spec") or {}))
    named = {name: metadata[name] for name in ("name", "namespace") if name in metadata}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {**named, **_own(metadata)},
        "spec": {**spec, "template": template},
    }


def _as_written(live: Object) -> Object:
    """The same of an object of another kind: the fields that hold it stay as they are."""
    made = copy.deepcopy({name: value for name, value in live.items() if name != "status"})
    for each in templates_of(made):
        given, pod = each.body.get("metadata"), each.body.get("spec")
        if each.is_part or not each.path:
            continue
        if isinstance(given, dict):
            given.update(_own(given))
        if isinstance(pod, dict):
            pod.update(without_preferences(_without_fence(pod)))
    metadata = live["metadata"]
    named = {name: metadata[name] for name in ("name", "namespace") if name in metadata}
    return {**made, "metadata": {**named, **_own(metadata)}}


def _own(metadata: Object) -> Object:
    """Labels and annotations that are a user's."""
    parts = (("labels", _GENERATED), ("annotations", _MARKS))
    return {
        part: {
            name: value
            for name, value in (metadata.get(part) or {}).items()
            if name not in ours and not is_generated(name)
        }
        for part, ours in parts
    }


def _without_fence(pod: Object) -> Object:
    told = dict(pod)
    for part in ("initContainers", "containers"):
        if part in told:
            told[part] = [
                {
                    **one,
                    "env": [e for e in one.get("env") or () if e.get("name") not in labels.FENCE],
                }
                for one in told[part]
            ]
    return told


def stamped(work: Work, hub_id: str, *, created: bool = False) -> Object:
    """The manifest with the marks that say whose it is, where the hub left any out.

    Of its metadata nothing else is written than `PASSED_METADATA`.

    `created`: the object is being created, or carries `created-by` already. Server-side apply removes a
    label that an apply leaves out, so later applies repeat it; on an object that was taken over it is
    never written, whatever the manifest says.
    """
    assert work.manifest is not None
    given = work.manifest["metadata"]
    metadata = {name: given[name] for name in PASSED_METADATA if name in given}
    marks = {k: v for k, v in (metadata.get("labels") or {}).items() if k != labels.CREATED_BY}
    if created:
        marks[labels.CREATED_BY] = hub_id
    metadata["labels"] = {
        **marks,
        labels.MANAGED_BY: hub_id,
        labels.JOB_UID: work.uid,
        labels.EPOCH: str(work.epoch),
    }
    notes = {
        k: v for k, v in (metadata.get("annotations") or {}).items() if k != labels.NAMESPACE_ID
    }
    metadata["annotations"] = {
        labels.GENERATION: str(work.generation),
        labels.SPEC_HASH: work.hash,
        **notes,
    }
    return encoded(work.manifest, {**work.manifest, "metadata": metadata})


def encoded(manifest: Object, made: Object) -> Object:
    """A Secret's `stringData` as the `data` that the API server stores; anything else as it is.

    Server-side apply records who owns `data`, and takes away the keys that a later apply leaves out: it
    does neither with `stringData`.
    """
    if manifest.get("kind") != "Secret" or "stringData" not in manifest:
        return made
    plain = manifest["stringData"] or {}
    data = {k: base64.b64encode(str(v).encode()).decode() for k, v in plain.items()}
    rest = {name: value for name, value in made.items() if name != "stringData"}
    return {**rest, "data": {**(manifest.get("data") or {}), **data}}


def stamped_over(work: Work, hub_id: str, live: Object | None) -> Object:
    """The manifest, stamped, as it is applied over the live object; None: it is created.

    A Namespace says for which namespace of the hub it was created, and says so as long as it lives.
    """
    manifest = stamped(work, hub_id, created=live is None or is_created(live, hub_id))
    if is_namespace(work.manifest or {}):
        marks = None if live is None else live["metadata"].get("annotations")
        kept = work.uid if live is None else (marks or {}).get(labels.NAMESPACE_ID)
        if kept:
            manifest["metadata"]["annotations"][labels.NAMESPACE_ID] = kept
    return manifest


def with_hostnames(work: Work, hostname_of: Callable[[str], str]) -> Work:
    """A Job's work with hostname labels for the names of the nodes that its pods prefer or avoid."""
    assert work.manifest is not None
    spec = work.manifest.get("spec") or {}
    template = spec.get("template") or {}
    pod = template.get("spec") or {}
    named = node_preferences.with_hostnames(pod, hostname_of)
    if named is pod:
        return work
    manifest = {**work.manifest, "spec": {**spec, "template": {**template, "spec": named}}}
    return work.model_copy(update={"manifest": manifest})


def unstarted(work: Work, hub_id: str, mark: str = "") -> Object:
    """The object as it is created: held, in a queue that does not exist, kept by our finalizer.

    Whenever a POST of it may land, however late, nothing starts of it.
    """
    hold = hold_of(work)
    assert hold is not None
    job = stamped(work, hub_id)
    metadata = job["metadata"]
    metadata["labels"][labels.QUEUE_NAME] = labels.NO_QUEUE
    if work.namespace_id:
        metadata["annotations"][labels.NAMESPACE_ID] = work.namespace_id
    metadata["annotations"][labels.NOT_STARTED] = hold.mark
    if mark:
        metadata["annotations"][labels.MARK] = mark
    metadata["finalizers"] = [labels.MEMBER_FINALIZER]
    if (work.api_version, work.kind) == JOB:
        job = {**job, "spec": clean_template(job.get("spec") or {})}
    return written(job, hold.held)


def start_patch(work: Work, live: Object) -> Object:
    """The merge patch that starts exactly this object, in its newest size; it dies with the object."""
    assert work.manifest is not None
    wanted = work.manifest
    patch = job_patch(work, live) if outdated(work, live) else {"metadata": {}}
    metadata = patch["metadata"]
    metadata["uid"] = live["metadata"]["uid"]
    metadata.pop("resourceVersion", None)  # it is started in whatever version, by its uid
    metadata["annotations"] = {**metadata.get("annotations", {}), labels.NOT_STARTED: None}
    queue = (wanted["metadata"].get("labels") or {}).get(labels.QUEUE_NAME)
    metadata["labels"] = {**metadata.get("labels", {}), labels.QUEUE_NAME: queue}
    fields, replaces = _started(work, live)
    if (
        replaces or scale_of(work) is not None
    ):  # a late start raises no number that was lowered since
        metadata["resourceVersion"] = live["metadata"]["resourceVersion"]
    return _merged(patch, fields)


def _started(work: Work, live: Object) -> tuple[Object, bool]:
    """The fields of a start: by the rule of the work; a Job runs as its manifest says. See `patch_of`."""
    if (work.api_version, work.kind) != JOB:
        hold = hold_of(work)
        assert hold is not None
        return patch_of(live, hold.run)
    return {"spec": {"suspend": bool(value_at(work.manifest, "/spec/suspend"))}}, False


def _merged(patch: Object, fields: Object) -> Object:
    """A merge patch with further fields."""
    for name, value in fields.items():
        held = patch.get(name)
        both = isinstance(held, dict) and isinstance(value, dict)
        patch[name] = _merged(held, value) if both and held is not None else value
    return patch


def abandon_patch(live: Object) -> Object:
    """The merge patch that leaves this very version of an object without anything of ours.

    Neither labels and annotations nor ownership of fields: what nobody else owns is nobody's then.
    """
    metadata = live["metadata"]
    patch: Object = {"uid": metadata["uid"], "resourceVersion": metadata.get("resourceVersion")}
    for part in ("labels", "annotations"):
        ours = [
            key
            for key in metadata.get(part) or {}
            if key.startswith(labels.PREFIX) and key not in labels.CONSENT
        ]
        if ours:
            patch[part] = dict.fromkeys(ours)
    entries = metadata.get("managedFields") or []
    others = [entry for entry in entries if entry.get("manager") != labels.FIELD_MANAGER]
    if len(others) < len(entries):
        patch["managedFields"] = others or [{}]  # an empty list would change nothing
    return {"metadata": patch}


def release_patch(live: Object) -> Object:
    """The merge patch that takes our finalizer off this very version of the object."""
    return finalizers.without(live, labels.MEMBER_FINALIZER)


def consent_withdrawn_patch(live: Object) -> Object:
    """The merge patch that says on this very version of a Job why the agent will delete it."""
    metadata = live["metadata"]
    return {
        "metadata": {
            "uid": metadata["uid"],
            "resourceVersion": metadata.get("resourceVersion"),
            "annotations": {labels.CONSENT_WITHDRAWN: "true"},
        }
    }


def job_patch(work: Work, live: Object) -> Object:
    """The merge patch that brings a live Job's changed mutable fields to the manifest's.

    Of other kinds only the number that multiplies all pods may change. Such a patch names the version that
    was seen: one that comes late raises no number that a later one has lowered.
    """
    assert work.manifest is not None
    wanted, held = work.manifest, live
    metadata: Object = {"uid": held["metadata"]["uid"]}
    for part in ("labels", "annotations"):
        have = held["metadata"].get(part) or {}
        want = wanted["metadata"].get(part) or {}
        changed = {key: value for key, value in want.items() if have.get(key) != value}
        if changed:
            metadata[part] = changed
    patch: Object = {"metadata": metadata}
    scale = scale_of(work)
    if scale is not None and value_at(live, scale.path) != scale.value:
        metadata["resourceVersion"] = live["metadata"]["resourceVersion"]
        return _merged(patch, patch_of(live, [scale])[0])
    spec = {
        name: (wanted.get("spec") or {})[name]
        for name in (mutable_fields(wanted) if (work.api_version, work.kind) == JOB else ())
        if name in (wanted.get("spec") or {})
        and (held.get("spec") or {}).get(name) != wanted["spec"][name]
    }
    if spec:
        patch["spec"] = spec
    return patch


def mutable_fields(job: Object) -> tuple[str, ...]:
    """The mutable fields of a Job's spec: `completions` too where Indexed and equal to parallelism."""
    spec = job.get("spec") or {}
    if spec.get("completionMode") == "Indexed" and spec.get("completions") == spec.get(
        "parallelism"
    ):
        return (*MUTABLE_JOB_FIELDS, "completions")
    return MUTABLE_JOB_FIELDS
