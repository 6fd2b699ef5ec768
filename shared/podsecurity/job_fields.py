"""Judges the fields of a Job's spec beside its pod template. Pure."""

from typing import Final

from shared import labels
from shared.errors import FieldError
from shared.podsecurity.pods import Found, Json
from shared.reject_codes import RejectCode

_MANAGERS: Final = (labels.JOB_CONTROLLER, labels.MULTIKUEUE_CONTROLLER)


def check_job_fields(spec: Json, *, from_client: bool) -> Found:
    """Fields of a Job by which another controller would run it, or count foreign pods.

    An API server generates a selector, and leaves manualSelector out then.
    """
    found: Found = []
    if spec.get("managedBy") not in (None, *_MANAGERS):
        text = "is set by Roadstead, which runs the Job; leave it out"
        found.append(FieldError("spec.managedBy", RejectCode.FORBIDDEN_FIELD, text))
    if spec.get("manualSelector") not in (None, False):
        text = "a Job's pods are its own; leave it out"
        found.append(FieldError("spec.manualSelector", RejectCode.FORBIDDEN_FIELD, text))
    if spec.get("selector") is not None and from_client:
        text = "is generated; leave it out"
        found.append(FieldError("spec.selector", RejectCode.FORBIDDEN_FIELD, text))
    return found
