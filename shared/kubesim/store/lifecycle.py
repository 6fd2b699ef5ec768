"""Rules that hold for every object: preconditions, merging an update, deletion, names.

Pure functions; `objects` calls them. The rules are those of `k8s.io/apiserver` registry/rest
(BeforeCreate, BeforeUpdate, BeforeDelete) and apimachinery's ObjectMeta validation.
"""

import datetime as dt
import re
from collections.abc import Mapping
from typing import Any

from shared.kubesim.apimachinery import errors, metadata
from shared.kubesim.apimachinery.errors import Cause
from shared.kubesim.apimachinery.registry import Resource
from shared.kubesim.apimachinery.strategies import Object

ORPHAN_FINALIZER = "orphan"
FOREGROUND_FINALIZER = "foregroundDeletion"
_PROPAGATION_FINALIZER = {"Orphan": ORPHAN_FINALIZER, "Foreground": FOREGROUND_FINALIZER}
_DEFAULT_POD_GRACE_S = 30

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_QUALIFIED_PART = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.',"
    " and must start and end with an alphanumeric character (e.g. 'example.com', regex used for"
    " validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must"
    " start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for"
    " validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_LABEL_NAMED = frozenset({"namespaces", "services"})
_FREELY_NAMED_GROUP = "rbac.authorization.k8s.io"


def check_preconditions(resource: Resource, wanted: Mapping[str, Any], old: Object) -> None:
    """Raise Conflict if a named uid or resourceVersion is not the live one."""
    meta = old["metadata"]
    uid = wanted.get("uid")
    if uid and uid != meta["uid"]:
        why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {meta['uid']}"
        raise errors.conflict(resource.plural, resource.group, meta["name"], why)
    version = wanted.get("resourceVersion")
    if version and version != meta["resourceVersion"]:
        raise errors.stale(resource.plural, resource.group, meta["name"])


def merged_for_update(resource: Resource, obj: Object, old: Object, subresource: str) -> Object:
    """The version to write: what this (sub)resource may change from `obj`, the rest from `old`."""
    if subresource == "status":
        new = {**old, "metadata": _status_metadata(resource, obj, old)}
        if "status" in obj:
            new["status"] = obj["status"]
        else:
            new.pop("status", None)
    else:
        new = dict(obj)
        if resource.key == "namespaces" and subresource != "finalize":
            new["spec"] = old["spec"]  # its finalizers change through /finalize alone
        if resource.has_status and subresource != "*":
            if "status" in old:
                new["status"] = old["status"]
            else:
                new.pop("status", None)
    meta = dict(new["metadata"])
    was = old["metadata"]
    for field in (*metadata.SERVER_FIELDS, "generation"):
        if field in was:
            meta[field] = was[field]
        else:
            meta.pop(field, None)
    meta["resourceVersion"] = was["resourceVersion"]
    meta.pop("selfLink", None)
    if "managedFields" not in meta and "managedFields" in was:
        meta["managedFields"] = was["managedFields"]
    new["metadata"] = meta
    new["apiVersion"], new["kind"] = resource.api_version, resource.kind
    return new


def _status_metadata(resource: Resource, obj: Object, old: Object) -> dict[str, Any]:
    """A status write may change the metadata of built-in kinds, but not that of custom ones."""
    meta: dict[str, Any] = obj["metadata"]
    if not resource.custom:
        return meta
    rows = meta.get("managedFields", old["metadata"].get("managedFields"))
    return {**old["metadata"], "managedFields": rows} if rows else old["metadata"]


def same_content(new: Object, old: Object) -> bool:
    """Whether a write would change nothing."""
    return new == old


def marked_for_deletion(
    resource: Resource, old: Object, now: dt.datetime, propagation: str, grace: int | None
) -> Object:
    """`old` with a deletionTimestamp and the finalizer that the propagation policy asks for."""
    meta = dict(old["metadata"])
    finalizers = [
        f for f in meta.get("finalizers", ()) if f not in _PROPAGATION_FINALIZER.values()
    ]
    wanted = _PROPAGATION_FINALIZER.get(propagation)
    if wanted:
        finalizers.append(wanted)
    if finalizers != meta.get("finalizers", []):
        meta["finalizers"] = finalizers
        if not finalizers:
            del meta["finalizers"]
    seconds = _pod_grace_seconds(old, grace) if resource.key == "pods" else 0
    if "deletionTimestamp" in meta:
        seconds = min(seconds, meta.get("deletionGracePeriodSeconds", 0))
        if seconds != meta.get("deletionGracePeriodSeconds"):
            meta["deletionGracePeriodSeconds"] = seconds
    else:
        meta["deletionTimestamp"] = metadata.stamp(now + dt.timedelta(seconds=seconds))
        meta["deletionGracePeriodSeconds"] = seconds
        if "generation" in meta:
            meta["generation"] += 1
    return {**old, "metadata": meta}


def _pod_grace_seconds(pod: Object, asked: int | None) -> int:
    """How long a pod's node may take to stop it; 0 if nothing runs."""
    spec = pod.get("spec", {})
    if not spec.get("nodeName") or pod.get("status", {}).get("phase") in ("Succeeded", "Failed"):
        return 0
    if asked is not None:
        return max(0, asked)
    return int(spec.get("terminationGracePeriodSeconds", _DEFAULT_POD_GRACE_S))


def is_finished_deletion(obj: Object) -> bool:
    """Whether nothing holds a terminating object any more."""
    meta = obj["metadata"]
    if "deletionTimestamp" not in meta or meta.get("finalizers"):
        return False
    if obj.get("kind") == "Namespace" and obj.get("spec", {}).get("finalizers"):
        return False
    return not meta.get("deletionGracePeriodSeconds")


def metadata_faults(resource: Resource, obj: Object) -> list[Cause]:
    """What is wrong with a new object's metadata."""
    meta = obj["metadata"]
    causes: list[Cause] = []
    name = meta.get("name")
    if not name:
        causes.append(errors.required("metadata.name", "name or generateName is required"))
    else:
        causes += _name_faults(resource, name)
    if resource.namespaced and not meta.get("namespace"):
        causes.append(errors.required("metadata.namespace"))
    causes += label_faults(meta.get("labels"), "metadata.labels")
    causes += _annotation_faults(meta.get("annotations"))
    causes += _owner_faults(meta.get("ownerReferences"))
    return causes


def metadata_update_faults(resource: Resource, new: Object, old: Object) -> list[Cause]:
    """What is wrong with changed metadata."""
    meta, was = new["metadata"], old["metadata"]
    causes: list[Cause] = []
    if meta.get("labels") != was.get("labels"):
        causes += label_faults(meta.get("labels"), "metadata.labels")
    if meta.get("annotations") != was.get("annotations"):
        causes += _annotation_faults(meta.get("annotations"))
    if meta.get("ownerReferences") != was.get("ownerReferences"):
        causes += _owner_faults(meta.get("ownerReferences"))
    if "deletionTimestamp" in was:
        added = set(meta.get("finalizers") or ()) - set(was.get("finalizers") or ())
        if added:
            why = (
                "no new finalizers can be added if the object is being deleted, found new"
                f" finalizers {sorted(added)!r}"
            )
            causes.append(errors.forbidden_field("metadata.finalizers", why))
    return causes


def _name_faults(resource: Resource, name: str) -> list[Cause]:
    if resource.group == _FREELY_NAMED_GROUP:
        bad = name in (".", "..") or "/" in name or "%" in name
        return (
            [errors.bad_value("metadata.name", name, "may not contain '/' or '%'")] if bad else []
        )
    if resource.plural in _LABEL_NAMED and not resource.group:
        pattern, longest, rule = _LABEL, 63, _LABEL_RULE
    else:
        pattern, longest, rule = _SUBDOMAIN, 253, _SUBDOMAIN_RULE
    causes = []
    if len(name) > longest:
        causes.append(
            errors.bad_value("metadata.name", name, f"must be no more than {longest} characters")
        )
    if not pattern.fullmatch(name):
        causes.append(errors.bad_value("metadata.name", name, rule))
    return causes


def label_faults(labels: Any, field: str) -> list[Cause]:
    """What is wrong with a label map: keys are qualified names, values short and plain."""
    causes: list[Cause] = []
    for key, value in (labels or {}).items():
        why = qualified_name_fault(key)
        if why:
            causes.append(errors.bad_value(field, key, why))
        if value and (len(value) > 63 or not _QUALIFIED_PART.fullmatch(value)):
            why = (
                "must be no more than 63 characters"
                if len(value) > 63
                else "a valid label must be an empty string or consist of alphanumeric characters,"
                " '-', '_' or '.', and must start and end with an alphanumeric character"
                " (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is"
                " '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
            )
            causes.append(errors.bad_value(field, value, why))
    return causes


def qualified_name_fault(key: str) -> str:
    """Why `key` is no qualified name (`prefix/name`), or ""."""
    prefix, slash, name = key.rpartition("/")
    if slash and (len(prefix) > 253 or not _SUBDOMAIN.fullmatch(prefix)):
        return "prefix part " + _SUBDOMAIN_RULE
    if not name or len(name) > 63 or not _QUALIFIED_PART.fullmatch(name):
        return (
            "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and"
            " end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex"
            " used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
        )
    return ""


def _annotation_faults(annotations: Any) -> list[Cause]:
    causes: list[Cause] = []
    size = 0
    for key, value in (annotations or {}).items():
        why = qualified_name_fault(key.lower())
        if why:
            causes.append(errors.bad_value("metadata.annotations", key, why))
        size += len(key) + len(value)
    if size > 256 * 1024:
        causes.append(
            Cause(
                "metadata.annotations",
                "FieldValueTooLong",
                "Too long: may not be more than 262144 bytes",
            )
        )
    return causes


def _owner_faults(references: Any) -> list[Cause]:
    causes: list[Cause] = []
    controllers = []
    for index, reference in enumerate(references or ()):
        causes += [
            errors.required(f"metadata.ownerReferences[{index}].{field}", "must not be empty")
            for field in ("apiVersion", "kind", "name", "uid")
            if not reference.get(field)
        ]
        if reference.get("controller"):
            controllers.append(reference.get("name"))
    if len(controllers) > 1:
        why = (
            'Only one reference can have Controller set to true. Found "true" in references for'
            f" {controllers[0]} and {controllers[1]}"
        )
        causes.append(errors.bad_value("metadata.ownerReferences", "", why))
    return causes
