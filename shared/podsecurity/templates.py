"""Where the pods of a manifest are: a Pod itself, and every pod template inside whatever it is.

A template is a field whose name ends in `template` and whose spec has containers: so it is with
Deployments, CronJobs, JobSets, RayJobs, and kinds that nobody has told us of.
"""

from collections.abc import Iterator
from typing import Any

from shared.podsecurity.pods import Json, mapping

_DEEPEST = 32  # a body is refused before it nests deeper


def templates_of(manifest: Json) -> Iterator[tuple[str, Json]]:
    """Every pod template with its path (of the template, not of its spec), in the manifest's order."""
    if manifest.get("kind") == "Pod" and manifest.get("apiVersion") == "v1":
        yield "", manifest
        return
    for name, value in manifest.items():
        if name not in ("metadata", "status"):
            yield from _within(value, name, name, _DEEPEST)


def _within(value: Any, name: str, path: str, left: int) -> Iterator[tuple[str, Json]]:
    if left == 0:
        return
    if isinstance(value, dict):
        if name.lower().endswith("template") and _has_containers(value.get("spec")):
            yield path, value
            return
        for inner, each in value.items():
            if isinstance(each, dict | list):
                yield from _within(each, inner, f"{path}.{inner[:80]}", left - 1)
    elif isinstance(value, list):
        for index, each in enumerate(value):
            if isinstance(each, dict | list):
                yield from _within(each, name, f"{path}[{index}]", left - 1)


def _has_containers(spec: Any) -> bool:
    return any(
        isinstance(mapping(spec).get(name), list)
        for name in ("containers", "initContainers", "ephemeralContainers")
    )
