"""JSON merge patch (RFC 7386) on immutable objects: what does not change is shared."""

from typing import Any


def merge(target: Any, patch: Any) -> Any:
    """`target` with `patch` merged in: null removes, objects merge, all else replaces."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for field, change in patch.items():
        if change is None:
            merged.pop(field, None)
        else:
            merged[field] = merge(merged.get(field), change)
    return merged
