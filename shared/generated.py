"""Labels and annotations that a cluster, or Roadstead, writes on a Job, its pod template and its pods.

An API server selects a Job's pods by its own, the agent counts a job's pods by Roadstead's. A copy that names
another Job is stripped at every door: by the hub at intake and before it offers the Job, by the agent before
it creates it. Templates of other kinds never carry Roadstead's; those that the store has are stripped.
"""

from collections.abc import Mapping
from typing import Any, Final

_PREFIX: Final = "batch.kubernetes.io/"
_LEGACY: Final = frozenset({"controller-uid", "job-name"})
_PARTS: Final = ("labels", "annotations")


def is_generated(key: str) -> bool:
    """True if the Job controller or the API server of a cluster writes this key."""
    return key in _LEGACY or key.startswith(_PREFIX)


def without_generated(metadata: dict[str, Any]) -> dict[str, Any]:
    """A pod template's metadata without generated keys; the same object if nothing changes."""
    kept = metadata
    for part in _PARTS:
        told = metadata.get(part)
        if isinstance(told, Mapping) and any(is_generated(key) for key in told):
            own = {key: value for key, value in told.items() if not is_generated(key)}
            kept = {**kept, part: own}
    return kept


def clean_template(spec: dict[str, Any]) -> dict[str, Any]:
    """A Job's spec without generated keys in its pod template; the same object if nothing changes."""
    template = spec.get("template")
    metadata = template.get("metadata") if isinstance(template, dict) else None
    if not isinstance(metadata, dict) or not isinstance(template, dict):
        return spec
    kept = without_generated(metadata)
    return spec if kept is metadata else {**spec, "template": {**template, "metadata": kept}}
