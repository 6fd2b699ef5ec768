"""Builds requests for objects, and reads objects from answers."""

from typing import Any

import orjson

from shared.kube import errors


def object_of(answer: Any) -> dict[str, Any]:
    """An answer that is to be one object. Raises Unavailable if it is invalid."""
    if not isinstance(answer, dict):
        text = orjson.dumps(answer)[:80].decode(errors="replace")
        raise errors.Unavailable(0, "BadAnswer", f"not a Kubernetes object: {text}")
    return answer


def selectors(label_selector: str | None, field_selector: str | None) -> dict[str, str]:
    """The parameters of a list or watch that selects."""
    params = {}
    if label_selector:
        params["labelSelector"] = label_selector
    if field_selector:
        params["fieldSelector"] = field_selector
    return params
