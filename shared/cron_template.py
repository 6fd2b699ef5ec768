"""The Job that the template of a CronJob describes: one for each scheduled time (the hub), or by hand
(`roadstead cronjobs run`).

Its queue and its priority class are those of the template's metadata, else those of the CronJob itself.
"""

from collections.abc import Mapping
from typing import Any, Final

from shared.documents import Json, JsonView
from shared.labels import PRIORITY_CLASS, QUEUE_NAME

_MARKS: Final = (QUEUE_NAME, PRIORITY_CLASS)


def named(metadata: JsonView, key: str) -> str:
    """The value of a label, else of an annotation; "" if there is neither."""
    for part in ("labels", "annotations"):
        marks = metadata.get(part)
        if isinstance(marks, Mapping) and isinstance(value := marks.get(key), str) and value:
            return value
    return ""


def template_metadata(spec: Any) -> JsonView:
    """The metadata of the Job template within the spec of a CronJob; {} without one."""
    template = spec.get("jobTemplate") if isinstance(spec, dict) else None
    metadata = template.get("metadata") if isinstance(template, dict) else None
    return metadata if isinstance(metadata, dict) else {}


def queue_of(metadata: JsonView, spec: Any) -> str:
    """The LocalQueue of the Jobs of a CronJob; "" if it names none."""
    return named(template_metadata(spec), QUEUE_NAME) or named(metadata, QUEUE_NAME)


def job_of(metadata: JsonView, spec: JsonView, name: str) -> Json:
    """The Job of that name. `metadata`: of the CronJob, with its namespace; `spec`: with a `jobTemplate`."""
    given = template_metadata(spec)
    made: Json = {
        part: dict(given[part])
        for part in ("labels", "annotations")
        if isinstance(given.get(part), dict)
    }
    for key in _MARKS:
        if not named(given, key) and (value := named(metadata, key)):
            made["labels"] = {**made.get("labels", {}), key: value}
    made["name"] = name
    made["namespace"] = metadata["namespace"]
    job_spec = spec["jobTemplate"].get("spec")
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": made, "spec": job_spec}
