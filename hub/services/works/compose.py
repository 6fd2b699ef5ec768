"""Composes a member's manifest from the user's.

Pure. A Job loses what its hub copy carries for the hub alone (managedBy, generated selector and
labels, owner, TTL, queue keys where no queue manager serves them) and gains identity: labels,
annotations and two environment variables by which it, its pods and its own storage can be fenced
(docs/reference/labels.md). Manifests are plain dicts; the one passed in is changed and returned.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import orjson

from hub.domain.workloads.apply_options import ApplyOptions
from hub.domain.workloads.work_form import WorkForm
from shared import labels as keys
from shared.documents import Json, JsonView
from shared.generated import is_generated, without_generated
from shared.node_preferences import with_preferences
from shared.podsecurity.pods import mapping
from shared.podsecurity.templates import templates_of
from shared.pointers import value_at, with_value

_TTL = "ttlSecondsAfterFinished"
_EQUAL = keys.KUEUE_PREFIX + "job-completions-equal-parallelism"
_DROPPED_ANNOTATIONS = frozenset(
    {
        "kubectl.kubernetes.io/last-applied-configuration",
        "deployment.kubernetes.io/revision",
        "pv.kubernetes.io/bind-completed",
        "pv.kubernetes.io/bound-by-controller",
        "batch.kubernetes.io/job-tracking",
    }
)


_OURS = keys.RESERVED_LABELS | {keys.GENERATION, keys.INCARNATION, keys.SPEC_HASH}


@dataclass(frozen=True, slots=True)
class Stamp:
    """Who places what: written on everything that goes to a member."""

    hub_id: str
    incarnation: str
    uid: str
    epoch: int
    generation: int
    hash: str
    placed_by: str


def digest(manifest_hash: str, options: ApplyOptions, epoch: int) -> str:
    """The hash of a work: of its manifest, its apply options and its epoch; 32 hex digits."""
    told = orjson.dumps([manifest_hash, options.hashed(), epoch], option=orjson.OPT_SORT_KEYS)
    return hashlib.blake2b(told, digest_size=16).hexdigest()


def compose_job(manifest: Json, options: ApplyOptions, stamp: Stamp) -> Json:
    """The Job for the member. Without a queue manager there all kueue.x-k8s.io keys go."""
    queue = options.queue or ""
    spec = manifest.setdefault("spec", {})
    manifest.pop("status", None)
    given = (manifest.get("metadata") or {}).get("annotations") or {}
    manifest["metadata"] = _metadata(manifest.get("metadata") or {}, stamp, strip=not queue)
    if queue:
        manifest["metadata"]["annotations"].pop(keys.QUEUE_NAME, None)
        manifest["metadata"]["labels"][keys.QUEUE_NAME] = queue
    for name in ("managedBy", _TTL):
        spec.pop(name, None)
    if not spec.get("manualSelector"):
        spec.pop("selector", None)
        spec.pop("manualSelector", None)
    if options.parallelism is not None:  # admitted in part
        spec["parallelism"] = options.parallelism
        if given.get(_EQUAL) == "true":
            spec["completions"] = options.parallelism
    spec["suspend"] = bool(options.suspend)
    _into_template(spec.setdefault("template", {}), options, stamp, strip=not queue)
    return manifest


def compose_kind(manifest: Json, form: WorkForm, options: ApplyOptions, stamp: Stamp) -> Json:
    """An object of another kind that runs pods, as it runs in the member: its agent holds it first.

    Each pod template gets what a Job's gets; a template that the operator would write is written here, for
    pods without our marks could not be told from those of others.
    """
    form = form.at_scale(options.parallelism)
    manifest.pop("status", None)
    manifest["metadata"] = _metadata(manifest.get("metadata") or {}, stamp, strip=True)
    for pointer in form.removed:
        manifest = with_value(manifest, pointer, None)
    for written in (*form.filled, *form.rule["run"]):
        manifest = with_value(manifest, written["path"], written["value"])
    for pointer, pod_set in zip(form.templates, form.pod_sets, strict=True):
        template = value_at(manifest, pointer)
        _into_template(template, options.of_pod_set(pod_set), stamp, strip=True)
    _strip_ttls(manifest.get("spec"))
    return manifest


def _strip_ttls(value: object) -> None:
    """Take the TTLs off all that an operator makes: it would make anew what they remove, and run it again."""
    if isinstance(value, dict):
        value.pop(_TTL, None)
        for each in value.values():
            _strip_ttls(each)
    elif isinstance(value, list):
        for each in value:
            _strip_ttls(each)


def compose_object(manifest: Json, stamp: Stamp) -> Json:
    """Any other object for the member: without what its own API server wrote, with our labels."""
    manifest.pop("status", None)
    manifest["metadata"] = _metadata(manifest.get("metadata") or {}, stamp, strip=False)
    _strip_templates(manifest)
    kind = manifest.get("kind")
    spec = manifest.get("spec")
    if kind == "Namespace":
        manifest["metadata"]["labels"].pop("kubernetes.io/metadata.name", None)
        manifest.pop("spec", None)  # finalizers of the namespace controller, nothing else
    elif kind == "Service" and isinstance(spec, dict):
        if spec.get("clusterIP") != "None":
            spec.pop("clusterIP", None)
            spec.pop("clusterIPs", None)
        spec.pop("healthCheckNodePort", None)
    elif kind == "PersistentVolumeClaim" and isinstance(spec, dict):
        spec.pop("volumeName", None)
    elif kind == "ServiceAccount":
        manifest.pop("secrets", None)
    return manifest


def _strip_templates(manifest: Json) -> None:
    """Take Roadstead's labels and annotations off pod templates: stored ones may have what intake refuses.

    An agent would refuse the whole object for them, and no change or repair would reach its member.
    """
    for each in templates_of(manifest):
        metadata, path = mapping(each.body.get("metadata")), each.path
        for part, allowed in (("labels", frozenset()), ("annotations", keys.USER_ANNOTATIONS)):
            for key in list(mapping(metadata.get(part))) if path else ():
                if key.startswith(keys.PREFIX) and key not in allowed:
                    del metadata[part][key]


def as_given(manifest: JsonView) -> Json:
    """An object as a member gets it, without what the hub writes on it; the manifest stays as it is."""
    copied: Json = orjson.loads(orjson.dumps(manifest))
    made = compose_object(copied, Stamp("", "", "", 0, 0, "", ""))
    for part in ("labels", "annotations"):
        kept = {k: v for k, v in made["metadata"][part].items() if k not in _OURS}
        made["metadata"][part] = kept
        if not kept:
            del made["metadata"][part]
    return made


def _metadata(given: JsonView, stamp: Stamp, *, strip: bool) -> Json:
    """Name, namespace, labels and annotations: everything else belongs to the hub's own API server."""
    kept: Json = {"name": given.get("name", "")}
    if given.get("namespace"):
        kept["namespace"] = given["namespace"]
    kept["labels"] = _own(given.get("labels"), stamp, strip=strip)
    annotations = {
        name: value
        for name, value in (given.get("annotations") or {}).items()
        if name not in _DROPPED_ANNOTATIONS and not (strip and name.startswith(keys.KUEUE_PREFIX))
    }
    annotations[keys.GENERATION] = str(stamp.generation)
    annotations[keys.INCARNATION] = stamp.incarnation
    annotations[keys.SPEC_HASH] = stamp.hash
    if stamp.placed_by:
        annotations[keys.PLACED_BY] = stamp.placed_by
    kept["annotations"] = annotations
    return kept


def _own(given: Mapping[str, str] | None, stamp: Stamp, *, strip: bool) -> dict[str, str]:
    """Labels without generated ones, with ours."""
    kept = {
        name: value
        for name, value in (given or {}).items()
        if not is_generated(name) and not (strip and name.startswith(keys.KUEUE_PREFIX))
    }
    kept[keys.MANAGED_BY] = stamp.hub_id
    kept[keys.JOB_UID] = stamp.uid
    kept[keys.EPOCH] = str(stamp.epoch)
    return kept


def _into_template(template: Json, options: ApplyOptions, stamp: Stamp, *, strip: bool) -> None:
    metadata = without_generated(template.get("metadata") or {})
    metadata.pop("creationTimestamp", None)
    metadata["labels"] = _own(metadata.get("labels"), stamp, strip=strip)
    if strip and metadata.get("annotations"):
        metadata["annotations"] = {
            name: value
            for name, value in metadata["annotations"].items()
            if not name.startswith(keys.KUEUE_PREFIX)
        }
    # What admission checks add.
    for part, added in (("labels", options.pod_labels), ("annotations", options.pod_annotations)):
        if added:
            metadata[part] = {**(metadata.get(part) or {}), **added}
    template["metadata"] = metadata
    pod = template.setdefault("spec", {})
    if options.node_selector:
        pod["nodeSelector"] = {**(pod.get("nodeSelector") or {}), **options.node_selector}
    pod = with_preferences(pod, options.nodes, options.other_nodes)
    template["spec"] = pod
    if options.tolerations:
        have = list(pod.get("tolerations") or [])
        pod["tolerations"] = have + [one for one in options.tolerations if one not in have]
    fence = [
        {"name": keys.JOB_UID_VARIABLE, "value": stamp.uid},
        {"name": keys.EPOCH_VARIABLE, "value": str(stamp.epoch)},
    ]
    for part in ("initContainers", "containers"):
        for container in pod.get(part) or ():
            container["env"] = fence + [  # first: the user's own may refer to them
                one for one in container.get("env") or () if one.get("name") not in keys.FENCE
            ]
