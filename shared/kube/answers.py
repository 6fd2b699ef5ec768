"""What goes into a request for objects, and what is taken for one in its answer."""

from typing import Any

import orjson

from shared.kube import errors


def object_of(answer: Any) -> dict[str, Any]:
    """An answer that is to be one object. Raises Unavailable where it is none."""
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
