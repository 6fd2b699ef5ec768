"""Cuts the labels of objects that the bridge will refuse, before it caches them.

Kubernetes bounds neither the number nor the size of labels. The hub refuses an object whose labels exceed
`LABEL_BYTES`. The cache keeps the labels that the hub reads, then others until they exceed the bound, so that
the refusal stays; of the managed fields it keeps the managers, and whether the bridge wrote a mirror's mark.
"""

from collections.abc import Iterable
from typing import Final

from hub.bridge.kinds import has_written
from shared import labels
from shared.documents import Json, JsonView
from shared.kinds.selectors import LABEL_BYTES, are_labels_too_large
from shared.kube.client import Object

# Labels by which the hub tells whose an object is: always kept.
_READ: Final = (
    labels.ORIGIN,
    labels.QUEUE_NAME,
    labels.PRIORITY_CLASS,
    labels.MAX_EXEC_TIME,
    labels.MANAGED_NAMESPACE,
    labels.SHOW_JOBS,
)


def slimmed(obj: Object, _previous: Object | None = None) -> Object:
    """The object itself, or one with its labels and those of its pod template cut to just over the bound."""
    metadata = obj["metadata"]
    if is_too_large(metadata):
        obj = {**obj, "metadata": {**_cut(metadata), "managedFields": _managed(metadata)}}
    template = _template(obj)
    if template and is_too_large(template["metadata"]):
        cut = {**template, "metadata": _cut(template["metadata"])}
        metadata = {**obj["metadata"], "managedFields": _managed(obj["metadata"])}
        obj = {**obj, "metadata": metadata, "spec": {**obj["spec"], "template": cut}}
    return obj


def is_too_large(metadata: JsonView) -> bool:
    """`slimmed` cuts these labels, or has cut them."""
    found = metadata.get("labels")
    return isinstance(found, dict) and are_labels_too_large(found)


def _cut(metadata: JsonView) -> Object:
    found = metadata["labels"]
    kept: Json = {}
    room = LABEL_BYTES
    for key in _first(found):
        value = found[key]
        kept[key] = value
        room -= len(key) + (len(value) if isinstance(value, str) else 0)
        if room < 0:
            break
    return {**metadata, "labels": kept}


def _first(found: JsonView) -> Iterable[str]:
    """Keys: first those that the hub reads."""
    yield from (key for key in _READ if key in found)
    yield from (key for key in found if key not in _READ)


def _template(obj: Object) -> JsonView | None:
    """The pod template, where it has metadata."""
    spec = obj.get("spec")
    found = spec.get("template") if isinstance(spec, dict) else None
    return found if isinstance(found, dict) and isinstance(found.get("metadata"), dict) else None


def _managed(metadata: JsonView) -> list[Object]:
    """The managers without their fields, but for the mark that the bridge writes on a mirror."""
    ours: Object = {"fieldsV1": {"f:metadata": {"f:annotations": {f"f:{labels.MIRROR_OF}": {}}}}}
    kept = []
    for entry in metadata.get("managedFields") or ():
        wrote = has_written({"managedFields": [entry]}, labels.MIRROR_OF)
        rest = {name: value for name, value in entry.items() if name != "fieldsV1"}
        kept.append(rest | (ours if wrote else {}))
    return kept
