"""A copy of a Job: its original manifest, under another name.

Used by `roadstead jobs resubmit` and by the page: both submit the copy like any other Job.
"""

import re
from collections.abc import Sequence
from typing import Any, Final

from shared.generated import is_generated
from shared.labels import AFTER, CRON_JOB, CRON_JOB_TIME, SUBMITTED_BY
from shared.secrecy import marked

Json = dict[str, Any]
_AGAIN: Final = re.compile(r"(.+)-r(\d{1,6})")
_LONGEST: Final = 63
# What an API server adds to a Job for itself, and says of its pods.
_OF_THE_HUB: Final = (SUBMITTED_BY, CRON_JOB, CRON_JOB_TIME)  # a copy has no scheduled time
_OF_THE_SERVER: Final = ("selector", "manualSelector", "managedBy", "suspend")


def copy_of(manifest: Json, name: str) -> Json:
    """The manifest with another name, and without what an API server has added for itself: who made the first
    one is not who makes this.
    """
    spec = {k: v for k, v in manifest["spec"].items() if k not in _OF_THE_SERVER}
    template = spec.get("template")
    if isinstance(template, dict) and isinstance(template.get("metadata"), dict):
        spec["template"] = {**template, "metadata": _own(template["metadata"])}
    metadata = {k: v for k, v in manifest["metadata"].items() if k != "ownerReferences"}
    if isinstance(notes := metadata.get("annotations"), dict):
        metadata["annotations"] = {k: v for k, v in notes.items() if k not in _OF_THE_HUB}
    return {**manifest, "metadata": {**_own(metadata), "name": name}, "spec": spec}


def next_name(name: str) -> str:
    """`train-r2` of `train`, `train-r3` of that; within what Kubernetes takes."""
    found = _AGAIN.fullmatch(name)
    stem, number = (found[1], int(found[2]) + 1) if found else (name, 2)
    end = f"-r{number}"
    return stem[: _LONGEST - len(end)].rstrip("-.") + end


def waits_for(manifest: Json, jobs: Sequence[str]) -> Json:
    """The manifest waiting for these, as `NAME:CONDITION`, and for no others that it names."""
    metadata = manifest["metadata"]
    notes = metadata.get("annotations") or {}
    if AFTER not in notes:
        return manifest
    kept = {key: value for key, value in notes.items() if key != AFTER}
    kept |= {AFTER: ", ".join(jobs)} if jobs else {}
    rest = {key: value for key, value in metadata.items() if key != "annotations"}
    return {**manifest, "metadata": {**rest, "annotations": kept} if kept else rest}


def is_hidden(value: Any) -> bool:
    """Whether something in it was hidden from whoever reads it: a copy would run without that."""
    return any(True for _ in marked(value))


def _own(metadata: Json) -> Json:
    labels = metadata.get("labels")
    if not isinstance(labels, dict):
        return metadata
    kept = {k: v for k, v in labels.items() if not is_generated(k)}
    rest = {k: v for k, v in metadata.items() if k != "labels"}
    return {**rest, "labels": kept} if kept else rest
